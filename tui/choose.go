package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/flags"
)

// manifest is the requested target's manifest and variant; nil where the catalogue has no such name.
func (m *Model) manifest() (*configs.Manifest, string) { return m.manifestOf(m.req.Target) }

// manifestOf is a target's manifest and variant; nil where the catalogue has no such name.
func (m *Model) manifestOf(target string) (*configs.Manifest, string) {
	man, variant, err := m.opt.Engine.Catalogue().Lookup(target)
	if err == nil {
		return man, variant
	}
	if m.mine != nil && m.mine.File == target {
		return m.mine, m.mine.Default
	}
	return nil, ""
}

// choose starts a run of req if the manifest takes it; what was done besides is said.
func (m *Model) choose(req debugkern.Request, said string) tea.Cmd {
	fit, note, err := m.fitting(req)
	if err == nil {
		err = m.checked(fit)
	}
	if err != nil {
		m.complain(oneLine(err))
		return nil
	}
	switch {
	case len(fit.Faults) == 0:
		m.before = ""
	case fit.Shape != req.Shape && m.before == "":
		m.before = shapeName(req)
	}
	m.say(said + note)
	return m.start(fit)
}

// checker is an engine that can say, without running it, whether a request makes sense.
type checker interface {
	Check(ctx context.Context, req debugkern.Request) error
}

var _ checker = (*debugkern.Session)(nil)

// checked asks the engine whether a request makes sense. A manifest of one's own is not read for it: its run says so.
func (m *Model) checked(req debugkern.Request) error {
	e, ok := m.opt.Engine.(checker)
	if _, _, err := m.opt.Engine.Catalogue().Lookup(req.Target); !ok || err != nil || req.Inputs != "" {
		return nil
	}
	return e.Check(m.ctx, req)
}

// fitting is a request as it can be run, and what about it had to change: a fault that can do nothing on the shape brings its own
// shape.
func (m *Model) fitting(req debugkern.Request) (fit debugkern.Request, note string, err error) {
	man, variant, err := m.opt.Engine.Catalogue().Lookup(req.Target)
	if err != nil {
		if man, variant = m.manifest(); man == nil || m.req.Target != req.Target {
			return req, "", err
		}
	}
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	if err != nil || req.Inputs != "" {
		return req, "", err
	}
	refused, other, err := unsuited(man, sel, shapeName(req))
	if refused == nil {
		return req, "", err
	}
	to, known := man.Shape(other)
	if !known {
		return req, "", err
	}
	if _, again := sel.Resolve(to); again != nil {
		return req, "", err
	}
	req.Shape = other
	return req, fmt.Sprintf(" · shape %s (it needs %s)", other, refused.That), nil
}

// unsuited is why a selection's fault can do nothing on a shape, and the name of one on which it does; nil where that is not
// what is wrong.
func unsuited(man *configs.Manifest, sel *configs.Selection, name string) (refused *configs.ShapeError, other string, err error) {
	shape, err := man.ParseShape(name)
	if err != nil {
		return nil, "", err
	}
	if _, err = sel.Resolve(shape); !errors.As(err, &refused) || refused.Fault == "" {
		return nil, "", err
	}
	if f := man.Fault(refused.Fault); f != nil && f.Shape != "" {
		return refused, f.Shape, err
	}
	return refused, refused.Suggest, err
}

