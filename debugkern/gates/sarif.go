package gates

import (
	"io"
	"path/filepath"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/sarif"
	"tilescope/debugkern/text"
)

// sarifKinds says what each gate is, for rules of a log.
var sarifKinds = map[string]string{
	"gate-ptxas":       "Registers, shared memory or spills are over the manifest's limits",
	"gate-correctness": "A stage or an output is wrong, or a checker finds an error",
	"gate-performance": "The kernel is not faster by what the manifest asks",
}

// WriteSARIF writes what is red as a SARIF 2.1.0 log, at the manifests of targets that have one: for each
// target the gate on what is allotted, each shape whose results are wrong (its first seed), and speed.
func (d *Doc) WriteSARIF(w io.Writer) error {
	names := []string{"tilescope", "gates"}
	log := sarif.Log{Version: d.Provenance.Tool.Version, Of: "gates", Successful: true}
	for i := range d.Targets {
		t := &d.Targets[i]
		names = append(names, t.Target)
		var place *report.Source
		if ext := filepath.Ext(t.Target); ext == ".yaml" || ext == ".yml" {
			place = &report.Source{File: t.Target, Line: 1}
		}
		red := func(verdict, kind, about, message string) {
			if verdict == Red {
				log.Results = append(log.Results, sarif.Result{
					Kind: kind, Message: t.Target + ": " + message, About: t.Target + " " + about,
					Source: place,
				})
			}
		}
		red(t.PTXAS.Verdict, "gate-ptxas", "", t.PTXAS.Reason)
		var shapes []string
		for _, c := range t.Correctness.Cells {
			if c.Verdict == Red && !slices.Contains(shapes, c.Label()) {
				shapes = append(shapes, c.Label())
				red(c.Verdict, "gate-correctness", c.Label(), c.Case()+": "+c.Reason)
			}
		}
		if len(shapes) == 0 {
			red(t.Correctness.Verdict, "gate-correctness", "", t.Correctness.Reason)
		}
		red(t.Performance.Verdict, "gate-performance", "", t.Performance.Reason)
	}
	log.Command = text.CommandLine(names)
	return log.Write(w, sarifKinds)
}
