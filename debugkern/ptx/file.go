package ptx

// RewriteFiles replaces the name in every .file directive, and in every Loc, by rename of it. The compiler
// writes absolute paths there.
func (m *Module) RewriteFiles(rename func(name string) string) {
	m.source = ""
	names := make(map[int]string, len(m.Files))
	for i := range m.Files {
		m.Files[i].Name = rename(m.Files[i].Name)
		names[m.Files[i].Index] = m.Files[i].Name
	}
	for _, f := range m.Funcs {
		for i := range f.Items {
			for l := f.Items[i].Loc; l != nil; l = l.InlinedAt {
				l.Name = names[l.File]
			}
		}
	}
}

// RewriteFileText replaces the name in every .file directive of a PTX text by rename of it and leaves every
// other byte as it is. It wants no more than tokens of the text; a lexical error is returned located in name.
func RewriteFileText(name string, src []byte, rename func(name string) string) ([]byte, error) {
	var errs Errors
	s := scanner{src: string(src), line: 1}
	s.report = func(line, col int, msg string) {
		if len(errs) < maxErrors {
			errs = append(errs, &Error{Pos{name, line, col}, msg})
		}
	}
	out := make([]byte, 0, len(src))
	done := 0
	for {
		t := s.next()
		if t.kind == tokEOF {
			break
		}
		if t.kind != tokDot || t.text != "file" {
			continue
		}
		if t = s.next(); t.kind != tokInt {
			continue
		}
		if t = s.next(); t.kind != tokString {
			continue
		}
		start := t.end - len(t.text) - 1
		out = append(out, src[done:start]...)
		out = append(out, rename(t.text)...)
		done = t.end - 1
	}
	if len(errs) > 0 {
		return nil, errs.err()
	}
	return append(out, src[done:]...), nil
}
