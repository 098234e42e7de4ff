package tui

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	lines   []string
	guessed map[string]bool // lines whose grid or block is a guess
	// sources are, by line, the launch that the file's source made itself when it was opened, where it did
	sources map[string]string
}

func newRecent(c *view.Context) *recent {
	return &recent{Context: c, guessed: map[string]bool{}, sources: map[string]string{}}
}

// add remembers a request of a file; one of the catalogue is always offered. own are the options of the
// launch that the file's source makes itself, nil where it shows none.
func (r *recent) add(req debugkern.Request, own []string) {
	if _, _, err := r.Engine.Catalogue().Lookup(req.Target); err == nil && req.Launch == nil {
		return
	}
	line := r.addLine(req.Opening())
	if delete(r.guessed, line); req.Guessed {
		r.guessed[line] = true
	}
	if own != nil {
		r.sources[line] = text.JoinWords(own)
	}
}

// madeBy notes the launch that the source of words makes itself, where none is known.
func (r *recent) madeBy(words, own []string) {
	if line := r.line(words); r.sources[line] == "" {
		r.sources[line] = text.JoinWords(own)
	}
}

// line is what :open takes for words, with absolute paths.
func (r *recent) line(words []string) string {
	return text.JoinWords(withPaths(words, func(path string) string {
		if whole, err := filepath.Abs(path); err == nil {
			return whole
		}
		return path
	}))
}

// addLine remembers the words of :open, and returns their line.
func (r *recent) addLine(words []string) string {
	line := r.line(words)
	r.lines = slices.DeleteFunc(r.lines, func(x string) bool { return x == line })
	r.lines = slices.Insert(r.lines, 0, line)
	r.lines = r.lines[:min(len(r.lines), maxRecent)]
	return line
}

// guesses are the lines whose grid or block is a guess.
func (r *recent) guesses() (out []string) {
	for _, line := range r.lines {
		if r.guessed[line] {
			out = append(out, line)
		}
	}
	return out
}

// launches are, by line, the launch that the source made itself.
func (r *recent) launches() map[string]string {
	out := map[string]string{}
	for _, line := range r.lines {
		if own := r.sources[line]; own != "" {
			out[line] = own
		}
	}
	return out
}

// restore takes up what an earlier session remembered.
func (r *recent) restore(lines, guessed []string, sources map[string]string) {
	for _, line := range guessed {
		r.guessed[line] = true
	}
	maps.Copy(r.sources, sources)
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
	Launch() debugkern.ProposedLaunch
}

