package view

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
	"tilescope/tui/request"
)

// Manifest is the requested target's manifest and variant; nil where the catalogue has no such name.
func (x *Context) Manifest() (*configs.Manifest, string) { return x.ManifestOf(x.Req.Target) }

// ManifestOf is a target's manifest and variant; nil where the catalogue has no such name.
func (x *Context) ManifestOf(target string) (*configs.Manifest, string) {
	man, variant, err := x.Engine.Catalogue().Lookup(target)
	if err == nil {
		return man, variant
	}
	if x.Mine != nil && x.Mine.File == target {
		return x.Mine, x.Mine.Default
	}
	return nil, ""
}

// Stageless reports whether the kernel on screen has no stages: its arguments are shown.
func (x *Context) Stageless() bool {
	if x.Run != nil && x.Run.Plan != nil {
		return x.Run.Plan.Stageless() && len(x.Run.Plan.Memory) > 0
	}
	man, _ := x.Manifest()
	return man != nil && len(man.Stages) == 0
}

// Unjudged reports whether nothing on screen is compared with a reference.
func (x *Context) Unjudged() bool {
	if x.Run != nil && x.Run.Plan != nil {
		return !x.Run.Plan.Referenced()
	}
	man, _ := x.Manifest()
	return man != nil && !man.Referenced()
}

// ShapeTitle is the shape of the request as it is called on screen, "" of a kernel without dimensions.
func (x *Context) ShapeTitle() string {
	name := request.ShapeName(x.Req)
	man, _ := x.Manifest()
	if man == nil || len(man.Stages) > 0 {
		return name
	}
	if _, ok := man.Shape(name); ok || len(man.Shapes) == 0 && len(man.Dims) > 0 {
		return name
	}
	if shape, err := man.ParseShape(name); err == nil {
		return shape.String()
	}
	return name
}

// Choose starts a run of req if the manifest takes it; what was done besides is said.
func (x *Context) Choose(req debugkern.Request, said string) tea.Cmd {
	if req.Target == x.Req.Target && x.NotOpen() {
		return nil
	}
	fit, note, err := x.Fitting(req)
	if err == nil {
		err = x.checked(fit)
	}
	if err != nil {
		x.Complain(OneLine(err))
		return nil
	}
	switch {
	case len(fit.Faults) == 0:
		x.before = ""
	case fit.Shape != req.Shape && x.before == "":
		x.before = request.ShapeName(req)
	}
	x.SayChosen(said + note)
	return x.Root.Start(fit)
}

// SayChosen writes to the status line what is run now; what it comes to is added when it has ended.
func (x *Context) SayChosen(text string) {
	x.chosen = text
	x.Release() // what a run before this one came to has been shown
	x.Say(text)
}

// Chosen is the last text of SayChosen, once.
func (x *Context) Chosen() string {
	said := x.chosen
	x.chosen = ""
	return said
}

// checker is an engine that can say, without running it, whether a request makes sense.
type checker interface {
	Check(ctx context.Context, req debugkern.Request) error
}

var _ checker = (*debugkern.Session)(nil)

// checked asks the engine whether a request makes sense. A manifest of one's own is not read for it: its run
// says so.
func (x *Context) checked(req debugkern.Request) error {
	e, ok := x.Engine.(checker)
	if _, _, err := x.Engine.Catalogue().Lookup(req.Target); !ok || err != nil || req.Inputs != "" {
		return nil
	}
	return e.Check(x.Ctx, req)
}

