package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
)

// provable are the kinds of findings that are advice where what they read is followed and comes to nothing.
var provable = []target.Kind{target.Uninitialised, target.Shuffle}

// lowerPadding makes reads of undefined values advice if they are proven harmless, as those of the padding rows of a partial
// tile. It executes the launch again and follows every undefined value (check.Reach). Nothing is proven where the launch has another
// error or a race: what is read, and what becomes of it, may then differ in another order. The second execution is made only for a
// result with such findings.
func lowerPadding(ctx context.Context, k target.Kernel, l *target.Launch, res *target.Result) error {
	suspect := false
	for _, f := range res.Findings {
		if f.Severity != target.SeverityAdvice && !slices.Contains(provable, f.Kind) {
			return nil
		}
		suspect = suspect || f.Severity != target.SeverityAdvice
	}
	if !suspect || !res.Reached {
		return nil
	}
	c := check.New(check.Options{Set: check.Reach | check.Races | check.Async | check.Barriers})
	again := *l
	again.Observe = c.Observer
	if _, err := k.Launch(ctx, &again); err != nil {
		return err
	}
	if slices.ContainsFunc(c.Findings(), func(f target.Finding) bool { return f.Severity == target.SeverityError }) {
		return nil
	}
	reached := c.Reached()
	for i := range res.Findings {
		f := &res.Findings[i]
		if f.Severity == target.SeverityAdvice || f.Source == nil {
			continue
		}
		harmless, followed := true, false
		for _, r := range reached {
			if r.Kind == f.Kind && r.Source == *f.Source && r.Variable == f.Variable {
				followed = true
				harmless = harmless && r.Harm == ""
			}
		}
		if followed && harmless {
			f.Severity = target.SeverityAdvice
			follows(f, "reads padding: followed to the end, the value comes to no output, no address and no branch")
		}
	}
	return nil
}
