package cuda

import (
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// BenchmarkReadback is the protocol's share of bringing back a capture of the mission shape's size: device
// memory is host memory here.
func BenchmarkReadback(b *testing.B) {
	be := openFake(b, "")
	k := load(b, be, "copy")
	p := &probes.Plan{
		Grid: probes.Dim3{16, 8, 1}, Work: probes.Work{MaxTiles: 16},
		Stages: []probes.StagePlan{{Stage: "U", DType: probes.F32, Rows: 32, Cols: 200, PerTile: true}},
	}
	l := floats(12)
	l.Probe = &target.Probe{
		Layout: probes.NewLayout(p, probes.StagesOf("U"), probes.Range{N: p.Grid, TileN: 16}),
	}
	b.SetBytes(int64(l.Probe.Layout.CaptureBytes))
	for b.Loop() {
		if _, err := k.Launch(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunch is what a small launch costs besides the device's time.
func BenchmarkLaunch(b *testing.B) {
	be := openFake(b, "")
	k := load(b, be, "copy")
	for b.Loop() {
		if _, err := k.Launch(b.Context(), floats(12)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorker is a worker's start, without what a real driver adds.
func BenchmarkWorker(b *testing.B) {
	cfg := fakeConfig(b)
	for b.Loop() {
		be, err := Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		be.Close()
	}
}