// Fitting is a request as it can be run, and what about it had to change: a fault that can do nothing on the
// shape brings its own shape.
func (x *Context) Fitting(req debugkern.Request) (fit debugkern.Request, note string, err error) {
	man, variant, err := x.Engine.Catalogue().Lookup(req.Target)
	if err != nil {
		if man, variant = x.Manifest(); man == nil || x.Req.Target != req.Target {
			return req, "", err
		}
	}
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	if err != nil || req.Inputs != "" {
		return req, "", err
	}
	refused, other, err := Unsuited(man, sel, request.ShapeName(req))
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

// Unsuited is why a selection's fault can do nothing on a shape, and the name of one on which it does; nil
// where that is not what is wrong.
func Unsuited(man *configs.Manifest, sel *configs.Selection, name string) (refused *configs.ShapeError,
	other string, err error) {
	shape, err := man.ParseShape(name)
	if err != nil {
		return nil, "", err
	}
	if _, err = sel.Resolve(shape); !errors.As(err, &refused) || refused.Fault == "" {
		return nil, "", err
	}
	return refused, refused.Suggest, err
}

func (x *Context) ChooseSeed(seed uint64) tea.Cmd {
	req := x.NextRequest()
	req.Seed = seed
	return x.Choose(req, fmt.Sprintf("seed %d", seed))
}

// WithVariant is the request for a variant as it is: flags set on top go, and faults that are not planted in
// it.
func (x *Context) WithVariant(name string) (req debugkern.Request, said string, err error) {
	man, variant, err := x.Engine.Catalogue().Lookup(name)
	if err != nil {
		return req, "", err
	}
	req = x.NextRequest()
	req.Target, req.Set, req.Faults = name, nil, nil
	var dropped []string
	for _, f := range x.Req.Faults {
		if _, err := man.Select(variant, nil, []string{f}, probes.GateNone); err != nil {
			dropped = append(dropped, f)
		} else {
			req.Faults = append(req.Faults, f)
		}
	}
	said = "target " + name
	if dropped != nil {
		said += " · off, not planted in it: " + strings.Join(dropped, " ")
		x.shapeBack(&req)
	}
	if _, err := man.ParseShape(request.ShapeName(req)); err != nil && len(man.Shapes) > 0 {
		req.Shape = man.Shapes[0].Name
		said += " · shape " + req.Shape + ": it has no " + request.ShapeName(x.Req)
	}
	return req, said, nil
}

// shapeBack returns to the shape from before a fault asked for another, once no fault is on.
func (x *Context) shapeBack(req *debugkern.Request) string {
	if x.before == "" || len(req.Faults) > 0 {
		return ""
	}
	req.Shape = x.before
	return " · shape " + req.Shape + " again"
}

// take chooses what a switch has made of the request, or says why it makes nothing of it.
func (x *Context) take(req debugkern.Request, said string, err error) tea.Cmd {
	if err != nil {
		x.Complain(OneLine(err))
		return nil
	}
	return x.Choose(req, said)
}

func (x *Context) ChooseVariant(name string) tea.Cmd      { return x.take(x.WithVariant(name)) }
func (x *Context) StepFlag(name string, n int) tea.Cmd    { return x.take(x.withStep(name, n)) }
func (x *Context) SetFlag(name string, value int) tea.Cmd { return x.take(x.WithFlag(name, value)) }
func (x *Context) ChooseGate(g probes.Gate) tea.Cmd       { return x.take(x.WithGate(g)) }
func (x *Context) ToggleFault(name string) tea.Cmd        { return x.take(x.WithFault(name)) }

// withStep is the request with a flag at the n-th value after its own.
func (x *Context) withStep(name string, n int) (req debugkern.Request, said string, err error) {
	man, variant := x.Manifest()
	if man == nil || man.Flag(name) == nil {
		return req, "", fmt.Errorf("no flag %s", name)
	}
	sel, err := man.Select(variant, x.Req.Set, nil, x.Req.Gate)
	if err != nil {
		return req, "", err
	}
	values := man.Flag(name).Values
	i := slices.Index(values, sel.Flags[name]) + n
	return x.WithFlag(name, values[((i%len(values))+len(values))%len(values)])
}

// WithFlag is the request with a flag's value on top of the variant. A value that takes the kernel off the
// base of a fault that is on is refused, with the reason.
func (x *Context) WithFlag(name string, value int) (req debugkern.Request, said string, err error) {
	man, variant := x.Manifest()
	if man == nil {
		return req, "", fmt.Errorf("no manifest for %s", x.Req.Target)
	}
	req = x.NextRequest()
	if req.Set == nil {
		req.Set = map[string]string{}
	}
	req.Set[name] = strconv.Itoa(value)
	if plain, err := man.Select(variant, nil, nil, probes.GateNone); err == nil &&
		plain.Flags[name] == value {
		delete(req.Set, name)
	}
	if f := x.HeldBy(req.Set); f != "" {
		return req, "", fmt.Errorf("fault %s needs %s as it is: switch the fault off first", f, name)
	}
	return req, fmt.Sprintf("%s=%d", name, value), nil
}

// HeldBy is a fault that is on and cannot be under other values of the flags, which are possible without it;
// "" for none.
func (x *Context) HeldBy(set map[string]string) string {
	man, variant := x.Manifest()
	if _, err := man.Select(variant, set, nil, probes.GateNone); err != nil {
		return ""
	}
	for _, f := range x.Req.Faults {
		if _, err := man.Select(variant, set, []string{f}, probes.GateNone); err != nil {
			return f
		}
	}
	return ""
}

// WithGate is the request under a gate, or under none where it is that one already: gates exclude each other.
func (x *Context) WithGate(g probes.Gate) (req debugkern.Request, said string, err error) {
	req = x.NextRequest()
	if req.Gate == g {
		g = probes.GateNone
	}
	req.Gate, said = g, "gate "+g.String()
	if man, _ := x.Manifest(); man == nil || !man.Uniform(g) {
		if request.Normal(req).Inject != "reference" {
			said += ", which takes no " + req.Inject + " values: back to the reference's"
		}
		req.Inject = ""
	}
	return req, said, nil
}

// NoFaults takes out every fault that is on.
func (x *Context) NoFaults() tea.Cmd {
	req := x.NextRequest()
	if len(req.Faults) == 0 {
		x.Say("no fault is on")
		return nil
	}
	said := strings.Join(req.Faults, ", ") + " off"
	req.Faults = nil
	return x.Choose(req, said+x.shapeBack(&req))
}

// ChooseDefaults runs the request's kernel with every flag, fault, gate, injected value, schedule, shape and
// seed at its default. What executes and compiles it, its inputs and what is captured stay.
func (x *Context) ChooseDefaults() tea.Cmd {
	was := x.NextRequest()
	req := request.Clone(was)
	req.Set, req.Faults, req.Gate, req.Inject, req.Schedule, req.Seed = nil, nil, "", "", "", 0
	if man, _ := x.Manifest(); len(req.Launch) == 0 {
		req.Shape = ""
		if man != nil && len(man.Shapes) > 0 {
			if _, err := man.ParseShape(request.ShapeName(req)); err != nil {
				req.Shape = man.Shapes[0].Name
			}
		}
	}
	if request.Same(was, req) {
		x.Say("every flag, fault, gate, shape and seed is at its default already")
		return nil
	}
	x.before = ""
	return x.Choose(req, "reset: "+strings.Join(request.Differences(was, req), ", "))
}

// WithFault is the request with a fault switched. One planted in another variant, or that can do nothing with
// the flags of this one, brings that variant.
func (x *Context) WithFault(name string) (req debugkern.Request, said string, err error) {
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
	req = x.NextRequest()
	if i := slices.Index(req.Faults, name); i >= 0 {
		req.Faults = slices.Delete(req.Faults, i, i+1)
		return req, name + " off" + x.shapeBack(&req), nil
	}
	said = name + " on"
	sel, err := man.Select(variant, req.Set, []string{name}, probes.GateNone)
	if err != nil {
		said += x.transplant(&req, man, man.Fault(name).Base, "it is planted there")
	} else if refused, _, _ := Unsuited(man, sel, request.ShapeName(req)); refused != nil &&
		refused.Base != "" {
		said += x.transplant(&req, man, refused.Base, "it needs "+refused.That)
	}
	req.Faults = append(req.Faults, name)
	return req, said, nil
}

// transplant moves a request to the target that a fault is planted in, without the faults that are not
// planted there, and says so.
func (x *Context) transplant(req *debugkern.Request, man *configs.Manifest, base, why string) string {
	said := fmt.Sprintf(" · target %s: %s", base, why)
	req.Target, req.Set = base, nil
	var dropped []string
	req.Faults = slices.DeleteFunc(slices.Clone(req.Faults), func(f string) bool {
		_, err := man.Select(base, nil, []string{f}, probes.GateNone)
		if err != nil {
			dropped = append(dropped, f)
		}
		return err != nil
	})
	if dropped != nil {
		said += " · off, not planted there: " + strings.Join(dropped, " ")
	}
	return said
}

func (x *Context) ChooseShape(name string) tea.Cmd {
	req := x.NextRequest()
	req.Shape = name
	was := x.before
	x.before = ""
	cmd := x.Choose(req, "shape "+name)
	if cmd == nil {
		x.before = was
	}
	return cmd
}

// Outline is the plan of the request, to draw the timeline before anything has run; nil where there is none.
func (x *Context) Outline() *probes.Plan {
	man, variant := x.Manifest()
	if man == nil {
		return nil
	}
	sel, err := man.Select(variant, x.Req.Set, x.Req.Faults, x.Req.Gate)
	if err != nil {
		return nil
	}
	shape, err := man.ParseShape(request.ShapeName(x.Req))
	if err != nil {
		return nil
	}
	plan, err := sel.Resolve(shape)
	if err != nil {
		return nil
	}
	return plan
}
