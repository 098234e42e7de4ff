package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Asynchronous copies write into several buffers at a time. A line that reads two of them, one of which holds
// nothing that its stage is computed from, has an operand that goes beyond its own buffer: a wait for the
// copies would order what should not be read at all.

// readsCopy is where a race's side reads what an asynchronous copy writes that is not waited for; nil where
// the suspect is none of that.
func (q *inquiry) readsCopy(s *suspect) *report.Source {
	if s.cause.Kind != "race" || s.cause.Finding < 0 {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if f.Missing == nil || !awaitsCopy(*f.Missing) {
		return nil
	}
	return f.Other
}

// beyondOperand reports whether two suspects are reads of one line, of two buffers that copies write, and one
// of these holds none of what the first wrong stage is computed from.
func (q *inquiry) beyondOperand(a, b *suspect) bool {
	x, y := q.readsCopy(a), q.readsCopy(b)
	wrong := q.run.Plan.Ordered(wrongStages(q.base.Report))
	if x == nil || y == nil || *x != *y || len(wrong) == 0 {
		return false
	}
	if q.holdsNoInput(a, wrong[0]) == q.holdsNoInput(b, wrong[0]) {
		return false
	}
	for _, s := range []*suspect{a, b} {
		s.operandOf = wrong[0]
	}
	return true
}

// holdsNoInput reports whether it is known what a suspect's array holds, and a stage is computed from none of
// it.
func (q *inquiry) holdsNoInput(s *suspect, st probes.Stage) bool {
	holds := q.holds(s.cause.Place.Variable)
	return len(holds) > 0 && !slices.ContainsFunc(holds, q.ancestors(st).Has)
}

// describeBeyond says which operand goes beyond its buffer, and where its address is computed.
func (q *inquiry) describeBeyond(s *suspect, c *Cause) {
	read := q.readsCopy(s)
	var foreign []string
	for _, o := range append([]*suspect{s}, s.members...) {
		v := o.cause.Place.Variable
		if q.holdsNoInput(o, s.operandOf) && !slices.Contains(foreign, v) {
			foreign = append(foreign, v)
		}
	}
	if read == nil || len(foreign) == 0 {
		return
	}
	c.why = fmt.Sprintf("%s reads %s too, which holds nothing that %s is computed from: an operand goes "+
		"beyond its buffer, into what copies write meanwhile", callText(read), strings.Join(foreign, ", "),
		s.operandOf)
	c.Advice = "look at where that operand begins and ends, and not at the waits"
	if lines := q.addressLines(read); len(lines) > 0 {
		c.Advice += "; its address is computed at " + strings.Join(lines, ", at ")
	}
}

// mostAddressLines is how many lines that compute an address are named.
const mostAddressLines = 3

// addressLines are the lines that compute the addresses and descriptors of what a line reads, those first
// that are computed last, each with its text.
func (q *inquiry) addressLines(at *report.Source) (out []string) {
	fn := q.run.Entry()
	var open []int32
	for _, i := range accessesAt(fn, at) {
		for k := range fn.Body[i].Args {
			o := &fn.Body[i].Args[k]
			if o.Kind == ptx.OpAddr || o.Kind == ptx.OpReg && fn.Regs[o.Reg].Type.Bits() == 64 {
				open = o.Registers(open)
			}
		}
	}
	list := q.sliced().from(open)
	for i := len(fn.Body) - 1; i >= 0 && len(out) < mostAddressLines; i-- {
		l := fn.Body[i].Loc
		if !list[i] || l == nil || l.Line == 0 || l.Within(target.IsProbe) {
			continue
		}
		src := report.SourceOf(&target.Source{File: l.Name, Line: l.Line})
		line := q.quoted(src)
		text := fmt.Sprintf("%s: %s", src.At(), quote(line))
		computes := strings.ContainsAny(bare(line), "+*/%") && !headed.MatchString(line)
		if computes && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
