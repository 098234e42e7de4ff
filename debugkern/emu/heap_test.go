package emu

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// heapKernel is a kernel t(out) with a body in which MALLOC allocates %rd10 bytes at %rd11,
// and FREE frees them.
func heapKernel(body string) string {
	malloc := "{ .param .b64 n; st.param.b64 [n], %rd10; .param .b64 q; call.uni (q), malloc, (n); ld.param.b64 %rd11, [q]; }"
	free := "{ .param .b64 p; st.param.b64 [p], %rd11; call.uni free, (p); }"
	return `.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry t(.param .u64 out)
{
	.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	` + strings.NewReplacer("MALLOC", malloc, "FREE", free).Replace(body) + "\n\tret;\n}\n"
}

func launchHeap(t *testing.T, text string, grid int) (*target.Result, error) {
	t.Helper()
	return loadOn(t, New(chip.SM90()), "t.ptx", text).Launch(t.Context(), heapLaunch(grid))
}

func heapLaunch(grid int) *target.Launch {
	return &target.Launch{
		Grid: probes.Dim3{grid, 1, 1}, Block: probes.Dim3{1, 1, 1}, Budget: 1_000_000, Args: []target.Arg{
			{
				Name: "out",
				Buffer: &target.Buffer{
					DType: probes.U64, Dims: []int{4}, Bytes: 32, Init: make([]byte, 32), Output: true,
				},
			}},
	}
}

// TestHeapIsFull: malloc returns null for what has no room in the heap, and has room again
// for what was freed.
func TestHeapIsFull(t *testing.T) {
	res, err := launchHeap(t, heapKernel(`
	mov.u64 %rd10, 8388609; MALLOC st.global.u64 [%rd1], %rd11;
	mov.u64 %rd10, 8388608; MALLOC mov.u64 %rd12, %rd11;
	mov.u64 %rd10, 1; MALLOC st.global.u64 [%rd1+8], %rd11;
	mov.u64 %rd11, %rd12; FREE
	mov.u64 %rd10, 4194304; MALLOC and.b64 %rd13, %rd11, 15; st.global.u64 [%rd1+16], %rd13; setp.ne.u64 %p1, %rd11, 0; selp.u64 %rd14, 1, 0, %p1;
	st.global.u64 [%rd1+24], %rd14; FREE`), 1)
	if err != nil || len(res.Findings) != 0 {
		t.Fatal(err, res)
	}
	for i, want := range []uint64{0, 0, 0, 1} {
		if got := binary.LittleEndian.Uint64(res.Outputs["out"][8*i:]); got != want {
			t.Errorf("out[%d] = %#x, want %d", i, got, want)
		}
	}
}

// TestHeapOfAnotherBlock: what one block allocates and another accesses ends the launch,
// and names the access.
func TestHeapOfAnotherBlock(t *testing.T) {
	text := heapKernel(`
	setp.ne.u32 %p1, %r1, 0; @%p1 bra OTHER;
	mov.u64 %rd10, 16; MALLOC st.u32 [%rd11], %r1; st.global.u64 [%rd1], %rd11; ret;
OTHER:
	ld.global.u64 %rd11, [%rd1];
	ld.u32 %r2, [%rd11];
	st.global.u32 [%rd1+8], %r2;`)
	_, err := launchHeap(t, text, 2)
	var fault *target.Fault
	if !errors.As(err, &fault) || fault.Kind != "unmodelled" || fault.Block != (probes.Dim3{1, 0, 0}) ||
		!strings.Contains(fault.Msg, "another block") || !strings.HasPrefix(fault.Pos, "t.ptx:16:") {
		t.Errorf("%v", err)
	}
	if res, err := launchHeap(t, text, 1); err != nil || len(res.Findings) != 1 ||
		res.Findings[0].Kind != target.NotModelled {
		t.Errorf("%v %+v", err, res)
	}
}

// TestHeapIsStepped: a block that is put back to an earlier moment has the heap of that moment.
func TestHeapIsStepped(t *testing.T) {
	k := loadOn(t, New(chip.SM90()), "t.ptx", heapKernel(`
	mov.u64 %rd10, 16; MALLOC
	mov.u32 %r2, 1; st.u32 [%rd11], %r2;
	ld.u32 %r3, [%rd11]; add.u32 %r3, %r3, 1; st.u32 [%rd11], %r3;
	ld.u32 %r4, [%rd11]; st.global.u32 [%rd1], %r4;
	FREE
	ld.u32 %r5, [%rd11];`)).(*Kernel)
	s, err := k.Open(heapLaunch(1), probes.Dim3{})
	if err != nil {
		t.Fatal(err)
	}
	var findings []int
	saved := s.Snapshot()
	for s.Steps() < 8 { // behind the first store to the allocation
		if _, err := s.Step(t.Context(), target.StepInstruction); err != nil {
			t.Fatal(err)
		}
	}
	middle := s.Snapshot()
	for _, from := range []target.Snapshot{middle, middle, saved, middle} {
		s.Restore(from)
		if _, err := s.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(s.(*stepper).b.mem.allocs[0].data); got != 2 {
			t.Errorf("out = %d, want 2", got)
		}
		findings = append(findings, len(s.Findings()))
	}
	for _, n := range findings {
		if n != 1 {
			t.Errorf("findings %v, want the read of what was freed each time", findings)
		}
	}
}
