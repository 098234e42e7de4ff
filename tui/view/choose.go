package view

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/target"
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

// SameKernel reports whether two targets are variants of one kernel.
func (x *Context) SameKernel(a, b string) bool {
	if a == b {
		return true
	}
	ka, _ := x.ManifestOf(a)
	kb, _ := x.ManifestOf(b)
	return ka != nil && ka == kb
}

// Stageless reports whether the kernel on screen has no stages: its arguments are shown.
func (x *Context) Stageless() bool {
	if x.Run != nil && x.Run.Plan != nil {
		return x.Run.Plan.Stageless()
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
		err = x.wellFormed(fit)
	}
	if err == nil {
		err = x.checked(fit)
	}
	if err != nil {
		x.Complain(InCommands(OneLine(err)))
		return nil
	}
	x.origin.shape.to(x.Req, req, fit)
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

// wellFormed looks whether the values of a request are such as a run takes, of any kernel: what is refused
// here does not become the request on screen.
func (x *Context) wellFormed(req debugkern.Request) error {
	if _, err := target.ParseSchedule(req.Schedule); err != nil {
		return err
	}
	man, _ := x.ManifestOf(req.Target)
	if man == nil {
		return nil
	}
	if name := request.ShapeName(req); len(req.Launch) == 0 && name != request.ShapeName(x.Req) {
		if _, err := man.ParseShape(name); err != nil {
			return err
		}
	}
	if request.Normal(req).Inject != request.Normal(debugkern.Request{}).Inject && !man.Uniform(req.Gate) {
		return man.NotUniform(req.Gate)
	}
	return nil
}

// option is an option of the command line for which the terminal has a command.
var option = regexp.MustCompile(`--(schedule|shape|seed|gate|inject|backend|builder|fault|set|host)\b`)

// InCommands writes the terminal's commands for the options of the command line in a text.
func InCommands(text string) string { return option.ReplaceAllString(text, ":$1") }

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
		} else if !slices.Contains(x.OwnFaults(name), f) {
			req.Faults = append(req.Faults, f)
		}
	}
	said = "target " + name
	if dropped != nil {
		said += " · off, not planted in it: " + strings.Join(dropped, " ")
		said += x.shapeBack(&req)
	}
	if _, err := man.ParseShape(request.ShapeName(req)); err != nil && len(man.Shapes) > 0 {
		req.Shape = man.Shapes[0].Name
		said += " · shape " + req.Shape + ": it has no " + request.ShapeName(x.Req)
	}
	return req, said, nil
}

// take chooses what a switch has made of the request, or says why it makes nothing of it.
func (x *Context) take(req debugkern.Request, said string, err error) tea.Cmd {
	if err != nil {
		x.Complain(OneLine(err))
		return nil
	}
	return x.Choose(req, said)
}

// ChooseVariant runs a variant as it is. It is the target from then on, whatever a fault brought before.
func (x *Context) ChooseVariant(name string) tea.Cmd {
	cmd := x.take(x.WithVariant(name))
	if cmd != nil {
		x.origin.target = targetMove{}
	}
	return cmd
}

func (x *Context) StepFlag(name string, n int) tea.Cmd    { return x.take(x.withStep(name, n)) }
func (x *Context) SetFlag(name string, value int) tea.Cmd { return x.take(x.WithFlag(name, value)) }
func (x *Context) ChooseGate(g probes.Gate) tea.Cmd       { return x.take(x.WithGate(g)) }

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

// ChooseShape runs another shape. It is the shape from then on, whatever a fault brought before.
func (x *Context) ChooseShape(name string) tea.Cmd {
	req := x.NextRequest()
	req.Shape = name
	cmd := x.Choose(req, "shape "+name)
	if cmd != nil {
		x.origin.shape = shapeMove{}
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
