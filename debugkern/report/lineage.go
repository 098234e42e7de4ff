package report

import (
	"fmt"
	"math"
	"path"
	"strings"
)

// LineageSchema names the document that lineage prints.
const LineageSchema = "tilescope.lineage/1"

// Lineage is the document tilescope.lineage/1: what one cell is made of.
type Lineage struct {
	Schema string  `json:"schema"`
	Target string  `json:"target"`
	Shape  string  `json:"shape"`
	Seed   uint64  `json:"seed"`
	Cell   string  `json:"cell"` // "U@2[3,17]"
	Block  [3]int  `json:"block"`
	Value  *Number `json:"value"` // null where it is not known
	// Nodes are operations and leaves; the first is what made the cell. Where a loop's iteration takes what
	// one before it made, Of leads back to a node above.
	Nodes     []LineageNode `json:"nodes"`
	Truncated bool          `json:"truncated,omitempty"` // there was more than is followed
	// MadeOf is, where it is wanted, the elements of arguments that the cell is made of.
	MadeOf []LineageElements `json:"made_of,omitempty"`
}

// LineageElements are elements of one argument that a cell is made of in one way.
type LineageElements struct {
	Name     string `json:"name"`
	Elements string `json:"elements"` // "x[256..511]", shortened where there are many runs
	Indices  []int  `json:"indices"`  // flat, sorted
	Kind     string `json:"kind"`     // value, address, control
	// Elsewhere: as another block of the launch left them, else as the launch found them
	Elsewhere bool `json:"written_by_other_blocks,omitempty"`
	// Least and Most are in how many ways an element enters.
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
}

// Text is the elements in a line.
func (e *LineageElements) Text() string {
	text := fmt.Sprintf("%s: %d elements", e.Elements, len(e.Indices))
	if len(e.Indices) == 1 {
		text = e.Elements + ": 1 element"
	}
	if e.Kind != "value" {
		return text + ", by " + e.Kind
	}
	switch {
	case e.Least == e.Most && e.Least == 1:
		text += ", once"
	case e.Least == e.Most:
		text += fmt.Sprintf(", %d times", e.Least)
	default:
		text += fmt.Sprintf(", %d to %d times", e.Least, e.Most)
	}
	if len(e.Indices) > 1 {
		text += " each"
	}
	if e.Elsewhere {
		text += ", as other blocks left them (--across)"
	}
	return text
}

// Headline is the cell, its value and its block.
func (l *Lineage) Headline() string {
	text := l.Cell
	if l.Value != nil {
		text += " = " + l.Value.Text()
	}
	return text + fmt.Sprintf(", block %d,%d,%d", l.Block[0], l.Block[1], l.Block[2])
}

// LineageNode is what one operation of the source made on the way to a cell, or (Of empty) one kind of leaf.
type LineageNode struct {
	ID    int    `json:"id"`
	Op    string `json:"op"` // "sum of 64 products", "ex2(a)", "stored to sP[3][0..63]"; of a leaf its name
	Instr string `json:"instruction,omitempty"`
	// Source: null of what the source does not say; of several lines the first
	Source *Source  `json:"source"`
	Line   int      `json:"last_line,omitempty"` // the last of several
	Warp   *int     `json:"warp"`                // null: none, or several: Warps
	Warps  []int    `json:"warps,omitempty"`
	Lanes  []int    `json:"lanes"`
	Value  *Number  `json:"value"` // of one value, and of a sum its total; null: several, or not known
	Low    *Number  `json:"low,omitempty"`
	High   *Number  `json:"high,omitempty"`
	Values []Number `json:"values,omitempty"` // of two to four, where known: all, in the order of execution
	Count  int      `json:"count"`            // values
	Kind   string   `json:"kind"`             // value, address, control: how the cell depends on it
	Of     []int    `json:"of"`               // IDs
	// Uses is Of with how: which operand of the instruction (1 is the first source; -1: none) and by which
	// kind of dependence.
	Uses    []LineageUse `json:"uses,omitempty"`
	Element string       `json:"element,omitempty"` // of a leaf or a memory access: "K[0][1][17][0..63]"
	Block   *[3]int      `json:"block,omitempty"`   // of a node of another block
	At      *LineageAt   `json:"at,omitempty"`      // of one of its values, of a sum the total
	// Iterations of the block's loop over tiles in which the values were made, where that are several and all
	// are known; Loop is that loop's name
	Iterations []int  `json:"iterations,omitempty"`
	Loop       string `json:"loop,omitempty"`
}

