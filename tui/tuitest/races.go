package tuitest

import (
	"context"
	"errors"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// Races answers what a diagnosis would, from a formula.
type Races struct {
	Fail                     error
	Bare                     bool          // a diagnosis has findings only, no cause
	Hung                     bool          // and one of them is a hang, without anything else
	Grouped                  bool          // the first cause has both findings, the second of them first
	Tame                     bool          // no schedule makes a race worse than the run shows it
	Hold                     chan struct{} // a diagnosis waits for it, after its first finding
	Diagnosed, Scenes, Tried int
	Asked                    scene.Request
}

const KernelFile = "sdpa_fp8_stage_c_wmma.cu"

// Findings are those of every diagnosis.
func Findings() []report.Finding {
	line := func(n int) *report.Source {
		return &report.Source{File: KernelFile, Line: n, Function: "sdpa"}
	}
	missing := "exclusive access: one warp a row, or atomicMax and a merge"
	sync := "__syncthreads() between lines 140 and 88"
	return []report.Finding{
		{
			Kind: "race", Severity: "error", Variable: "m_smem", Index: []int{5}, Space: "shared",
			Warps: []int{0, 1},
			Lanes: []int{5, 9}, KVTile: 0, Source: line(140), Other: line(144),
			Missing: &missing,
			Message: "m_smem[5] is written by warp 0 lane 5 (line 140) and by warp 1 lane 9 (line 144), unordered",
			Count:   31, Consequence: "rows take the maximum of half their keys",
		},
		{
			Kind: "race", Severity: "error", Variable: "sP", Index: []int{17, 9}, Space: "shared",
			Warps: []int{2, 3}, KVTile: 1, Source: line(140), Other: line(88), Missing: &sync,
			Message: "sP[17][9] is written by warp 2 and read by warp 3, unordered", Count: 4,
		},
		{Kind: "bank-conflict", Severity: "advice", Variable: "sKT",
			Message: "8 ways at line 60: pad each row by 8 bytes", Source: line(60), KVTile: -1, Count: 128},
		{Kind: "uncoalesced", Severity: "advice", Variable: "Q", Message: "16 sectors where 4 would do",
			Source: line(50), KVTile: -1, Count: 2},
	}
}

func (f *Races) Diagnose(ctx context.Context, req debugkern.Request, o diagnose.Options) (*diagnose.Diagnosis,
	error) {
	f.Diagnosed++
	found := Findings()
	if f.Hung {
		found = []report.Finding{{
			Kind: "hang", Severity: "error", Variable: "k_empty", Index: []int{0}, Space: "shared",
			Warps: []int{2}, KVTile: -1,
			Message: "warp 2 waits at line 81 for phase 1 of k_empty[0], which cannot complete",
			Source:  &report.Source{File: KernelFile, Line: 81},
			Count:   1, Consequence: "the launch never ends",
		}}
	}
	o.OnEvent(diagnose.Event{Progress: &debugkern.Progress{Phase: "schedules", Done: 12, Total: 200}})
	o.OnEvent(diagnose.Event{Finding: &found[0]})
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.Fail != nil {
		return nil, f.Fail
	}
	share := report.Number(0.53)
	d := &diagnose.Diagnosis{Run: report.Run{Verdict: report.Diverge, Findings: found}}
	if f.Bare {
		return d, nil
	}
	d.Causes = []diagnose.Cause{
		{
			Kind: "race", Title: "race on m_smem between " + KernelFile + ":140 and line 144",
			Stage: "P", Finding: 0,
			Share: &share, Advice: missingOf(found[0]),
			Place: diagnose.Place{Block: probes.Dim3{0, 0, 0}, KVTile: 1, Row: 4, Col: 9, Variable: "m_smem",
				Source: found[0].Source, Other: found[0].Other},
			Proof: []string{"schedules: changes O by up to 3.2 in 41 of 200 schedules"},
			Again: "tilescope run stage2 --schedule random:7",
		},
		{Kind: "table", Title: "fragment table WMMA_ACCUM_LUT: rows 4 to 7 swapped", Stage: "P", Finding: -1,
			Advice: "take the table that introspection gives",
			Place: diagnose.Place{KVTile: -1, Row: -1, Col: -1,
				Source: &report.Source{File: KernelFile, Line: 20}}},
	}
	if f.Grouped {
		d.Causes[0].Findings = []int{1, 0}
	}
	d.Barriers = []diagnose.BarrierDoc{
		{Source: found[0].Source, Instr: "bar.sync 0", Needed: true,
			Because: "without it sKT races between lines 212 and 140", Variables: []string{"sKT"}},
		{Source: found[1].Other, Instr: "bar.warp.sync", Copies: 2,
			Because: "nothing that was tried races without it"},
	}
	d.Story = []string{
		"stage2 1,4,128,64 seed 0: diverges, O off by up to 3.2 in 30298 of 32768 cells against the reference on " +
			"the kernel's inputs: 2 independent causes",
		"1. " + d.Causes[0].Title + "; spoils m, P (53 % of the error)",
		"   change: " + d.Causes[0].Advice, "2. " +
			d.Causes[1].Title, "   change: " + d.Causes[1].Advice,
		"none of them is the cause alone: each leaves the others' error",
		"again: tilescope diagnose stage2",
	}
	d.Schedules = []diagnose.ScheduleDoc{{Finding: 0, Tried: 200, Varied: 41, Worst: "random:7", MaxAbs: 3.2}}
	return d, nil
}

func missingOf(f report.Finding) string { return *f.Missing }

func (f *Races) Scene(_ context.Context, _ *debugkern.Run, req scene.Request) (*scene.Scene,
	error) {
	f.Scenes++
	f.Asked = req
	if req.Block[0] > 7 {
		return nil, errors.New("trial: no such block")
	}
	s := &scene.Scene{Request: req, Schedule: "in-order:0", Warps: 4, Steps: 4000, Pair: [2]int{0, 1}}
	for i := range uint64(40) {
		s.Stretches = append(s.Stretches, scene.Stretch{Warp: int(i % 4), From: 100 * i, To: 100*i + 99})
	}
	for i := range uint64(5) {
		for w := range 4 {
			s.Syncs = append(s.Syncs, scene.Sync{
				Kind: scene.SyncArrive, Step: 800*i + 100*uint64(w), Warp: w,
			})
		}
		s.Syncs = append(s.Syncs, scene.Sync{Kind: scene.SyncDone, Step: 800*i + 399, Warp: -1})
	}
	s.Accesses = []scene.Access{{Step: 1320, Warp: 1, Lanes: 1 << 5, Write: true, Side: [2]bool{true, false},
		Here: true, Phase: 2},
		{Step: 1510, Warp: 3, Lanes: 1 << 9, Side: [2]bool{false, true}, Here: true, Phase: 2}}
	dims := map[string][]int{"m_smem": {32}, "sP": {32, 32}}[req.Variable]
	if dims == nil {
		return s, nil
	}
	w := &scene.Writers{Array: probes.SharedArray{Name: req.Variable, DType: probes.F16, Dims: dims},
		Rows: dims[0], Cols: 1}
	if len(dims) > 1 {
		w.Cols = dims[1]
	}
	for i := range w.Rows * w.Cols {
		c := scene.CellWriters{Warp: i / max(1, w.Rows*w.Cols/4), Wrote: 1, Contested: i%29 == 5}
		if i%50 == 49 {
			c = scene.CellWriters{Warp: -1}
		}
		w.Cells = append(w.Cells, c)
	}
	s.Writers = w
	return s, nil
}

// Replay has the accesses in the racing order under one schedule, and nothing to replay for whatever is read.
func (f *Races) Replay(ctx context.Context, _ *debugkern.Run, d *report.Finding) (*diagnose.Replay, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := &diagnose.Replay{Schedule: "random:7", Pair: "the read of warp 3 at k.cu:88 before the write of warp 2 at k.cu:140",
		Raced: 5, Tried: 64, Wrong: 40, RunWrong: 12}
	if f.Tame {
		r.Schedule, r.RunRaced, r.Wrong = "", true, 9
	}
	return r, nil
}

func (f *Races) WhatIf(ctx context.Context, _ *debugkern.Run, d *report.Finding) ([]string, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f.Tried++
	if strings.HasPrefix(missingOf(*d), "exclusive") {
		return nil, errors.New("no synchronisation can order this: " + *d.Missing)
	}
	return []string{"with __syncthreads() before line 88: gone: race on sP",
		"12 warp instructions more of 4096 (+0.3 %)"}, nil
}

func (f *Races) WhatIfRight(_ context.Context, _ *debugkern.Run, c *diagnose.Cause) ([]string, error) {
	f.Tried++
	return []string{"with the table right: part of the error is gone"}, nil
}

// Hang is two waits that need each other, and one that no thread will end.
func (f *Races) Hang(_ context.Context, _ *debugkern.Run, _ probes.Dim3, _ string) (*walk.Hang, error) {
	at := func(line int) *target.Source { return &target.Source{File: KernelFile, Line: line} }
	return &walk.Hang{Step: 3513, Cycle: []int{0, 1}, Waits: []walk.Stuck{
		{Warps: []int{0, 1}, At: "barrier 1", Source: at(70), Arrived: 64, Expected: 128,
			Debts: []walk.Debt{{What: "64 of 128 threads", Warps: []int{2}, Needs: []int{1}}}},
		{Warps: []int{2}, At: "k_empty[0]", Source: at(81), Expected: 8,
			MBarrier: &target.MBarrierState{Phase: 1, Expected: 8, Pending: 8}, Debts: []walk.Debt{
				{What: "8 of 8 arrivals", Warps: []int{0, 1}, Source: at(88), Ahead: true, Needs: []int{0}}}},
		{Warps: []int{3}, At: "q_full[0]", Source: at(60), Arrived: 1, Expected: 1,
			MBarrier: &target.MBarrierState{Expected: 1, Promised: 9216, Arrived: 8192}, Debts: []walk.Debt{
				{What: "1024 bytes (9216 expected, 8192 arrived)", Source: at(59),
					Why: "no copy that completes on it is pending"}}},
	}}, nil
}

func (f *Races) WhatIfWithout(_ context.Context, _ *debugkern.Run, b *diagnose.BarrierDoc) ([]string, error) {
	f.Tried++
	return []string{"without the " + b.Instr + ": race on sKT comes"}, nil
}

// Investigated is the engine as one that can diagnose.
type Investigated struct {
	*Engine
	*Races
}
