package tui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/text"
	"tilescope/tui/view"
)

// maxRecent is how many opened files are remembered.
const maxRecent = 20

// recent are the files that were opened, with their launches: those of earlier sessions too. A line is what
// :open takes, with the file's absolute path; the last one opened comes first.
type recent struct {
	*view.Context
	lines []string
}

// add remembers a request of a file; one of the catalogue is always offered.
func (r *recent) add(req debugkern.Request) {
	if _, _, err := r.Engine.Catalogue().Lookup(req.Target); err == nil && req.Launch == nil {
		return
	}
	words := req.Opening()
	if path, err := filepath.Abs(words[0]); err == nil {
		words[0] = path
	}
	line := spelled(words)
	r.lines = slices.DeleteFunc(r.lines, func(x string) bool { return x == line })
	r.lines = slices.Insert(r.lines, 0, line)
	r.lines = r.lines[:min(len(r.lines), maxRecent)]
}

// restore takes up what an earlier session remembered.
func (r *recent) restore(lines []string) {
	for _, line := range lines[:min(len(lines), maxRecent)] {
		if words, closed := text.Words(line); closed && len(words) > 0 && filepath.IsAbs(words[0]) {
			r.lines = append(r.lines, line)
		}
	}
}

// matching lists what begins as typed, or whose file's name does; of a file below the working directory the
// path is relative.
func (r *recent) matching(typed string) []string {
	here, _ := os.Getwd()
	var out []string
	for _, line := range r.lines {
		words, _ := text.Words(line)
		name := filepath.Base(words[0])
		if rel, err := filepath.Rel(here, words[0]); err == nil && filepath.IsLocal(rel) {
			words[0] = rel
		}
		shown := spelled(words)
		for _, s := range []string{shown, line, name} {
			if strings.HasPrefix(s, typed) {
				out = append(out, shown)
				break
			}
		}
	}
	return out
}

// spelled joins words so that text.Words finds them again, with no more quotes than that takes.
func spelled(words []string) string {
	out := slices.Clone(words)
	for i, w := range out {
		switch {
		case w != "" && !strings.ContainsAny(w, " \t'\""):
		case !strings.Contains(w, "'"):
			out[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			out[i] = `"` + w + `"`
		default:
			out[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// launchable is an error of a file that was given without its launch: it has one to begin with.
type launchable interface {
	error
	Launch() (options []string, kernel string)
}

// proposal is a launch that was put into the prompt for a file, to be changed there.
type proposal struct {
	line string // up to the options: "open k.cu"
	why  string
}

// propose is the line of :open for a file that was given without its launch, with one to begin with; "" where
// an error is another one, or the launch is not known.
func propose(words []string, err error) (p proposal, line string) {
	var lacks launchable
	if !errors.As(err, &lacks) {
		return p, ""
	}
	options, kernel := lacks.Launch()
	if len(options) == 0 {
		return p, ""
	}
	p.line = "open " + spelled(words[:1])
	p.why = "launch of " + kernel + ": these numbers are a beginning; change them, Enter opens it"
	return p, "open " + spelled(append(slices.Clone(words), lacking(words, options)...))
}

// lacking are the options, of pairs, that words do not give.
func lacking(words, pairs []string) []string {
	given := func(option, value string) bool {
		name, _, _ := strings.Cut(value, "=")
		for i, w := range words {
			switch {
			case option == "--arg" && w == option && i+1 < len(words):
				if strings.HasPrefix(words[i+1], name+"=") {
					return true
				}
			case option == "--arg" && strings.HasPrefix(w, "--arg="+name+"="):
				return true
			case option != "--arg" && (w == option || strings.HasPrefix(w, option+"=")):
				return true
			}
		}
		return false
	}
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if !given(pairs[i], pairs[i+1]) {
			out = append(out, pairs[i], pairs[i+1])
		}
	}
	return out
}
