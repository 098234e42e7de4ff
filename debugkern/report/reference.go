package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tilescope/probes"
)

// Kinds of references.
const (
	Graph       = "graph" // the operators of the manifest
	NoReference = "none"  // nothing: the stage's verdict is off
	ByArchive   = "npz"
	ByCommand   = "command"
	ByKernel    = "kernel"
)

// Reference is what a stage is compared with, in the manifest's form: the word graph or none, {"npz": FILE},
// {"command": [...], "timeout": "1m0s"} or {"kernel": MANIFEST}; with "name" where the manifest has it among
// its references, and "array" where it names the array.
type Reference struct {
	Kind    string
	Name    string
	File    string // of ByArchive and ByKernel
	Command []string
	Timeout time.Duration
	Array   string
}

// ReferenceOf is a plan's reference as documents have it. referenced says that the stage is compared with
// something.
func ReferenceOf(r *probes.Reference, referenced bool) Reference {
	kind := map[probes.ReferenceKind]string{
		probes.ReferenceGraph: Graph, probes.ReferenceNPZ: ByArchive, probes.ReferenceCommand: ByCommand,
		probes.ReferenceKernel: ByKernel,
	}[r.Kind]
	if !referenced {
		return Reference{Kind: NoReference}
	}
	return Reference{Kind: kind, Name: r.Name, File: r.File, Command: r.Command, Timeout: r.Timeout,
		Array: r.Array}
}

// None reports whether nothing is compared.
func (r Reference) None() bool { return r.Kind == NoReference }

// Given reports whether the numbers are given, and not computed by the manifest's operators.
func (r Reference) Given() bool {
	return r.Kind == ByArchive || r.Kind == ByCommand || r.Kind == ByKernel
}

// String names what is compared with: "graph", "ref.npz", "python3 ref.py".
func (r Reference) String() string {
	switch r.Kind {
	case ByArchive, ByKernel:
		return r.File
	case ByCommand:
		return strings.Join(r.Command, " ")
	}
	return r.Kind
}

// referenceDoc is a Reference that is no word.
type referenceDoc struct {
	Name    string   `json:"name,omitempty"`
	NPZ     string   `json:"npz,omitempty"`
	Command []string `json:"command,omitempty"`
	Timeout string   `json:"timeout,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Array   string   `json:"array,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Reference) MarshalJSON() ([]byte, error) {
	d := referenceDoc{Name: r.Name, Array: r.Array}
	switch r.Kind {
	case ByArchive:
		d.NPZ = r.File
	case ByCommand:
		d.Command, d.Timeout = r.Command, r.Timeout.String()
	case ByKernel:
		d.Kernel = r.File
	default:
		return json.Marshal(r.Kind)
	}
	return json.Marshal(d)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reference) UnmarshalJSON(b []byte) error {
	*r = Reference{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &r.Kind)
	}
	var d referenceDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	r.Name, r.Array = d.Name, d.Array
	switch {
	case d.NPZ != "":
		r.Kind, r.File = ByArchive, d.NPZ
	case d.Kernel != "":
		r.Kind, r.File = ByKernel, d.Kernel
	case d.Command != nil:
		r.Kind, r.Command = ByCommand, d.Command
		var err error
		r.Timeout, err = time.ParseDuration(d.Timeout)
		return err
	default:
		return fmt.Errorf("%.40s is no reference", b)
	}
	return nil
}

// Tolerance is how far a right kernel may be from a stage's reference, in the manifest's form: the word
// derived, {"rtol", "atol"}, or {"baseline", "factor"} with "error", the baseline's largest.
type Tolerance struct {
	Derived    bool
	RTol, ATol Number
	Baseline   string
	Factor     Number
	Error      Number
}

// ToleranceOf is a tolerance as documents have it; largest is the baseline's error.
func ToleranceOf(t probes.Tolerance, largest float64) *Tolerance {
	switch t.Kind {
	case probes.ToleranceFixed:
		return &Tolerance{RTol: Number(t.RTol), ATol: Number(t.ATol)}
	case probes.ToleranceBaseline:
		return &Tolerance{Baseline: t.Baseline, Factor: Number(t.Factor), Error: Number(largest)}
	}
	return &Tolerance{Derived: true}
}

// derivedWord is the text of a derived tolerance.
const derivedWord = "derived"

// String writes a tolerance for people.
func (t *Tolerance) String() string {
	switch {
	case t.Derived:
		return derivedWord
	case t.Baseline != "":
		return fmt.Sprintf("%.3g × %s (%.3g)", float64(t.Factor), t.Baseline, float64(t.Error))
	}
	return fmt.Sprintf("rtol %.3g, atol %.3g", float64(t.RTol), float64(t.ATol))
}

// fixedDoc and baselineDoc are tolerances that are no word.
type fixedDoc struct {
	RTol Number `json:"rtol"`
	ATol Number `json:"atol"`
}

type baselineDoc struct {
	Baseline string `json:"baseline"`
	Factor   Number `json:"factor"`
	Error    Number `json:"error"`
}

// MarshalJSON implements json.Marshaler.
func (t *Tolerance) MarshalJSON() ([]byte, error) {
	switch {
	case t == nil:
		return []byte("null"), nil
	case t.Derived:
		return json.Marshal(derivedWord)
	case t.Baseline != "":
		return json.Marshal(baselineDoc{t.Baseline, t.Factor, t.Error})
	}
	return json.Marshal(fixedDoc{t.RTol, t.ATol})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tolerance) UnmarshalJSON(b []byte) error {
	*t = Tolerance{}
	if string(b) == `"`+derivedWord+`"` {
		t.Derived = true
		return nil
	}
	var d struct {
		fixedDoc
		baselineDoc
	}
	err := json.Unmarshal(b, &d)
	t.RTol, t.ATol, t.Baseline, t.Factor, t.Error = d.RTol, d.ATol, d.Baseline, d.Factor, d.Error
	return err
}
