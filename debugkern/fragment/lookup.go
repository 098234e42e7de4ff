package fragment

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// FindLookups lists the constant tables by which an entry says which cell of a fragment each element of a
// lane is, for any of the fragments in maps, each judged against the one that it is nearest to. They are
// recognised by their content: data of the module that the entry uses, and arrays with an initialiser in
// its sources, whose numbers a compiler may have folded away. The numbers are pairs (row, column) or
// indices (row·columns + column), lane by lane or element by element. Pairs have to name three quarters of
// a tile's cells, which much data does by chance as indices: of those a quarter has to be right too.
func FindLookups(m *ptx.Module, entry *ptx.Func, source func(file string) []string,
	maps []report.Fragment) []Table {
	var found []Table
	maps = likelyFirst(m, maps)
	arrays := sourceArrays(m, source)
	seen := map[string]bool{}
	for _, v := range m.Vars {
		if v.Space != ptx.SpaceConst && v.Space != ptx.SpaceGlobal || len(v.Relocs) > 0 || !m.Uses(entry, v) {
			continue
		}
		for _, size := range []int{1, 2, 4} {
			t, ok := nearest(numbersIn(v.Init, size), maps)
			if !ok {
				continue
			}
			t.Name, t.Var, t.Line = v.Demangled, v.Name, v.Pos.Line
			if a, ok := arrayNamed(arrays, v.Demangled); ok {
				t.At = a.at
			}
			seen[t.Name] = true
			found = append(found, t)
			break
		}
	}
	for _, a := range append(arrays, joined(arrays, seen)...) {
		executed := slices.ContainsFunc(m.Files, func(f ptx.File) bool { return f.Name == a.at.File })
		if seen[a.name] || !executed { // an include may be left out under the flags of this build
			continue
		}
		if t, ok := nearest(a.numbers, maps); ok {
			t.Name, t.At = a.name, a.at
			seen[a.name] = true
			found = append(found, t)
		}
	}
	return found
}

// likelyFirst puts the fragments of the instructions that a module has first, and accumulators before
// operands, which ldmatrix arranges: several fragments have the same map, and the first is the one that is
// named.
func likelyFirst(m *ptx.Module, maps []report.Fragment) []report.Fragment {
	used := map[string]bool{}
	for _, f := range m.Funcs {
		for _, in := range f.Body {
			used[""] = used[""] || in.Op == "wmma"
			if in.Op == "mma" {
				for _, mod := range in.Mods {
					used[mod] = true
				}
			}
		}
	}
	rank := func(f *report.Fragment) int {
		n := 0
		if !used[f.Instruction] {
			n = 2
		}
		if f.Kind != "acc" {
			n++
		}
		return n
	}
	out := slices.Clone(maps)
	slices.SortStableFunc(out, func(a, b report.Fragment) int { return rank(&a) - rank(&b) })
	return out
}

