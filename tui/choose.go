package tui

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/rail"
)

// manifest is the requested target's manifest and variant; nil where the catalogue has no such name.
func (m *Model) manifest() (*configs.Manifest, string) {
	man, variant, err := m.opt.Engine.Catalogue().Lookup(m.req.Target)
	if err == nil {
		return man, variant
	}
	if m.mine != nil && m.mine.File == m.req.Target {
		return m.mine, m.mine.Default
	}
	return nil, ""
}

// choose starts a run of req if the manifest takes it. A fault that can do nothing on the shape brings its own shape; what
// was done besides is said.
func (m *Model) choose(req debugkern.Request, said string) tea.Cmd {
	man, variant, err := m.opt.Engine.Catalogue().Lookup(req.Target)
	if err != nil {
		if man, variant = m.manifest(); man == nil || m.req.Target != req.Target {
			m.complain(err.Error())
			return nil
		}
	}
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	if err != nil {
		m.complain(oneLine(err))
		return nil
	}
	if req.Inputs == "" {
		note, err := m.suit(man, sel, &req)
		if err != nil {
			m.complain(oneLine(err))
			return nil
		}
		said += note
	}
	m.say(said)
	return m.start(req)
}

// suit gives the request a shape on which its faults can do something.
func (m *Model) suit(man *configs.Manifest, sel *configs.Selection, req *debugkern.Request) (note string, err error) {
	shape, err := man.ParseShape(shapeName(*req))
	if err != nil {
		return "", err
	}
	_, err = sel.Resolve(shape)
	var refused *configs.ShapeError
	if !errors.As(err, &refused) || refused.Fault == "" {
		return "", err
	}
	other := refused.Suggest
	if f := man.Fault(refused.Fault); f != nil && f.Shape != "" {
		other = f.Shape
	}
	to, known := man.Shape(other)
	if !known {
		return "", err
	}
	if _, again := sel.Resolve(to); again != nil {
		return "", err
	}
	if m.before == "" {
		m.before = shapeName(*req)
	}
	req.Shape = other
	return fmt.Sprintf(" · shape %s (it needs %s)", other, refused.That), nil
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
		g, _ := probes.ParseGate(it.Name)
		return m.chooseGate(g)
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
	req := clone(m.req)
	req.Seed = seed
	return m.choose(req, fmt.Sprintf("seed %d", seed))
}

// chooseVariant takes a variant as it is: flags set on top go, and faults that are not planted in it.
func (m *Model) chooseVariant(name string) tea.Cmd {
	man, variant, err := m.opt.Engine.Catalogue().Lookup(name)
	if err != nil {
		m.complain(err.Error())
		return nil
	}
	req := clone(m.req)
	req.Target, req.Set, req.Faults = name, nil, nil
	var dropped []string
	for _, f := range m.req.Faults {
		if _, err := man.Select(variant, nil, []string{f}, probes.GateNone); err != nil {
			dropped = append(dropped, f)
		} else {
			req.Faults = append(req.Faults, f)
		}
	}
	said := "target " + name
	if dropped != nil {
		said += " · off, not planted in it: " + strings.Join(dropped, " ")
		m.shapeBack(&req)
	}
	if _, err := man.ParseShape(shapeName(req)); err != nil && len(man.Shapes) > 0 {
		req.Shape = man.Shapes[0].Name
		said += " · shape " + req.Shape + ": it has no " + shapeName(m.req)
	}
	return m.choose(req, said)
}

// shapeBack returns to the shape from before a fault asked for another, once no fault is on.
func (m *Model) shapeBack(req *debugkern.Request) string {
	if m.before == "" || len(req.Faults) > 0 {
		return ""
	}
	req.Shape, m.before = m.before, ""
	return " · shape " + req.Shape + " again"
}

// stepFlag sets a flag to the n-th value after its own.
func (m *Model) stepFlag(name string, n int) tea.Cmd {
	man, variant := m.manifest()
	if man == nil || man.Flag(name) == nil {
		m.complain("no flag " + name)
		return nil
	}
	sel, err := man.Select(variant, m.req.Set, nil, m.req.Gate)
	if err != nil {
		m.complain(oneLine(err))
		return nil
	}
	values := man.Flag(name).Values
	i := slices.Index(values, sel.Flags[name]) + n
	return m.setFlag(name, values[((i%len(values))+len(values))%len(values)])
}

