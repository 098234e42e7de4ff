package emu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestFragmentsMoveAsCells loads an accumulator or an operand and stores an accumulator, in every layout,
// type and with a padded stride: the moves of a whole warp leave what the moves of single elements leave,
// which a stepped block makes.
func TestFragmentsMoveAsCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	in := make([]byte, 4096)
	for i := range in {
		in[i] = byte(rng.Uint32())
	}
	for _, typ := range []string{"f16", "f32"} {
		regs := "{%r0, %r1, %r2, %r3}"
		if typ == "f32" {
			regs = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}"
		}
		for _, load := range []string{"row", "col"} {
			for _, store := range []string{"row", "col"} {
				text := header + fmt.Sprintf(`.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .b32 %%r<8>;
	.reg .b64 %%rd<3>;
	ld.param.u64 %%rd1, [in];
	ld.param.u64 %%rd2, [out];
	wmma.load.c.sync.aligned.%s.m16n16k16.global.%s %s, [%%rd1], 24;
	wmma.store.d.sync.aligned.%s.m16n16k16.global.%s [%%rd2], %s, 40;
	ret;
}
`, load, typ, regs, store, typ, regs)
				k := load8(t, "fragment.ptx", text)
				l := &target.Launch{
					Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1},
					Args: []target.Arg{
						{Name: "in", Buffer: &target.Buffer{DType: probes.U8, Init: in}},
						{
							Name:   "out",
							Buffer: &target.Buffer{DType: probes.U8, Bytes: 40 * 16 * 4, Output: true},
						},
					},
				}
				want, err := k.Launch(context.Background(), l)
				if err != nil || len(want.Findings) != 0 {
					t.Fatal(err, want)
				}
				s, err := k.open(l, probes.Dim3{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Step(context.Background(), target.StepEnd); err != nil {
					t.Fatal(err)
				}
				size := map[string]int{"f16": 2, "f32": 4}[typ]
				for i := range 256 { // and what was meant
					r, c := i/16, i%16
					from, to := r*24+c, r*40+c
					if load == "col" {
						from = c*24 + r
					}
					if store == "col" {
						to = c*40 + r
					}
					if !bytes.Equal(in[from*size:][:size], want.Outputs["out"][to*size:][:size]) {
						t.Fatalf("%s, %s to %s: row %d, column %d differs from what was loaded", typ,
							load, store, r, c)
					}
				}
				out := s.b.mem.allocs[len(s.b.mem.allocs)-1]
				if out.name != "out" || !bytes.Equal(out.data, want.Outputs["out"]) ||
					want.Unwritten["out"] != 40*16*4-256*size {
					t.Errorf("%s, %s to %s: launched and stepped differ, or %d bytes are not written", typ,
						load, store, want.Unwritten["out"])
				}
			}
		}
	}
}
