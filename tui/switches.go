package tui

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tilescope/configs"
	"tilescope/probes"
	"tilescope/tui/outcome"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/rail"
)

// refreshFlags makes the Flags view's list for the request, and the rail's.
func (m *Model) refreshFlags() {
	m.showGates()
	d := flags.Data{Request: title(m.req), State: m.state(), Run: m.outcome(), A: m.a, Bisection: m.versus.bisection, Comparison: m.versus.comparison, Against: m.versus.name}
	if m.run != nil {
		d.B = m.run.name
	}
	if m.versus.of != "" && (m.versus.of != inFull(m.req) || !m.current()) {
		d.Compared = outcome.Heading(m.versus.of)
	}
	if m.fail != nil {
		for _, r := range reasons(m.fail.report.Error) {
			d.Reasons = append(d.Reasons, r.Text)
		}
		d.Reasons = append(d.Reasons, m.remedies(m.fail.report.Error)...)
	}
	if man, variant := m.manifest(); man != nil {
		if sel, err := man.Select(variant, m.req.Set, nil, probes.GateNone); err == nil {
			d.Items = m.items(man, variant, sel)
		}
	}
	m.pane.flags.SetData(d)
	m.showRail()
}

// showRail gives the rail the run on screen, with that run's own request: the rail is dimmed with it.
func (m *Model) showRail() {
	req := m.req
	if m.run != nil {
		req = m.run.request
	}
	r := rail.Data{Stage: m.cursor.Stage, Run: m.outcome(), Faults: req.Faults}
	r.Facts = [][2]string{{"target", req.Target}, {"shape", shapeName(req)}, {"seed", fmt.Sprint(req.Seed)}, {"gate", req.Gate.String()}}
	if man, variant := m.manifestOf(req.Target); man != nil {
		if sel, err := man.Select(variant, req.Set, nil, probes.GateNone); err == nil {
			for _, f := range man.Flags {
				r.Flags = append(r.Flags, fmt.Sprintf("%s %d", f.Name, sel.Flags[f.Name]))
			}
		}
	}
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
		if g.Name != probes.GateNone {
			out = append(out, flags.Item{Kind: flags.Gate, Name: g.Name.String(), Value: g.Define, On: m.req.Gate == g.Name, Help: g.Help})
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
		if _, to, _ := unsuited(man, sel, shapeName(m.req)); to != "" {
			it.Refused = "it can do nothing on shape " + shapeName(m.req) + "."
			note = append(note, "Switching it on goes to shape "+to+".")
		}
	}
	it.Note = strings.Join(note, " ")
	return it
}
