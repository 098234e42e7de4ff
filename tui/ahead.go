package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/pane/flags"
)

// ahead is what is built before it is asked for: the kernels one switch away from the one on screen, so that a switch has only to
// launch and compare. It begins when nothing has moved for a moment, and gives way to whatever is asked for.
type ahead struct {
	aim    int // the last time it was aimed
	cancel context.CancelFunc
}

// builder is an engine that can build ahead.
type builder interface {
	Ahead(ctx context.Context, reqs []debugkern.Request)
}

// aheadNear is how many switches on either side of the selection are looked at for faults and variants to build ahead; flags and
// gates are built all.
const aheadNear = 3

// aheadDueMsg says that nothing has moved for a moment since it was aimed.
type aheadDueMsg struct{ aim int }

// aimAhead begins building ahead once nothing moves any more, where building takes time: a GPU's driver compiles, and so does
// whatever is not in the archive.
func (m *Model) aimAhead() tea.Cmd {
	m.ahead.stop()
	if _, able := m.opt.Engine.(builder); !able || m.job.active || m.run == nil || m.run.run == nil {
		return nil
	}
	if b := m.run.report.Backend; b.Name == "emu" && (b.Builder == "embedded" || b.Builder == "none") {
		return nil
	}
	m.ahead.aim++
	aim := m.ahead.aim
	return tea.Tick(5*m.opt.quiet, func(time.Time) tea.Msg { return aheadDueMsg{aim} })
}

func (a *ahead) stop() {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
	a.aim++
}

func (m *Model) aheadDue(msg aheadDueMsg) tea.Cmd {
	if msg.aim != m.ahead.aim {
		return nil
	}
	reqs := m.neighbours()
	ctx, cancel := context.WithCancel(m.ctx)
	m.ahead.cancel = cancel
	engine := m.opt.Engine.(builder)
	return func() tea.Msg {
		defer cancel()
		engine.Ahead(ctx, reqs)
		return nil
	}
}

// neighbours are the requests one switch away, those nearest to the Flags view's selection first.
func (m *Model) neighbours() []debugkern.Request {
	var out []debugkern.Request
	add := func(req debugkern.Request, _ string, err error) {
		if err != nil {
			return // it is refused, and says so when it is chosen
		}
		if fit, _, err := m.fitting(req); err == nil {
			out = append(out, fit)
		}
	}
	man, variant := m.manifest()
	if man == nil {
		return nil
	}
	now, err := man.Select(variant, m.req.Set, nil, m.req.Gate)
	if err != nil {
		return nil
	}
	for i, it := range m.pane.flags.Nearest() {
		switch {
		case it.Kind == flags.Flag:
			for _, v := range man.Flag(it.Name).Values {
				if v != now.Flags[it.Name] {
					add(m.withFlag(it.Name, v))
				}
			}
		case it.Kind == flags.Gate:
			add(m.withGate(probes.GateNamed(it.Name)))
		case it.Kind == flags.Fault && (it.On || i <= 2*aheadNear):
			add(m.withFault(it.Name))
		case it.Kind == flags.Variant && !it.On && i <= 2*aheadNear:
			add(m.withVariant(it.Name))
		}
	}
	return out
}
