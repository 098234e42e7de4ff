package lineage

// Carried lists the values that bytes of memory had on their way there, unchanged: from what the
// last operation gave, through stores, loads and moves, to what was stored last. Bytes that
// several values make up have none.
func (t *Trace) Carried(p Place) []Ref {
	if p.At < 0 {
		p.At = t.steps.n
	}
	var out []Ref
	uses := t.Bytes(p)
	for len(uses) == 1 && uses[0].Leaf == nil && len(out) < longestWay {
		r := uses[0].Ref
		out = append(out, r)
		if !t.carries(r) {
			break
		}
		uses = t.Uses(r, false, false)
	}
	return out
}

// longestWay is the most values that Carried lists of one place: above any way through memory that a
// kernel's tile takes.
const longestWay = 64

// carries reports whether the step that gave a value moved it.
func (t *Trace) carries(r Ref) bool {
	f := &t.flows[t.steps.at(int(r.Step)).pc]
	switch f.kind {
	case flowLoad, flowLoadRows, flowLoadTile, flowStore, flowStoreRows, flowStoreTile, flowCopy:
		return true
	case flowBytes:
		return f.moves(r)
	}
	return false
}
