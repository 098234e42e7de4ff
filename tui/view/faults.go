package view

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
	"tilescope/tui/request"
)

// Origin is from where switches of faults took the request: a fault may bring a target or a shape, which
// goes with it again.
type Origin struct {
	target targetMove
	shape  shapeMove
}

// targetMove is a change of the target by a fault. It holds as long as the request is of the target it led
// to.
type targetMove struct {
	from    string
	set     map[string]string // flags on top of from
	led     string            // "": there was none
	arrived map[string]string // flags on top of led, as the move left them
	dropped []string          // faults that could not be had at led, and come back with from
}

// shapeMove is a change of the shape by a fault. It holds as long as the request has the shape it led to.
type shapeMove struct{ from, led string }

// to notes that a request is followed by another, which was fitted to its faults.
func (m *shapeMove) to(was, req, fit debugkern.Request) {
	switch {
	case fit.Shape != req.Shape && (m.led == "" || m.led != request.ShapeName(was)):
		*m = shapeMove{request.ShapeName(req), fit.Shape}
	case fit.Shape != req.Shape:
		m.led = fit.Shape
	case request.ShapeName(fit) != m.led:
		*m = shapeMove{}
	}
}

// to notes that a switch of a fault makes another request of one, and which faults went with the target.
func (m *targetMove) to(was, now debugkern.Request, dropped []string) {
	switch {
	case was.Target == now.Target:
	case m.led == was.Target && m.from == now.Target:
		*m = targetMove{}
	case m.led == was.Target:
		m.led, m.arrived, m.dropped = now.Target, maps.Clone(now.Set), append(m.dropped, dropped...)
	default:
		*m = targetMove{was.Target, maps.Clone(was.Set), now.Target, maps.Clone(now.Set), dropped}
	}
}

// Origin is from where switches of faults took the request on screen.
func (x *Context) Origin() Origin { return x.origin }

// Restore makes an origin that of the request on screen, which is one that it was of before.
func (x *Context) Restore(o Origin) { x.origin = o }

// ForgetOrigin makes the target and the shape of the request those from which faults take it: a person has
// asked for them.
func (x *Context) ForgetOrigin() { x.origin = Origin{} }

// OwnFaults are the faults that a target's variant has itself.
func (x *Context) OwnFaults(target string) []string {
	man, variant := x.ManifestOf(target)
	if man == nil {
		return nil
	}
	if v := man.Variant(variant); v != nil {
		return v.Faults
	}
	return nil
}

