package lineage_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// program is a kernel t(in, out): its body, behind an address of in in %rd1 and of out in %rd2 and the thread
// in %r1. in has elements of 4 bytes, or of what dtype says, and so has out.
type program struct {
	name    string
	body    string
	in, out int // elements
	dtype   probes.DType
	threads int
	data    []byte // of in; nil: small numbers
	// exact: an output depends by value on exactly the elements that change it.
	exact bool
}

const frame = `.version 8.3
.target sm_90
.address_size 64
%s
.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .pred %%p<9>; .reg .b16 %%h<40>; .reg .b32 %%r<64>; .reg .f32 %%f<64>; .reg .b64 %%rd<20>; .reg .f64 %%fd<8>;
	.shared .align 16 .b8 s[4096];
	.local .align 16 .b8 l[256];
	ld.param.u64 %%rd1, [in];
	ld.param.u64 %%rd2, [out];
	mov.u32 %%r1, %%tid.x;
	mul.wide.u32 %%rd3, %%r1, 4;
	add.s64 %%rd4, %%rd1, %%rd3;
	add.s64 %%rd5, %%rd2, %%rd3;
	mov.u32 %%r2, s;
	shl.b32 %%r3, %%r1, 2;
	add.u32 %%r4, %%r2, %%r3;
%s
	ret;
}
`

func (p *program) text() string {
	head, body, split := strings.Cut(p.body, "---\n")
	if !split {
		head, body = "", p.body
	}
	return fmt.Sprintf(frame, head, body)
}

func (p *program) size() int {
	if p.dtype == 0 {
		return 4
	}
	return p.dtype.Size()
}

func (p *program) load(t testing.TB) target.Kernel {
	t.Helper()
	m, err := ptx.Parse(p.name+".ptx", []byte(p.text()))
	if err != nil {
		t.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(t.Context(), m, "t")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// input is the data of in: small numbers of the type.
func (p *program) input() []byte {
	if p.data != nil {
		return slices.Clone(p.data)
	}
	var b []byte
	for i := range p.in {
		switch p.size() {
		case 1:
			b = append(b, byte(0x30+i%7))
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(0x3c00+37*i%512))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, 0x3f800000+uint32(1234567*i%0x800000))
		default:
			b = binary.LittleEndian.AppendUint64(b, 0x3ff0000000000000+uint64(i)<<40)
		}
	}
	return b
}

func (p *program) launch(in []byte) *target.Launch {
	dtype := p.dtype
	if dtype == 0 {
		dtype = probes.F32
	}
	n := p.threads
	if n == 0 {
		n = 32
	}
	return &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{n, 1, 1},
		Args: []target.Arg{
			{Name: "in", Buffer: &target.Buffer{DType: dtype, Dims: []int{p.in}, Init: in, Bytes: len(in)}},
			{
				Name: "out",
				Buffer: &target.Buffer{
					DType: dtype, Dims: []int{p.out}, Init: make([]byte, p.out*p.size()),
					Bytes: p.out * p.size(), Output: true,
				},
			},
		},
	}
}

