package probes

// Node is one operation of the computation that a stage stands for, with every parameter resolved to
// numbers. What an operation computes is defined by its operator alone (debugkern/ref/op), which is
// found by the name in Op.
type Node struct {
	Op     string
	Args   []Operand
	Params Params
}

// Largest reports whether a node is a maximum, of a row or of parts of a kernel's own.
func (n *Node) Largest() bool {
	return n != nil && (n.Op == "rowmax" || n.Params.Word["how"] == "max")
}

// Operand is what a node is computed from: another node's value where Node is set, an input where Tensor is,
// else a stage's tile.
type Operand struct {
	Node   *Node
	Tensor string
	Stage  Stage
	Before bool // the stage's tile of the iteration before; in the first one it has none
}

// Params are the parameters of a node, by the names that its operator documents.
type Params struct {
	Number map[string]float64
	Word   map[string]string
	Index  map[string][]Extent // positions in a tensor, one for each of its dimensions
	Mask   Mask
}

// Mask says which cells of a tile take part: those for which every rule has a term that is not negative. An
// empty mask hides nothing.
type Mask []Rule

// Rule holds where one of its terms is 0 or more.
type Rule []Linear

// Linear is Base + Row·r + Col·c for cell (r, c) of a tile; Base depends on the block and the iteration.
type Linear struct {
	Base     Extent
	Row, Col int
}

// At returns the term's value for a cell.
func (l *Linear) At(block Dim3, iter, r, c int) int {
	return l.Base.At(block, iter) + l.Row*r + l.Col*c
}

// Visible reports whether cell (r, c) takes part.
func (m Mask) Visible(block Dim3, iter, r, c int) bool {
	for _, rule := range m {
		ok := false
		for i := range rule {
			if rule[i].At(block, iter, r, c) >= 0 {
				ok = true
				break
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// All reports whether every cell of the first rows and cols takes part. A linear term is least in a corner,
// so corners decide; it may be false where every cell does take part, by different terms of one rule.
func (m Mask) All(block Dim3, iter, rows, cols int) bool {
	if rows == 0 || cols == 0 {
		return true
	}
	for _, rule := range m {
		ok := false
		for i := range rule {
			l := &rule[i]
			least := min(l.At(block, iter, 0, 0), l.At(block, iter, rows-1, 0), l.At(block, iter, 0, cols-1),
				l.At(block, iter, rows-1, cols-1))
			ok = ok || least >= 0
		}
		if !ok {
			return false
		}
	}
	return true
}
