package cuda

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Diagnostic is one complaint of a compiler.
type Diagnostic struct {
	File      string
	Line, Col int    // from 1; Col 0 where it is not known
	Severity  string // "error", "catastrophic error", "fatal error", "warning"
	Msg       string
	Text      string // the source line, "" where it is not available
}

// Place is "file:line:col", as much of it as is known; "" for a complaint about no place.
func (d Diagnostic) Place() string {
	if d.File == "" {
		return ""
	}
	pos := fmt.Sprintf("%s:%d", d.File, d.Line)
	if d.Col > 0 {
		pos += ":" + strconv.Itoa(d.Col)
	}
	return pos
}

func (d Diagnostic) String() string {
	if d.File == "" {
		return d.Severity + ": " + d.Msg
	}
	return d.Place() + ": " + d.Msg
}

// CompileError is a source that does not compile; Diagnostics holds the errors before the
// warnings, in source order.
type CompileError struct {
	Name        string
	Diagnostics []Diagnostic
	Log         string // the compiler's own words
}

func (e *CompileError) Error() string {
	if len(e.Diagnostics) == 0 {
		return "compile " + e.Name + ": the compiler gave no reason" + indent(e.Log)
	}
	msg := e.Diagnostics[0].String()
	switch n := e.errors() - 1; {
	case n == 1:
		msg += " (and 1 more error)"
	case n > 1:
		msg += fmt.Sprintf(" (and %d more errors)", n)
	}
	return msg
}

func (e *CompileError) errors() int {
	n := 0
	for _, d := range e.Diagnostics {
		if d.Severity != "warning" {
			n++
		}
	}
	return n
}

// NVRTC and nvcc's device side write `file(line): error: message`, a warning's number between; newer ones
// add the source line, indented, and a caret below it. nvcc's host side is the system's compiler:
// `file:line:col: error: message`.
var (
	deviceLine = regexp.MustCompile(
		`^(?:(.+)\((\d+)\): |nvrtc: )?(catastrophic error|error|warning)(?: #\S+)?: (.*)$`)
	hostLine  = regexp.MustCompile(`^(.+?):(\d+):(?:(\d+):)? (fatal error|error|warning): (.*)$`)
	endLine   = regexp.MustCompile(`^At end of source: (catastrophic error|error|warning)(?: #\S+)?: (.*)$`)
	matchLine = regexp.MustCompile(`^(.+)\((\d+)\): note(?: #\S+)?: (to match this .*)$`)
	ptxasLine = regexp.MustCompile(`^(?:nvcc|ptxas|cudafe\+\+)\s*(fatal|error)\s*:\s*(.*)$`)
)

// wantsArch is what a compiler says of what newer architectures have.
var wantsArch = regexp.MustCompile(`not supported for this GPU architecture|has no member "(?:this_cluster|cluster_group)"`)

// ofArch adds to errors that another architecture would not have for which one the source is compiled.
func ofArch(list []Diagnostic, arch string) []Diagnostic {
	for i := range list {
		if wantsArch.MatchString(list[i].Msg) {
			list[i].Msg += fmt.Sprintf(" (compiled for %s: --arch names another, such as sm_90)",
				strings.Replace(arch, "sm_", "compute_", 1))
		}
	}
	return list
}

// diagnostics reads a compiler's log, errors first, with file names as they are reported (paths); source
// gives a file's lines.
func diagnostics(log string, p paths, source func(file string) []string) []Diagnostic {
	var errs, warnings []Diagnostic
	lines := strings.Split(log, "\n")
	for i, line := range lines {
		d, ok := parseDiagnostic(strings.TrimRight(line, "\r"))
		if !ok {
			d, ok = parseEnd(line, lines[i+1:])
		}
		if !ok {
			continue
		}
		full := d.File
		d.File = p.relative(d.File)
		text := sourceLine(source, full, d.File, d.Line)
		d.Text = text
		if d.Col == 0 {
			d.Col = column(lines[i+1:], text, d.Msg)
		}
		if d.Severity == "warning" {
			warnings = append(warnings, d)
		} else {
			errs = append(errs, d)
		}
	}
	return append(errs, warnings...)
}

func parseDiagnostic(line string) (Diagnostic, bool) {
	if m := deviceLine.FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[2]) // absent: 0
		return Diagnostic{File: m[1], Line: n, Severity: m[3], Msg: m[4]}, true
	}
	if m := hostLine.FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		return Diagnostic{File: m[1], Line: n, Col: col, Severity: m[4], Msg: m[5]}, true
	}
	if m := ptxasLine.FindStringSubmatch(line); m != nil {
		return Diagnostic{Severity: "error", Msg: m[2]}, true
	}
	return Diagnostic{}, false
}

// parseEnd reads a complaint about the end of the text: its place is that of the bracket that the note behind
// it names, where there is one.
func parseEnd(line string, rest []string) (Diagnostic, bool) {
	m := endLine.FindStringSubmatch(strings.TrimRight(line, "\r"))
	if m == nil {
		return Diagnostic{}, false
	}
	d := Diagnostic{Severity: m[1], Msg: m[2] + " at the end of the source"}
	if len(rest) > 0 {
		if n := matchLine.FindStringSubmatch(strings.TrimRight(rest[0], "\r")); n != nil {
			d.File, d.Msg = n[1], m[2]+" "+n[3]+", up to the end of the source"
			d.Line, _ = strconv.Atoi(n[2])
		}
	}
	return d, true
}

func sourceLine(source func(string) []string, full, short string, line int) string {
	for _, name := range slices.Compact([]string{short, full}) {
		if lines := source(name); line >= 1 && line <= len(lines) {
			return strings.TrimRight(lines[line-1], " \t\r")
		}
	}
	return ""
}

// quotedName is a name that a message is about; types that it mentions besides are not.
var quotedName = regexp.MustCompile(
	`(?:^|\b(?:identifier|variable|function|member|parameter|label|template|attribute) )"([A-Za-z_]\w*)"`)

// column is where in its line a complaint is: by the caret, where the line above it is the source's own
// (nvcc shows macros expanded), else by the one name that the message quotes and the line has once. 0
// where neither is sure.
func column(rest []string, text, msg string) int {
	if len(rest) >= 2 && strings.TrimSpace(rest[1]) == "^" {
		shown := strings.TrimRight(rest[0], " \t\r")
		caret := strings.IndexByte(rest[1], '^')
		lead := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		indent := len(shown) - len(strings.TrimLeft(shown, " \t"))
		if strings.TrimSpace(shown) == strings.TrimSpace(text) && text != "" && caret >= indent {
			return lead + caret - indent + 1
		}
	}
	m := quotedName.FindStringSubmatch(msg)
	if m == nil {
		return 0
	}
	at := regexp.MustCompile(`\b`+m[1]+`\b`).FindAllStringIndex(text, 2)
	if len(at) != 1 {
		return 0
	}
	return at[0][0] + 1
}

// lines returns what gives a build's files by name: source, headers handed over, and those of
// its own directories.
func (b Build) lines() func(file string) []string {
	return func(file string) []string {
		switch text, ok := b.Headers[file]; {
		case file == b.Name:
			return strings.Split(b.Source, "\n")
		case ok:
			return strings.Split(text, "\n")
		}
		for _, dir := range b.searched() {
			if text, ok := b.Overlay[filepath.Join(dir, filepath.FromSlash(file))]; ok {
				return strings.Split(text, "\n")
			}
			if data, err := readText(filepath.Join(dir, filepath.FromSlash(file))); err == nil {
				return strings.Split(string(data), "\n")
			}
		}
		return nil
	}
}
