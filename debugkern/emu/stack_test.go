package emu

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// endlessKernel calls a function that calls itself until its argument is 0, which BEGIN says
// how far away it is.
const endlessKernel = `.version 8.0
.target sm_80
.address_size 64
.func down(.param .b32 n);
.func down(.param .b32 n)
{
	.reg .pred %p; .reg .b32 %r<3>;
	ld.param.u32 %r1, [n];
	setp.eq.u32 %p, %r1, 0; @%p ret;
	add.u32 %r2, %r1, -1;
	{ .param .b32 p; st.param.b32 [p], %r2; call.uni down, (p); }
	ret;
}
.visible .entry t(.param .u64 out)
{
	.reg .b64 %rd<9>; .reg .b32 %r<9>;
	ld.param.u64 %rd1, [out];
	{ .param .b32 p; st.param.b32 [p], BEGIN; call.uni down, (p); }
	mov.u64 %rd2, SIZE;
	alloca.u64 %rd3, %rd2;
	st.local.u32 [%rd3], %r1;
	ret;
}
`

// TestStackOverflows: calls and alloca that leave a thread's stack end the block as a finding
// that counts the calls.
func TestStackOverflows(t *testing.T) {
	for _, c := range []struct{ begin, size, want string }{
		{"100", "1000", ""},
		{
			"-1", "8", "calling down here overflows the stack of a thread, 16 KiB (a GPU has 1 KiB by default, for saved registers too): 1024 calls are active",
		},
		{"3", "16385", "alloca overflows the stack"}, {"3", "-8", "alloca overflows the stack"},
	} {
		k := loadOn(t, New(chip.SM90()), "t.ptx", strings.NewReplacer("BEGIN", c.begin, "SIZE", c.size).
			Replace(endlessKernel))
		res, err := k.Launch(t.Context(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Args: inOut(make([]byte, 8), 8)[:1],
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if len(res.Findings) != 0 {
				t.Errorf("%+v", res.Findings[0])
			}
		} else if len(res.Findings) != 1 || res.Findings[0].Kind != target.OutOfBounds ||
			!strings.Contains(res.Findings[0].Message, c.want) {
			t.Errorf("%+v", res.Findings)
		}
	}
}

// TestRecursionIsStepped: a block that is put back into the middle of calls goes on as it did.
func TestRecursionIsStepped(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels/recursion.ptx")
	if err != nil {
		t.Fatal(err)
	}
	k := loadOn(t, New(chip.SM90()), "t.ptx", string(text)).(*Kernel)
	s, err := k.Open(&target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Args: inOut(make([]byte, 8), 64),
	}, probes.Dim3{})
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	var saved []target.Snapshot
	for i := range 6 {
		for s.Steps() < uint64(1+150*i) {
			if _, err := s.Step(t.Context(), target.StepInstruction); err != nil {
				t.Fatal(err)
			}
		}
		saved = append(saved, s.Snapshot())
	}
	for _, i := range []int{5, 0, 3, 1, 4, 2} {
		s.Restore(saved[i])
		if _, err := s.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		out := string(s.(*stepper).b.mem.allocs[1].data)
		if want == "" {
			want = out
		}
		if out != want || binary.LittleEndian.Uint32([]byte(out)) != 1 || len(s.Findings()) > 0 {
			t.Errorf("from step %d: % x, want % x; %+v", saved[i].Steps(), out, want, s.Findings())
		}
	}
}
