package emu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
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
			k, err := New(chip.SM90()).Load(context.Background(), m, e.Name)
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
	l.Schedule.Policy = "random"
	_, _ = k.Launch(context.Background(), l)
	l.Schedule.Policy = ""
	r, err := k.Launch(context.Background(), l)
	if err == nil {
		fuzzCompare(t, k, l, r)
	}
	s, err := k.open(l, probes.Dim3{})
	if err != nil {
		return
	}
	for range 50 {
		if stop, err := s.Step(context.Background(), target.StepInstruction); err != nil ||
			stop.Reason != "step" {
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

// memoryTemplates reach memory at addresses that may be anything, and move lanes apart and together.
var memoryTemplates = []string{
	"ld.global.u32 %1r, [%2d]", "ld.global.v4.u32 {%0r, %1r, %2r, %3r}, [%2d+8]", "st.global.u16 [%1d], %2h",
	"ld.shared.u32 %1r, [%2r]",
	"st.shared.v2.u32 [%2r], {%1r, %3r}", "st.shared.u64 [%1d], %2d", "ld.u32 %1r, [%2d]", "st.u8 [%2d], %1r",
	"ld.local.u32 %1r, [%2r]",
	"st.local.u32 [%2r+4], %1r", "atom.add.u32 %0r, [%1d], %2r", "atom.shared.cas.b32 %0r, [%1r], %2r, %3r",
	"red.global.add.f32 [%1d], %2r",
	"cp.async.ca.shared.global [%1r], [%2d], 4, %3r", "cp.async.commit_group", "cp.async.wait_group 1",
	"cp.async.wait_all",
	"mov.u64 %1d, buf", "mov.u32 %1r, buf", "and.b32 %1r, %1r, 124", "and.b64 %1d, %1d, 120",
	"cvta.shared.u64 %1d, %2d",
	"ld.param.u64 %1d, [in]", "ld.param.u64 %2d, [out]", "bra L0", "bra L1", "bra L2", "brx.idx %1r, targets",
	"exit", "bar.sync 0",
	"bar.sync %1r", "bar.sync 1, 64", "bar.arrive 1, 64", "bar.red.popc.u32 %0r, 0, %1p", "bar.warp.sync %1r",
	"bar.warp.sync -1",
	"shfl.sync.idx.b32 %1r|%1p, %2r, %3r, 31, -1", "shfl.sync.up.b32 %1r, %2r, %3r, %0r, %1r",
	"vote.sync.ballot.b32 %1r, %2p, %3r",
	"match.any.sync.b32 %1r, %2r, %3r", "redux.sync.add.s32 %1r, %2r, %3r", "activemask.b32 %0r",
	"mov.u32 %1r, %laneid",
	"wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0r, %1r, %2r, %3r, %0r, %1r, %2r, %3r}, [%1d], %2r",
	"wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [%1r], {%0r, %1r, %2r, %3r, %0r, %1r, %2r, %3r}, %2r",
	"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%0r, %1r, %2r, %3r}, {%0r, %1r, %2r, %3r, %0r, %1r, %2r, %3r}, {%0r, %1r, %2r, %3r, %0r, %1r, %2r, %3r}, {%0r, %1r, %2r, %3r, %0r, %1r, %2r, %3r}",
	"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0r, %1r, %2r, %3r}, [%1r]", "setp.lt.s32 %1p, %2r, %3r",
	"setp.lt.s32 %2p|%3p, %1r, 16",
}

// FuzzProgram executes programs put together at random from instructions that the tables know.
func FuzzProgram(f *testing.F) {
	templates := memoryTemplates
	for _, c := range readOps(f) {
		templates = append(templates, c.instr)
	}
	for seed := range uint64(200) {
		f.Add(seed, uint8(30))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		text := randomProgram(rand.New(rand.NewPCG(seed, 5)), templates, int(n))
		m, err := ptx.Parse("fuzz.ptx", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		k, err := New(chip.SM90()).Load(context.Background(), m, "t")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		fuzzLaunch(t, k.(*Kernel), m.Entries()[0])
	})
}

func randomProgram(rng *rand.Rand, templates []string, n int) string {
	names := map[byte]string{'r': "%r", 'd': "%rd", 'h': "%rs", 'p': "%p"}
	var b strings.Builder
	b.WriteString(header + `.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
	.shared .align 16 .b8 buf[256]; .local .align 16 .b8 frame[64];
	targets: .branchtargets L0, L1, L2;
	mov.u32 %r1, %tid.x; mov.u32 %r2, 4; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u64 %rd3, frame;
`)
	label := 0
	for i := range n {
		if i*3 >= label*n && label < 3 {
			fmt.Fprintf(&b, "L%d:\n", label)
			label++
		}
		t := templates[rng.IntN(len(templates))]
		if rng.IntN(2) == 0 {
			t = memoryTemplates[rng.IntN(len(memoryTemplates))]
		}
		t = placeholder.ReplaceAllStringFunc(t, func(s string) string {
			return names[s[2]] + strconv.Itoa((int(s[1]-'0')+rng.IntN(4)*rng.IntN(2))&3)
		})
		if rng.IntN(3) == 0 {
			t = fmt.Sprintf("@%s%%p%d %s", []string{"", "!"}[rng.IntN(2)], rng.IntN(4), t)
		}
		fmt.Fprintf(&b, "\t%s;\n", t)
	}
	for ; label < 3; label++ {
		fmt.Fprintf(&b, "L%d:\n", label)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// fuzzCompare holds the program whose registers share slots to the one where each has its own.
func fuzzCompare(t *testing.T, k *Kernel, l *target.Launch, want *target.Result) {
	s, err := k.open(l, probes.Dim3{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(context.Background(), target.StepEnd); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.b.mem.allocs {
		if out := want.Outputs[a.name]; a.arg != nil && !bytes.Equal(out, a.data) {
			t.Fatalf("%s differs between a launch and a stepped block", a.name)
		}
	}
	if got := s.Findings(); fmt.Sprint(messages(got)) != fmt.Sprint(messages(want.Findings)) {
		t.Fatalf("findings %v when stepped, %v when launched", messages(got), messages(want.Findings))
	}
}

func messages(fs []target.Finding) (out []string) {
	for _, f := range fs {
		out = append(out, f.Message)
	}
	return out
}
