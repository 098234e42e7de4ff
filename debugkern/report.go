package debugkern

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// RunSchema names the document that run prints. A field here is never renamed or dropped without a new number.
const RunSchema = "tilescope.run/1"

// Number is a float64 that JSON can hold: NaN and infinities are written as the strings "NaN", "+Inf", "-Inf".
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch v := float64(n); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"+Inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Inf"`), nil
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"NaN"`:
		*n = Number(math.NaN())
	case `"+Inf"`:
		*n = Number(math.Inf(1))
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

// Report is the document tilescope.run/1: everything one run found, in the contract's names and units.
type Report struct {
	Schema string         `json:"schema"`
	Target string         `json:"target"`
	Kernel string         `json:"kernel"`
	Flags  map[string]int `json:"flags"`
	Faults []string       `json:"faults"`
	Gate   string         `json:"gate"`
	Inject string         `json:"inject"`
	Shape  probes.Shape   `json:"shape"` // extents by name, in the manifest's order
	Dims   probes.Shape   `json:"dims"`  // the same: scripts for attention read shape, those for any kernel this
	Seed   uint64         `json:"seed"`

	Backend   BackendDoc    `json:"backend"`
	Build     RunBuildDoc   `json:"build"`
	Verdict   string        `json:"verdict"` // agree, diverge, failed
	Guilty    []Guilty      `json:"guilty"`
	Stages    []StageDoc    `json:"stages"`
	Output    *OutputDoc    `json:"output"`
	Findings  []FindingDoc  `json:"findings"`
	Cross     *CrossDoc     `json:"cross"`
	Resources *ResourcesDoc `json:"resources"`
	Cost      CostDoc       `json:"cost"`
	Digest    string        `json:"digest"`
	Printed   []string      `json:"printed,omitempty"` // lines that the kernel printed, by block
	Error     *ErrorDoc     `json:"error"`
}

// Verdicts of a run, of a stage and of the output.
const (
	Agree   = "agree"
	Diverge = "diverge"
	Failed  = "failed"

	OK      = "ok"
	Wrong   = "wrong"
	Tainted = "tainted"
	Off     = "off"
	Fail    = "fail"
)

// BackendDoc is what executed, and how it was built.
type BackendDoc struct {
	Name     string `json:"name"`
	Device   string `json:"device"`
	Builder  string `json:"builder"`
	Arch     string `json:"arch"`
	Schedule string `json:"schedule"`
}

// RunBuildDoc is what the instrumented build was made of.
type RunBuildDoc struct {
	Compiler string        `json:"compiler"` // "NVRTC 12.0.140"; "" where a manifest brings its own PTX
	Options  []string      `json:"options"`
	Headers  []cuda.Header `json:"headers"` // that were read, without the toolkit's and the system's
	Notes    []string      `json:"notes"`   // which of one's own headers have the name of one of tilescope's
}

// Guilty is a wrong stage where it first went wrong.
type Guilty struct {
	Stage  string      `json:"stage"`
	Block  probes.Dim3 `json:"block"`
	KVTile int         `json:"kv_tile"` // before the loop: -1; after it: the number of tiles
	// Loop is the index of each named loop in that iteration.
	Loop map[string]int `json:"loop,omitempty"`

	Phase probes.Phase `json:"-"` // the stage's
}

// AtTile names the kv tile that a tile of a stage belongs to, with text in front; "" for a stage that is
// computed before or after the loop, which a block has once.
func AtTile(front string, phase probes.Phase, kv int) string {
	if phase != probes.PhaseEach {
		return ""
	}
	return fmt.Sprintf("%skv tile %d", front, kv)
}

