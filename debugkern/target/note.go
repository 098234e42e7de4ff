package target

import "strings"

// CompilerNote is something that ptxas does otherwise than the PTX says, and prints.
type CompilerNote struct {
	Code     string // "C7515", "" where it has none
	Text     string // in ptxas's words, without the function and the line
	Function string // the name in the PTX, "" where it names none
	Line     int    // of the PTX that was compiled, 0: it names none
}

// noteKind is a kind of note, by words of its text.
type noteKind struct {
	words   string
	repairs bool
	remedy  string
}

// noteKinds are the notes of ptxas 12.0 to 13.0, the narrower words first.
var noteKinds = []noteKind{
	{"warpgroup.arrive is injected", true, "wgmma.fence before the products, behind what writes their registers"},
	{"warpgroup.wait is injected", true, "wgmma.wait_group before the registers of a product are used"},
	{"defining input registers", true,
		"wgmma.wait_group before registers of A are written, and wgmma.fence before the next product"},
	{"reading accumulator registers", true, "wgmma.wait_group before accumulators are read"},
	{"defining accumulator registers", true,
		"wgmma.wait_group before accumulators are written, and wgmma.fence before the next product"},
	{"ill formed pipeline stage", true, "wgmma.fence before the products, and wgmma.commit_group and " +
		"wgmma.wait_group behind them, on every path"},
	{"insufficient register resources", false, "fewer registers in use during the products, or more for a thread"},
	{"Extern calls", false, "no call of a function that is compiled elsewhere during the products"},
	{"crossing function boundary", false, "fence, products and wait in one function, with what it calls inlined"},
	{"unable to determine register count", false, "__launch_bounds__(threads, 1), or .maxnreg"},
}

// String returns the text with the code, without the function.
func (n *CompilerNote) String() string {
	if n.Code == "" {
		return n.Text
	}
	return n.Text + " (" + n.Code + ")"
}

// Words of the lines that are notes: each has one of these.
const (
	serialized = "wgmma.mma_async instructions are serialized"
	injected   = "is injected in"
	ignored    = "'setmaxnreg' ignored"
)

// IsNote reports whether a line of ptxas's output is a CompilerNote.
func IsNote(line string) bool {
	return strings.Contains(line, serialized) || strings.Contains(line, injected) ||
		strings.Contains(line, ignored)
}

// Serializes reports whether each product waits for the one before it in the code that ptxas made.
func (n *CompilerNote) Serializes() bool { return strings.Contains(n.Text, serialized) }

// IgnoresRegisters reports whether the code that ptxas made has no setmaxnreg.
func (n *CompilerNote) IgnoresRegisters() bool { return strings.Contains(n.Text, ignored) }

func (n *CompilerNote) kind() noteKind {
	for _, k := range noteKinds {
		if strings.Contains(n.Text, k.words) {
			return k
		}
	}
	return noteKind{}
}

// Repairs reports whether the code that ptxas made orders what the PTX leaves undefined: then that a GPU
// gives right results does not show that the PTX is right.
func (n *CompilerNote) Repairs() bool { return n.kind().repairs }

// Remedy is what would have ptxas do as the PTX says; "" where that is not known.
func (n *CompilerNote) Remedy() string { return n.kind().remedy }
