package diagnose

import (
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// LossDoc is a source line at which the block under study lost bits, against a float64 shadow of its values.
type LossDoc struct {
	Source *report.Source `json:"source"`
	// Caller: in the kernel's own body, where the line was inlined; else null
	Caller    *report.Source  `json:"caller"`
	Operation string          `json:"operation"`
	Cause     string          `json:"cause"` // cancellation, overflow, underflow, rounding
	Bits      report.Number   `json:"bits"`  // lost by one operation, at worst
	Got       report.Number   `json:"got"`
	Exact     report.Number   `json:"exact"`
	Operands  []report.Number `json:"operands"`
	Warp      int             `json:"warp"`
	Lane      int             `json:"lane"`
	KVTile    int             `json:"kv_tile"`
	Count     int             `json:"count"`
	// Out: wrong bits of the output that this line made the largest part of
	Out      report.Number `json:"output_bits"`
	Variable string        `json:"variable"` // the cell
	Index    []int         `json:"index"`
}

// losses executes the block under study with a float64 shadow: that of the first cause, else the first block.
func (q *inquiry) losses() error {
	block := q.run.Blocks()[0]
	if len(q.suspects) > 0 {
		block = q.suspects[0].cause.Place.Block
	}
	r, err := q.trial(q.run, debugkern.Trial{Blocks: []probes.Dim3{block}, Check: check.Precision})
	if err != nil {
		return q.fatal(err)
	}
	for _, l := range r.Losses() {
		d := LossDoc{
			Source: report.SourceOf(l.Source), Caller: report.SourceOf(l.Caller), Operation: l.Operation,
			Cause: l.Cause, Bits: report.Number(l.Bits), Got: report.Number(l.Got),
			Exact: report.Number(l.Exact), Operands: []report.Number{}, Warp: l.Warp, Lane: l.Lane,
			KVTile: l.KVTile, Count: l.Count, Out: report.Number(l.Out), Variable: l.Variable,
			Index: append([]int{}, l.Index...),
		}
		for _, x := range l.Operands {
			d.Operands = append(d.Operands, report.Number(x))
		}
		q.doc.Losses = append(q.doc.Losses, d)
	}
	return nil
}

// outBits is how many wrong bits of the output make a loss worth telling.
const outBits = 1

// Matters reports whether a loss shows in the output, or left the range of its type.
func (l *LossDoc) Matters() bool { return l.Out >= outBits || l.Cause == "overflow" }

// String is a loss in one line.
func (l *LossDoc) String() string {
	s := fmt.Sprintf("%s: %s loses up to %.1f bits by %s", l.Source.At(), l.Operation,
		float64(l.Bits), l.Cause)
	if l.Bits < 0.05 {
		s = fmt.Sprintf("%s: %s: %s", l.Source.At(), l.Operation, l.Cause)
	}
	s += fmt.Sprintf(" (got %.6g, exact %.6g)", float64(l.Got), float64(l.Exact))
	if l.Out >= outBits {
		s += fmt.Sprintf("; %.1f bits of %s%s are wrong mostly by it", float64(l.Out), l.Variable,
			extent(l.Index))
	}
	return s
}
