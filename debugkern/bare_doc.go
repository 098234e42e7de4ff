package debugkern

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// CheckSchema names the document that check prints.
const CheckSchema = "tilescope.check/1"

// Verdicts of a check; the third is Failed.
const (
	Clean    = "clean"    // nothing was found, or advice alone
	Findings = "findings" // at least one finding of severity error
)

// CheckDoc is the document tilescope.check/1: what the checkers found in one launch of a kernel that has no manifest.
type CheckDoc struct {
	Schema   string           `json:"schema"`
	File     string           `json:"file"`
	Entry    string           `json:"entry"`
	Launch   CheckLaunchDoc   `json:"launch"`
	Args     []CheckArgDoc    `json:"args"`
	Seed     uint64           `json:"seed"`
	Verdict  string           `json:"verdict"`
	Coverage CoverageDoc      `json:"coverage"`
	Findings []FindingDoc     `json:"findings"`
	Outputs  []CheckOutputDoc `json:"outputs"`
	Backend  BackendDoc       `json:"backend"`
	Build    RunBuildDoc      `json:"build"`
	Cost     CostDoc          `json:"cost"`
	Digest   string           `json:"digest"` // SHA-256 over the outputs' raw digests, in order
	Printed  []string         `json:"printed,omitempty"`
	Error    *ErrorDoc        `json:"error"`
}

// CheckLaunchDoc is the launch's geometry; Shared is dynamic shared memory in bytes.
type CheckLaunchDoc struct {
	Grid    probes.Dim3 `json:"grid"`
	Block   probes.Dim3 `json:"block"`
	Cluster probes.Dim3 `json:"cluster"`
	Shared  int         `json:"shared"`
}

// CheckArgDoc is an argument: Source is how it was given.
type CheckArgDoc struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Dims   []int  `json:"dims"`
	Source string `json:"source"`
}

// CoverageDoc is how much of the kernel a result speaks of.
type CoverageDoc struct {
	Instructions int      `json:"instructions"` // of the entry and what it calls
	Executed     int      `json:"executed"`     // of them, at least once
	Blocks       int      `json:"blocks"`       // of the grid
	Sampled      int      `json:"sampled"`      // of them, executed under the checkers
	Schedules    int      `json:"schedules"`
	NotModelled  []string `json:"not_modelled"`
	// Unreached are source lines none of whose instructions were executed.
	Unreached []SourceDoc `json:"unreached"`
}

// CheckOutputDoc is a pointer argument after the launch.
type CheckOutputDoc struct {
	Name    string `json:"name"`
	DType   string `json:"dtype"`
	Dims    []int  `json:"dims"`
	Written int    `json:"written"` // elements that the launch wrote whole
	Digest  string `json:"digest"`  // SHA-256 of its bytes
}

// ExitCode is the contract's exit code: 0 clean, 1 findings, 4 failed.
func (d *CheckDoc) ExitCode() int {
	switch d.Verdict {
	case Failed:
		return int(CodeFailed)
	case Findings:
		return 1
	}
	return 0
}

// seal sets the outputs' digests, the document's, and the verdict.
func (d *CheckDoc) seal(outputs map[string][]byte) {
	all := sha256.New()
	for i := range d.Outputs {
		o := &d.Outputs[i]
		sum := sha256.Sum256(outputs[o.Name])
		o.Digest = hex.EncodeToString(sum[:])
		all.Write(sum[:])
	}
	d.Digest = hex.EncodeToString(all.Sum(nil))
	d.Verdict = Clean
	for i := range d.Findings {
		if d.Findings[i].Severity == string(target.SeverityError) {
			d.Verdict = Findings
		}
	}
}

// findingID names a defect: the same for the same defect in the same source, whatever the launch.
func findingID(f *FindingDoc) string {
	text := f.Kind + "\x00" + f.Variable
	for _, at := range []*SourceDoc{f.Source, f.Other} {
		if at != nil {
			text += fmt.Sprintf("\x00%s:%d %s", filepath.Base(at.File), at.Line, at.Function)
		}
	}
	sum := sha256.Sum256([]byte(text))
	return f.Kind + "-" + hex.EncodeToString(sum[:4])
}
