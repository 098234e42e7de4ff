package gates

import (
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Schemas of the document and of the artefacts. A field is never renamed or dropped without a new number.
const (
	Schema            = "tilescope.gates/1"
	BuildSchema       = "tilescope.build_meta/1"
	CorrectnessSchema = "tilescope.correctness_summary/1"
	PerfSchema        = "tilescope.perf_baseline/1"
)

// Verdicts of a gate, of one of its measurements, of a target and of the sweep.
const (
	Green  = "green"
	Red    = "red"
	NotRun = "not run"
)

// Doc is the document tilescope.gates/1.
type Doc struct {
	Schema  string `json:"schema"`
	Verdict string `json:"verdict"` // red if any gate that ran is red
	Against string `json:"against"` // what speed was compared with, ""
	Resumed int    `json:"resumed"` // measurements taken over from a sweep that was cut short
	// Rejected lists files of the unfinished sweep, each with the reason, that do not hold what a sweep wrote
	// for that measurement: it was made again.
	Rejected   []string    `json:"rejected"`
	Provenance Provenance  `json:"provenance"`
	Targets    []TargetDoc `json:"targets"`
}

// Tool is the program that judged.
type Tool struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`   // "" where the build recorded none
	Modified   bool   `json:"modified"` // the working tree had changes
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Executable string `json:"executable_sha256"`
}

// Provenance is what has to be known to repeat the sweep.
type Provenance struct {
	Tool        Tool               `json:"tool"`
	Environment report.Environment `json:"environment"`
	Seeds       []uint64           `json:"seeds"`
	Warmups     int                `json:"warmups"`
	Launches    int                `json:"launches"`
	FlushL2     bool               `json:"flush_l2"`
	Gate        string             `json:"gate"`
	Schedule    string             `json:"schedule"`
	Inputs      string             `json:"inputs"`
}

// TargetDoc is one target's three gates.
type TargetDoc struct {
	Target      string         `json:"target"`
	Kernel      string         `json:"kernel"`
	Variant     string         `json:"variant"`
	Flags       map[string]int `json:"flags"`
	Faults      []string       `json:"faults"`
	Build       *report.Build  `json:"build"` // null where it does not build
	Verdict     string         `json:"verdict"`
	Mergeable   bool           `json:"mergeable"` // all three gates ran and are green
	PTXAS       PTXASDoc       `json:"ptxas"`
	Correctness CorrectnessDoc `json:"correctness"`
	Performance PerformanceDoc `json:"performance"`
}

// PTXASDoc is the gate on what the compiler allots.
type PTXASDoc struct {
	Verdict string         `json:"verdict"`
	Reason  string         `json:"reason"`
	Limits  ResourceLimits `json:"limits"`
	Archs   []ArchDoc      `json:"archs"`
}

// ResourceLimits are the manifest's thresholds; each is allowed, one more is not. Spills are
// bytes stored and loaded.
type ResourceLimits struct {
	Registers   int `json:"registers"`
	SharedBytes int `json:"shared_bytes"`
	Spills      int `json:"spills"`
}

// ArchDoc is one architecture.
type ArchDoc struct {
	Arch      string            `json:"arch"`
	Verdict   string            `json:"verdict"`
	Reason    string            `json:"reason"`
	Resources *report.Resources `json:"resources"`
}

// CorrectnessDoc is the gate on results. Of a kernel without a reference it is decided by findings alone,
// those of every checker; Limits do not apply.
type CorrectnessDoc struct {
	Verdict   string       `json:"verdict"`
	Reason    string       `json:"reason"`
	Reference string       `json:"reference"` // graph, or none
	Limits    OutputLimits `json:"limits"`
	Passed    int          `json:"passed"`
	Total     int          `json:"total"`
	Cells     []CellDoc    `json:"cells"`
}

// ByFindings reports whether findings alone decide: there is no reference.
func (c *CorrectnessDoc) ByFindings() bool { return c.Reference == report.NoReference }

// OutputLimits are the manifest's thresholds on O against attention on the un-quantised inputs.
type OutputLimits struct {
	MaxAbs      float64 `json:"max_abs"`
	MeanAbs     float64 `json:"mean_abs"`
	BadFraction float64 `json:"bad_fraction"`
}

// CellDoc is one shape and seed.
type CellDoc struct {
	Shape    string         `json:"shape"` // as it was named; "" for the inputs file's
	Dims     probes.Shape   `json:"dims"`
	Seed     uint64         `json:"seed"`
	Verdict  string         `json:"verdict"`
	Reason   string         `json:"reason"` // why it is red
	Backend  report.Backend `json:"backend"`
	Output   *report.Output `json:"output"` // null under a DEBUG gate, and where the kernel failed
	Guilty   []string       `json:"guilty"`
	Findings []FindingCount `json:"findings"`
	// Plain: O of the build without probes: "equal", "differs", "" where it did not run
	Plain        string `json:"plain"`
	Digest       string `json:"digest"`
	OutputSHA256 string `json:"output_sha256"` // of O of the plain build
}

// FindingCount is one kind of finding.
type FindingCount struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Count    int    `json:"count"`
	Message  string `json:"message"` // the first one's
}

// PerformanceDoc is the gate on speed. Times are of a GPU, by events, interleaved with the baseline's; Counts
// are what the emulator executes, and stand only where nothing was timed.
type PerformanceDoc struct {
	Verdict     string              `json:"verdict"`
	Reason      string              `json:"reason"`
	Shape       string              `json:"shape"`
	Dims        probes.Shape        `json:"dims"`
	Seed        uint64              `json:"seed"`
	Against     string              `json:"against"`
	MinSpeedup  float64             `json:"min_speedup"` // has to be exceeded
	Alpha       float64             `json:"alpha"`       // and p has to be below
	Environment *report.Environment `json:"environment"` // clocks before the launches
	ClocksAfter *report.Clocks      `json:"clocks_after"`
	Times       *Times              `json:"times"`
	Baseline    *Times              `json:"baseline_times"`
	// Speedup: baseline's median over the target's; 0 without a comparison
	Speedup float64 `json:"speedup"`
	Test    *Test   `json:"test"`

	Counts         *report.Counts `json:"emulator_counts"`
	BaselineCounts *report.Counts `json:"baseline_emulator_counts"`
}

// Times sums up the time of every launch, in microseconds.
type Times struct {
	Launches int       `json:"launches"`
	P50      float64   `json:"p50_us"`
	P90      float64   `json:"p90_us"`
	Mean     float64   `json:"mean_us"`
	Std      float64   `json:"std_us"`
	Min      float64   `json:"min_us"`
	Max      float64   `json:"max_us"`
	Samples  []float64 `json:"samples_us"` // in order of launching
}

// Test is the two-sided Mann–Whitney U test of the target's times against the baseline's.
type Test struct {
	U float64 `json:"u"` // of the target: pairs in which it is slower, ties half
	Z float64 `json:"z"`
	P float64 `json:"p"`
	// Effect: rank-biserial correlation: 1 every launch faster than every one of the baseline, -1 slower
	Effect float64 `json:"effect"`
}