// FaultsOn are the faults that a request runs with: its variant's own, then those on top.
func (x *Context) FaultsOn(req debugkern.Request) []string {
	out := slices.Clone(x.OwnFaults(req.Target))
	for _, f := range req.Faults {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// ToggleFault runs with a fault switched.
func (x *Context) ToggleFault(name string) tea.Cmd { return x.takeFaults(x.WithFault(name)) }

// NoFaults takes out every fault that is on.
func (x *Context) NoFaults() tea.Cmd {
	on := x.FaultsOn(x.Req)
	if len(on) == 0 {
		x.Say("no fault is on")
		return nil
	}
	return x.takeFaults(x.withOnly(nil, strings.Join(on, ", ")+" off"))
}

// takeFaults chooses what a switch of faults has made of the request, and notes where that took it.
func (x *Context) takeFaults(req debugkern.Request, notice string, err error) tea.Cmd {
	was := x.NextRequest()
	cmd := x.take(req, notice, err)
	if cmd == nil {
		return nil
	}
	before, now := x.FaultsOn(was), x.FaultsOn(x.Req)
	var dropped []string
	if without(now, before) != nil { // one was planted, and the others were not asked for to go
		dropped = without(before, now)
	}
	x.origin.target.to(was, x.Req, dropped)
	return cmd
}

// WithFault is the request with a fault switched. One planted in another variant, or that can do nothing with
// the flags of this one, brings that variant, and goes back from there when it is taken out.
func (x *Context) WithFault(name string) (req debugkern.Request, notice string, err error) {
	man, variant := x.Manifest()
	if man == nil {
		return req, "", fmt.Errorf("no fault %s in %s", name, x.Req.Target)
	}
	if man.Fault(name) == nil {
		known := make([]string, len(man.Faults))
		for i := range man.Faults {
			known[i] = man.Faults[i].Name
		}
		return req, "", fmt.Errorf("no fault %s in %s%s", name, x.Req.Target, configs.Suggest(name, known))
	}
	on := x.FaultsOn(x.Req)
	if i := slices.Index(on, name); i >= 0 {
		left := slices.Delete(on, i, i+1)
		with := slices.Concat(left, x.origin.target.dropped)
		if back, note, ok := x.backHome(x.NextRequest(), with); ok {
			return back, name + " off" + note, nil
		}
		return x.withOnly(left, name+" off")
	}
	req, notice = x.NextRequest(), name+" on"
	if back, note, ok := x.backHome(req, append(on, name)); ok {
		return back, notice + note, nil
	}
	sel, err := man.Select(variant, req.Set, []string{name}, probes.GateNone)
	if err != nil {
		notice += x.transplant(&req, man, man.Fault(name).Base, "it is planted there")
	} else if refused, _, _ := Unsuited(man, sel, request.ShapeName(req)); refused != nil &&
		refused.Base != "" {
		notice += x.transplant(&req, man, refused.Base, "it needs "+refused.That)
	}
	if !slices.Contains(x.OwnFaults(req.Target), name) {
		req.Faults = append(req.Faults, name)
	}
	return req, notice, x.excluded(man, req, name)
}

// excluded refuses a fault that takes the request to flags under which another one that is on can do nothing:
// nil where there is none.
func (x *Context) excluded(man *configs.Manifest, req debugkern.Request, name string) error {
	of, variant := x.ManifestOf(req.Target)
	if of != man {
		return nil
	}
	sel, err := man.Select(variant, req.Set, req.Faults, probes.GateNone)
	if err != nil {
		return nil // the run's own refusal names what is wrong
	}
	refused, _, _ := Unsuited(man, sel, request.ShapeName(req))
	if refused == nil || refused.Base == "" || refused.Fault == name {
		return nil
	}
	return fmt.Errorf("faults %s and %s cannot be combined: %s is planted in target %s, and %s needs %s; "+
		":fault %s switches that one off", name, refused.Fault, name, req.Target, refused.Fault, refused.That,
		refused.Fault)
}

// withOnly is the request with some of the faults that are on, and no others. Faults of the variant itself
// cannot be left out of it: the target is then a variant of the kernel that does not have them, under the
// same flags.
func (x *Context) withOnly(wanted []string, notice string) (debugkern.Request, string, error) {
	req := x.NextRequest()
	if back, note, ok := x.backHome(req, wanted); ok {
		return back, notice + note, nil
	}
	own := x.OwnFaults(req.Target)
	if left := without(own, wanted); left != nil {
		other, err := x.plainer(req, wanted)
		if err != nil {
			return req, "", fmt.Errorf("%s of variant %s itself: %w", areText(left), req.Target, err)
		}
		notice += fmt.Sprintf(" · target %s: %s of %s itself", other.Target, areText(left), req.Target)
		req = other
	} else {
		req.Faults = without(wanted, own)
	}
	return req, notice + x.shapeBack(&req), nil
}

// areText is "a is", or "a, b are".
func areText(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// without is what of a list is not in another, each once; nil where nothing is left.
func without(list, other []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(other, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// errNoPlainer says that a variant's own fault cannot be taken out.
var errNoPlainer = errors.New(
	"no target of the kernel has these flags without it; :variant NAME runs another")

// plainer is a request of another variant with the flags of this one and with the faults wanted alone. Of
// several variants it is one that differs in the fewest flags, then one that has most of the faults itself.
func (x *Context) plainer(req debugkern.Request, wanted []string) (debugkern.Request, error) {
	man, variant := x.Manifest()
	now, err := man.Select(variant, req.Set, nil, probes.GateNone)
	if err != nil {
		return req, err
	}
	best, found := req, false
	for i := range man.Variants {
		v := &man.Variants[i]
		if without(v.Faults, wanted) != nil {
			continue
		}
		to := request.Clone(req)
		to.Target, to.Faults = v.Name, without(wanted, v.Faults)
		if to.Set, err = setFor(man, v.Name, now.Flags); err != nil {
			continue
		}
		_, err := man.Select(v.Name, to.Set, to.Faults, probes.GateNone)
		if err != nil || x.elsewhere(man, v.Name) {
			continue
		}
		if !found || len(to.Set) < len(best.Set) ||
			len(to.Set) == len(best.Set) && len(to.Faults) < len(best.Faults) {
			best, found = to, true
		}
	}
	if !found {
		return req, errNoPlainer
	}
	return best, nil
}

// elsewhere reports whether a variant's name is not a target of its manifest: of a manifest that was opened
// by its path only the default variant is one.
func (x *Context) elsewhere(man *configs.Manifest, variant string) bool {
	of, name := x.ManifestOf(variant)
	return of != man || name != variant
}

// setFor are the flags to set on top of a variant for these values of all flags; nil where there are none.
func setFor(man *configs.Manifest, variant string, flags map[string]int) (map[string]string, error) {
	plain, err := man.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		return nil, err
	}
	var set map[string]string
	for name, value := range flags {
		if plain.Flags[name] != value {
			if set == nil {
				set = map[string]string{}
			}
			set[name] = strconv.Itoa(value)
		}
	}
	return set, nil
}

// backHome is a request with the faults wanted at the target from which a fault took it, and on the shape of
// then where the faults allow that. ok is false where no fault took it anywhere, or where these faults cannot
// be had there. Flags that were switched since keep their values.
func (x *Context) backHome(req debugkern.Request, wanted []string) (back debugkern.Request, note string,
	ok bool) {
	from := &x.origin.target
	if from.led == "" || from.led != req.Target {
		return req, "", false
	}
	man, variant := x.ManifestOf(from.from)
	here, at := x.ManifestOf(req.Target)
	own := x.OwnFaults(from.from)
	if man == nil || man != here || without(own, wanted) != nil {
		return req, "", false
	}
	home, err := man.Select(variant, from.set, nil, probes.GateNone)
	if err != nil {
		return req, "", false
	}
	then, err := man.Select(at, from.arrived, nil, probes.GateNone)
	if err != nil {
		return req, "", false
	}
	now, err := man.Select(at, req.Set, nil, probes.GateNone)
	if err != nil {
		return req, "", false
	}
	flags := maps.Clone(home.Flags)
	for name, value := range now.Flags {
		if then.Flags[name] != value {
			flags[name] = value
		}
	}
	back = request.Clone(req)
	back.Target, back.Faults = from.from, without(wanted, own)
	if back.Set, err = setFor(man, variant, flags); err != nil {
		return req, "", false
	}
	sel, err := man.Select(variant, back.Set, back.Faults, probes.GateNone)
	if err != nil {
		return req, "", false
	}
	note = " · target " + back.Target + " again" + x.shapeBack(&back)
	if refused, _, _ := Unsuited(man, sel, request.ShapeName(back)); refused != nil && refused.Base != "" {
		return req, "", false
	}
	return back, note, true
}

// shapeBack returns a request to the shape from which a fault took it, where its faults allow that, and says
// so.
func (x *Context) shapeBack(req *debugkern.Request) string {
	from := x.origin.shape
	if from.led == "" || from.led != request.ShapeName(*req) {
		return ""
	}
	man, variant := x.ManifestOf(req.Target)
	if man == nil {
		return ""
	}
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	if err != nil {
		return ""
	}
	if refused, _, err := Unsuited(man, sel, from.from); refused != nil || err != nil {
		return ""
	}
	req.Shape = from.from
	return " · shape " + req.Shape + " again"
}

// transplant moves a request to the target that a fault is planted in, without the faults that are not
// planted there, and says so.
func (x *Context) transplant(req *debugkern.Request, man *configs.Manifest, base, why string) string {
	notice := fmt.Sprintf(" · target %s: %s", base, why)
	if req.Target == base && len(req.Set) > 0 { // its flags were set otherwise
		var set []string
		for _, name := range slices.Sorted(maps.Keys(req.Set)) {
			set = append(set, name+"="+req.Set[name])
		}
		notice = fmt.Sprintf(" · %s taken back: %s", strings.Join(set, " "), why)
	}
	on := x.FaultsOn(*req)
	req.Target, req.Set, req.Faults = base, nil, nil
	var dropped []string
	for _, f := range on {
		if _, err := man.Select(base, nil, []string{f}, probes.GateNone); err != nil {
			dropped = append(dropped, f)
		} else if !slices.Contains(x.OwnFaults(base), f) {
			req.Faults = append(req.Faults, f)
		}
	}
	if dropped != nil {
		notice += " · off, not planted there: " + strings.Join(dropped, " ")
	}
	return notice
}