// setFlag puts a flag's value on top of the variant. A value that takes the kernel off the base of a fault that is on is
// refused, with the reason.
func (m *Model) setFlag(name string, value int) tea.Cmd {
	man, variant := m.manifest()
	if man == nil {
		m.complain("no manifest for " + m.req.Target)
		return nil
	}
	req := clone(m.req)
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
				m.complain(fmt.Sprintf("%s stays as it is: %s; or switch the fault off", name, oneLine(err)))
				return nil
			}
		}
	}
	return m.choose(req, fmt.Sprintf("%s=%d", name, value))
}

// chooseGate selects a gate, or none where it is selected already: gates exclude each other.
func (m *Model) chooseGate(g probes.Gate) tea.Cmd {
	req := clone(m.req)
	if req.Gate == g {
		g = probes.GateNone
	}
	req.Gate = g
	if g != probes.GatePV {
		req.Inject = ""
	}
	return m.choose(req, "gate "+g.String())
}

// toggleFault switches a fault. One planted in another variant brings that variant.
func (m *Model) toggleFault(name string) tea.Cmd {
	man, variant := m.manifest()
	if man == nil || man.Fault(name) == nil {
		m.complain("no fault " + name + " in " + m.req.Target)
		return nil
	}
	req := clone(m.req)
	if i := slices.Index(req.Faults, name); i >= 0 {
		req.Faults = slices.Delete(req.Faults, i, i+1)
		return m.choose(req, name+" off"+m.shapeBack(&req))
	}
	said := name + " on"
	if _, err := man.Select(variant, req.Set, []string{name}, probes.GateNone); err != nil {
		base := man.Fault(name).Base
		said += fmt.Sprintf(" · target %s: it is planted there", base)
		req.Target, req.Set = base, nil
	}
	req.Faults = append(req.Faults, name)
	return m.choose(req, said)
}

func (m *Model) chooseShape(name string) tea.Cmd {
	req := clone(m.req)
	req.Shape = name
	was := m.before
	m.before = ""
	cmd := m.choose(req, "shape "+name)
	if cmd == nil {
		m.before = was
	}
	return cmd
}

// refreshFlags makes the Flags view's list for the request, and the rail's.
func (m *Model) refreshFlags() {
	m.showGates()
	d := flags.Data{Request: title(m.req), A: m.a, Bisection: m.versus.bisection, Comparison: m.versus.comparison, Against: m.versus.name}
	if m.run != nil {
		d.Report, d.B = m.run.report, m.run.name
	}
	r := rail.Data{Stage: m.cursor.Stage, Report: d.Report, Faults: m.req.Faults}
	r.Facts = [][2]string{{"target", m.req.Target}, {"shape", shapeName(m.req)}, {"seed", fmt.Sprint(m.req.Seed)}, {"gate", m.req.Gate.String()}}
	if man, variant := m.manifest(); man != nil {
		if sel, err := man.Select(variant, m.req.Set, nil, probes.GateNone); err == nil {
			d.Items = m.items(man, variant, sel)
			for _, f := range man.Flags {
				r.Flags = append(r.Flags, fmt.Sprintf("%s %d", f.Name, sel.Flags[f.Name]))
			}
		}
	}
	m.pane.flags.SetData(d)
	m.pane.rail.SetData(r)
}

// items lists the switches of a manifest.
func (m *Model) items(man *configs.Manifest, variant string, sel *configs.Selection) []flags.Item {
	var out []flags.Item
	for _, k := range m.opt.Engine.Catalogue().Manifests {
		for _, v := range k.Variants {
			out = append(out, flags.Item{Kind: flags.Variant, Name: v.Name, On: k == man && v.Name == variant, Help: variantHelp(k, v)})
		}
	}
	out = append(out, m.flagItems(man, variant, sel)...)
	for _, g := range man.Gates {
		if g != probes.GateNone {
			out = append(out, flags.Item{Kind: flags.Gate, Name: g.String(), Value: g.Define(), On: m.req.Gate == g, Help: gateHelp(g)})
		}
	}
	for i := range man.Faults {
		out = append(out, m.faultItem(man, variant, &man.Faults[i]))
	}
	for _, s := range man.Shapes {
		out = append(out, flags.Item{Kind: flags.Shape, Name: s.Name, Value: s.Shape.String(), On: shapeName(m.req) == s.Name, Help: "B,H,S,D = " + s.Shape.String()})
	}
	if _, named := man.Shape(shapeName(m.req)); !named {
		out = append(out, flags.Item{Kind: flags.Shape, Name: shapeName(m.req), On: true, Help: "B,H,S,D as typed"})
	}
	return append(out, flags.Item{Kind: flags.Seed, Name: "seed", Value: fmt.Sprint(m.req.Seed), Help: "seed of the normal inputs: h l change it, space types one"})
}