// proposal is a launch that was put into the prompt for a file, to be changed there.
type proposal struct {
	line string // up to the options: "open k.cu"
	asks bool   // the prompt that has it is open
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

// last are the words that opened a file last, and the launch that its source made itself then; "" where it
// made none.
func (r *recent) last(file string) (words []string, source string) {
	words = r.launched(file)
	if words != nil {
		source = r.sources[r.line(words)]
	}
	return words, source
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
// are the words that opened the file last, nil where none did: they stand for a name alone. Where the source
// made the launch was then, and makes another now, own has what the source has.
func propose(words, own []string, was string, now sourceLaunch, err error) (p proposal, line string) {
	var lacks launchable
	if !errors.As(err, &lacks) {
		return p, ""
	}
	offer := lacks.Launch()
	options, kernel, at := offer.Options, offer.Kernel+offer.Choice(), offer.Line
	if len(options) == 0 {
		return p, ""
	}
	p.line, p.asks = "open "+text.JoinWords(words[:1]), true
	switch {
	case offer.Whole():
		p.why = fmt.Sprintf("launch of %s %s; Enter opens it", kernel, offer.Origin())
	case at > 0:
		p.why = fmt.Sprintf("launch of %s %s; change them, Enter opens it", kernel, offer.Origin())
	default:
		p.why = "launch of " + kernel + ": these numbers are a beginning; change them, Enter opens it"
	}
	other := strings.Join(otherwise(own, now.options), ", ")
	switch {
	case len(words) > 1 || own == nil:
	case other == "":
		words = own
		p.why = "launch of " + kernel + " as it was opened last; Enter opens it"
	case was != "" && was != text.JoinWords(now.options):
		words = withSource(own, now.options, options)
		p.why = fmt.Sprintf(
			"launch of %s as it was opened last, with %s of line %d as it is now; Enter opens it",
			kernel,
			other,
			now.line,
		)
	default:
		words = own
		p.why = fmt.Sprintf(
			"launch of %s as it was opened last; line %d makes it with %s; Enter opens it",
			kernel,
			now.line,
			other,
		)
	}
	words, renamed := fitted(words, options)
	added := lacking(words, options)
	if own != nil && len(added) > 0 {
		renamed = append(renamed, "new: "+text.JoinWords(added))
	}
	if own != nil && renamed != nil {
		head, end, _ := strings.Cut(p.why, "; ")
		p.why = head + ", " + strings.Join(renamed, ", ") + "; " + end
	}
	for i := 0; i+1 < len(added) && at == 0; i += 2 {
		if added[i] == "--grid" || added[i] == "--block" {
			p.launch = append(p.launch, added[i], added[i+1])
		}
	}
	return p, "open " + text.JoinWords(append(slices.Clone(words), added...))
}

// withSource are the words of a launch with the grid, the block and the numbers of the source's, and with the
// extents of a proposed launch for memory that is made by a rule.
func withSource(words, source, proposed []string) []string {
	out := slices.Clone(words)
	for i := range out {
		option, value, one := strings.Cut(out[i], "=")
		if i > 0 && slices.Contains([]string{"--grid", "--block", "--arg"}, out[i-1]) {
			option, value, one = out[i-1], out[i], false
		} else if !one {
			continue
		}
		now := value
		if option == "--arg" {
			name, given, _ := strings.Cut(value, "=")
			if shown := valueOf(source, option, name); shown != "" && sameSource(given, shown) {
				now = name + "=" + shown
			} else if memory := valueOf(proposed, option, name); memory != "" {
				now = name + "=" + withExtents(given, memory)
			}
		} else if x := valueOf(source, option, ""); x != "" {
			now = x
		}
		if one {
			now = option + "=" + now
		}
		out[i] = now
	}
	return out
}

// valueOf is the value that pairs have for an option, of an argument by its name; "" where they have none.
func valueOf(pairs []string, option, name string) string {
	for k := 0; k+1 < len(pairs); k += 2 {
		if pairs[k] != option {
			continue
		}
		if name == "" {
			return pairs[k+1]
		}
		if of, value, _ := strings.Cut(pairs[k+1], "="); of == name {
			return value
		}
	}
	return ""
}

// withExtents is SOURCE:DTYPE[DIMS] with the DIMS of another value of the same DTYPE; what else a value is
// stays.
func withExtents(value, other string) string {
	head, dims, ok := strings.Cut(value, "[")
	otherHead, otherDims, otherOK := strings.Cut(other, "[")
	dtype := func(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }
	if !ok || !otherOK || !strings.HasSuffix(dims, "]") || dtype(head) != dtype(otherHead) {
		return value
	}
	return head + "[" + otherDims
}

// otherwise is what of a launch, by pairs, is another than words give: grid, block, numbers, structs, and
// memory of the same source with other numbers or extents.
func otherwise(words, pairs []string) (out []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		option, value := pairs[i], pairs[i+1]
		name, number := "", value
		if option == "--arg" {
			name, number, _ = strings.Cut(value, "=")
		} else if option != "--grid" && option != "--block" {
			continue
		}
		for k := range words {
			own, one := strings.CutPrefix(words[k], option+"=")
			if words[k] == option && k+1 < len(words) {
				own, one = words[k+1], true
			}
			own, one = cutArgument(own, name, one)
			if one && sameSource(own, number) && !sameNumbers(own, number) {
				out = append(out, cmp.Or(name, strings.TrimPrefix(option, "--"))+"="+number)
			}
		}
	}
	return out
}

// sameSource reports values of the same source: both numbers or structs, or memory that is made by the same
// rule.
func sameSource(a, b string) bool {
	source := func(s string) string {
		if strings.HasPrefix(s, "{") || !strings.Contains(s, ":") {
			return ""
		}
		return s[:strings.IndexAny(s, "(:")]
	}
	return source(a) == source(b)
}

// cutArgument is the value of NAME=VALUE where that is of a name; "" as the name takes all of it.
func cutArgument(text, name string, is bool) (value string, ok bool) {
	if name == "" {
		return text, is
	}
	of, value, _ := strings.Cut(text, "=")
	return value, is && of == name
}

// sameNumbers compares "2,3" with "2,3,1", and "0.5" with "0.50".
func sameNumbers(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return x == y
	}
	whole := func(s string) string {
		s = strings.ReplaceAll(s, " ", "")
		for s != strings.TrimSuffix(s, ",1") {
			s = strings.TrimSuffix(s, ",1")
		}
		return s
	}
	return whole(a) == whole(b)
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

// lacking are the options, of pairs and perhaps one without a value behind them, that words do not give. An
// argument is given by its name, or by what else names the parameter: its index, or its name in the PTX,
// which ends in the index.
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
	if len(pairs)%2 == 1 && !slices.Contains(words, pairs[len(pairs)-1]) { // an option without a value
		out = append(out, pairs[len(pairs)-1])
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
