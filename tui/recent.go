package tui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/argument"
	"tilescope/debugkern/text"
	"tilescope/tui/view"
)

// maxRecent is how many opened files are remembered.
const maxRecent = 20

// recent are the files that were opened, with their launches: those of earlier sessions too. A line is what
// :open takes, with absolute paths of the file and of what its options name; the last one opened comes first.
type recent struct {
	*view.Context
	lines []string
}

// add remembers a request of a file; one of the catalogue is always offered.
func (r *recent) add(req debugkern.Request) {
	if _, _, err := r.Engine.Catalogue().Lookup(req.Target); err == nil && req.Launch == nil {
		return
	}
	r.addLine(req.Opening())
}

// addLine remembers the words of :open.
func (r *recent) addLine(words []string) {
	line := text.JoinWords(withPaths(words, func(path string) string {
		if whole, err := filepath.Abs(path); err == nil {
			return whole
		}
		return path
	}))
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

// matching lists what begins as typed, or whose file's name does; paths below the working directory are
// relative.
func (r *recent) matching(typed string) []string {
	here, _ := os.Getwd()
	var out []string
	for _, line := range r.lines {
		words, _ := text.Words(line)
		name := filepath.Base(words[0])
		shown := text.JoinWords(withPaths(words, func(path string) string {
			if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
				return rel
			}
			return path
		}))
		for _, s := range []string{shown, line, name} {
			if strings.HasPrefix(s, typed) {
				out = append(out, shown)
				break
			}
		}
	}
	return out
}

// withPaths returns the words of an opening (debugkern.Request.Opening) with what rename makes of each file
// and folder that they name.
func withPaths(words []string, rename func(path string) string) []string {
	out := slices.Clone(words)
	for i := range out {
		option := ""
		if i > 0 {
			option = out[i-1]
		}
		switch option {
		case "--arg":
			if name, value, ok := strings.Cut(out[i], "="); ok {
				out[i] = name + "=" + argument.WithPaths(value, rename)
			}
		case "-I", "--inputs":
			out[i] = rename(out[i])
		case "":
			out[i] = rename(out[i])
		}
	}
	return out
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
	// launch has the options of the grid and the block that are proposed, not given
	launch []string
}

// taken reports whether words open a file with a proposed grid or block as it was proposed.
func (p proposal) taken(words []string) bool {
	for i := 0; i+1 < len(p.launch); i += 2 {
		for k := range words {
			if words[k] == p.launch[i]+"="+p.launch[i+1] ||
				words[k] == p.launch[i] && k+1 < len(words) && words[k+1] == p.launch[i+1] {
				return true
			}
		}
	}
	return false
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
	p.line = "open " + text.JoinWords(words[:1])
	p.why = "launch of " + kernel + ": these numbers are a beginning; change them, Enter opens it"
	added := lacking(words, options)
	for i := 0; i+1 < len(added); i += 2 {
		if added[i] == "--grid" || added[i] == "--block" {
			p.launch = append(p.launch, added[i], added[i+1])
		}
	}
	return p, "open " + text.JoinWords(append(slices.Clone(words), added...))
}

// lacking are the options, of pairs, that words do not give. An argument is given by its name, or by what
// else names the parameter: its index, or its name in the PTX, which ends in the index.
func lacking(words, pairs []string) []string {
	var out []string
	parameter := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		option, value := pairs[i], pairs[i+1]
		names := []string(nil)
		if option == "--arg" {
			name, _, _ := strings.Cut(value, "=")
			names = []string{name, strconv.Itoa(parameter), "_param_" + strconv.Itoa(parameter)}
			parameter++
		}
		if !given(words, option, names) {
			out = append(out, option, value)
		}
	}
	return out
}

// given reports whether words give an option, as one word or as two; an argument of one of some names.
func given(words []string, option string, names []string) bool {
	for i, w := range words {
		value, ok := strings.CutPrefix(w, option+"=")
		if w == option {
			ok = true
			if value = ""; i+1 < len(words) {
				value = words[i+1]
			}
		}
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(value, "=")
		name = strings.TrimSpace(name)
		if names == nil || slices.Contains(names[:2], name) || strings.HasSuffix(name, names[2]) {
			return true
		}
	}
	return false
}
