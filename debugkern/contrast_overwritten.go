package debugkern

import (
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// Where the next tile is stored before this one was read, the load reads the right place too late: what
// belongs there lay there before.

// Overwritten is a store to shared memory over operands that are still to be read.
type Overwritten struct {
	Store *report.Source // that brings foreign operands
	Read  *report.Source // that reads them, and should read what lay there before
	In    string         // the variable
}

// mostVersions is how many contents of a place before the one that was read are looked at.
const mostVersions = 4

// overwritten finds the store by which foreign operands came to lie where those lay that are missing; nil
// where not all that are looked at came in so, by one line.
func (c *contrast) overwritten(a *actual, foreign, missing []operandKey) *Overwritten {
	var out *Overwritten
	for i, k := range foreign {
		if i == instructionsAsked {
			break
		}
		x := c.overwrittenBy(a, k, missing)
		if x == nil || out != nil && x.Store.At() != out.Store.At() {
			return nil
		}
		if out == nil {
			out = x
		}
	}
	return out
}

// overwrittenBy is overwritten for one foreign operand.
func (c *contrast) overwrittenBy(a *actual, k operandKey, missing []operandKey) *Overwritten {
	s := a.of[k]
	for i, n := range s.nodes {
		if i == len(s.way) {
			break
		}
		for _, p := range c.trace.Places(a.g.Nodes[n]) {
			if p.Space != target.SpaceShared {
				continue
			}
			by := c.trace.Bytes(p)
			for range mostVersions {
				if len(by) != 1 || by[0].Leaf != nil {
					break
				}
				// The last contents that have an operand which belongs there were lost to the store after
				// them.
				before := p
				before.At = int(by[0].Ref.Step)
				if c.brought(before, missing) {
					store := report.SourceOf(target.Blame(c.fn, c.trace.Step(before.At).Instr.Index))
					read := report.SourceOf(target.Blame(c.fn, s.way[i]))
					if store == nil || read == nil || !c.trace.Step(before.At).Func.Entry {
						return nil
					}
					x := &Overwritten{Store: store, Read: read}
					if v := c.trace.Variable(p.Addr); v != nil {
						x.In = v.Name
					}
					return x
				}
				by = c.trace.Bytes(before)
			}
		}
	}
	return nil
}

// brought reports whether bytes of memory are one of some operands, as that was loaded.
func (c *contrast) brought(p lineage.Place, keys []operandKey) bool {
	for _, r := range c.trace.Carried(p) {
		if c.hasOne(r, keys) {
			return true
		}
	}
	return false
}
