package judge

import (
	"fmt"

	"tilescope/debugkern/ref/op"
)

// derivation says in words how the bound of a stage came about, with the worst cell's figures: of one judged
// apart from what other stages were allowed (own), from the kernel's own tiles (tiles), or from the inputs.
func (w *walker) derivation(i int, at worst, own, tiles bool) string {
	if !at.set {
		return ""
	}
	sp := w.g.Stage(i)
	if w.has(i) && !(tiles && w.own(i)) {
		if how := w.expected.Reason(sp.Stage); how != "" {
			return how
		}
	}
	how := w.g.Reason(i)
	if !own && len(w.g.Uses(i)) > 0 {
		how += "; and what the stages before were allowed"
	}
	if at.bound == 0 {
		return how + ": nothing is rounded, 0"
	}
	parts := fmt.Sprintf(": %.2e", at.pre)
	slack := 1 + w.local.Coefs()[op.TermReference]
	if last := at.bound/slack - at.pre; last > at.bound*1e-3 && !w.global.Estimate(i).Exact {
		parts += fmt.Sprintf(" + %.2e storing as %s", last, sp.DType)
	}
	return how + parts
}
