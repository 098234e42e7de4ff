// Package sarif writes findings as a SARIF 2.1.0 log (OASIS), as much of it as code hosts read: one run, a
// rule for each kind, a result for each cause or finding.
//
// The one idea: who writes a log gives results in plain terms (kind, message, places); rules, indices and
// URIs are made here.
//
// The types are our own: the library that there is (go-sarif) writes every member of the format with its
// default, several times the text, and brings a JSON schema validator.
package sarif

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// Log is what a command found.
type Log struct {
	Version    string // the program's
	Of         string // the command's name: logs of different commands do not replace each other
	Command    string // that asks for the same again
	Successful bool   // the kernel ran
	Results    []Result
}

// Result is one cause or finding.
type Result struct {
	Kind          string
	Advice        bool // of less weight than an error
	Message       string
	About         string // the variable or stage, for the fingerprint
	Source, Other *report.Source
	Properties    map[string]any
	// Lines are the texts of the lines of Source and Other, for the fingerprint; "" where not known: Read.
	Lines [2]string
	// Suppressed is why the result does not count; "" where it does.
	Suppressed string
}

// OfFinding is a finding as a result; text returns the lines of a file by the name that findings have for it,
// nil where they are not known.
func OfFinding(f *report.Finding, text func(file string) []string) Result {
	r := Result{
		Kind: f.Kind, Advice: f.Severity == "advice", Message: f.Message, Source: f.Source, Other: f.Other,
		Suppressed: f.Suppressed, About: f.Variable,
		Properties: map[string]any{"block": f.Block, "kv_tile": f.KVTile, "count": f.Count, "id": f.ID},
	}
	r.Read(text)
	return r
}

type document struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool        tool         `json:"tool"`
	Automation  automation   `json:"automationDetails"`
	Invocations []invocation `json:"invocations"`
	Results     []result     `json:"results"`
	ColumnKind  string       `json:"columnKind"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type automation struct {
	ID string `json:"id"`
}

type driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []rule `json:"rules"`
}

type rule struct {
	ID      string  `json:"id"`
	Short   message `json:"shortDescription"`
	Default level   `json:"defaultConfiguration"`
}

type level struct {
	Level string `json:"level"`
}

type message struct {
	Text string `json:"text"`
}

type invocation struct {
	CommandLine         string `json:"commandLine"`
	ExecutionSuccessful bool   `json:"executionSuccessful"`
}

type result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      message           `json:"message"`
	Locations    []location        `json:"locations,omitempty"`
	Related      []location        `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Suppressions []suppression     `json:"suppressions,omitempty"`
	Properties   map[string]any    `json:"properties,omitempty"`
}

type suppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type location struct {
	ID       int        `json:"id,omitempty"`
	Message  *message   `json:"message,omitempty"`
	Physical physical   `json:"physicalLocation"`
	Logical  []function `json:"logicalLocations,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   region   `json:"region"`
}

type artifact struct {
	URI string `json:"uri"`
}

type region struct {
	StartLine int `json:"startLine"`
}

type function struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Write writes the log, with texts as code hosts may show them. kinds says in one line what a kind means that
// is not a finding's; nil for none.
func (l *Log) Write(w io.Writer, kinds map[string]string) error {
	out := run{
		Tool: tool{driver{Name: "tilescope", Version: l.Version, Rules: []rule{}}}, Results: []result{},
		Automation:  automation{"tilescope/" + l.Of + "/"},
		ColumnKind:  "unicodeCodePoints",
		Invocations: []invocation{{CommandLine: l.Command, ExecutionSuccessful: l.Successful}},
	}
	marks := l.fingerprints()
	for i := range l.Results {
		r := l.Results[i].encoded()
		r.Fingerprints = map[string]string{fingerprintKey: marks[i]}
		out.Results = append(out.Results, r)
	}
	out.index(kinds)
	b, err := json.MarshalIndent(document{
		"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{out},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode SARIF: %w", err)
	}
	_, err = w.Write(append(text.JSON(b), '\n'))
	return err
}

func (r *Result) encoded() result {
	out := result{
		RuleID: r.Kind, Level: "error", Message: message{text.SARIF(r.Message)}, Properties: r.Properties,
	}
	if r.Advice {
		out.Level = "note"
	}
	if r.Suppressed != "" {
		out.Suppressions = []suppression{{"external", text.SARIF(r.Suppressed)}}
	}
	out.locate(r.Source, r.Other)
	return out
}

// index makes a rule of every kind, sorted, and points the results at them.
func (r *run) index(kinds map[string]string) {
	levels := map[string]string{}
	for _, res := range r.Results {
		levels[res.RuleID] = res.Level
	}
	for id, of := range levels {
		short := cmp.Or(kinds[id], kindText[id], id)
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule{id, message{text.SARIF(short)}, level{of}})
	}
	slices.SortFunc(r.Tool.Driver.Rules, func(a, b rule) int { return strings.Compare(a.ID, b.ID) })
	for i := range r.Results {
		r.Results[i].RuleIndex = slices.IndexFunc(r.Tool.Driver.Rules, func(rule rule) bool {
			return rule.ID == r.Results[i].RuleID
		})
	}
}

// kindText says what a kind means, in one line.
var kindText = map[string]string{
	"race":          "Two accesses to the same bytes, one of them a write, in no order",
	"uninitialised": "A value is used before it was written", "out-of-bounds": "An access outside its array",
	"misaligned": "An address that its access does not allow",
	"barrier":    "A barrier that not all threads reach", "deadlock": "Threads wait for one another",
	"cp-async":   "Bytes of a cp.async used before they were waited for",
	"nan-origin": "The instruction that made the first NaN or infinity",
	"unwritten":  "Output that was never written", "overlap": "Two arrays share bytes",
	"quantiser": "Encoder and decoder are not inverse", "varies": "Launches of the same kernel differ",
	"backend-difference":   "GPU and emulator differ",
	"probe-changed-result": "The build without probes computes something else",
	"bank-conflict":        "Lanes of a warp meet in a shared memory bank",
	"uncoalesced":          "A warp touches more global sectors than it needs",
	"redundant-barrier":    "A barrier that orders nothing", "not-modelled": "Not checked",
	"shuffle":      "A lane reads a register of a lane outside the exchange",
	"trap":         "A trap instruction was executed",
	"not-captured": "Cells of a stage that no thread wrote to the capture buffer",
	"loop-ended":   "A loop over tiles ended before the last tile",
	"layout":       "The position of data is contradictory",
	"expectation":  "An output is not made of the elements that are stated",
}

// locate gives a result its place; the other side is related.
func (r *result) locate(source, other *report.Source) {
	if l := place(source); l != nil {
		r.Locations = append(r.Locations, *l)
	}
	if l := place(other); l != nil && (source == nil || *other != *source) {
		l.ID, l.Message = 1, &message{"the other side"}
		r.Related = append(r.Related, *l)
	}
}

// place is a location whose URI is relative to the repository, or nil without a line.
func place(s *report.Source) *location {
	if s == nil || s.Line < 1 {
		return nil
	}
	l := &location{Physical: physical{artifact{relativeURI(s.File)}, region{s.Line}}}
	if s.Function != "" {
		l.Logical = []function{{text.Line(s.Function), "function"}}
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
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-_.~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