func shapeName(req debugkern.Request) string {
	if req.Shape == "" {
		return "validation"
	}
	return req.Shape
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// toggle switches what the Flags view's cursor is on.
func (m *Model) toggle() tea.Cmd {
	if m.view == keymap.Gates {
		return m.startSweep([]string{m.pane.gates.Selected().Target}, m.req.Backend)
	}
	it := m.pane.flags.Selected()
	if it == nil {
		m.say("nothing to switch")
		return nil
	}
	switch it.Kind {
	case flags.Variant:
		return m.chooseVariant(it.Name)
	case flags.Flag:
		return m.stepFlag(it.Name, 1)
	case flags.Gate:
		return m.chooseGate(probes.GateNamed(it.Name))
	case flags.Fault:
		return m.toggleFault(it.Name)
	case flags.Shape:
		return m.chooseShape(it.Name)
	}
	return m.ask(":", "seed ")
}

// change is h and l in the Flags view: the next or previous value.
func (m *Model) change(n int) tea.Cmd {
	it := m.pane.flags.Selected()
	switch {
	case it == nil:
		m.say("nothing to change")
	case it.Kind == flags.Seed:
		seed := m.req.Seed
		if n < 0 && seed == 0 {
			m.say("seeds count from 0")
			return nil
		}
		return m.chooseSeed(seed + uint64(n))
	case it.Kind == flags.Flag:
		return m.stepFlag(it.Name, n)
	default:
		m.say("space switches; h l change a flag's value or the seed")
	}
	return nil
}

func (m *Model) chooseSeed(seed uint64) tea.Cmd {
	req := m.nextRequest()
	req.Seed = seed
	return m.choose(req, fmt.Sprintf("seed %d", seed))
}

// withVariant is the request for a variant as it is: flags set on top go, and faults that are not planted in it.
func (m *Model) withVariant(name string) (req debugkern.Request, said string, err error) {
	man, variant, err := m.opt.Engine.Catalogue().Lookup(name)
	if err != nil {
		return req, "", err
	}
	req = m.nextRequest()
	req.Target, req.Set, req.Faults = name, nil, nil
	var dropped []string
	for _, f := range m.req.Faults {
		if _, err := man.Select(variant, nil, []string{f}, probes.GateNone); err != nil {
			dropped = append(dropped, f)
		} else {
			req.Faults = append(req.Faults, f)
		}
	}
	said = "target " + name
	if dropped != nil {
		said += " · off, not planted in it: " + strings.Join(dropped, " ")
		m.shapeBack(&req)
	}
	if _, err := man.ParseShape(shapeName(req)); err != nil && len(man.Shapes) > 0 {
		req.Shape = man.Shapes[0].Name
		said += " · shape " + req.Shape + ": it has no " + shapeName(m.req)
	}
	return req, said, nil
}

// shapeBack returns to the shape from before a fault asked for another, once no fault is on.
func (m *Model) shapeBack(req *debugkern.Request) string {
	if m.before == "" || len(req.Faults) > 0 {
		return ""
	}
	req.Shape = m.before
	return " · shape " + req.Shape + " again"
}

// take chooses what a switch has made of the request, or says why it makes nothing of it.
func (m *Model) take(req debugkern.Request, said string, err error) tea.Cmd {
	if err != nil {
		m.complain(oneLine(err))
		return nil
	}
	return m.choose(req, said)
}

func (m *Model) chooseVariant(name string) tea.Cmd      { return m.take(m.withVariant(name)) }
func (m *Model) stepFlag(name string, n int) tea.Cmd    { return m.take(m.withStep(name, n)) }
func (m *Model) setFlag(name string, value int) tea.Cmd { return m.take(m.withFlag(name, value)) }
func (m *Model) chooseGate(g probes.Gate) tea.Cmd       { return m.take(m.withGate(g)) }
func (m *Model) toggleFault(name string) tea.Cmd        { return m.take(m.withFault(name)) }

// withStep is the request with a flag at the n-th value after its own.
func (m *Model) withStep(name string, n int) (req debugkern.Request, said string, err error) {
	man, variant := m.manifest()
	if man == nil || man.Flag(name) == nil {
		return req, "", fmt.Errorf("no flag %s", name)
	}
	sel, err := man.Select(variant, m.req.Set, nil, m.req.Gate)
	if err != nil {
		return req, "", err
	}
	values := man.Flag(name).Values
	i := slices.Index(values, sel.Flags[name]) + n
	return m.withFlag(name, values[((i%len(values))+len(values))%len(values)])
}

// withFlag is the request with a flag's value on top of the variant. A value that takes the kernel off the base of a fault that
// is on is refused, with the reason.
func (m *Model) withFlag(name string, value int) (req debugkern.Request, said string, err error) {
	man, variant := m.manifest()
	if man == nil {
		return req, "", fmt.Errorf("no manifest for %s", m.req.Target)
	}
	req = m.nextRequest()
	if req.Set == nil {
		req.Set = map[string]string{}
	}
	req.Set[name] = strconv.Itoa(value)
	if plain, err := man.Select(variant, nil, nil, probes.GateNone); err == nil && plain.Flags[name] == value {
		delete(req.Set, name)
	}
	for _, f := range m.req.Faults {
		if _, err := man.Select(variant, req.Set, []string{f}, probes.GateNone); err != nil {
			if _, alone := man.Select(variant, req.Set, nil, probes.GateNone); alone == nil {
				return req, "", fmt.Errorf("%s stays as it is: %w; or switch the fault off", name, err)
			}
		}
	}
	return req, fmt.Sprintf("%s=%d", name, value), nil
}

// withGate is the request under a gate, or under none where it is that one already: gates exclude each other.
func (m *Model) withGate(g probes.Gate) (req debugkern.Request, said string, err error) {
	req = m.nextRequest()
	if req.Gate == g {
		g = probes.GateNone
	}
	req.Gate = g
	if man, _ := m.manifest(); man == nil || !man.Uniform(g) {
		req.Inject = ""
	}
	return req, "gate " + g.String(), nil
}

// withFault is the request with a fault switched. One planted in another variant brings that variant.
func (m *Model) withFault(name string) (req debugkern.Request, said string, err error) {
	man, variant := m.manifest()
	if man == nil || man.Fault(name) == nil {
		return req, "", fmt.Errorf("no fault %s in %s", name, m.req.Target)
	}
	req = m.nextRequest()
	if i := slices.Index(req.Faults, name); i >= 0 {
		req.Faults = slices.Delete(req.Faults, i, i+1)
		return req, name + " off" + m.shapeBack(&req), nil
	}
	said = name + " on"
	if _, err := man.Select(variant, req.Set, []string{name}, probes.GateNone); err != nil {
		base := man.Fault(name).Base
		said += fmt.Sprintf(" · target %s: it is planted there", base)
		req.Target, req.Set = base, nil
	}
	req.Faults = append(req.Faults, name)
	return req, said, nil
}

func (m *Model) chooseShape(name string) tea.Cmd {
	req := m.nextRequest()
	req.Shape = name
	was := m.before
	m.before = ""
	cmd := m.choose(req, "shape "+name)
	if cmd == nil {
		m.before = was
	}
	return cmd
}

// outline is the plan of the request, to draw the timeline before anything has run; nil where there is none.
func (m *Model) outline() *probes.Plan {
	man, variant := m.manifest()
	if man == nil {
		return nil
	}
	sel, err := man.Select(variant, m.req.Set, m.req.Faults, m.req.Gate)
	if err != nil {
		return nil
	}
	shape, err := man.ParseShape(shapeName(m.req))
	if err != nil {
		return nil
	}
	plan, err := sel.Resolve(shape)
	if err != nil {
		return nil
	}
	return plan
}
