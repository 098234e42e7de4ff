package check

import (
	"context"
	"slices"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// firstOfAll is a kernel whose blocks share a flag: the block that is first stores its number in out, and the
// instructions after the second branch are for blocks that the launch does not have.
const firstOfAll = `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 turn)
{
	.reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<5>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [turn];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.u32 %r2, [%rd2];
	st.global.u32 [%rd2], 1;
	setp.ne.u32 %p1, %r2, 0;
	@%p1 bra $late;
	st.global.u32 [%rd4], %r1;
$late:
	setp.lt.u32 %p2, %r1, 100;
	@%p2 bra $end;
	st.global.u32 [%rd1+64], %r1;
$end:
	ret;
}
`

// TestCoverage: blocks that share memory are executed twice, and what is covered is that of the second
// execution alone: one block is the first, which is the last by number.
func TestCoverage(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(firstOfAll))
	if err != nil {
		t.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(context.Background(), m, "k")
	if err != nil {
		t.Fatal(err)
	}
	c, discarded := New(Options{Set: Coverage}), 0
	l := &target.Launch{
		Grid: probes.Dim3{4, 1, 1}, Block: probes.Dim3{1, 1, 1}, Parallel: 1, Observe: c.Observer,
		Schedule: target.Schedule{Policy: "reverse"}, Discard: func() { discarded++; c.Discard() },
	}
	for _, name := range []string{"out", "turn"} {
		l.Args = append(l.Args, target.Arg{
			Name: name, Buffer: &target.Buffer{DType: probes.I32, Dims: []int{32}, Bytes: 128,
				Init: make([]byte, 128), Output: true},
		})
	}
	if _, err := k.Launch(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	got := c.Covered()
	const store, unreached = 9, 12
	for pc, done := range got.Executed {
		if done != (pc != unreached) {
			t.Errorf("instruction %d: executed %v", pc, done)
		}
	}
	if len(got.Executed) != len(m.Entries()[0].Body) || m.Entries()[0].Body[store].Op != "st" {
		t.Errorf("%d instructions", len(got.Executed))
	}
	want := Bytes{}
	want.Add(3*4, 4)
	out := got.Written["out"]
	if discarded != 1 || len(out) != 1 || *out[0] != *want[0] || got.Written["turn"].Whole(4) != 1 {
		t.Errorf("discarded %d times, written %v", discarded, got.Written)
	}
	if fs := c.Findings(); len(fs) != 0 {
		t.Errorf("%+v", fs)
	}
	if c.Discard(); c.Covered().Executed != nil || c.Covered().Written != nil {
		t.Error("coverage is left of a launch that was discarded")
	}
}

// withCall is a kernel that calls two functions, the second from the first; a branch in one is never taken.
const withCall = `.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 r) inner(.param .b32 v)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [v];
	add.s32 %r2, %r1, 1;
	st.param.b32 [r], %r2;
	ret;
}
.func (.param .b32 r) outer(.param .b32 v)
{
	.reg .pred %p<2>; .reg .b32 %r<4>;
	ld.param.b32 %r1, [v];
	setp.eq.s32 %p1, %r1, 1000;
	@%p1 bra NEVER;
	{
	.param .b32 a; .param .b32 b;
	st.param.b32 [a], %r1;
	call (b), inner, (a);
	ld.param.b32 %r2, [b];
	}
	st.param.b32 [r], %r2;
	ret;
NEVER:
	trap;
}
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<4>; .reg .b64 %rd<5>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	{
	.param .b32 a; .param .b32 b;
	st.param.b32 [a], %r1;
	call (b), outer, (a);
	ld.param.b32 %r2, [b];
	}
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r2;
	ret;
}
`

// TestCoverageOfCalls: the instructions of called functions follow the entry's, and only what was
// written counts as one.
func TestCoverageOfCalls(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(withCall))
	if err != nil {
		t.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(context.Background(), m, "k")
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Set: Coverage})
	l := &target.Launch{Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Observe: c.Observer,
		Args: []target.Arg{
			{
				Name:   "out",
				Buffer: &target.Buffer{DType: probes.I32, Dims: []int{32}, Bytes: 128, Output: true},
			},
		}}
	res, err := k.Launch(context.Background(), l)
	if err != nil || res.Outputs["out"][4*31] != 32 {
		t.Fatal(err, res)
	}
	got := c.Covered()
	var missed []int
	for i, done := range got.Executed {
		if !done {
			missed = append(missed, i)
		}
	}
	const branch, trap = 9 + 2, 9 + 8 // of outer: the branch is never taken
	if n := 9 + 9 + 4; len(got.Executed) != n || !slices.Equal(missed, []int{branch, trap}) ||
		got.Written["out"].Whole(4) != 32 {
		t.Errorf("%d instructions, want %d; not executed: %v", len(got.Executed), n, missed)
	}
}

// TestBytes compares a set of bytes with a list of booleans, across the edges of words and pages, by
// parts that overlap.
func TestBytes(t *testing.T) {
	const n = 3 * pageBytes
	list := make([]bool, n)
	parts := []Bytes{{}, {}}
	for i, r := range [][2]int{
		{0, 1}, {2, 2}, {5, 4}, {16, 16}, {60, 8}, {63, 1}, {120, 200}, {pageBytes - 3, 6},
		{pageBytes + 8, 8},
		{2*pageBytes - 64, 128}, {n - 8, 8},
	} {
		parts[i%2].Add(uint64(r[0]), r[1])
		parts[(i+1)%2].Add(uint64(r[0]), 1) // of both
		for at := r[0]; at < r[0]+r[1]; at++ {
			list[at] = true
		}
	}
	all := Bytes{}
	all.Merge(parts[0])
	all.Merge(parts[1])
	for at, want := range list {
		if got := all[uint64(at/pageBytes)][at%pageBytes/64]>>(at%64)&1 != 0; got != want {
			t.Errorf("byte %d: %v", at, got)
		}
	}
	for _, size := range []int{1, 2, 4, 8} {
		want := 0
		for at := 0; at < n; at += size {
			if !slices.Contains(list[at:at+size], false) {
				want++
			}
		}
		if got := all.Whole(size); got != want || want == 0 {
			t.Errorf("%d elements of %d bytes are whole, want %d", got, size, want)
		}
	}
	if n := (Bytes)(nil).Whole(4); n != 0 {
		t.Errorf("%d elements of no set", n)
	}
}