// StageDoc is one stage's verdict.
type StageDoc struct {
	Name         string           `json:"name"`
	Probe        string           `json:"probe"` // how it was captured
	Verdict      string           `json:"verdict"`
	Tiles        int              `json:"tiles"`
	NotReached   int              `json:"not_reached,omitempty"` // tiles that should have been captured and were not
	NotCaptured  int              `json:"not_captured"`          // compared cells that no thread captured, those of tiles not reached among them
	Local        ErrorStats       `json:"local"`
	Global       ErrorStats       `json:"global"`
	FirstBad     *BadCell         `json:"first_bad"`
	Fingerprints []FingerprintDoc `json:"fingerprints"`

	Phase probes.Phase `json:"-"`
}

// ErrorStats are errors over a stage's compared cells. MaxULP counts representable values of the stage's dtype; Error and
// Bound are those of the worst cell, the one whose error is largest for its bound (MaxAbs may be another cell's); Bad counts
// cells above their own bound.
type ErrorStats struct {
	MaxAbs     Number `json:"max_abs"`
	MaxULP     int64  `json:"max_ulp"`
	Error      Number `json:"error"`
	Bound      Number `json:"bound"`
	Derivation string `json:"derivation,omitempty"` // how Bound came about
	Bad        int    `json:"bad"`
	Cells      int    `json:"cells"`
	Nonfinite  int    `json:"nonfinite"`
}

// BadCell is a cell above its bound. Warp, Lane and Source are who wrote it last, where the backend can find
// it.
type BadCell struct {
	Block  probes.Dim3    `json:"block"`
	KVTile int            `json:"kv_tile"`
	Loop   map[string]int `json:"loop,omitempty"` // as Guilty's
	Row    int            `json:"row"`
	Col    int            `json:"col"`
	Got    Number         `json:"got"`
	Want   Number         `json:"want"`
	Warp   *int           `json:"warp"`
	Lane   *int           `json:"lane"`
	Source *SourceDoc     `json:"source"`
}

// SourceDoc is a place in the CUDA source.
type SourceDoc struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function,omitempty"`
	// Calls is the call sites that the code was inlined through, outermost first; left out where it was not inlined.
	Calls target.Calls `json:"called,omitempty"`
	Col   int          `json:"col,omitempty"`  // from 1, of a compile error
	Text  string       `json:"text,omitempty"` // the source line, of a compile error
}

// FingerprintDoc is a transform of the right tile that equals the wrong one.
type FingerprintDoc struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Evidence string `json:"evidence"`
	Explains Number `json:"explains"` // share of the stage's locally bad cells
}

// OutputDoc compares the kernel's result with the exact one from the un-quantised inputs. The rules are there where that is attention.
type OutputDoc struct {
	MaxAbs      Number `json:"max_abs"`
	MeanAbs     Number `json:"mean_abs"`
	BadFraction Number `json:"bad_fraction"`
	Cosine      Number `json:"cosine"`
	Verdict     string `json:"verdict"` // ok, fail: the manifest's gate
	// Other projects' acceptance tests: context, never part of a verdict.
	FlashRule *RuleDoc `json:"flash_rule,omitempty"`
	PyTorch   *RuleDoc `json:"pytorch,omitempty"`
	Triton    *RuleDoc `json:"triton,omitempty"`
	Histogram []int    `json:"histogram,omitempty"` // |error| counts by decade: <1e-6, <1e-5, … <1, rest
}

// RuleDoc is another project's acceptance test, evaluated on O.
type RuleDoc struct {
	Error   Number `json:"error"`
	Limit   Number `json:"limit"`
	Holds   bool   `json:"holds"`
	Context string `json:"context,omitempty"` // where it does not hold: why, from what storing in the same dtypes costs alone
}

// FindingDoc is target.Finding as documents spell it.
type FindingDoc struct {
	ID          string      `json:"id"`                   // stable for the same defect in the same source
	Suppressed  string      `json:"suppressed,omitempty"` // why it does not count; "" where it does
	Kind        string      `json:"kind"`
	Severity    string      `json:"severity"`
	Message     string      `json:"message"`
	Variable    string      `json:"variable"`
	Index       []int       `json:"index"`
	Space       string      `json:"space"`
	Block       probes.Dim3 `json:"block"`
	Warps       []int       `json:"warps"`
	Lanes       []int       `json:"lanes"`
	KVTile      int         `json:"kv_tile"`
	Source      *SourceDoc  `json:"source"`
	Other       *SourceDoc  `json:"other"`
	Missing     *string     `json:"missing"`
	Neighbour   string      `json:"neighbour"`
	Consequence string      `json:"consequence"`
	Count       int         `json:"count"`

	// Remedy is what Missing asks for, as edits of the module that was executed; nil where there is none.
	Remedy []ptx.Edit `json:"-"`
	Left   bool       `json:"-"` // the finding's warps did none of the block's work from KVTile on
}