// LineageAt is when, on the block's clock, a lane executed an instruction.
type LineageAt struct {
	Step uint64 `json:"step"`
	Warp int    `json:"warp"`
	Lane int    `json:"lane"`
	// Line is the instruction's, in the file of Source; of a node of several lines
	Line int `json:"line,omitempty"`
}

// LineageUse is one operand of a node.
type LineageUse struct {
	Of      int    `json:"of"`
	Operand int    `json:"operand"`
	Kind    string `json:"kind"`
}

// LineageLine is one line of the printed tree. Node is the index of the node it is about, -1 of none.
type LineageLine struct {
	Text string
	// Brief is Text for a narrow place: threads come before the source line, which has its file only where
	// that is not the file of the line above.
	Brief string
	Node  int
}

// Tree lays the nodes out as a tree, to a depth (0: all). A node that was printed before is
// named by its number.
func (l *Lineage) Tree(depth int) []LineageLine {
	p := &lineagePrinter{l: l, depth: depth, printed: map[int]bool{}, again: map[int]int{}}
	for i := range l.Nodes {
		for _, u := range l.Nodes[i].Uses {
			p.again[u.Of]++
		}
	}
	p.lines = append(p.lines, LineageLine{l.Headline(), l.Headline(), -1})
	if len(l.Nodes) > 0 {
		p.node(0, "", "", true, 1)
	}
	if l.Truncated {
		const more = "… and more, which is not followed"
		p.lines = append(p.lines, LineageLine{more, more, -1})
	}
	return p.lines
}

// Text is a number for a person: six digits, or NaN and infinities in words.
func (n *Number) Text() string {
	v := float64(*n)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}

// lineagePrinter prints one tree.
type lineagePrinter struct {
	l       *Lineage
	depth   int
	printed map[int]bool
	again   map[int]int // how often each node is an operand
	file    string      // of the last line that has one
	lines   []LineageLine
}

// node prints a node and what it is made of. the line begins with lead, operand names what it is
// for the node above.
func (p *lineagePrinter) node(i int, lead, operand string, last bool, depth int) {
	n := &p.l.Nodes[i]
	branch, under := "├─ ", "│  "
	if last {
		branch, under = "└─ ", "   "
	}
	text := lead + branch
	if operand != "" {
		text += operand + ": "
	}
	if p.again[i] > 1 && len(n.Uses) > 0 {
		text += fmt.Sprintf("#%d ", n.ID)
	}
	if p.printed[i] && len(n.Uses) > 0 {
		text += n.Op + " (above)"
		p.lines = append(p.lines, LineageLine{text, text, i})
		return
	}
	p.printed[i] = true
	uses := n.Uses
	text += n.Op
	if inline, ok := p.factors(n); ok {
		text, uses = text+": "+inline, nil
	}
	value, threads := n.valueText(), n.threads()
	brief := text + n.inTurn() + n.when() + value + threads + n.place(p.file)
	if text += value + n.place("") + threads; n.Source != nil {
		p.file = n.Source.base()
	}
	if p.depth > 0 && depth >= p.depth && len(uses) > 0 {
		p.lines = append(p.lines, LineageLine{text + " …", brief + " …", i})
		return
	}
	p.lines = append(p.lines, LineageLine{text, brief, i})
	fresh, again := p.apart(uses)
	for k, u := range fresh {
		p.node(p.at(u.Of), lead+under, n.operand(u), k == len(fresh)-1 && again == "", depth+1)
	}
	if again != "" {
		text := lead + under + "└─ " + again
		p.lines = append(p.lines, LineageLine{text, text, i})
	}
}

// apart takes out what a node depends on by address or control and was printed before: a line
// names it by number.
func (p *lineagePrinter) apart(uses []LineageUse) (fresh []LineageUse, again string) {
	for _, kind := range []string{"address", "control"} {
		var list []string
		for _, u := range uses {
			if i := p.at(u.Of); u.Kind == kind && p.printed[i] && len(p.l.Nodes[i].Uses) > 0 {
				list = append(list, fmt.Sprintf("#%d", u.Of))
			}
		}
		if list != nil && again != "" {
			again += "; "
		}
		if list != nil {
			again += kind + ": " + strings.Join(list, " ") + " (above)"
		}
	}
	for _, u := range uses {
		if i := p.at(u.Of); u.Kind == "value" || !p.printed[i] || len(p.l.Nodes[i].Uses) == 0 {
			fresh = append(fresh, u)
		}
	}
	return fresh, again
}

func (p *lineagePrinter) at(id int) int {
	for i := range p.l.Nodes {
		if p.l.Nodes[i].ID == id {
			return i
		}
	}
	return 0
}

