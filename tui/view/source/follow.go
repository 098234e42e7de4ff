package source

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// What view Pipeline asks and does: it shows the same block at the same moment, and has no walk of its own.

// Moment is where the block stands; ok is false where no block is open, and said then says why.
func (v *Controller) Moment() (pos walk.Position, warps []target.Warp, said string, ok bool) {
	s := &v.walk
	if s.walk == nil || s.owner != v.Run || v.Run == nil {
		return walk.Position{}, nil, v.walkEmpty(), false
	}
	return s.shot.pos, s.shot.warps, "", true
}

// Async is what is under way there; ok is false for a kernel that has nothing asynchronous.
func (v *Controller) Async() (s target.AsyncState, ok bool) {
	return v.walk.shot.async, v.walk.shot.isAsync
}

// Timeline is the block's, nil until it has been recorded.
func (v *Controller) Timeline() *walk.Timeline { return v.walk.line }

// Record records the timeline.
func (v *Controller) Record() tea.Cmd {
	return v.motion("recording the block's timeline", func(ctx context.Context, w walk.Walk) (answer, error) {
		a, ok := w.(walk.Asynchronous)
		if !ok {
			return answer{lane: -1}, nil
		}
		line, err := a.Record(ctx)
		return answer{line: line, lane: -1}, err
	})
}

// StepUnit steps n units, and UnitName says what they are; NextUnit chooses others.
func (v *Controller) StepUnit(n int) tea.Cmd { return v.stepUnit(n) }

// UnitName is what StepUnit steps by.
func (v *Controller) UnitName() string { return unitNames[v.unit()] }

// NextUnit chooses the next unit.
func (v *Controller) NextUnit() tea.Cmd { return v.nextUnit("") }

// StepEvent goes n asynchronous events on, or back.
func (v *Controller) StepEvent(n int) tea.Cmd { return v.stepEvent(n) }

// RunOn runs to the next breakpoint or the end, or with n < 0 back.
func (v *Controller) RunOn(n int) tea.Cmd { return v.runWalk(n) }

// TurnWarp makes another warp the current one.
func (v *Controller) TurnWarp(n int) tea.Cmd { return v.turnWarp(n) }

// SeekTo goes to a moment, with a warp as the current one where warp is not negative.
func (v *Controller) SeekTo(step uint64, warp int) tea.Cmd {
	return v.motion("seeking", func(ctx context.Context, w walk.Walk) (answer, error) {
		before := w.Position()
		p, err := w.Seek(ctx, step)
		if err == nil && warp >= 0 {
			w.SetWarp(warp)
			p = w.Position()
		}
		return answer{said: standing(before, p), lane: -1}, err
	})
}
