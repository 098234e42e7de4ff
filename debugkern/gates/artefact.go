package gates

import (
	"encoding/json"
	"path/filepath"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// Names of the artefacts.
const (
	BuildFile       = "build_meta.json"
	CorrectnessFile = "correctness_summary.json"
	PerfFile        = "perf_baseline.json"
	CompareFile     = "COMPARE.md"
)

// BuildMeta is build_meta.json: how each target was built, and the PTXAS gate.
type BuildMeta struct {
	Schema     string        `json:"schema"`
	Verdict    string        `json:"verdict"`
	Provenance Provenance    `json:"provenance"`
	Targets    []BuildTarget `json:"targets"`
}

// BuildTarget is one target of build_meta.json.
type BuildTarget struct {
	Target  string         `json:"target"`
	Kernel  string         `json:"kernel"`
	Variant string         `json:"variant"`
	Flags   map[string]int `json:"flags"`
	Faults  []string       `json:"faults"`
	Build   *report.Build  `json:"build"`
	PTXAS   PTXASDoc       `json:"ptxas"`
}

// CorrectnessSummary is correctness_summary.json.
type CorrectnessSummary struct {
	Schema     string              `json:"schema"`
	Verdict    string              `json:"verdict"`
	Provenance Provenance          `json:"provenance"`
	Targets    []CorrectnessTarget `json:"targets"`
}

// CorrectnessTarget is one target of correctness_summary.json.
type CorrectnessTarget struct {
	Target      string         `json:"target"`
	Correctness CorrectnessDoc `json:"correctness"`
}

// PerfBaseline is perf_baseline.json.
type PerfBaseline struct {
	Schema     string       `json:"schema"`
	Verdict    string       `json:"verdict"`
	Against    string       `json:"against"`
	Provenance Provenance   `json:"provenance"`
	Targets    []PerfTarget `json:"targets"`
}

// PerfTarget is one target of perf_baseline.json.
type PerfTarget struct {
	Target      string         `json:"target"`
	Performance PerformanceDoc `json:"performance"`
}

// write puts the four artefacts into a directory, each replaced in one step.
func (d *Doc) write(files *file.System, dir string) error {
	build := BuildMeta{Schema: BuildSchema, Provenance: d.Provenance, Targets: []BuildTarget{}}
	correct := CorrectnessSummary{
		Schema: CorrectnessSchema, Provenance: d.Provenance, Targets: []CorrectnessTarget{},
	}
	perf := PerfBaseline{
		Schema: PerfSchema, Against: d.Against, Provenance: d.Provenance, Targets: []PerfTarget{},
	}
	var verdicts [3][]string
	for i := range d.Targets {
		t := &d.Targets[i]
		build.Targets = append(build.Targets, BuildTarget{
			t.Target, t.Kernel, t.Variant, t.Flags, t.Faults, t.Build, t.PTXAS,
		})
		correct.Targets = append(correct.Targets, CorrectnessTarget{t.Target, t.Correctness})
		perf.Targets = append(perf.Targets, PerfTarget{t.Target, t.Performance})
		for j, v := range []string{t.PTXAS.Verdict, t.Correctness.Verdict, t.Performance.Verdict} {
			verdicts[j] = append(verdicts[j], v)
		}
	}
	build.Verdict, correct.Verdict, perf.Verdict = combine(verdicts[0]...), combine(verdicts[1]...),
		combine(verdicts[2]...)
	for _, f := range []struct {
		name string
		doc  any
	}{{BuildFile, build}, {CorrectnessFile, correct}, {PerfFile, perf}} {
		b, err := json.MarshalIndent(f.doc, "", "  ")
		if err != nil {
			return err
		}
		if err := files.Write(filepath.Join(dir, f.name), append(text.JSON(b), '\n'), 0o666); err != nil {
			return err
		}
	}
	return files.Write(filepath.Join(dir, CompareFile), []byte(d.compare()), 0o666)
}