// factors writes the operands of a sum of products in one line, where both are elements of tensors.
func (p *lineagePrinter) factors(n *LineageNode) (text string, ok bool) {
	if !strings.Contains(n.Op, "product") {
		return "", false
	}
	var parts [2][]string
	rest := false
	for _, u := range n.Uses {
		of := &p.l.Nodes[p.at(u.Of)]
		if len(of.Uses) > 0 || of.Element == "" && u.Operand < 3 || u.Kind != "value" || u.Operand < 1 {
			return "", false
		}
		if u.Operand <= 2 {
			parts[u.Operand-1] = append(parts[u.Operand-1], of.Op)
		} else if of.Op != "0" {
			rest = true
		}
	}
	if len(parts[0]) == 0 || len(parts[1]) == 0 || rest {
		return "", false
	}
	return strings.Join(parts[0], ", ") + " · " + strings.Join(parts[1], ", "), true
}

// valueText is a node's value, its few values in the order in which they were made, or the least and the
// greatest of many.
func (n *LineageNode) valueText() string {
	switch {
	case n.Value != nil:
		return " = " + n.Value.Text()
	case n.Low == nil || n.High == nil:
		return ""
	case *n.Low == *n.High:
		return " = " + n.Low.Text() + " each"
	case n.Values == nil:
		return " = " + n.Low.Text() + " … " + n.High.Text()
	}
	parts := make([]string, len(n.Values))
	for i := range n.Values {
		parts[i] = n.Values[i].Text()
	}
	if n.oneLane() {
		return " = " + strings.Join(parts, ", then ")
	}
	return " = " + strings.Join(parts, ", ")
}

// oneLane reports whether one lane executed the operation, every time.
func (n *LineageNode) oneLane() bool { return n.Warp != nil && len(n.Lanes) == 1 }

// inTurn says of several values that one lane made them one after another, in a loop or in copies of a
// statement.
func (n *LineageNode) inTurn() string {
	if n.oneLane() && n.Count > 1 && n.Values == nil && strings.HasSuffix(n.Op, " values") {
		return " in turn"
	}
	return ""
}

// when names the iterations in which several values were made: in kv 0-3.
func (n *LineageNode) when() string {
	if len(n.Iterations) == 0 {
		return ""
	}
	return " in " + n.Loop + " " + ranges(n.Iterations)
}

// base is the file's name without its folder.
func (s *Source) base() string { return path.Base(strings.ReplaceAll(s.File, `\`, "/")) }

// place is a node's source line and how it was called; above is the file that needs no mention.
func (n *LineageNode) place(above string) string {
	if n.Source == nil {
		return ""
	}
	lines := fmt.Sprintf("%s:%d", n.Source.base(), n.Source.Line)
	if above == n.Source.base() {
		lines = fmt.Sprintf("line %d", n.Source.Line)
	}
	if n.Line > n.Source.Line {
		lines += fmt.Sprintf("-%d", n.Line)
	}
	if calls := n.Source.Calls.Text(n.Source.Function); calls != "" {
		if above == n.Source.base() {
			calls = strings.ReplaceAll(calls, above+":", "line ")
		}
		lines += " " + calls
	}
	return ", " + lines
}

// threads are the warps and lanes that executed a node's operation, and their block where it is another one.
func (n *LineageNode) threads() string {
	text := ""
	switch {
	case n.Warp != nil:
		text += fmt.Sprintf(", warp %d", *n.Warp)
	case len(n.Warps) > 1:
		text += ", warps " + ranges(n.Warps)
	}
	if len(n.Lanes) > 0 {
		word := "lane"
		if len(n.Lanes) > 1 {
			word = "lanes"
		}
		text += fmt.Sprintf(" %s %s", word, ranges(n.Lanes))
	}
	if n.Block != nil {
		text += fmt.Sprintf(", block %d,%d,%d", n.Block[0], n.Block[1], n.Block[2])
	}
	return text
}

// operand names an operand as the node's formula does.
func (n *LineageNode) operand(u LineageUse) string {
	name := ""
	if u.Operand >= 1 && u.Operand <= 8 && len(n.Uses) > 1 &&
		(strings.Contains(n.Op, "a ") || strings.Contains(n.Op, "a,") || strings.Contains(n.Op, "product")) {
		name = string("abcdefgh"[u.Operand-1])
	}
	if u.Kind != "value" {
		return strings.TrimSpace(name + " " + u.Kind)
	}
	return name
}

// ranges writes sorted numbers: "0-3,8".
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		} else {
			parts = append(parts, fmt.Sprint(list[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
