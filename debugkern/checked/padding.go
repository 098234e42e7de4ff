package checked

import (
	"context"
	"slices"
	"sync"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
)

// provable are the kinds of findings that are advice where what they read is followed and comes to nothing.
var provable = []target.Kind{target.Uninitialised, target.Shuffle}

// lowerPadding makes reads of undefined values advice if they are proven harmless, as those of the padding
// rows of a partial tile. It executes the launch again and follows every undefined value (check.Reach).
// Nothing is proven where the launch has another error or a race: what is read, and what becomes of it, may
// then differ in another order. The second execution is made only for a result with such findings, and ends
// as soon as each of them has done harm.
func lowerPadding(ctx context.Context, k target.Kernel, l *target.Launch, res *target.Result) error {
	suspects := &suspects{left: map[suspect]bool{}}
	for _, f := range res.Findings {
		switch {
		case f.Severity == target.SeverityAdvice:
		case !slices.Contains(provable, f.Kind):
			return nil
		case f.Source == nil: // nothing can be proven of it
		default:
			suspects.left[suspect{f.Kind, *f.Source, f.Variable}] = true
		}
	}
	if len(suspects.left) == 0 || !res.Reached {
		return nil
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	suspects.none = stop
	const set = check.Reach | check.Races | check.Async | check.Barriers
	release, err := reserve(set, k, l)
	if err != nil {
		return err
	}
	defer release()
	c := check.New(check.Options{Set: set, Harmed: suspects.harmed})
	again := *l
	again.Observe, again.Discard = c.Observer, c.Discard
	if _, err := k.Launch(following, &again); err != nil {
		if following.Err() != nil && ctx.Err() == nil {
			return nil // every one of them has done harm
		}
		return err
	}
	if slices.ContainsFunc(c.Findings(), func(f target.Finding) bool {
		return f.Severity == target.SeverityError
	}) {
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
			follows(f, "reads padding: followed to the end, the value reaches no output, no address and no branch")
		}
	}
	return nil
}

// suspect is a finding that may be harmless.
type suspect struct {
	kind     target.Kind
	source   target.Source
	variable string
}

// suspects are the sources whose values have done no harm so far. It is safe for concurrent use.
type suspects struct {
	mu   sync.Mutex
	left map[suspect]bool
	none func() // called when there are none left
}

// harmed takes a source whose value has done harm from the list.
func (s *suspects) harmed(r check.Reached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.left, suspect{r.Kind, r.Source, r.Variable})
	if len(s.left) == 0 {
		s.none()
	}
}
