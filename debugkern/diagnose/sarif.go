package diagnose

import (
	"io"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/sarif"
)

// WriteSARIF writes the diagnosis as a SARIF 2.1.0 log: causes first, then the findings that no cause stands
// for. version is the program's.
func (d *Diagnosis) WriteSARIF(w io.Writer, version string) error {
	log := sarif.Log{
		Version: version, Of: "diagnose", Command: d.again, Successful: d.Verdict != report.Failed,
	}
	taken := map[int]bool{}
	for i := range d.Causes {
		c := &d.Causes[i]
		for _, f := range c.Findings {
			taken[f] = true
		}
		r := c.result()
		r.Read(d.Executed.Source)
		log.Results = append(log.Results, r)
	}
	for i := range d.Findings {
		if !taken[i] {
			log.Results = append(log.Results, sarif.OfFinding(&d.Findings[i], d.Executed.Source))
		}
	}
	return log.Write(w, map[string]string{
		kindStage: "A stage computes something other than the reference",
		kindTable: "A fragment table is not the hardware's",
	})
}

// result is the cause as SARIF has it.
func (c *Cause) result() sarif.Result {
	message := c.Title
	for _, line := range append(slices.Clone(c.Proof), c.Alone, c.Advice) {
		if line != "" {
			message += "\n" + line
		}
	}
	r := sarif.Result{
		Kind: c.Kind, Message: message, About: c.Stage + " " + c.Place.Variable, Source: c.Place.Source,
		Other: c.Place.Other,
		Properties: map[string]any{
			"block": c.Place.Block, "kv_tile": c.Place.KVTile, "command": c.Again, "stages": c.Stages,
		},
	}
	if c.Share != nil {
		r.Properties["share_of_error"] = c.Share
	}
	return r
}
