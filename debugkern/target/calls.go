package target

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"tilescope/debugkern/ptx"
)

// Calls is a chain of call sites, outermost first: the line in the kernel's own body that a function was
// inlined into, then the line in that function, and so on to the caller of the innermost one. It is "" for
// code that was not inlined. It is a string so that a Source stays comparable; Sites decodes it, and in JSON
// it is the list of Sites.
type Calls string

// Site is one call site: a line (and column, from 1; 0 where unknown) and the function that it lies in.
type Site struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Col      int    `json:"col,omitempty"`
	Function string `json:"function,omitempty"`
}

// String is the place for a message: "k.cu:12", without directories.
func (s Site) String() string { return (&Source{File: s.File, Line: s.Line}).String() }

// The separators cannot occur in a path of a .file directive or in a function's name.
const (
	siteEnd  = "\x1e"
	fieldEnd = "\x1f"
)

// CallsOf encodes call sites, outermost first.
func CallsOf(sites []Site) Calls {
	var b strings.Builder
	for _, s := range sites {
		for _, field := range []string{s.File, strconv.Itoa(s.Line), strconv.Itoa(s.Col)} {
			b.WriteString(field)
			b.WriteString(fieldEnd)
		}
		b.WriteString(s.Function)
		b.WriteString(siteEnd)
	}
	return Calls(b.String())
}

// Sites returns the call sites, outermost first; nil for code that was not inlined.
func (c Calls) Sites() []Site {
	var out []Site
	for _, text := range strings.Split(string(c), siteEnd) {
		f := strings.Split(text, fieldEnd)
		if len(f) != 4 {
			continue
		}
		line, _ := strconv.Atoi(f[1])
		col, _ := strconv.Atoi(f[2])
		out = append(out, Site{f[0], line, col, f[3]})
	}
	return out
}

// MarshalJSON writes the list of sites.
func (c Calls) MarshalJSON() ([]byte, error) {
	sites := c.Sites()
	if sites == nil {
		sites = []Site{}
	}
	return json.Marshal(sites)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Calls) UnmarshalJSON(data []byte) error {
	var sites []Site
	if err := json.Unmarshal(data, &sites); err != nil {
		return err
	}
	*c = CallsOf(sites)
	return nil
}

// Text is the chain for a message, innermost first: "in load_tile called from k.cu:210, 300", "" for code
// that was not inlined. function is the innermost one, "" to leave it out; a file is named once for the lines
// that follow each other in it.
func (c Calls) Text(function string) string {
	sites := c.Sites()
	if len(sites) == 0 {
		return ""
	}
	text := ""
	if function != "" {
		text = "in " + ShortName(function) + " "
	}
	text += "called from " + sites[len(sites)-1].String()
	for i := len(sites) - 2; i >= 0; i-- {
		if sites[i].File == sites[i+1].File {
			text += fmt.Sprintf(", %d", sites[i].Line)
		} else {
			text += ", " + sites[i].String()
		}
	}
	return text
}

// ShortName returns a demangled function's name without its namespaces, template arguments and parameters.
func ShortName(name string) string {
	if strings.Contains(name, "{lambda") {
		return "a lambda"
	}
	depth, from := 0, 0
	for i, r := range name {
		switch r {
		case '<', '(':
			if depth == 0 && i > from {
				return name[from:i]
			}
			depth++
		case '>', ')':
			depth--
		case ':', ' ':
			if depth == 0 {
				from = i + 1
			}
		}
	}
	return name[from:]
}

// callsOf is the chain of call sites that a place was inlined through, libraries left out.
func callsOf(f *ptx.Func, l *ptx.Loc) Calls {
	var sites []Site
	for l = l.InlinedAt; l != nil; l = l.InlinedAt {
		if l.Line == 0 || IsLibrary(l.Name) {
			continue
		}
		name := l.Func
		if name == "" {
			name = f.Demangled
		}
		sites = append([]Site{{l.Name, l.Line, l.Col, name}}, sites...)
	}
	if len(sites) == 0 {
		return ""
	}
	return CallsOf(sites)
}

// SameLine reports whether two places are one line, whatever it was called from.
func (s *Source) SameLine(o *Source) bool {
	return s != nil && o != nil && s.File == o.File && s.Line == o.Line
}

// SamePlace reports whether two places are one line that was reached by the same calls.
func (s *Source) SamePlace(o *Source) bool { return s.SameLine(o) && s.Calls == o.Calls }

// String is the place for a message: "k.cu:12", without directories.
func (s *Source) String() string {
	return fmt.Sprintf("%s:%d", path.Base(strings.ReplaceAll(s.File, `\`, "/")), s.Line)
}

// Place is String with the call sites of inlined code: "k.cu:12, in load_tile called from k.cu:210".
func (s *Source) Place() string {
	if text := s.Calls.Text(s.Function); text != "" {
		return s.String() + ", " + text
	}
	return s.String()
}

// Within reports whether code at a place, or code that it was inlined into, is at s: the line is the same
// and, if s was inlined, so are the call sites.
func (s *Source) Within(f *ptx.Func, l *ptx.Loc) bool {
	for ; l != nil; l = l.InlinedAt {
		if l.Line == s.Line && path.Base(l.Name) == path.Base(s.File) &&
			(s.Calls == "" || s.Calls == callsOf(f, l)) {
			return true
		}
	}
	return false
}
