package walk

import (
	"slices"
	"strings"

	"tilescope/debugkern/target"
)

// entry says who may stop at an instruction because a source line begins there: 0 where none does. The
// compiler interleaves the instructions of neighbouring statements, moves some of them, and unrolls loops, so
// that the places at which the line number changes are many more than the statements that begin there.
type entry uint8

const (
	// forBreaks: a breakpoint on the line stops: it is the line's first instruction in its basic block.
	forBreaks entry = 1 << iota
	// forSteps: a step by lines ends, for the same reason, or because a run of instructions of the line
	// begins with the same operation as the first one of the block, another copy of an unrolled statement.
	// Not where the line's instructions only compute indices amid those of a later line.
	forSteps
	// breaksIfLed and stepsIfLed: they do if the block's first instruction went on with the line of the
	// block before. It is the second run of that line in the block, and the first one was the end of a
	// statement.
	breaksIfLed
	stepsIfLed
	// stepsIfNew: a step ends if the block before was not of the line. Only indices of earlier lines stand
	// between it and the block's start.
	stepsIfNew
)

// stopsAtBreak are those of instructions at which a breakpoint may stop.
const stopsAtBreak = forBreaks | breaksIfLed

// spot is a source line in a function. Inlined copies of a function are different ones.
type spot struct {
	function string
	file     string
	line     int
}

// lineMap is, by PC, the number of a source line (-1: none), equal for equal lines, and where it is.
type lineMap struct {
	numbers []int32
	spots   []spot
}

func (m *lineMap) add(src *target.Source, number int32) {
	at := spot{}
	if src != nil {
		at = spot{string(src.Calls), src.File, src.Line}
	}
	m.numbers, m.spots = append(m.numbers, number), append(m.spots, at)
}

// begins reports whether the event's warp begins a line, of those in the map, for those who ask.
func (w *walker) begins(e *target.Event, lines lineMap, at, asks entry) bool {
	if at == 0 || !w.enters(e, lines.numbers) {
		return false
	}
	before := int32(-1)
	if from := w.came[e.Warp]; from >= 0 {
		before = lines.numbers[from]
	}
	if before >= 0 && before == lines.numbers[w.heads[e.PC]] {
		asks |= asks * (breaksIfLed / forBreaks)
	}
	return at&asks != 0 || asks&forSteps != 0 && at&stepsIfNew != 0 && before != lines.numbers[e.PC]
}

// run is instructions of one line that follow each other in a basic block.
type run struct {
	pc     int // of its first instruction
	end    int // of the one after its last
	number int32
	at     spot
}

// entriesOf returns, by PC, whether a line begins.
func entriesOf(lines lineMap, heads []int, listing []Listing) []entry {
	op := make([]string, len(heads))
	for _, l := range listing {
		if l.PC >= 0 {
			op[l.PC] = operation(l.Text)
		}
	}
	starts := startsOf(lines, heads, op)
	out := make([]entry, len(heads))
	for first := 0; first < len(heads); {
		end := first
		var runs []run
		for ; end < len(heads) && heads[end] == first; end++ {
			if n := lines.numbers[end]; len(runs) == 0 || runs[len(runs)-1].number != n {
				runs = append(runs, run{end, end, n, lines.spots[end]})
			}
			runs[len(runs)-1].end = end + 1
		}
		runs = slices.DeleteFunc(runs, func(r run) bool { return r.number < 0 })
		ofBlock(runs, lines.spots[max(0, first-1)], op, starts, out)
		first = end
	}
	return out
}

// operation is the instruction's name without its guard: "ld.shared.f32".
func operation(text string) string {
	if strings.HasPrefix(text, "@") {
		_, text, _ = strings.Cut(text, " ")
	}
	name, _, _ := strings.Cut(text, " ")
	return name
}

// ofBlock sets the entries of one basic block's runs. lead is the line of the instruction before the block in
// the text.
func ofBlock(runs []run, lead spot, op []string, starts map[start]bool, out []entry) {
	first, count := map[int32]int{}, map[int32]int{} // by line: PC and number of its runs
	onlyMoved := true                                // so far
	for i, r := range runs {
		if count[r.number]++; count[r.number] == 1 {
			first[r.number], out[r.pc] = r.pc, forBreaks
			switch {
			case isMoved(runs, i, lead, op, out):
			case i > 0 && onlyMoved:
				out[r.pc] |= stepsIfNew
				onlyMoved = false
			default:
				out[r.pc] |= forSteps
				onlyMoved = false
			}
			continue
		}
		if op[r.pc] == op[first[r.number]] && out[first[r.number]]&forSteps != 0 {
			out[r.pc] = forSteps
		}
		if count[r.number] != 2 || r.number != runs[0].number {
			continue
		}
		for _, between := range runs[1:i] {
			if calledFrom(between.at, r.at) {
				continue
			}
			if out[r.pc] |= breaksIfLed; out[between.pc] != forBreaks || starts[start{r.number, op[r.pc]}] {
				out[r.pc] |= stepsIfLed
			}
		}
	}
}

// start is an operation with which a line begins.
type start struct {
	line int32
	op   string
}

// startsOf returns the operations with which lines begin: those of their first instructions in a basic block
// after instructions of other lines.
func startsOf(lines lineMap, heads []int, op []string) map[start]bool {
	out := map[start]bool{}
	for pc, n := range lines.numbers {
		if n >= 0 && (pc == 0 || lines.numbers[pc-1] != n) &&
			!slices.Contains(lines.numbers[max(0, heads[pc]-1):pc], n) {
			out[start{n, op[pc]}] = true
		}
	}
	return out
}

// calledFrom reports whether a line lies in a function that was inlined at another one.
func calledFrom(inner, outer spot) bool {
	sites := target.Calls(inner.function).Sites()
	depth := len(target.Calls(outer.function).Sites())
	return depth < len(sites) && sites[depth].File == outer.file && sites[depth].Line == outer.line
}

// isMoved reports whether a run, the first of its line in the block, computes addresses and the like between
// two runs of the same later line of its function: values that the compiler computes where they are first
// needed, or computes again.
func isMoved(runs []run, i int, lead spot, op []string, out []entry) bool {
	around := lead
	for _, r := range runs[:i] {
		if out[r.pc] != forBreaks {
			around = r.at
		}
	}
	if !around.later(runs[i].at) {
		return false
	}
	for _, name := range op[runs[i].pc:runs[i].end] {
		if !ofIndices(name) {
			return false
		}
	}
	for _, r := range runs[i+1:] {
		if r.at == around {
			return true
		}
		if !around.later(r.at) {
			return false
		}
	}
	return false
}

// later reports whether a line is a later one than another of the same function.
func (s spot) later(than spot) bool {
	return s.function == than.function && s.file == than.file && s.line > than.line
}

// ofIndices reports whether an operation is one of those that indices, addresses and conditions on them are
// computed with.
func ofIndices(op string) bool {
	name, types, _ := strings.Cut(op, ".")
	switch name {
	case "mov", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "cvt", "cvta", "min",
		"max", "setp", "selp", "div", "rem":
		return !strings.Contains("."+types, ".f") && !strings.Contains(types, "bf16")
	}
	return false
}

// headsOf returns, by PC, the first instruction of its basic block: one after a branch, or at a label.
func headsOf(listing []Listing) []int {
	var out []int
	head, parted := 0, true
	for _, l := range listing {
		if l.PC < 0 {
			parted = parted || strings.HasSuffix(l.Text, ":") || strings.HasPrefix(l.Text, ".func")
			continue
		}
		if parted {
			head = l.PC
		}
		out = append(out, head)
		parted = l.Target >= 0
	}
	return out
}
