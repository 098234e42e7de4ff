package flags

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
)

// ahead is what is built before it is requested: the kernels one switch away from the one on screen, so that
// a switch has only to launch and compare. It begins when nothing has moved for a moment, and gives way to
// whatever is asked for.
type ahead struct {
	aim    int // the last time it was aimed
	cancel context.CancelFunc
}

// builder is an engine that can build ahead.
type builder interface {
	Ahead(ctx context.Context, reqs []debugkern.Request)
}

// aheadNear is how many switches on either side of the selection are looked at for faults and variants to
// build ahead; flags and gates are built all.
const aheadNear = 3

// aheadDueMsg says that nothing has moved for a moment since it was aimed.
type aheadDueMsg struct{ aim int }

// aimAhead begins building ahead once nothing moves any more, where building takes time: a GPU's driver
// compiles, and so does whatever is not in the archive.
func (v *Controller) aimAhead() tea.Cmd {
	v.ahead.stop()
	if _, able := v.Engine.(builder); !able || v.Job.Active || v.Run == nil || v.Run.Run == nil {
		return nil
	}
	if b := v.Run.Report.Backend; b.Name == "emu" && (b.Builder == "embedded" || b.Builder == "none") {
		return nil
	}
	v.ahead.aim++
	aim := v.ahead.aim
	return tea.Tick(5*v.Pace.Quiet, func(time.Time) tea.Msg { return aheadDueMsg{aim} })
}

func (a *ahead) stop() {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
	a.aim++
}

func (v *Controller) aheadDue(msg aheadDueMsg) tea.Cmd {
	if msg.aim != v.ahead.aim {
		return nil
	}
	reqs := v.neighbours()
	ctx, cancel := context.WithCancel(v.Ctx)
	v.ahead.cancel = cancel
	engine := v.Engine.(builder)
	return func() tea.Msg {
		defer cancel()
		engine.Ahead(ctx, reqs)
		return nil
	}
}

// neighbours are the requests one switch away, those nearest to the Flags view's selection first.
func (v *Controller) neighbours() []debugkern.Request {
	var out []debugkern.Request
	add := func(req debugkern.Request, _ string, err error) {
		if err != nil {
			return // it is refused, and says so when it is chosen
		}
		if fit, _, err := v.Fitting(req); err == nil {
			out = append(out, fit)
		}
	}
	man, variant := v.Manifest()
	if man == nil {
		return nil
	}
	now, err := man.Select(variant, v.Req.Set, nil, v.Req.Gate)
	if err != nil {
		return nil
	}
	if v.stale {
		v.refreshFlags()
	}
	for i, it := range v.pane.Nearest() {
		switch {
		case it.Kind == Flag:
			for _, value := range man.Flag(it.Name).Values {
				if value != now.Flags[it.Name] {
					add(v.WithFlag(it.Name, value))
				}
			}
		case it.Kind == Gate && !it.On:
			add(v.WithGate(probes.GateNamed(it.Name)))
		case it.Kind == Fault && (it.On || i <= 2*aheadNear):
			add(v.WithFault(it.Name))
		case it.Kind == Variant && !it.On && i <= 2*aheadNear:
			add(v.WithVariant(it.Name))
		}
	}
	return out
}