func (p *program) run(t testing.TB, k target.Kernel, in []byte) []byte {
	t.Helper()
	r, err := k.Launch(context.Background(), p.launch(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Severity == target.SeverityError {
			t.Fatalf("%s: %s", f.Kind, f.Message)
		}
	}
	return r.Outputs["out"]
}

// moved finds, for each element of out, which elements of in change it.
func (p *program) moved(t testing.TB, k target.Kernel) []map[int]bool {
	t.Helper()
	in, n := p.input(), p.size()
	before := p.run(t, k, in)
	out := make([]map[int]bool, p.out)
	for i := range out {
		out[i] = map[int]bool{}
	}
	for e := range p.in {
		for _, flip := range []byte{0x01, 0x0a, 0x35, 0x40, 0x80} {
			for b := range n {
				changed := slices.Clone(in)
				changed[e*n+b] ^= flip
				after := p.run(t, k, changed)
				for i := range out {
					if !slices.Equal(before[i*n:(i+1)*n], after[i*n:(i+1)*n]) {
						out[i][e] = true
					}
				}
			}
		}
	}
	return out
}

// elements finds, for each element of out, the elements of in that it is made of, by kind.
func (p *program) elements(t testing.TB, trace *lineage.Trace) (byValue, anyhow []map[int]bool) {
	t.Helper()
	for i := range p.out {
		value, any := map[int]bool{}, map[int]bool{}
		for _, c := range p.counts(t, trace, i, lineage.Query{Address: true, Control: true}) {
			if c.Kind == lineage.LeafElement && c.Arg == 0 {
				any[c.Element] = true
				if c.Times[lineage.ByValue] > 0 {
					value[c.Element] = true
				}
			}
		}
		byValue, anyhow = append(byValue, value), append(anyhow, any)
	}
	return byValue, anyhow
}

func (p *program) counts(t testing.TB, trace *lineage.Trace, element int, q lineage.Query) []lineage.Count {
	t.Helper()
	addr, ok := trace.Address(1, element*p.size())
	if !ok {
		t.Fatalf("out[%d] is nowhere", element)
	}
	g, err := trace.Walk(t.Context(), lineage.Place{
		Space: target.SpaceGlobal, Addr: addr, N: p.size(), At: -1,
	}, q)
	if err != nil {
		t.Fatal(err)
	}
	return g.Elements()
}

// check compares lineage with perturbation.
func (p *program) check(t *testing.T) {
	t.Helper()
	k := p.load(t)
	trace, err := lineage.Record(t.Context(), k, p.launch(p.input()), probes.Dim3{}, lineage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	moved := p.moved(t, k)
	value, any := p.elements(t, trace)
	forward := p.forwards(t, trace)
	some := false
	for i := range moved {
		some = some || len(moved[i]) > 0
		for e := range moved[i] {
			if !any[i][e] {
				t.Errorf("in[%d] changes out[%d], which is made of %v", e, i, list(any[i]))
			}
		}
		if p.exact {
			if got, want := list(value[i]), list(moved[i]); !slices.Equal(got, want) {
				t.Errorf("out[%d] is made of in%v, and changes with in%v", i, got, want)
			}
		}
		for e := range value[i] { // forwards, an operation on bits of one value is about all of it
			if !forward[i][e] {
				t.Errorf("out[%d]: backwards it is made of in[%d], forwards of in%v alone", i, e,
					list(forward[i]))
			}
		}
		if got, want := list(forward[i]), list(value[i]); p.exact && !slices.Equal(got, want) {
			t.Errorf("out[%d]: forwards it is made of in%v, backwards of in%v", i, got, want)
		}
	}
	if !some {
		t.Error("nothing changes anything: the test says nothing")
	}
	if t.Failed() {
		t.Log(p.text())
	}
}

func list(m map[int]bool) []int {
	var out []int
	for e := range m {
		out = append(out, e)
	}
	slices.Sort(out)
	return out
}

// set is a Domain of sets of elements of argument 0.
type set map[int]bool

type sets struct{}

func (sets) Leaf(arg, e int) set {
	if arg != 0 {
		return nil
	}
	return set{e: true}
}
func (sets) Scalar(_, _, _ int) set     { return nil }
func (sets) Const(uint64, ptx.Type) set { return nil }
func (sets) Index() set                 { return nil }
func (sets) Op(_ *lineage.Op, in []set) set {
	return union(in...)
}
func (sets) Dot(_ *lineage.Op, acc set, a, b []set) set {
	return union(slices.Concat([]set{acc}, a, b)...)
}
func (sets) Join(_ *lineage.Op, ps []lineage.Piece[set]) set {
	var in []set
	for _, p := range ps {
		in = append(in, p.Of)
	}
	return union(in...)
}

func union(in ...set) set {
	out := set{}
	for _, s := range in {
		for e := range s {
			out[e] = true
		}
	}
	return out
}

func (p *program) forwards(t testing.TB, trace *lineage.Trace) []map[int]bool {
	t.Helper()
	out := make([]map[int]bool, p.out)
	for i := range out {
		out[i] = map[int]bool{}
	}
	err := lineage.Interpret(t.Context(), trace, lineage.Domain[set](sets{}), nil,
		func(s *lineage.Store, v set) {
			if s.Arg != 1 {
				return
			}
			if s.Bytes == p.size() {
				clear(out[s.Element])
			}
			for e := range v {
				out[s.Element][e] = true
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var programs = []program{
	{name: "add", exact: true, in: 64, out: 32, body: `
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	fma.rn.f32 %f3, %f1, %f2, %f2;
	st.global.f32 [%rd5], %f3;`},
	{name: "shuffles", exact: true, in: 32, out: 128, body: `
	ld.global.b32 %r10, [%rd4];
	shfl.sync.bfly.b32 %r11, %r10, 5, 0x1f, -1;
	st.global.b32 [%rd5], %r11;
	shfl.sync.down.b32 %r12|%p1, %r10, 3, 0x1f, -1;
	st.global.b32 [%rd5+128], %r12;
	shfl.sync.up.b32 %r13, %r10, 9, 0x0, -1;
	st.global.b32 [%rd5+256], %r13;
	xor.b32 %r15, %r1, 7;
	shfl.sync.idx.b32 %r14, %r10, %r15, 0x1f, -1;
	st.global.b32 [%rd5+384], %r14;`},
	{name: "segments", exact: true, in: 32, out: 64, body: `
	ld.global.b32 %r10, [%rd4];
	shfl.sync.down.b32 %r11, %r10, 2, 0x181f, -1;
	st.global.b32 [%rd5], %r11;
	shfl.sync.idx.b32 %r12, %r10, 1, 0x1c1f, -1;
	st.global.b32 [%rd5+128], %r12;`},
	{name: "reduce", exact: true, in: 32, out: 32, body: `
	ld.global.f32 %f1, [%rd4];
	mov.b32 %r10, %f1;
	shfl.sync.bfly.b32 %r11, %r10, 16, 0x1f, -1;
	mov.b32 %f2, %r11;
	add.f32 %f1, %f1, %f2;
	mov.b32 %r10, %f1;
	shfl.sync.bfly.b32 %r11, %r10, 8, 0x1f, -1;
	mov.b32 %f2, %r11;
	add.f32 %f1, %f1, %f2;
	st.global.f32 [%rd5], %f1;`},
	{name: "vectors", exact: true, in: 128, out: 128, body: `
	mul.wide.u32 %rd6, %r1, 16;
	add.s64 %rd7, %rd1, %rd6;
	add.s64 %rd8, %rd2, %rd6;
	ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd7];
	shl.b32 %r15, %r1, 3;
	add.u32 %r16, %r2, %r15;
	st.shared.v2.b32 [%r16], {%r13, %r10};
	bar.sync 0;
	ld.shared.b32 %r14, [%r4];
	st.global.v4.b32 [%rd8], {%r12, %r14, %r11, %r10};`},
	{name: "bytes", exact: true, dtype: probes.U8, in: 128, out: 256, body: `
	ld.global.b32 %r10, [%rd4];
	shl.b32 %r11, %r10, 8;
	st.global.b32 [%rd5], %r11;
	prmt.b32 %r12, %r10, %r11, 0x7210;
	st.global.b32 [%rd5+128], %r12;`},
	{name: "byte fields", exact: true, dtype: probes.U8, in: 128, out: 1024, body: `
	ld.global.b32 %r10, [%rd4];
	and.b32 %r11, %r10, 0xff00ff;
	st.global.b32 [%rd5], %r11;
	shr.u32 %r12, %r10, 16;
	st.global.b32 [%rd5+128], %r12;
	bfe.u32 %r13, %r10, 8, 8;
	st.global.b32 [%rd5+256], %r13;
	bfi.b32 %r14, %r13, %r10, 24, 8;
	st.global.b32 [%rd5+384], %r14;
	lop3.b32 %r15, %r10, 0x000f000f, 0x64006400, 0xea;
	st.global.b32 [%rd5+512], %r15;
	shr.u32 %r16, %r10, 4;
	st.global.b32 [%rd5+640], %r16;
	shf.l.wrap.b32 %r17, %r10, %r10, 8;
	st.global.b32 [%rd5+768], %r17;
	not.b32 %r18, %r10;
	st.global.b32 [%rd5+896], %r18;`},
	{name: "permute by register", dtype: probes.U8, in: 128, out: 128, body: `
	ld.global.b32 %r10, [%rd4];
	mov.u32 %r11, 0x0123;
	add.u32 %r11, %r11, %r1;
	and.b32 %r11, %r11, 0x3333;
	prmt.b32 %r12, %r10, %r10, %r11;
	st.global.b32 [%rd5], %r12;`},
	{name: "halves", exact: true, dtype: probes.F16, in: 128, out: 192, body: `
	ld.global.b32 %r10, [%rd4];
	ld.global.b32 %r11, [%rd4+128];
	mul.rn.f16x2 %r12, %r10, %r11;
	st.global.b32 [%rd5], %r12;
	mov.b32 {%h1, %h2}, %r10;
	add.rn.f16 %h3, %h1, %h2;
	mov.b32 %r13, {%h2, %h3};
	st.global.b32 [%rd5+128], %r13;
	fma.rn.f16x2 %r14, %r12, %r11, %r10;
	st.global.b32 [%rd5+256], %r14;`},
	{name: "conversions", dtype: probes.F16, in: 64, out: 256, body: `
	ld.global.b32 %r10, [%rd4];
	mov.b32 {%h1, %h2}, %r10;
	cvt.f32.f16 %f1, %h1;
	cvt.f32.f16 %f2, %h2;
	mul.f32 %f1, %f1, 0f40400000;
	cvt.rn.f16x2.f32 %r11, %f2, %f1;
	st.global.b32 [%rd5], %r11;
	cvt.rn.satfinite.e4m3x2.f16x2 %h4, %r10;
	cvt.rn.f16x2.e4m3x2 %r12, %h4;
	st.global.b32 [%rd5+128], %r12;
	cvt.rn.satfinite.e4m3x2.f32 %h5, %f1, %f2;
	cvt.rn.f16x2.e4m3x2 %r13, %h5;
	st.global.b32 [%rd5+256], %r13;
	cvt.u32.u16 %r14, %h2;
	st.global.b32 [%rd5+384], %r14;`},
	{name: "local", exact: true, in: 64, out: 32, body: `
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	st.local.f32 [l+8], %f1;
	st.local.f32 [l+12], %f2;
	and.b32 %r10, %r1, 1;
	shl.b32 %r10, %r10, 2;
	mov.u32 %r11, l;
	add.u32 %r11, %r11, %r10;
	ld.local.f32 %f3, [%r11+8];
	st.global.f32 [%rd5], %f3;`},
	{name: "select", in: 64, out: 32, body: `
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	setp.gt.f32 %p1, %f1, 0f3fc00000;
	selp.f32 %f3, %f1, %f2, %p1;
	st.global.f32 [%rd5], %f3;`},
	{name: "guards", in: 64, out: 32, body: `
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	mov.f32 %f3, 0f00000000;
	setp.gt.f32 %p1, %f1, 0f3fc00000;
	@%p1 mov.f32 %f3, %f2;
	@!%p1 add.f32 %f3, %f2, 0f3f800000;
	st.global.f32 [%rd5], %f3;`},
	{name: "branch", in: 64, out: 32, body: `
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	mov.f32 %f3, 0f00000000;
	setp.gt.f32 %p1, %f1, 0f3fc00000;
	@%p1 bra SKIP;
	mov.f32 %f3, %f2;
SKIP:
	st.global.f32 [%rd5], %f3;`},
	{name: "loop", dtype: probes.U32, in: 32, out: 32, data: indices(32), body: `
	ld.global.u32 %r11, [%rd4];
	and.b32 %r11, %r11, 15;
	mov.u32 %r10, 0;
LOOP:
	add.u32 %r10, %r10, 1;
	setp.lt.u32 %p1, %r10, %r11;
	@%p1 bra LOOP;
	cvt.rn.f32.u32 %f3, %r10;
	st.global.f32 [%rd5], %f3;`},
	{name: "gather", dtype: probes.U32, in: 64, out: 32, data: indices(64), body: `
	ld.global.u32 %r10, [%rd4];
	and.b32 %r10, %r10, 31;
	mul.wide.u32 %rd6, %r10, 4;
	add.s64 %rd6, %rd6, %rd1;
	ld.global.u32 %r11, [%rd6+128];
	st.global.u32 [%rd5], %r11;`},
	{name: "copies", exact: true, in: 128, out: 128, body: `
	shl.b32 %r10, %r1, 4;
	add.u32 %r11, %r2, %r10;
	mul.wide.u32 %rd6, %r1, 16;
	add.s64 %rd7, %rd1, %rd6;
	add.s64 %rd8, %rd2, %rd6;
	cp.async.cg.shared.global [%r11], [%rd7], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
	xor.b32 %r12, %r11, 16;
	ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r12];
	st.global.v4.b32 [%rd8], {%r20, %r21, %r22, %r23};`},
	{name: "short copies", exact: true, in: 128, out: 128, body: `
	shl.b32 %r10, %r1, 4;
	add.u32 %r11, %r2, %r10;
	mul.wide.u32 %rd6, %r1, 16;
	add.s64 %rd7, %rd1, %rd6;
	add.s64 %rd8, %rd2, %rd6;
	and.b32 %r13, %r1, 3;
	shl.b32 %r13, %r13, 2;
	cp.async.cg.shared.global [%r11], [%rd7], 16, %r13;
	cp.async.wait_all;
	bar.sync 0;
	ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r11];
	st.global.v4.b32 [%rd8], {%r20, %r21, %r22, %r23};`},
	{name: "double buffer", exact: true, in: 64, out: 64, body: `
	cp.async.ca.shared.global [%r4], [%rd4], 4;
	cp.async.commit_group;
	add.u32 %r12, %r4, 128;
	cp.async.ca.shared.global [%r12], [%rd4+128], 4;
	cp.async.commit_group;
	cp.async.wait_group 1;
	bar.sync 0;
	ld.shared.f32 %f1, [%r4];
	st.global.f32 [%rd5], %f1;
	cp.async.wait_group 0;
	bar.sync 0;
	ld.shared.f32 %f2, [%r4+128];
	add.f32 %f2, %f2, %f1;
	st.global.f32 [%rd5+128], %f2;`},
	{name: "matrices", exact: true, dtype: probes.F16, in: 256, out: 256, body: loadTile + `
	and.b32 %r20, %r1, 15;
	shl.b32 %r20, %r20, 5;
	shr.u32 %r21, %r1, 4;
	shl.b32 %r21, %r21, 4;
	add.u32 %r22, %r2, %r20;
	add.u32 %r22, %r22, %r21;
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30, %r31, %r32, %r33}, [%r22];
	st.global.b32 [%rd5], %r30;
	st.global.b32 [%rd5+128], %r31;
	ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r34, %r35}, [%r22];
	st.global.b32 [%rd5+256], %r34;
	movmatrix.sync.aligned.m8n8.trans.b16 %r36, %r33;
	st.global.b32 [%rd5+384], %r36;`},
	{name: "stmatrix", exact: true, dtype: probes.F16, in: 128, out: 128, body: `
	ld.global.b32 %r30, [%rd4];
	ld.global.b32 %r31, [%rd4+128];
	and.b32 %r20, %r1, 15;
	shl.b32 %r20, %r20, 4;
	add.u32 %r22, %r2, %r20;
	stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r22], {%r30, %r31};
	bar.sync 0;
	ld.shared.b32 %r32, [%r4];
	ld.shared.b32 %r33, [%r4+128];
	st.global.b32 [%rd5], %r32;
	st.global.b32 [%rd5+128], %r33;`},
	{name: "mma f16", exact: true, dtype: probes.F16, in: 384, out: 256, body: `
	ld.global.b32 %r30, [%rd4];
	ld.global.b32 %r31, [%rd4+128];
	ld.global.b32 %r32, [%rd4+256];
	ld.global.b32 %r33, [%rd4+384];
	ld.global.b32 %r34, [%rd4+512];
	ld.global.b32 %r35, [%rd4+640];
	mov.b32 %r36, 0;
	mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r40, %r41}, {%r30, %r31, %r32, %r33}, {%r34, %r35}, {%r36, %r36};
	st.global.b32 [%rd5], %r40;
	st.global.b32 [%rd5+128], %r41;
	mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r30, %r31}, {%r34}, {%f10, %f10, %f10, %f10};
	cvt.rn.f16x2.f32 %r42, %f2, %f1;
	st.global.b32 [%rd5+256], %r42;
	cvt.rn.f16x2.f32 %r43, %f4, %f3;
	st.global.b32 [%rd5+384], %r43;`},
	{name: "mma s8", dtype: probes.U8, in: 768, out: 512, body: `
	ld.global.b32 %r30, [%rd4];
	ld.global.b32 %r31, [%rd4+128];
	ld.global.b32 %r32, [%rd4+256];
	ld.global.b32 %r33, [%rd4+384];
	ld.global.b32 %r34, [%rd4+512];
	ld.global.b32 %r35, [%rd4+640];
	mov.b32 %r36, 0;
	mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r40, %r41, %r42, %r43}, {%r30, %r31, %r32, %r33}, {%r34, %r35}, {%r36, %r36, %r36, %r36};
	st.global.b32 [%rd5], %r40;
	st.global.b32 [%rd5+128], %r41;
	st.global.b32 [%rd5+256], %r42;
	st.global.b32 [%rd5+384], %r43;`},
	{name: "mma tf32", in: 96, out: 128, body: `
	ld.global.b32 %r30, [%rd4];
	ld.global.b32 %r31, [%rd4+128];
	ld.global.b32 %r34, [%rd4+256];
	mov.b32 %f10, 0f00000000;
	mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r30, %r31}, {%r34}, {%f10, %f10, %f10, %f10};
	st.global.f32 [%rd5], %f1;
	st.global.f32 [%rd5+128], %f2;
	st.global.f32 [%rd5+256], %f3;
	st.global.f32 [%rd5+384], %f4;`},
	{name: "wmma", exact: true, dtype: probes.F16, in: 256, out: 256, body: loadTile + `
	wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%r2], 16;
	mov.u64 %rd9, %rd1;
	wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [%rd9], 16;
	mov.b32 %r30, 0;
	wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%r40, %r41, %r42, %r43}, {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17},
		{%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, {%r30, %r30, %r30, %r30};
	wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd2], {%r40, %r41, %r42, %r43}, 16;`},
	{name: "wmma col", exact: true, in: 256, out: 256, body: `
	wmma.load.c.sync.aligned.col.m16n16k16.global.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1], 16;
	add.f32 %f1, %f1, %f2;
	wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r2], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, 16;
	bar.sync 0;
	mul.wide.u32 %rd6, %r1, 32;
	add.s64 %rd8, %rd2, %rd6;
	shl.b32 %r10, %r1, 5;
	add.u32 %r11, %r2, %r10;
	ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r11];
	st.global.v4.b32 [%rd8], {%r20, %r21, %r22, %r23};
	ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r11+16];
	st.global.v4.b32 [%rd8+16], {%r20, %r21, %r22, %r23};`},
	{name: "atomics", exact: true, in: 64, out: 64, body: `
	ld.global.f32 %f1, [%rd4];
	and.b32 %r10, %r1, 3;
	mul.wide.u32 %rd6, %r10, 4;
	add.s64 %rd6, %rd6, %rd2;
	red.global.add.f32 [%rd6+128], %f1;
	bar.sync 0;
	ld.global.f32 %f2, [%rd4+128];
	mov.u32 %r11, s;
	st.shared.f32 [%r4], %f2;
	bar.sync 0;
	xor.b32 %r12, %r4, 4;
	atom.shared.add.f32 %f3, [%r12], %f1;
	st.global.f32 [%rd5], %f3;`},
	{name: "exchange", exact: true, in: 32, out: 64, body: `
	ld.global.b32 %r10, [%rd4];
	mov.b32 %r13, 0;
	st.shared.b32 [%r4], %r13;
	bar.sync 0;
	atom.shared.exch.b32 %r11, [%r2], %r10;
	st.global.b32 [%rd5], %r11;
	bar.sync 0;
	ld.shared.b32 %r12, [%r4];
	st.global.b32 [%rd5+128], %r12;`},
	{name: "calls", exact: true, in: 64, out: 32, body: `
.func (.param .b32 res) f(.param .b32 x, .param .b32 y)
{
	.reg .f32 %f<4>;
	ld.param.f32 %f1, [x];
	ld.param.f32 %f2, [y];
	mul.f32 %f3, %f1, %f2;
	st.param.f32 [res], %f3;
	ret;
}
---
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	{
	.param .b32 p0; .param .b32 p1; .param .b32 q0;
	st.param.f32 [p0], %f1;
	st.param.f32 [p1], %f2;
	call (q0), f, (p0, p1);
	ld.param.f32 %f3, [q0];
	}
	{
	.param .b32 p0; .param .b32 p1; .param .b32 q0;
	st.param.f32 [p0], %f3;
	st.param.f32 [p1], %f1;
	call (q0), f, (p0, p1);
	ld.param.f32 %f4, [q0];
	}
	st.global.f32 [%rd5], %f4;`},
	{name: "votes", in: 32, out: 96, body: `
	ld.global.f32 %f1, [%rd4];
	setp.gt.f32 %p1, %f1, 0f3fc00000;
	vote.sync.ballot.b32 %r10, %p1, -1;
	st.global.b32 [%rd5], %r10;
	mov.b32 %r11, %f1;
	redux.sync.max.s32 %r12, %r11, -1;
	st.global.b32 [%rd5+128], %r12;
	match.any.sync.b32 %r13, %r11, -1;
	st.global.b32 [%rd5+256], %r13;`},
	{name: "doubles", exact: true, dtype: probes.F64, in: 64, out: 32, body: `
	mul.wide.u32 %rd6, %r1, 8;
	add.s64 %rd7, %rd1, %rd6;
	add.s64 %rd8, %rd2, %rd6;
	ld.global.f64 %fd1, [%rd7];
	ld.global.f64 %fd2, [%rd7+256];
	mov.b64 {%r10, %r11}, %fd1;
	mov.b64 %fd3, {%r10, %r11};
	add.f64 %fd4, %fd3, %fd2;
	st.global.f64 [%rd8], %fd4;`},
	{name: "bulk copy", exact: true, in: 64, out: 64, body: `
.shared .align 8 .b64 bar;
---
	setp.eq.u32 %p1, %r1, 0;
	@%p1 mbarrier.init.shared::cta.b64 [bar], 1;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
	@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [bar];
	bar.sync 0;
W:
	mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
	@!%p3 bra W;
	xor.b32 %r10, %r4, 4;
	ld.shared.f32 %f1, [%r10];
	ld.shared.f32 %f2, [%r4+128];
	st.global.f32 [%rd5], %f1;
	add.f32 %f1, %f1, %f2;
	st.global.f32 [%rd5+128], %f1;`},
	{name: "bulk reduction", exact: true, in: 64, out: 32, body: `
	setp.eq.u32 %p1, %r1, 0;
	ld.global.f32 %f1, [%rd4];
	ld.global.f32 %f2, [%rd4+128];
	st.shared.f32 [%r4], %f1;
	st.global.f32 [%rd5], %f2;
	fence.proxy.async;
	bar.sync 0;
	@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd2], [s], 128;
	@%p1 cp.async.bulk.commit_group;
	@%p1 cp.async.bulk.wait_group 0;`},
	{name: "wgmma", exact: true, dtype: probes.F16, in: 1152, out: 512, threads: 128, body: `
	mul.wide.u32 %rd6, %r1, 16;
	add.s64 %rd7, %rd1, %rd6;
	shl.b32 %r10, %r1, 4;
	add.u32 %r11, %r2, %r10;
	ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd7];
	st.shared.v4.b32 [%r11], {%r20, %r21, %r22, %r23};
	setp.lt.u32 %p1, %r1, 16;
	@%p1 ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd7+2048];
	@%p1 st.shared.v4.b32 [%r11+2048], {%r20, %r21, %r22, %r23};
	fence.proxy.async;
	bar.sync 0;
	cvt.u64.u32 %rd8, %r2;
	shr.u64 %rd8, %rd8, 4;
	or.b64 %rd8, %rd8, 0x1000080000;
	add.s64 %rd9, %rd8, 128;
	mov.b32 %r30, 0;
	mov.b32 %r31, 0;
	setp.ne.u32 %p2, %r30, 0;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r30, %r31}, %rd8, %rd9, %p2, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	shl.b32 %r12, %r1, 2;
	and.b32 %r13, %r1, 96;
	shr.u32 %r13, %r13, 1;
	and.b32 %r14, %r1, 31;
	shr.u32 %r14, %r14, 2;
	add.u32 %r13, %r13, %r14;
	shl.b32 %r13, %r13, 4;
	and.b32 %r12, %r12, 12;
	add.u32 %r13, %r13, %r12;
	cvt.u64.u32 %rd10, %r13;
	add.s64 %rd11, %rd2, %rd10;
	st.global.b32 [%rd11], %r30;
	st.global.b32 [%rd11+128], %r31;`},
	{name: "signs", exact: true, dtype: probes.U8, in: 64, out: 128, body: `
	mul.wide.u32 %rd6, %r1, 1;
	add.s64 %rd7, %rd1, %rd6;
	ld.global.s8 %h1, [%rd7];
	cvt.s32.s8 %r10, %h1;
	st.global.b32 [%rd5], %r10;`},
}

func indices(n int) (b []byte) {
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(7*i+3))
	}
	return b
}

// loadTile puts 512 bytes of in into shared memory.
const loadTile = `
	ld.global.b32 %r50, [%rd4];
	ld.global.b32 %r51, [%rd4+128];
	ld.global.b32 %r52, [%rd4+256];
	ld.global.b32 %r53, [%rd4+384];
	st.shared.b32 [%r4], %r50;
	st.shared.b32 [%r4+128], %r51;
	st.shared.b32 [%r4+256], %r52;
	st.shared.b32 [%r4+384], %r53;
	bar.sync 0;`

// TestPerturbation: what lineage says that a value is made of is what changes it.
func TestPerturbation(t *testing.T) {
	for i := range programs {
		p := &programs[i]
		t.Run(p.name, p.check)
	}
}

// TestMultiplicity: how often an element enters is counted, by value, address and control apart.
func TestMultiplicity(t *testing.T) {
	p := program{name: "times", dtype: probes.U32, in: 64, out: 32, data: indices(64), body: `
	ld.global.u32 %r10, [%rd4];
	ld.global.u32 %r11, [%rd4+128];
	mad.lo.u32 %r12, %r10, %r10, %r11;
	add.u32 %r13, %r12, %r12;
	and.b32 %r14, %r11, 31;
	mul.wide.u32 %rd6, %r14, 4;
	add.s64 %rd6, %rd6, %rd1;
	ld.global.u32 %r15, [%rd6];
	setp.gt.u32 %p1, %r10, 3;
	mov.u32 %r16, 0;
	@%p1 add.u32 %r16, %r13, %r15;
	st.global.u32 [%rd5], %r16;`}
	trace, err := lineage.Record(t.Context(), p.load(t), p.launch(p.input()), probes.Dim3{},
		lineage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][3]uint64{}
	for _, c := range p.counts(t, trace, 5, lineage.Query{Address: true, Control: true}) {
		if c.Kind == lineage.LeafElement {
			got[c.Element] = c.Times
		}
	}
	at := (7*37 + 3) & 31 // what in[37] says
	want := map[int][3]uint64{5: {4, 0, 1}, 37: {2, 1, 0}, at: {1, 0, 0}}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	for _, c := range p.counts(t, trace, 5, lineage.Query{}) {
		if c.Kind == lineage.LeafElement &&
			(c.Times[lineage.ByAddress] > 0 || c.Times[lineage.ByControl] > 0) {
			t.Errorf("in[%d] counts by address or control, which was not followed", c.Element)
		}
	}
}

// TestCut: a walk ends where the caller cuts it.
func TestCut(t *testing.T) {
	p := &programs[slices.IndexFunc(programs, func(p program) bool { return p.name == "vectors" })]
	trace, err := lineage.Record(t.Context(), p.load(t), p.launch(p.input()), probes.Dim3{},
		lineage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := lineage.Query{
		Cut: func(at lineage.Place) (int, bool) { return int(at.Addr), at.Space == target.SpaceShared },
	}
	for _, c := range p.counts(t, trace, 1, q) { // out[1] is what was loaded from shared memory
		if c.Kind != lineage.LeafCut || c.Cut != 0 {
			t.Errorf("out[1] is made of %+v, want the cut at s[0]", c.Leaf)
		}
	}
}

// TestCancelled: recording, walking and interpreting end when their context does.
func TestCancelled(t *testing.T) {
	p := &programs[0]
	k := p.load(t)
	ctx, cancel := context.WithCancel(t.Context())
	trace, err := lineage.Record(ctx, k, p.launch(p.input()), probes.Dim3{}, lineage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := lineage.Record(ctx, k, p.launch(p.input()), probes.Dim3{},
		lineage.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("recording: %v", err)
	}
	if err := lineage.Interpret(ctx, trace, lineage.Domain[set](sets{}), nil, nil); !errors.Is(err,
		context.Canceled) {
		t.Errorf("interpreting: %v", err)
	}
	addr, _ := trace.Address(1, 0)
	if _, err := trace.Walk(ctx, lineage.Place{Space: target.SpaceGlobal, Addr: addr, N: 4, At: -1},
		lineage.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("walking: %v", err)
	}
}

// TestBudget: a trace that takes more memory than there is left is refused, and gives back what it had.
func TestBudget(t *testing.T) {
	p := &programs[0]
	l := p.launch(p.input())
	l.Memory = budget.Failing(1<<30, func(part string, _ int64) bool {
		return strings.HasPrefix(part, "the record of")
	})
	_, err := lineage.Record(t.Context(), p.load(t), l, probes.Dim3{}, lineage.Options{})
	var no *budget.Exhausted
	if !errors.As(err, &no) || !strings.Contains(err.Error(), "the record of block 0,0,0") {
		t.Errorf("recorded with %v", err)
	}
}

// TestBox: sets of elements are written as boxes where they are.
func TestBox(t *testing.T) {
	row := func(lo, n, by int) (out []int) {
		for i := range n {
			out = append(out, lo+i*by)
		}
		return out
	}
	for _, c := range []struct {
		dims []int
		at   []int
		want string
	}{
		{[]int{2, 4, 8}, []int{33}, "[1][0][1]"},
		{[]int{2, 4, 8}, row(8, 8, 1), "[0][1][0..7]"},
		{[]int{2, 4, 8}, row(0, 64, 1), "[0..1][0..3][0..7]"},
		{[]int{4, 16}, row(0, 32, 2), "[0..3][0..14 by 2]"},
		{[]int{4, 16}, []int{1, 2, 3, 9}, "[0][1..3,9]"},
		{[]int{4, 4}, []int{0, 5, 10, 15}, "[0][0], [1][1], [2][2], … (4 elements)"},
		{nil, []int{3, 4, 5}, "[3..5]"},
		{[]int{4}, nil, ""},
	} {
		if got := lineage.Box(c.dims, c.at); got != c.want {
			t.Errorf("%v in %v: %s, want %s", c.at, c.dims, got, c.want)
		}
	}
}
