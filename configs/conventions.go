package configs

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

//go:embed conventions.yaml
var conventionsText []byte

// convention is conventions.yaml: what names mean where a manifest does not say it.
type convention struct {
	Inputs    []conventionalTensor `yaml:"inputs"`
	Output    conventionalTensor   `yaml:"output"`
	Scale     string               `yaml:"scale"`
	Positions map[string]string    `yaml:"positions"` // the dimensions whose extents they are below
	Axes      map[string]axis      `yaml:"axes"`
	Stages    []conventionalStage  `yaml:"stages"`
	Gates     []conventionalGate   `yaml:"gates"`
	Roles     map[string]string    `yaml:"roles"`
}

// Roles returns the conventional name of each role that a tensor or a stage has in attention.
// It is the caller's.
func Roles() map[string]string { return maps.Clone(conventions().Roles) }

// conventionalTensor is a tensor with its dimensions, expressions over the shape; an output with
// where a tile of it is.
type conventionalTensor struct {
	Name string   `yaml:"name"`
	Dims []string `yaml:"dims"`
	At   []string `yaml:"at"`
	Rows int      `yaml:"rows"`
	Cols int      `yaml:"cols"`
}

// axis is an extent that the shape gives: Extent is a dimension.
type axis struct {
	Extent string `yaml:"extent"`
	Says   string `yaml:"says"` // in messages
	// Of less From, positions of work, is how much of the axis exists from a tile's first element on.
	Of   string `yaml:"of"`
	From string `yaml:"from"`
}

type conventionalStage struct {
	Name  probes.Stage `yaml:"name"`
	Axes  []string     `yaml:"axes"`
	Phase string       `yaml:"phase"`
	Help  string       `yaml:"help"`
	Keys  []string     `yaml:"keys"`
	// Op is what the stage computes; Deferred says that it is captured after what is computed from it in the
	// same iteration; Compute is the arithmetic where the manifest does not have the stage.
	Op       yaml.Node       `yaml:"op"`
	what     *operation      // Op, read
	of       probes.StageSet // what the operation is computed from, in the order of conventions.yaml
	Deferred bool            `yaml:"deferred"`
	Compute  *struct {
		Unit  string `yaml:"unit"`
		Acc   string `yaml:"acc"`
		Block int    `yaml:"block"`
	} `yaml:"compute"`
}

type conventionalGate struct {
	Name    probes.Gate     `yaml:"name"`
	Define  string          `yaml:"define"`
	Judged  probes.StageSet `yaml:"judged"`
	Inject  probes.StageSet `yaml:"inject"`
	Uniform bool            `yaml:"uniform"`
	Help    string          `yaml:"help"`
}

// conventions reads conventions.yaml once. The result is shared and read-only.
var conventions = sync.OnceValue(func() *convention {
	c := &convention{}
	d := yaml.NewDecoder(bytes.NewReader(conventionsText))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		panic(fmt.Sprintf("BUG: conventions.yaml: %v", err))
	}
	for i := range c.Stages {
		s := &c.Stages[i]
		s.what = s.read()
		s.of = slices.SortedFunc(slices.Values(s.what.of(s.Name)), func(a, b probes.Stage) int {
			return c.order(a) - c.order(b)
		})
	}
	return c
})

// stage returns the convention of a stage's name, or nil.
func (c *convention) stage(name probes.Stage) *conventionalStage {
	if i := c.order(name); i >= 0 {
		return &c.Stages[i]
	}
	return nil
}

// order is the place of a stage among the conventional ones, -1 for another name.
func (c *convention) order(name probes.Stage) int {
	return slices.IndexFunc(c.Stages, func(s conventionalStage) bool { return s.Name == name })
}

// carried lists the stages that use their own value after the kv tile before.
func (c *convention) carried() []string {
	var out []string
	for _, s := range c.Stages {
		if s.of.Has(s.Name) {
			out = append(out, string(s.Name))
		}
	}
	return out
}

func (c *convention) stageNames() string {
	return strings.Join(names(c.Stages, func(s conventionalStage) string { return string(s.Name) }), " ")
}

// gate returns the conventional gate of that name or symbol, or nil.
func (c *convention) gate(text string) *conventionalGate {
	for i := range c.Gates {
		if g := &c.Gates[i]; text == string(g.Name) || text == g.Define {
			return g
		}
	}
	return nil
}

// input returns the convention of an input's name, or nil.
func (c *convention) input(name string) *conventionalTensor {
	for i := range c.Inputs {
		if c.Inputs[i].Name == name {
			return &c.Inputs[i]
		}
	}
	return nil
}

