package emu

import (
	"context"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// FuzzExec executes whatever parses and loads: it must neither panic nor run on.
func FuzzExec(f *testing.F) {
	for _, k := range readKernels(f) {
		f.Add(k.text)
	}
	for _, c := range readOps(f) {
		f.Add(c.module(false))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		m, err := ptx.Parse("fuzz.ptx", []byte(text))
		if err != nil {
			return
		}
		for _, e := range m.Entries() {
			k, err := New().Load(context.Background(), m, e.Name)
			if err != nil {
				continue
			}
			fuzzLaunch(t, k.(*Kernel), e)
		}
	})
}

// fuzzLaunch gives every parameter of 8 bytes a buffer and the others zeroes.
func fuzzLaunch(t *testing.T, k *Kernel, e *ptx.Func) {
	l := &target.Launch{Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{48, 1, 1}, Budget: 4000}
	for _, p := range e.Params {
		if p.Size > 4096 {
			return
		}
		a := target.Arg{Name: p.Name, Scalar: make([]byte, p.Size)}
		if p.Size == 8 {
			a.Buffer = &target.Buffer{DType: probes.U32, Dims: []int{256}, Bytes: 1024, Output: true}
		}
		l.Args = append(l.Args, a)
	}
	if k.p.nstatic > 1<<20 || k.p.frame > 1<<16 {
		return
	}
	for _, g := range k.p.globals {
		if g.Size > 1<<20 {
			return
		}
	}
	for _, policy := range []string{"", "random"} {
		l.Schedule.Policy = policy
		_, _ = k.Launch(context.Background(), l)
	}
	s, err := k.open(l, probes.Dim3{})
	if err != nil {
		return
	}
	for range 50 {
		if stop, err := s.Step(context.Background(), target.StepInstruction); err != nil || stop.Reason != "step" {
			return
		}
	}
	snap := s.Snapshot()
	_, _ = s.Step(context.Background(), target.StepEnd)
	s.Restore(snap)
	if s.Steps() != snap.Steps() {
		t.Fatal("a restored block stands elsewhere")
	}
}
