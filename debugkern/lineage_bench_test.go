package debugkern_test

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/lineage"
	"tilescope/probes"
)

// BenchmarkRecord records one block on validation, and on mission.
func BenchmarkRecord(b *testing.B) {
	for _, shape := range []string{"validation", "mission"} {
		for _, target := range []string{"stage2", "flashcore_fused_wmma", "flashcore_vec"} {
			b.Run(target+"/"+shape, func(b *testing.B) {
				run := debugtest.Run(b, debugkern.Request{Target: target, Shape: shape, Blocks: one})
				b.ReportAllocs()
				for b.Loop() {
					t, err := run.Record(b.Context(), probes.Dim3{}, lineage.Options{})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(t.Len()), "steps")
				}
			})
		}
	}
}

// BenchmarkExecute executes the same block without recording it.
func BenchmarkExecute(b *testing.B) {
	for _, name := range []string{"stage2", "flashcore_fused_wmma", "flashcore_vec"} {
		b.Run(name+"/mission", func(b *testing.B) {
			run := debugtest.Run(b, debugkern.Request{Target: name, Shape: "mission", Blocks: one})
			for b.Loop() {
				a, err := run.Attempt(b.Context(), debugkern.Trial{Blocks: []probes.Dim3{{}}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := a.Launch(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLineageOfU says what one cell of U, of the last tile, is made of on mission: recording, walking,
// folding and the values.
func BenchmarkLineageOfU(b *testing.B) {
	for _, name := range []string{"stage2", "flashcore_fused_wmma", "flashcore_vec"} {
		b.Run(name, func(b *testing.B) {
			run := debugtest.Run(b, debugkern.Request{Target: name, Shape: "mission", Blocks: one})
			_, n := run.Tiles(probes.Dim3{})
			cell := debugkern.Cell{Place: debugkern.Place{Stage: "U", KVTile: n - 1}, Row: 3, Col: 17}
			for b.Loop() {
				doc, err := run.Lineage(b.Context(), cell, debugkern.LineageRequest{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(doc.Nodes)), "nodes")
			}
		})
	}
}

var one = debugkern.Region{{N: 1}, {N: 1}, {N: 1}}
