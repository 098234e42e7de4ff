package configs

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

// take is one entry of a capture from registers as written.
type take struct {
	probes.Take
	row, col []*Expr // one for each instruction, or one for all; empty: the fragments' own order
	tile     *Expr   // nil: n
	at       place
}

// Names within the expressions of a capture from registers: which instruction of the entry, warp and
// lane, row and column within a fragment, part of a register; and, of tile, how often the instruction
// was executed before.
var takeNames = []string{"i", "warp", "lane", "r", "c", "e"}

const takeCount = "n"

// takeScope is the manifest's scope with these names, and the slots of takeNames in order. They hide
// names of the manifest.
func (m *Manifest) takeScope() (sc *scope, slots []int) {
	sc = m.scope.clone()
	for _, name := range takeNames {
		slots = append(slots, sc.add(name, classThread))
	}
	n := sc.add(takeCount, classCount)
	sc.derived[n] = &derived{uses: uses{3: true}, eval: func(e *env) value { return e.vars[slotKV] }}
	return sc, slots
}

// captureRegisters reads {mma: ...} and {register: ...}: one entry, or a list of them.
func (p *manifestParser) captureRegisters(c *object, st *Stage, key string) {
	k := &st.Capture
	k.Kind = probes.CaptureRegister
	if c.oneOf("combine") == "sum" {
		k.Sum = true
	}
	if t := c.within("tile_at"); t != nil {
		if t.has("line") == t.has("ptx") {
			c.fail("tile_at", "expected {line: L} or {ptx: L}, one of them")
		}
		k.TileLine, k.TilePTX = t.integer("line"), t.integer("ptx")
	}
	n := deref(c.vals[key])
	if n.Kind != yaml.SequenceNode {
		p.take(c.vals[key], c.field(key), st, key)
		return
	}
	if len(n.Content) == 0 {
		c.fail(key, "empty; name at least one instruction")
	}
	for i, entry := range n.Content {
		p.take(entry, fmt.Sprintf("%s[%d]", c.field(key), i), st, key)
	}
}

// take reads one entry.
func (p *manifestParser) take(n *yaml.Node, field string, st *Stage, key string) {
	o := p.section(n, field, key)
	if o == nil {
		return
	}
	t := take{at: o.here()}
	t.Field, t.Fragment = field, key == "mma"
	p.takeInstructions(o, &t)
	sc, _ := p.m.takeScope()
	t.row, t.col = p.placements(o, "row", &t, sc), p.placements(o, "col", &t, sc)
	t.tile = o.expr("tile", sc, inCount)
	t.Pass = p.pass(o)
	switch {
	case o.has("tile") && !st.PerTile:
		o.fail("tile", "the stage has one tile a block; remove tile, or write per: tile")
	case t.Fragment && o.has("row") != o.has("col"):
		o.fail("row", "row and col go together: give both, or neither")
	}
	if t.Fragment {
		t.Of = map[string]probes.FragmentOf{"a": probes.FragmentA, "b": probes.FragmentB}[o.oneOf("of")]
		st.takes = append(st.takes, t)
		return
	}
	if t.Name = o.str("name"); t.Name != "" && (o.has("operand") || o.has("element")) {
		o.fail("name", "the register is named; remove operand and element")
	}
	t.Operand, t.Element = o.integer("operand"), o.integer("element")
	st.takes = append(st.takes, t)
}

// takeInstructions reads which instructions an entry means.
func (p *manifestParser) takeInstructions(o *object, t *take) {
	if o.has("ptx") == o.has("line") {
		o.fail("ptx", "expected ptx: LINES or line: L, one of them")
		return
	}
	t.PTX = p.lines(o, "ptx", 1)
	t.Line = o.integer("line")
	t.Nth = p.lines(o, "nth", 0)
	if t.File = o.str("file"); o.has("file") && !o.has("line") {
		o.fail("file", "goes with line only")
	}
	if o.has("nth") && !o.has("line") {
		o.fail("nth", "goes with line only: it counts the instructions of that line")
	}
	if n := max(len(t.PTX), len(t.Nth)); n > probes.TakeInstrs {
		o.fail("ptx", "%d instructions; an entry has at most %d: write several", n, probes.TakeInstrs)
		t.PTX, t.Nth = nil, nil
	}
}

// lines reads a number or a list of them.
func (p *manifestParser) lines(o *object, key string, from int) []int {
	if !o.has(key) {
		return nil
	}
	n := deref(o.vals[key])
	if n.Kind != yaml.SequenceNode {
		return []int{o.integerIn(key, from, math.MaxInt32, from)}
	}
	out := []int{}
	for i, x := range n.Content {
		out = append(out, p.integer(x, fmt.Sprintf("%s[%d]", o.field(key), i), from, math.MaxInt32, from))
	}
	if len(out) == 0 {
		o.fail(key, "empty; name at least one instruction")
	}
	return out
}

// placements reads row or col: an expression, or one for each instruction.
func (p *manifestParser) placements(o *object, key string, t *take, sc *scope) []*Expr {
	if !o.has(key) {
		return nil
	}
	if deref(o.vals[key]).Kind != yaml.SequenceNode {
		if x := o.expr(key, sc, inTake); x != nil {
			return []*Expr{x}
		}
		return nil
	}
	list := o.exprs(key, -1, sc, inTake)
	if n := max(len(t.PTX), len(t.Nth)); list != nil && (n == 0 || len(list) != n) {
		o.fail(key, "%d expressions for %s; write one, in terms of i, or as many as ptx or nth has",
			len(list), instructionCount(n))
		return nil
	}
	return list
}

func instructionCount(n int) string {
	if n == 0 {
		return "a line whose instructions are not listed"
	}
	return plural(n, "instruction")
}
