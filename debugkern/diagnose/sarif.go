package diagnose

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// SARIF 2.1.0 (OASIS), as much of it as code hosts read: one run, a rule for each kind, a result for each cause and finding.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
	ColumnKind  string            `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Default sarifLevel   `json:"defaultConfiguration"`
}

type sarifLevel struct {
	Level string `json:"level"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	CommandLine         string `json:"commandLine"`
	ExecutionSuccessful bool   `json:"executionSuccessful"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   map[string]any    `json:"properties,omitempty"`
}

type sarifLocation struct {
	ID       int             `json:"id,omitempty"`
	Message  *sarifMessage   `json:"message,omitempty"`
	Physical sarifPhysical   `json:"physicalLocation"`
	Logical  []sarifFunction `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifFunction struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// WriteSARIF writes the diagnosis as a SARIF 2.1.0 log: causes first, then the findings that no cause stands for. version is
// the program's.
func (d *Diagnosis) WriteSARIF(w io.Writer, version string) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "tilescope", Version: version, Rules: []sarifRule{}}}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints",
		Invocations: []sarifInvocation{{CommandLine: d.again, ExecutionSuccessful: d.Verdict != report.Failed}},
	}
	taken := map[int]bool{}
	for i := range d.Causes {
		c := &d.Causes[i]
		for _, f := range c.Findings {
			taken[f] = true
		}
		run.Results = append(run.Results, d.causeResult(c))
	}
	for i := range d.Findings {
		if !taken[i] {
			run.Results = append(run.Results, findingResult(&d.Findings[i]))
		}
	}
	run.index()
	b, err := json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode SARIF: %w", err)
	}
	_, err = w.Write(append(text.JSON(b), '\n'))
	return err
}

// index makes a rule of every kind, sorted, and points the results at them.
func (r *sarifRun) index() {
	levels := map[string]string{}
	for _, res := range r.Results {
		levels[res.RuleID] = res.Level
	}
	for id, level := range levels {
		short := kindText[id]
		if short == "" {
			short = id
		}
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, sarifRule{id, sarifMessage{text.SARIF(short)}, sarifLevel{level}})
	}
	slices.SortFunc(r.Tool.Driver.Rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	for i := range r.Results {
		r.Results[i].RuleIndex = slices.IndexFunc(r.Tool.Driver.Rules, func(rule sarifRule) bool { return rule.ID == r.Results[i].RuleID })
	}
}

// kindText says what a kind means, in one line.
var kindText = map[string]string{
	kindStage: "A stage computes something other than the reference", kindTable: "A fragment table is not the hardware's",
	"race": "Two accesses to the same bytes, one of them a write, in no order", "uninitialised": "A value is used before it was written",
	"out-of-bounds": "An access outside its array", "misaligned": "An address that its access does not allow", "barrier": "A barrier that not all threads reach",
	"deadlock": "Threads wait for one another", "cp-async": "Bytes of a cp.async used before they were waited for",
	"nan-origin": "The instruction that made the first NaN or infinity", "unwritten": "Output that was never written", "overlap": "Two arrays share bytes",
	"quantiser": "Encoder and decoder are not inverse", "varies": "Launches of the same kernel differ", "backend-difference": "GPU and emulator differ",
	"probe-changed-result": "The build without probes computes something else", "bank-conflict": "Lanes of a warp meet in a shared memory bank",
	"uncoalesced": "A warp touches more global sectors than it needs", "redundant-barrier": "A barrier that orders nothing", "not-modelled": "Not checked",
	"shuffle": "A lane reads a register of a lane outside the exchange", "trap": "A trap instruction was executed",
	"not-captured": "Cells of a stage that no thread wrote to the capture buffer", "loop-ended": "A loop over tiles ended before the last tile",
}

func (d *Diagnosis) causeResult(c *Cause) sarifResult {
	message := c.Title
	for _, line := range append(slices.Clone(c.Proof), c.Alone, c.Advice) {
		if line != "" {
			message += "\n" + line
		}
	}
	res := sarifResult{
		RuleID: c.Kind, Level: "error", Message: sarifMessage{text.SARIF(message)}, Fingerprints: map[string]string{"tilescope/1": c.key()},
		Properties: map[string]any{"block": c.Place.Block, "kv_tile": c.Place.KVTile, "command": c.Again, "stages": c.Stages},
	}
	if c.Share != nil {
		res.Properties["share_of_error"] = c.Share
	}
	res.locate(c.Place.Source, c.Place.Other)
	return res
}

func findingResult(f *report.Finding) sarifResult {
	res := sarifResult{
		RuleID: f.Kind, Level: "error", Message: sarifMessage{text.SARIF(f.Message)},
		Fingerprints: map[string]string{"tilescope/1": fmt.Sprintf("%s %s %s %s", f.Kind, f.Variable, placeText(f.Source), placeText(f.Other))},
		Properties:   map[string]any{"block": f.Block, "kv_tile": f.KVTile, "count": f.Count},
	}
	if f.Severity == "advice" {
		res.Level = "note"
	}
	res.locate(f.Source, f.Other)
	return res
}

// locate gives a result its place; the other side is related.
func (r *sarifResult) locate(source, other *report.Source) {
	if l := sarifPlace(source); l != nil {
		r.Locations = append(r.Locations, *l)
	}
	if l := sarifPlace(other); l != nil && (source == nil || *other != *source) {
		l.ID, l.Message = 1, &sarifMessage{"the other side"}
		r.Related = append(r.Related, *l)
	}
}

// sarifPlace is a location whose URI is relative to the repository, or nil without a line.
func sarifPlace(s *report.Source) *sarifLocation {
	if s == nil || s.Line < 1 {
		return nil
	}
	l := &sarifLocation{Physical: sarifPhysical{sarifArtifact{relativeURI(s.File)}, sarifRegion{s.Line}}}
	if s.Function != "" {
		l.Logical = []sarifFunction{{text.Line(s.Function), "function"}}
	}
	return l
}

// relativeURI spells a source file as a relative URI reference: an absolute path keeps its base name only.
func relativeURI(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	if path.IsAbs(file) || len(file) > 1 && file[1] == ':' {
		file = path.Base(file)
	}
	var b strings.Builder
	for _, c := range []byte(path.Clean(file)) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
