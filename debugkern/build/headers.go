package build

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/kernels"
	"tilescope/probes"
)

// ownHeaders are the headers of ours that a kernel of one's own may include. The embedded kernels' are not
// among them: those belong to embedded kernels alone.
func ownHeaders() map[string]string { return map[string]string{probes.HeaderName: probes.Header} }

// catalogueHeaders are the headers of an embedded kernel, by name.
func catalogueHeaders() map[string]string {
	h := ownHeaders()
	for _, name := range kernels.Headers() {
		if text, ok := kernels.Source(name); ok {
			h[name] = string(text)
		}
	}
	return h
}

// ownBuild is the compilation of a manifest's own source, without definitions and architecture: its headers
// are looked for in its directory, then in the directories of the command line and of the manifest, and in
// ours last. What patches change is read in the place of the files.
func ownBuild(m *configs.Manifest, src *SourceSet, c configs.Compile) (cuda.Build, error) {
	file, err := filepath.Abs(m.SourcePath())
	if err != nil {
		return cuda.Build{}, fmt.Errorf("%s: source: %w", m.File, err)
	}
	if len(bytes.TrimSpace(src.Text)) == 0 {
		return cuda.Build{}, report.Usagef("%s is empty: it has no kernel", sourceName(m))
	}
	// a compiler would end there, and compile the half
	if before, _, nul := bytes.Cut(src.Text, []byte{0}); nul {
		at := cuda.Diagnostic{
			File: sourceName(m), Line: 1 + bytes.Count(before, []byte("\n")), Severity: "error",
			Msg: "a NUL character in the source",
		}
		return cuda.Build{}, compileError(&cuda.CompileError{
			Name: sourceName(m), Diagnostics: []cuda.Diagnostic{at},
		})
	}
	return cuda.Build{
		Name: sourceName(m), Source: string(src.Text), File: file, Overlay: src.overlay(file),
		Builtin: ownHeaders(), Include: c.Include, Std: c.Std,
	}, nil
}

// headerDocs are headers as documents have them; nil for none.
func headerDocs(list []cuda.Header) []report.Header {
	var docs []report.Header
	for _, h := range list {
		docs = append(docs, report.Header(h))
	}
	return docs
}

// Document is a build as the documents of a run have it, with empty lists where there is none (nil).
func Document(b *Build) report.RunBuild {
	doc := report.RunBuild{Options: []string{}, Headers: []report.Header{}, Notes: []string{}}
	if b == nil {
		return doc
	}
	doc.Compiler, doc.Options, doc.Headers = b.Compiler, append(doc.Options, b.Options...),
		append(doc.Headers, headerDocs(b.Headers)...)
	doc.Notes = append(append(doc.Notes, replaced(b.Headers)...), b.Outline.notes()...)
	return doc
}

// replaced has a line for every header of one's own that was read and has the name of one of ours.
func replaced(headers []cuda.Header) []string {
	var out []string
	for _, h := range headers {
		name := filepath.Base(h.Path)
		if h.Origin != cuda.OriginOwn {
			continue
		}
		what := ""
		if _, ours := catalogueHeaders()[name]; ours {
			what = "tilescope has a header of that name for its embedded kernels"
		}
		if name == probes.HeaderName {
			what = "tilescope's own probes are not in this build"
		}
		if _, ours := cuda.Builtin(name); ours {
			what = "tilescope has a stand-in of that name"
		}
		if what != "" {
			out = append(out, fmt.Sprintf("%s is your own file, and was read (%s)", h.Path, what))
		}
	}
	return out
}

// embeddedHeaders are the headers that went into a build of the archive: those that the source and what it
// includes come to under the build's definitions. The digests of the archive cover all headers; which were
// read is worked out here without a compiler.
func embeddedHeaders(src *SourceSet, defines []string) []cuda.Header {
	r := &includeReader{texts: src.headers(), defined: map[string]string{}, seen: map[string]bool{}}
	for _, d := range defines {
		name, value, _ := strings.Cut(d, "=")
		r.defined[name] = value
	}
	pre, _ := cuda.Builtin(cuda.PreInclude)
	r.found(cuda.PreInclude, pre, cuda.OriginBuiltin)
	r.scan(string(src.Text))
	slices.SortFunc(r.out, func(x, y cuda.Header) int {
		if x.Origin != y.Origin {
			return strings.Compare(y.Origin, x.Origin) // embedded before builtin
		}
		return strings.Compare(x.Path, y.Path)
	})
	return r.out
}

// includeReader follows the includes of the embedded sources, whose conditions are single symbols.
type includeReader struct {
	texts   map[string]string
	defined map[string]string
	seen    map[string]bool
	out     []cuda.Header
}

var directive = regexp.MustCompile(
	`(?m)^[ \t]*#[ \t]*(include|ifdef|ifndef|if|elif|else|endif|define|undef)\b[ \t]*(.*)$`)

// scan reads a text under what is defined so far. live is, for each open condition, whether its part is
// compiled, and whether one of its parts has been.
func (r *includeReader) scan(text string) {
	type part struct{ now, done bool }
	var live []part
	on := func() bool { return !slices.ContainsFunc(live, func(p part) bool { return !p.now }) }
	for _, m := range directive.FindAllStringSubmatch(text, -1) {
		word, rest := m[1], strings.TrimSpace(m[2])
		switch top := len(live) - 1; {
		case word == "if" || word == "ifdef" || word == "ifndef":
			holds := r.holds(word, rest)
			live = append(live, part{holds, holds})
		case top < 0 && (word == "elif" || word == "else" || word == "endif"):
			return // not a text that compiles
		case word == "elif" || word == "else":
			p := &live[top]
			p.now = !p.done && (word == "else" || r.holds("if", rest))
			p.done = p.done || p.now
		case word == "endif":
			live = live[:top]
		case !on():
		case word == "define":
			name, value, _ := strings.Cut(rest, " ")
			r.defined[name] = strings.TrimSpace(value)
		case word == "undef":
			delete(r.defined, rest)
		case word == "include" && len(rest) > 2:
			name := strings.FieldsFunc(rest, func(c rune) bool { return strings.ContainsRune(`"<>`, c) })[0]
			if text, ok := r.texts[name]; ok {
				r.found(name, text, cuda.OriginEmbedded)
			} else if text, ok := cuda.Builtin(name); ok {
				r.found(name, text, cuda.OriginBuiltin)
			}
		}
	}
}

// holds evaluates a condition: one symbol, negated or not, with defined or without. A symbol that is not
// defined is 0.
func (r *includeReader) holds(word, text string) bool {
	not := word == "ifndef"
	for strings.HasPrefix(text, "!") {
		not, text = !not, strings.TrimSpace(text[1:])
	}
	name, ask := strings.CutPrefix(text, "defined")
	name = strings.Trim(name, " ()")
	value, defined := r.defined[name]
	if word == "ifdef" || word == "ifndef" || ask {
		return defined != not
	}
	return (defined && value != "0" && value != "") != not
}

func (r *includeReader) found(name, text, origin string) {
	if r.seen[name] {
		return // every one of them has a guard
	}
	r.seen[name] = true
	r.out = append(r.out, cuda.NewHeader(name, text, origin))
	r.scan(text)
}
