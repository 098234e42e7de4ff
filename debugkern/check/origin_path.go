package check

import (
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// hop is an operation, or a variable, that it came through.
type hop struct {
	op       string
	variable string
	index    []int
	all      []bool // dimensions in which several elements were reached
}

// describe writes what was made of what: "NaN is made here: -inf - -inf". A NaN among the operands that has
// no origin was loaded from an entry, where there is one.
func (u *originUnit) describe(
	to, from numberType, args []int, lane, k int, r float64, hadNaN bool, entered int32,
) string {
	x := &u.x
	var vs []string
	for _, a := range args {
		if len(x.src[a]) > 0 {
			i := k
			if from.n < to.n {
				i = 0
			}
			vs = append(vs, number(from.value(from.part(x.src[a][0][lane], i))))
		}
	}
	op := x.Instr.Opcode()
	expr := op + "(" + strings.Join(vs, ", ") + ")"
	if infix := x.Instr.Form().Infix; len(infix) > 0 && len(vs) == len(infix)+1 {
		expr = vs[0]
		for i, sign := range infix {
			expr += " " + sign + " " + vs[i+1]
		}
	}
	switch {
	case hadNaN:
		return fmt.Sprintf("%s: %s", u.entrance(entered), expr)
	case math.IsNaN(r):
		return fmt.Sprintf("NaN is made here: %s (%s)", expr, op)
	case x.Instr.Kind() == isa.Convert:
		return fmt.Sprintf("infinity is made here: %s overflows %s", expr, to.of)
	}
	return fmt.Sprintf("infinity is made here: %s (%s)", expr, op)
}

// number writes a value for a message.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return fmt.Sprintf("%.6g", v)
}

func (u *originUnit) describeProduct(acc numberType, v float64, bad string, entered int32) string {
	op := u.x.Instr.Op + ".mma"
	switch {
	case bad == "":
		return fmt.Sprintf("infinity is made here: a sum of %s overflows %s", op, acc.of)
	case bad == "NaN":
		return fmt.Sprintf("%s: an operand of %s", u.entrance(entered), op)
	}
	return fmt.Sprintf("%s is made here: %s of an operand that holds %s", number(v), op, bad)
}

// shortOp is an operation's name as a path shows it: without rounding and types.
func shortOp(op string) string {
	parts := strings.Split(op, ".")
	if len(parts) > 1 && (parts[1] == "approx" || parts[1] == "mma") {
		return parts[0] + "." + parts[1]
	}
	return parts[0]
}

// through notes an operation that the values of an origin came through; sums, products and conversions are
// not worth a place in the path.
func (u *originUnit) through(tag int32, op string) {
	o := u.origins[tag-1]
	switch u.x.Instr.Op {
	case "add", "sub", "mul", "cvt", "neg", "abs", "max", "min", "fma", "mad":
		return
	}
	op = shortOp(op)
	for i := range o.hops {
		if o.hops[i].op == op {
			return
		}
	}
	o.hops = append(o.hops, hop{op: op})
}

// reached notes the variables that a store put values of an origin into.
func (u *originUnit) reached() {
	x := &u.x
	for j := range x.parts {
		p := &x.parts[j]
		each(p.mask, func(lane int) {
			for off := 0; off < p.bytes; off += 2 {
				k := x.at(p, lane, off)
				if tag := u.tags.mem[k]; tag > 0 {
					u.origins[tag-1].reach(u.view, p.space, p.addr[lane]+uint64(off), x.Probe)
				}
			}
		})
	}
}

// reach notes a cell.
func (o *origin) reach(v target.View, space target.Space, addr uint64, probe bool) {
	if probe {
		return
	}
	name, index := v.Name(space, addr)
	if name == "" {
		return
	}
	for i := range o.hops {
		h := &o.hops[i]
		if h.variable != name || len(h.index) != len(index) {
			continue
		}
		for d := range index {
			h.all[d] = h.all[d] || h.index[d] != index[d]
		}
		return
	}
	h := hop{variable: name, index: index, all: make([]bool, len(index))}
	if o.first.variable == "" {
		o.first, o.space = h, space.String()
	}
	o.hops = append(o.hops, h)
}

func (h *hop) String() string {
	if h.op != "" {
		return h.op
	}
	s := h.variable
	for d, i := range h.index {
		if h.all[d] {
			s += "[*]"
		} else {
			s += fmt.Sprintf("[%d]", i)
		}
	}
	return s
}

// hopsShown is how much of a path a message shows: its beginning, and the end that it came to.
const hopsShown = 8

func (o *origin) path() string {
	var out []string
	for i := range o.hops {
		out = append(out, "→ "+o.hops[i].String())
	}
	if len(out) > hopsShown {
		out = append(out[:hopsShown-1:hopsShown-1], "…", out[len(out)-1])
	}
	return strings.Join(out, " ")
}