// CrossDoc compares two backends on the same PTX.
type CrossDoc struct {
	Tiles     int          `json:"tiles"`
	Cells     int          `json:"cells"`
	Differing int          `json:"differing"`
	ByStage   []CrossStage `json:"by_stage"`
	Class     string       `json:"class"`
}

// CrossStage is one stage's share of the differing cells.
type CrossStage struct {
	Stage     string `json:"stage"`
	Differing int    `json:"differing"`
}

// ResourcesDoc is what ptxas allotted.
type ResourcesDoc struct {
	Registers       int    `json:"registers"`
	SharedBytes     int    `json:"shared_bytes"`
	SpillStoreBytes int    `json:"spill_store_bytes"`
	SpillLoadBytes  int    `json:"spill_load_bytes"`
	LocalBytes      int    `json:"local_bytes"`
	Arch            string `json:"arch"`
	SpillsUnknown   bool   `json:"spills_unknown,omitempty"` // local memory is used, and no compiler log explains for what
	By              string `json:"by,omitempty"`             // the source of the figures, for gates: "ptxas 12.0.140", "driver"
}

// CostDoc is what the run took. Counts are one launch of the instrumented build; RunMS all launches of all builds.
type CostDoc struct {
	BuildMS          Number `json:"build_ms"`
	RunMS            Number `json:"run_ms"`
	CompareMS        Number `json:"compare_ms"`
	WarpInstructions uint64 `json:"warp_instructions"`
	MMAOutputs       uint64 `json:"mma_outputs"`
	Launches         int    `json:"launches"`
}

// ErrorDoc is why a kernel did not build, load or run.
type ErrorDoc struct {
	Stage   string     `json:"stage"` // build, load, launch, run
	Message string     `json:"message"`
	Source  *SourceDoc `json:"source"`

	Diagnostics []Diagnostic `json:"diagnostics,omitempty"` // everything that the compiler had to say
}

// Title names what was run: target, shape, seed, faults, gate.
func (r *Report) Title() string {
	t := fmt.Sprintf("%s %s seed %d", r.Target, r.Shape, r.Seed)
	if len(r.Faults) > 0 {
		t += " with " + strings.Join(r.Faults, ", ")
	}
	if r.Gate != "none" {
		t += " under gate " + r.Gate
	}
	return t
}

// ExitCode is the contract's exit code of this report: 0 agreed, 1 diverged or a finding of severity error, 4 failed.
func (r *Report) ExitCode() int {
	if r.Verdict == Failed {
		return 4
	}
	if r.Verdict != Agree {
		return 1
	}
	for _, f := range r.Findings {
		if f.Severity == "error" {
			return 1
		}
	}
	return 0
}

// Uncaptured returns the first finding that explains why something was not captured, and so comes before any
// verdict about what was; nil where all was captured.
func (r *Report) Uncaptured() *FindingDoc {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == string(target.SeverityError) && Uncaptures(f.Kind) {
			return f
		}
	}
	return nil
}

// Uncaptures reports whether a kind of finding explains why something was not captured.
func Uncaptures(kind string) bool {
	return kind == string(target.LoopEnded) || kind == string(target.NotCaptured)
}

// Stage returns the stage of that name, or nil.
func (r *Report) Stage(name string) *StageDoc {
	for i := range r.Stages {
		if r.Stages[i].Name == name {
			return &r.Stages[i]
		}
	}
	return nil
}