func variantHelp(man *configs.Manifest, v configs.Variant) string {
	if v.Help != "" {
		return v.Help
	}
	set := make([]string, 0, len(v.Flags))
	for _, f := range man.Flags {
		if n, ok := v.Flags[f.Name]; ok {
			set = append(set, fmt.Sprintf("%s=%d", f.Name, n))
		}
	}
	if len(set) == 0 {
		set = append(set, "every flag at its default")
	}
	return man.Title + ": " + strings.Join(set, " ")
}

func (m *Model) flagItems(man *configs.Manifest, variant string, sel *configs.Selection) []flags.Item {
	var out []flags.Item
	for _, f := range man.Flags {
		_, changed := m.req.Set[f.Name]
		it := flags.Item{Kind: flags.Flag, Name: f.Name, On: sel.Flags[f.Name] != 0, Changed: changed, Help: f.Help}
		if len(f.Values) > 2 || !slices.Contains(f.Values, 1) {
			it.Value = strconv.Itoa(sel.Flags[f.Name])
		}
		var needs []string
		for _, x := range f.Requires {
			needs = append(needs, x.String())
		}
		for _, x := range f.Conflicts {
			needs = append(needs, "not "+x.String())
		}
		it.Needs = strings.Join(needs, ", ")
		set := maps.Clone(m.req.Set)
		if set == nil {
			set = map[string]string{}
		}
		i := slices.Index(f.Values, sel.Flags[f.Name])
		set[f.Name] = strconv.Itoa(f.Values[(i+1)%len(f.Values)])
		if _, err := man.Select(variant, set, m.req.Faults, probes.GateNone); err != nil {
			it.Refused = oneLine(err)
		}
		out = append(out, it)
	}
	return out
}

func (m *Model) faultItem(man *configs.Manifest, variant string, f *configs.Fault) flags.Item {
	it := flags.Item{Kind: flags.Fault, Name: f.Name, On: slices.Contains(m.req.Faults, f.Name), Help: f.Help}
	if f.Needs != nil {
		it.Needs = f.Needs.String()
	}
	note := []string{}
	if f.Host {
		note = append(note, "it changes the host's side, not the kernel.")
	}
	if _, err := man.Select(variant, m.req.Set, []string{f.Name}, probes.GateNone); err != nil && !it.On {
		it.Refused = oneLine(err)
		note = append(note, "Switching it on goes to target "+f.Base+".")
	}
	if sel, err := man.Select(variant, m.req.Set, []string{f.Name}, probes.GateNone); err == nil && !it.On {
		if to := m.unsuited(man, sel); to != "" {
			it.Refused = "it can do nothing on shape " + shapeName(m.req) + "."
			note = append(note, "Switching it on goes to shape "+to+".")
		}
	}
	it.Note = strings.Join(note, " ")
	return it
}

// unsuited names the shape that a selection's fault asks for where the requested one does not do, else "".
func (m *Model) unsuited(man *configs.Manifest, sel *configs.Selection) string {
	shape, err := man.ParseShape(shapeName(m.req))
	if err != nil {
		return ""
	}
	var refused *configs.ShapeError
	if _, err = sel.Resolve(shape); !errors.As(err, &refused) || refused.Fault == "" {
		return ""
	}
	if f := man.Fault(refused.Fault); f != nil && f.Shape != "" {
		return f.Shape
	}
	return refused.Suggest
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

func gateHelp(g probes.Gate) string {
	switch g {
	case probes.GateQK:
		return "the kernel stops after S"
	case probes.GateSoftmax:
		return "S is fed in; m, l and P run"
	case probes.GatePV:
		return "P, m and l are fed in; U and O run"
	}
	return ""
}
