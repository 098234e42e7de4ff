package flags

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tilescope/configs"
	"tilescope/probes"
	"tilescope/tui/outcome"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// refreshShown makes the list anew where the view is on screen and the list is stale: whether each fault can
// do anything takes evaluating the manifest with it.
func (v *Controller) refreshShown() {
	if v.stale && v.Root.Showing() == view.Flags {
		v.refreshFlags()
	}
}

// refreshFlags makes the list for the request.
func (v *Controller) refreshFlags() {
	v.stale = false
	known := v.versusHere()
	d := Data{Request: request.Brief(v.Req), State: v.Standing(), Run: v.Outcome(), A: v.a,
		Apart: v.otherKernel(), Bisection: known.bisection, Ends: known.ends, Comparison: known.comparison,
		Against: known.name}
	if v.Run != nil {
		d.B = v.Run.Name
	}
	if known.of != "" && (known.of != request.InFull(v.Req) || !v.Current()) {
		d.Compared = outcome.Heading(known.of)
	}
	if v.Fail != nil {
		for _, r := range view.Reasons(v.Fail.Report.Error) {
			d.Reasons = append(d.Reasons, r.Text)
		}
		d.Reasons = append(d.Reasons, v.Remedies(v.Fail.Report.Error)...)
	}
	if man, variant := v.Manifest(); man != nil {
		if sel, err := man.Select(variant, v.Req.Set, nil, probes.GateNone); err == nil {
			d.Items = v.items(man, variant, sel)
		}
	}
	v.pane.SetData(d)
}

// items lists the switches of a manifest.
func (v *Controller) items(man *configs.Manifest, variant string, sel *configs.Selection) []Item {
	out := v.flagItems(man, variant, sel)
	if len(man.Gates) > 0 {
		out = append(out, Item{Kind: Gate, Name: probes.GateNone.String(), On: v.Req.Gate == probes.GateNone,
			Help: view.GateNoneHelp})
	}
	for _, g := range man.Gates {
		if g.Name != probes.GateNone {
			out = append(out, Item{
				Kind: Gate, Name: g.Name.String(), Value: g.Define, On: v.Req.Gate == g.Name,
				Help: g.Help,
			})
		}
	}
	out = append(out, v.injectItems(man)...)
	out = append(out, v.faultItems(man, variant)...)
	for _, s := range man.Shapes {
		out = append(out, Item{Kind: Shape, Name: s.Name, Value: s.Shape.String(),
			On:   request.ShapeName(v.Req) == s.Name,
			Help: extents(s.Shape)})
	}
	if _, named := man.Shape(request.ShapeName(v.Req)); !named && len(man.Dims) > 0 {
		out = append(out, Item{
			Kind: Shape, Name: request.ShapeName(v.Req), On: true,
			Help: strings.Join(man.DimNames(), ",") + " as typed",
		})
	}
	out = append(out, Item{Kind: Seed, Name: "seed", Value: fmt.Sprint(v.Req.Seed),
		Help: "seed of the normal inputs: h l change it, space types one"})
	out = append(out, v.settingItems()...)
	for _, k := range v.Engine.Catalogue().Manifests {
		for _, v := range k.Variants {
			out = append(out, Item{Kind: Variant, Name: v.Name, On: k == man && v.Name == variant,
				Help: variantHelp(k, v)})
		}
	}
	return out
}

// extents are a shape's with the names of its dimensions.
func extents(s probes.Shape) string {
	if s.IsListed() {
		return strings.ReplaceAll(probes.ListedDims, " ", ",") + " = " + s.String()
	}
	return s.String()
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

func (v *Controller) flagItems(man *configs.Manifest, variant string, sel *configs.Selection) []Item {
	var out []Item
	for _, f := range man.Flags {
		_, changed := v.Req.Set[f.Name]
		it := Item{Kind: Flag, Name: f.Name, On: sel.Flags[f.Name] != 0, Changed: changed, Help: f.Help}
		if len(f.Values) > 2 || !slices.Contains(f.Values, 1) {
			it.Value = strconv.Itoa(sel.Flags[f.Name])
		}
		it.Needs = strings.Join(sel.Unmet(f.Name), ", ")
		set := maps.Clone(v.Req.Set)
		if set == nil {
			set = map[string]string{}
		}
		i := slices.Index(f.Values, sel.Flags[f.Name])
		set[f.Name] = strconv.Itoa(f.Values[(i+1)%len(f.Values)])
		if _, err := man.Select(variant, set, v.Req.Faults, probes.GateNone); err != nil {
			it.Refused = view.OneLine(err)
			if fault := v.HeldBy(set); fault != "" {
				it.Refused = fmt.Sprintf("fault %s needs %s=%d: switch the fault off first", fault, f.Name,
					sel.Flags[f.Name])
			}
		}
		out = append(out, it)
	}
	return out
}

// faultsOf is what the list of faults depends on.
type faultsOf struct {
	man                     *configs.Manifest
	variant, shape, set, on string
}

// faultItems lists the faults of a manifest. Whether one can do anything takes evaluating the manifest with
// it, so the list is kept until what it depends on changes.
func (v *Controller) faultItems(man *configs.Manifest, variant string) []Item {
	of := faultsOf{man, variant, request.ShapeName(v.Req), fmt.Sprint(v.Req.Set), fmt.Sprint(v.Req.Faults)}
	if of != v.faultsOf {
		v.faultsOf, v.faults = of, nil
		for i := range man.Faults {
			v.faults = append(v.faults, v.faultItem(man, variant, &man.Faults[i]))
		}
	}
	return v.faults
}

func (v *Controller) faultItem(man *configs.Manifest, variant string, f *configs.Fault) Item {
	it := Item{Kind: Fault, Name: f.Name, On: slices.Contains(v.FaultsOn(v.Req), f.Name), Help: f.Help}
	if f.Needs != nil {
		it.Needs = f.Needs.String()
	}
	note := []string{}
	if slices.Contains(v.OwnFaults(v.Req.Target), f.Name) {
		it.Value = "of the variant"
		note = append(note, fmt.Sprintf("It is of variant %s itself.", variant))
		if to, _, err := v.WithFault(f.Name); err == nil {
			note = append(note, "Switching it off goes to target "+to.Target+".")
		} else {
			it.Refused = view.OneLine(err)
		}
	}
	if f.Host {
		note = append(note, "it changes the host's side, not the kernel.")
	}
	if _, err := man.Select(variant, v.Req.Set, []string{f.Name}, probes.GateNone); err != nil && !it.On {
		it.Refused = view.OneLine(err)
		if base := (*configs.BaseError)(nil); errors.As(err, &base) {
			it.Refused, it.Moves = base.Why()+".", true
			note = append(note, "Switching it on goes to target "+f.Base+".")
		}
	}
	if sel, err := man.Select(variant, v.Req.Set, []string{f.Name}, probes.GateNone); err == nil {
		unmet, to, err := view.Unsuited(man, sel, request.ShapeName(v.Req))
		switch {
		case unmet != nil:
			it.Needs = unmet.That
		case err == nil: // the shape meets it
			it.Needs = ""
		}
		if unmet != nil && unmet.Base != "" && !it.On {
			it.Refused, it.Moves = "it can do nothing with these flags.", true
			note = append(note, "Switching it on goes to target "+unmet.Base+".")
		}
		if to != "" && !it.On {
			it.Refused, it.Moves = "it can do nothing on shape "+request.ShapeName(v.Req)+".", true
			note = append(note, "Switching it on goes to shape "+to+".")
		}
	}
	it.Note = strings.Join(note, " ")
	return it
}
