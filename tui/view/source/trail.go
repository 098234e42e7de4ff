package source

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/walk"
)

// stand is a moment of the block at which a motion began, and the warp that was stepped.
type stand struct {
	step uint64
	warp int
}

// trail is where motions began, and where going back from them began.
type trail struct{ back, forward []stand }

const longestTrail = 200

// push notes where a motion began.
func (t *trail) push(s stand) {
	t.back = append(t.back, s)
	if n := len(t.back) - longestTrail; n > 0 {
		t.back = slices.Delete(t.back, 0, n)
	}
	t.forward = nil
}

// retrace goes to where the block stood before its last motion, or with dir > 0 to where it stood before
// that. In a block that has not moved, the cursor goes back or forward as in other views.
func (v *Controller) retrace(dir int) tea.Cmd {
	s := &v.walk
	from, to := &s.trail.back, &s.trail.forward
	if dir > 0 {
		from, to = to, from
	}
	switch {
	case !v.Movable() || s.walk == nil || s.busy || len(*from)+len(*to) == 0:
		return v.History(dir)
	case len(*from) == 0 && dir < 0:
		v.Say("this is where the first motion in this block began")
		return nil
	case len(*from) == 0:
		v.Say("this is where the last motion in this block ended")
		return nil
	}
	there, here := (*from)[len(*from)-1], stand{s.shot.pos.Step, s.shot.pos.Warp}
	return v.motion("going back", func(ctx context.Context, w walk.Walk) (answer, error) {
		if _, err := w.Seek(ctx, there.step); err != nil {
			return answer{lane: -1}, err
		}
		w.SetWarp(there.warp)
		return answer{said: fmt.Sprintf("step %d, as before the last motion", there.step), lane: -1,
			retraced: func() { *from, *to = (*from)[:len(*from)-1], append(*to, here) }}, nil
	})
}