// numbersIn reads data as integers of size bytes.
func numbersIn(data []byte, size int) []int {
	if len(data)%size != 0 || len(data)/size > maxNumbers {
		return nil
	}
	out := make([]int, len(data)/size)
	for i := range out {
		switch size {
		case 1:
			out[i] = int(data[i])
		case 2:
			out[i] = int(int16(binary.LittleEndian.Uint16(data[2*i:])))
		default:
			out[i] = int(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
	}
	return out
}

// maxNumbers is the most that a table of the largest fragment has: 128 elements of 32 lanes, in pairs.
const maxNumbers = 128 * 32 * 2

// nearest reads numbers as a table of each of the maps, and returns the one with the fewest wrong entries,
// those that one exchange explains counted as few; ok is false where they are no table of any.
func nearest(numbers []int, maps []report.Fragment) (best Table, ok bool) {
	least := 0
	take := func(t Table, cost int) {
		if !ok || cost < least {
			best, ok, least = t, true, cost
		}
	}
	for i := range maps {
		f := &maps[i]
		for _, how := range encodings {
			cells := how.read(numbers, f)
			if cells == nil {
				continue
			}
			doc := &report.Lut{Schema: report.LutSchema, Maps: maps[i : i+1 : i+1]}
			judgeCells(doc, cells)
			table := Table{Cells: cells, Lut: doc, Encoding: how.name}
			switch {
			case how.pairs && exchangedAxes(f, cells) && !*doc.Ordered:
				doc.Explanation = "rows and columns exchanged: read as column, row it is right"
				take(table, min(len(doc.Wrong), explainedCost))
			case !plausible(cells, f, how.pairs):
			case *doc.Covered && !*doc.Ordered:
				cost := len(doc.Wrong)
				if _, whole := explainOrder(f.Lanes, cells, doc.Wrong); whole {
					cost = min(cost, explainedCost)
				}
				take(table, cost)
			default:
				take(table, len(doc.Wrong))
			}
		}
	}
	return best, ok
}

// explainedCost is how many wrong entries a table counts as that one exchange explains: more than a slip or
// two in another table.
const explainedCost = 6

// exchangedAxes reports whether cells are a map with rows and columns exchanged.
func exchangedAxes(f *report.Fragment, cells [][]report.Cell16) bool {
	for l, elems := range cells {
		for e, c := range elems {
			if f.Lanes[l][e] != (report.Cell16{c[1], c[0]}) {
				return false
			}
		}
	}
	return true
}

// encoding is a way to write a map down.
type encoding struct {
	name           string
	pairs, byLanes bool
}

var encodings = []encoding{
	{"[lane][element][row, column]", true, true}, {"[element][lane][row, column]", true, false},
	{"[lane][element] of row·columns + column", false, true},
	{"[element][lane] of row·columns + column", false, false},
}

// index is where the cell of an element of a lane begins among the numbers of a table.
func (x *encoding) index(lane, element int, f *report.Fragment) int {
	i := lane*len(f.Lanes[0]) + element
	if !x.byLanes {
		i = element*len(f.Lanes) + lane
	}
	if x.pairs {
		i *= 2
	}
	return i
}

// read takes numbers as a map in this encoding, with the extents of f; nil where there are more or fewer.
func (x *encoding) read(numbers []int, f *report.Fragment) [][]report.Cell16 {
	per := 1
	if x.pairs {
		per = 2
	}
	elements := len(f.Lanes[0])
	if len(numbers) != len(f.Lanes)*elements*per {
		return nil
	}
	_, cols := f.Extents()
	out := make([][]report.Cell16, len(f.Lanes))
	for l := range out {
		for e := range elements {
			i := x.index(l, e, f)
			if x.pairs {
				out[l] = append(out[l], report.Cell16{numbers[i], numbers[i+1]})
			} else {
				n := numbers[i]
				if n < 0 { // outside, whatever the division makes of it
					out[l] = append(out[l], report.Cell16{-1, n})
					continue
				}
				out[l] = append(out[l], report.Cell16{n / cols, n % cols})
			}
		}
	}
	return out
}

// plausible reports whether cells look like a table of a fragment, wrong or not.
func plausible(cells [][]report.Cell16, f *report.Fragment, pairs bool) bool {
	rows, cols := f.Extents()
	seen, want := map[report.Cell16]bool{}, map[report.Cell16]bool{}
	right, all := 0, 0
	for l := range cells {
		for e, c := range cells[l] {
			all++
			want[f.Lanes[l][e]] = true
			if c[0] >= 0 && c[0] < rows && c[1] >= 0 && c[1] < cols {
				seen[c] = true
			}
			if c == f.Lanes[l][e] {
				right++
			}
		}
	}
	return 4*len(seen) >= 3*len(want) && (pairs || 4*right >= all)
}

// Array is an array of integers that a source initialises.
type Array struct {
	name    string
	at      *report.Source
	numbers []int
	lines   []int // of the numbers
}

// columnNames are the names that an array of columns has by that of the rows.
var columnNames = []*strings.Replacer{
	strings.NewReplacer("row", "col", "Row", "Col", "ROW", "COL"),
	strings.NewReplacer("_r", "_c", "_R", "_C", "r_", "c_", "R_", "C_"),
}

// joined are pairs of arrays of one length of which one has the rows and the other the columns of a
// fragment's cells, by their names: ACC_ROW and ACC_COL. An array of known is a table of its own.
func joined(arrays []Array, known map[string]bool) (out []Array) {
	for i := range arrays {
		a := &arrays[i]
		j := slices.IndexFunc(arrays, func(b Array) bool {
			return slices.ContainsFunc(columnNames, func(r *strings.Replacer) bool {
				return b.name != a.name && b.name == r.Replace(a.name)
			}) && b.at.File == a.at.File && len(b.numbers) == len(a.numbers)
		})
		if j < 0 || known[a.name] || known[arrays[j].name] || len(a.numbers) > maxNumbers/2 {
			continue
		}
		b := &arrays[j]
		both := Array{name: a.name + " and " + b.name, at: a.at}
		for k := range a.numbers {
			both.numbers = append(both.numbers, a.numbers[k], b.numbers[k])
			both.lines = append(both.lines, a.lines[k], b.lines[k])
		}
		out = append(out, both)
	}
	return out
}

func arrayNamed(all []Array, name string) (Array, bool) {
	i := slices.IndexFunc(all, func(a Array) bool { return a.name == name })
	if i < 0 {
		return Array{}, false
	}
	return all[i], true
}

var (
	arrayHead = regexp.MustCompile(`\b([A-Za-z_]\w*)\s*(?:\[[^\]\n]*\]\s*)+=\s*\{`)
	arrayItem = regexp.MustCompile(`^[\s,{}]*([-+]?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)\s*([,}])`)
)

// sourceArrays lists the arrays of integers that the sources of a module and what they include initialise.
func sourceArrays(m *ptx.Module, source func(file string) []string) []Array {
	var out []Array
	for _, file := range sourceFiles(m, source) {
		out = append(out, Arrays(file, strings.Join(source(file), "\n"))...)
	}
	return out
}

// Arrays lists the arrays of integers that the text of a file initialises and that are long enough for the
// map of a warp: at least one number of each of 32 lanes.
func Arrays(file, text string) (out []Array) {
	for _, at := range arrayHead.FindAllStringSubmatchIndex(text, -1) {
		if numbers, lines := initialiser(text[at[1]:]); len(numbers) >= 32 {
			first := 1 + strings.Count(text[:at[1]], "\n")
			for i := range lines {
				lines[i] += first
			}
			out = append(out, Array{
				name:    text[at[2]:at[3]],
				at:      &report.Source{File: file, Line: 1 + strings.Count(text[:at[0]], "\n")},
				numbers: numbers, lines: lines,
			})
		}
	}
	return out
}

// TextTable judges the arrays of a file that look like the table of a fragment, as FindLookups does, and
// returns the one to show: the first that is wrong, else the first; nil where none looks like one. Which
// fragment an array is meant for is a guess, as in nearest. The Explanation names the fragments that it was
// compared with, and how every other array was judged.
func TextTable(path string, arrays []Array, maps []report.Fragment) *Table {
	maps = likelyFirst(&ptx.Module{}, maps)
	var found []Table
	shown, known := 0, map[string]bool{}
	for _, a := range append(arrays, joined(arrays, known)...) {
		t, ok := nearest(a.numbers, maps)
		if !ok {
			continue
		}
		t.Name, t.At = a.name, a.at
		known[a.name] = true
		how := encodings[slices.IndexFunc(encodings, func(x encoding) bool { return x.name == t.Encoding })]
		for i := range t.Wrong {
			w := &t.Wrong[i]
			at := how.index(w.Lane, w.Element, &t.Maps[0])
			if how.pairs && w.Got[0] == w.Want[0] {
				at++
			}
			w.Line = a.lines[at]
		}
		found = append(found, t)
		if *found[shown].Ordered && !*t.Ordered {
			shown = len(found) - 1
		}
	}
	if found == nil {
		return nil
	}
	t := found[shown]
	text := fmt.Sprintf("%s (line %d), %s, read as %s: %s", t.Name, t.At.Line, titles(&t.Maps[0], maps),
		t.Encoding, t.Explanation)
	for i, other := range found {
		if i == shown {
			continue
		}
		is := "is right"
		if !*other.Ordered {
			is = fmt.Sprintf("has %d wrong of %d", len(other.Wrong), len(other.Cells)*len(other.Cells[0]))
		}
		text += fmt.Sprintf("; %s (line %d) %s", other.Name, other.At.Line, is)
	}
	t.Name, t.Explanation = filepath.Base(path), text
	return &t
}

// titles names a fragment, and those that have the same map.
func titles(f *report.Fragment, maps []report.Fragment) string {
	const most = 2
	out, more := f.Title(), 0
	for i := range maps {
		switch x := &maps[i]; {
		case x.Title() == f.Title() || !slices.EqualFunc(x.Lanes, f.Lanes, slices.Equal):
		case more < most:
			more, out = more+1, out+" or "+x.Title()
		default:
			more++
		}
	}
	if more > most {
		out += fmt.Sprintf(" or %d more that have the same map", more-most)
	}
	return out
}

// initialiser reads the integers of nested braces, of which the first is open, each with its line from 0; nil
// where there is anything else in them.
func initialiser(text string) (out, lines []int) {
	end, depth := -1, 1
	for i := 0; i < len(text) && end < 0; i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	if end < 0 {
		return nil, nil
	}
	text, err := withoutComments(text[:end])
	if err != nil {
		return nil, nil
	}
	text += "}"
	whole := text
	for strings.Trim(text, " \t\r\n,{}") != "" {
		m := arrayItem.FindStringSubmatchIndex(text)
		if m == nil || len(out) == maxNumbers {
			return nil, nil
		}
		n, err := strconv.ParseInt(lutSuffix.ReplaceAllString(text[m[2]:m[3]], ""), 0, 32)
		if err != nil {
			return nil, nil
		}
		at := len(whole) - len(text) + m[2]
		out, lines = append(out, int(n)), append(lines, strings.Count(whole[:at], "\n"))
		text = text[m[4]:]
	}
	return out, lines
}

// sourceFiles lists the sources that a module's debug lines name, and what they include in quotes.
func sourceFiles(m *ptx.Module, source func(file string) []string) []string {
	var files []string
	seen := map[string]bool{}
	add := func(file string) {
		if base := filepath.Base(file); !seen[base] {
			seen[base] = true
			files = append(files, file)
		}
	}
	for _, f := range m.Files {
		add(f.Name)
	}
	for i := 0; i < len(files); i++ {
		text := strings.Join(source(files[i]), "\n")
		for _, in := range includeLine.FindAllStringSubmatch(text, -1) {
			add(filepath.ToSlash(filepath.Join(filepath.Dir(files[i]), in[1])))
		}
	}
	return files
}
