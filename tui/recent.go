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

// launched are the words that opened a file last, with its launch: those of the request on screen, else of
// what was opened before; nil where it was not opened.
func (r *recent) launched(file string) []string {
	whole, err := filepath.Abs(file)
	if err != nil {
		return nil
	}
	if of, err := filepath.Abs(r.Req.Target); err == nil && of == whole && len(r.Req.Launch) > 0 {
		return append([]string{file}, r.Req.Opening()[1:]...)
	}
	for _, line := range r.lines {
		if words, _ := text.Words(line); words[0] == whole && len(words) > 1 {
			return append([]string{file}, words[1:]...)
		}
	}
	return nil
}

// propose is the line of :open for a file that was given without its launch, or with arguments that are no
// parameters', with a launch to begin with; "" where an error is another one, or the launch is not known. own
// are the words that opened the file last, nil where none did: they stand for a name alone.
func propose(words, own []string, err error) (p proposal, line string) {
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
	if len(words) == 1 && own != nil {
		words = own
		p.why = "launch of " + kernel + " as it was opened last; Enter opens it"
	}
	words, renamed := fitted(words, options)
	added := lacking(words, options)
	if own != nil && len(added) > 0 {
		renamed = append(renamed, "new: "+text.JoinWords(added))
	}
	if own != nil && renamed != nil {
		p.why = "launch of " + kernel + " as it was opened last, " + strings.Join(renamed, ", ") +
			"; Enter opens it"
	}
	for i := 0; i+1 < len(added); i += 2 {
		if added[i] == "--grid" || added[i] == "--block" {
			p.launch = append(p.launch, added[i], added[i+1])
		}
	}
	return p, "open " + text.JoinWords(append(slices.Clone(words), added...))
}

// fitted are the words of a launch without the arguments whose names are no parameter's by the pairs of a
// proposed launch. Where as many arguments are given as there are parameters, such an argument goes with the
// parameter in its place, if that has none. changes says what was done.
func fitted(words, pairs []string) (out, changes []string) {
	var names []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, _, _ := strings.Cut(pairs[i+1], "="); pairs[i] == "--arg" {
			names = append(names, name)
		}
	}
	if names == nil {
		return words, nil
	}
	args := 0
	for i, w := range words {
		if strings.HasPrefix(w, "--arg=") || w == "--arg" && i+1 < len(words) {
			args++
		}
	}
	place := -1
	for i := 0; i < len(words); i++ {
		value, one := strings.CutPrefix(words[i], "--arg=")
		two := words[i] == "--arg" && i+1 < len(words)
		if two {
			i++
			value = words[i]
		}
		if !one && !two {
			out = append(out, words[i])
			continue
		}
		place++
		name, given, _ := strings.Cut(value, "=")
		switch {
		case isParameter(name, names) || mapsOf(words, name):
			out = append(out, "--arg", value)
		case args == len(names) && lacks(words, names[place], place):
			out = append(out, "--arg", names[place]+"="+given)
			changes = append(changes, name+" is now "+names[place])
		default:
			changes = append(changes, "without "+name)
		}
	}
	return out, changes
}

// isParameter reports whether --arg takes a name for one of the parameters: a name of the source, an index,
// or a name of the PTX, which ends in the index.
func isParameter(name string, names []string) bool {
	if slices.Contains(names, name) {
		return true
	}
	_, index, ptx := strings.Cut(name, "_param_")
	if !ptx {
		index = name
	}
	n, err := strconv.Atoi(index)
	return err == nil && n >= 0 && n < len(names)
}

// mapsOf reports whether a tensor map among the arguments is of memory of that name.
func mapsOf(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(w, "of: "+name+",") || strings.Contains(w, "of:"+name+",")
	})
}

// lacks reports whether words give no argument to a parameter.
func lacks(words []string, name string, index int) bool {
	return !given(words, "--arg", []string{name, strconv.Itoa(index), "_param_" + strconv.Itoa(index)})
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