// positions lists the positions of work that conventional stages are computed by.
func (c *convention) positions() []string {
	out := sortedKeys(c.Positions)
	for _, name := range sortedKeys(c.Axes) {
		if from := c.Axes[name].From; from != "" && !slices.Contains(out, from) {
			out = append(out, from)
		}
	}
	return out
}

var phases = map[string]probes.Phase{
	"before": probes.PhaseBefore, "each": probes.PhaseEach, "after": probes.PhaseAfter,
}

// definition is what the convention says of a stage, with one column where it has one axis.
func (s *conventionalStage) definition() Definition {
	d := Definition{Phase: phases[s.Phase], Of: s.of, Help: s.Help}
	copy(d.Axes[:], s.Axes)
	return d
}

// ConventionalGates lists the names of the gates that a manifest may have without saying what they are.
func ConventionalGates() []string {
	return names(conventions().Gates, func(g conventionalGate) string { return string(g.Name) })
}

// UniformGates lists those of ConventionalGates that uniform values may be fed into.
func UniformGates() []string {
	var out []string
	for _, g := range conventions().Gates {
		if g.Uniform {
			out = append(out, string(g.Name))
		}
	}
	return out
}

// headerSlots maps the symbols that tilescope.cuh has stage ids for (TS_Q, …) to those ids.
var headerSlots = sync.OnceValue(func() map[string]int {
	_, list, _ := strings.Cut(probes.Header, "enum ts_stage_id {")
	list, _, ok := strings.Cut(list, "}")
	if !ok {
		panic("BUG: tilescope.cuh has no enum ts_stage_id")
	}
	out := map[string]int{}
	for i, name := range strings.Split(list, ",") {
		out[strings.TrimSpace(name)] = i
	}
	return out
})

func headerHas(symbol string) bool {
	_, ok := headerSlots()[symbol]
	return ok
}

// slotSymbol is the preprocessor symbol of a stage's id.
func slotSymbol(s probes.Stage) string { return "TS_" + strings.ToUpper(string(s)) }

// slot is a stage's id: the manifest's, or of a conventional stage that the manifest does not
// have, tilescope.cuh's.
func (m *Manifest) slot(s probes.Stage) int {
	if slot, ok := m.slots[s]; ok {
		return slot
	}
	return headerSlots()[slotSymbol(s)]
}

// slots numbers the manifest's stages as tilescope.cuh does, and those of other names from the next free
// number on, in order.
func (p *manifestParser) slots() {
	p.m.slots = map[probes.Stage]int{}
	next, owner := len(headerSlots()), map[string]probes.Stage{}
	apart, beyond := p.crowded(), probes.MaxSlots
	for _, s := range p.m.Stages {
		symbol := slotSymbol(s.Stage)
		other, taken := owner[symbol]
		at := &yaml.Node{Line: s.at.line, Column: s.at.col}
		switch slot, ok := headerSlots()[symbol]; {
		case taken && other == s.Stage:
			continue
		case taken:
			p.fail(at, s.at.field+".name", "stages %s and %s have the same symbol %s in probes; rename one",
				other, s.Stage, symbol)
		case ok:
			p.m.slots[s.Stage] = slot
		case apart && s.outside():
			p.m.slots[s.Stage] = beyond
			beyond++
		case next == probes.MaxSlots:
			p.fail(at, s.at.field+".name",
				"one stage too many: the control block has room for %d of names that are not conventional",
				probes.MaxSlots-len(headerSlots()))
			return
		default:
			p.m.slots[s.Stage] = next
			next++
		}
		owner[symbol] = s.Stage
	}
}

// crowded reports whether the control block has no room for all stages of names that are not conventional:
// then only those get a number in it that a block captures.
func (p *manifestParser) crowded() bool {
	var own probes.StageSet
	for _, s := range p.m.Stages {
		if !headerHas(slotSymbol(s.Stage)) {
			own = own.Union(probes.StagesOf(s.Stage))
		}
	}
	return len(own) > probes.MaxSlots-len(headerSlots())
}

// outside reports whether no block captures the stage: it is cut out of an output, or not captured.
func (s *Stage) outside() bool {
	return s.Capture.Kind == probes.CaptureOutput || s.Capture.Kind == probes.CaptureNone
}

// read reads what the convention says that the stage computes.
func (s *conventionalStage) read() *operation {
	r := &reader{file: "conventions.yaml"}
	o := r.operation(&s.Op, string(s.Name)+".op")
	if len(r.errs) > 0 {
		panic(fmt.Sprintf("BUG: %v", r.errs[0]))
	}
	return o
}
