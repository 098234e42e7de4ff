package origin_test

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// frame is a kernel of blocks of one thread: x in %rd1, out in %rd2, the block in %r1, and the addresses of
// its own elements in %rd4 and %rd5.
const frame = `.version 8.3
.target sm_90
.address_size 64
.visible .entry t(.param .u64 x, .param .u64 out)
{
	.reg .pred %%p<4>; .reg .b32 %%r<8>; .reg .f32 %%f<8>; .reg .b64 %%rd<8>;
	ld.param.u64 %%rd1, [x];
	ld.param.u64 %%rd2, [out];
	mov.u32 %%r1, %%ctaid.x;
	mul.wide.u32 %%rd3, %%r1, 4;
	add.s64 %%rd4, %%rd1, %%rd3;
	add.s64 %%rd5, %%rd2, %%rd3;
	ld.global.f32 %%f1, [%%rd4];
%s
	ret;
}
`

// follow executes four blocks of a body and describes what an element of out is made of.
func follow(t *testing.T, body string, at, most int) (string, *origin.Made, bool) {
	t.Helper()
	m, err := ptx.Parse("t.ptx", []byte(fmt.Sprintf(frame, body)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(t.Context(), m, "t")
	if err != nil {
		t.Fatal(err)
	}
	const n = 8
	buffer := func(fill byte) *target.Buffer {
		b := make([]byte, 4*n)
		for i := range n { // 1.0, 1.0…: bits that a sum changes
			copy(b[4*i:], []byte{0, 0, 0x80, fill})
		}
		return &target.Buffer{DType: probes.F32, Dims: []int{n}, Init: b, Bytes: 4 * n, Output: true}
	}
	l := &target.Launch{
		Grid: probes.Dim3{4, 1, 1}, Block: probes.Dim3{1, 1, 1},
		Args: []target.Arg{{Name: "x", Buffer: buffer(0x3f)}, {Name: "out", Buffer: buffer(0)}},
	}
	res, err := k.Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	l.Ordered = res.Ordered
	w, err := origin.IndexWriters(t.Context(), k, l)
	if err != nil {
		t.Fatal(err)
	}
	f := origin.New(k, l, w)
	f.Most = most
	made, ok, err := f.Element(t.Context(), origin.Element{Arg: w.Arg("out"), At: at})
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "", nil, false
	}
	var out []string
	for _, e := range made.Entries {
		out = append(out, fmt.Sprintf("%s[%d]:%d", l.Args[e.Arg].Name, e.At, e.Times))
	}
	return strings.Join(out, " "), made, true
}

// Bodies of kernels whose blocks share memory.
const (
	alone = "st.global.f32 [%rd5], %f1;"
	adds  = "red.global.add.f32 [%rd2], %f1;"
	// block b adds x[b] to what block b-1 left, twice
	chain = `setp.eq.u32 %p1, %r1, 0;
	mov.f32 %f2, 0f00000000;
	@!%p1 ld.global.f32 %f2, [%rd5+-4];
	fma.rn.f32 %f3, %f1, %f1, %f2;
	st.global.f32 [%rd5], %f3;`
	// block 0 waits for block 1, which stores its element and then out[7]
	waits = `setp.ne.u32 %%p1, %%r1, 0;
	@%%p1 bra OTHERS;
WAIT:
	ld.volatile.global.u32 %%r2, [%%rd2+28];
	setp.ne.u32 %%p2, %%r2, 0x3f800000;
	@%%p2 bra WAIT;
	ld.volatile.global.f32 %%f2, [%%rd2+4];
	add.f32 %%f3, %%f1, %%f2;
	st.global.f32 [%%rd5], %%f3;
	ret;
OTHERS:
	setp.ne.u32 %%p1, %%r1, 1;
	@%%p1 ret;
	%s
	st.volatile.global.f32 [%%rd5], %%f1;
	membar.gl;
	st.volatile.global.u32 [%%rd2+28], 0x3f800000;`
)

// TestElement: what is made by one block, or by several one after the other, or while one waits for another.
func TestElement(t *testing.T) {
	for _, c := range []struct {
		name, body string
		at         int
		want       string
		incomplete string
	}{
		{"alone", alone, 2, "x[2]:1", ""},
		{"adds", adds, 0, "x[0]:1 x[1]:1 x[2]:1 x[3]:1 out[0]:1", ""},
		{"chain", chain, 3, "x[0]:2 x[1]:2 x[2]:2 x[3]:2", ""},
		{"chain", chain, 0, "x[0]:2", ""},
		{"waits", fmt.Sprintf(waits, ""), 0, "x[0]:1 x[1]:1", ""},
		{"waits", fmt.Sprintf(waits, ""), 1, "x[1]:1", ""},
		{"twice", fmt.Sprintf(waits, "st.volatile.global.f32 [%rd5], 0f40000000;"), 0, "x[0]:1",
			"block 0,0,0 reads out[1], which other blocks write meanwhile"},
	} {
		got, made, ok := follow(t, c.body, c.at, 0)
		if !ok || got != c.want || made.Incomplete != c.incomplete {
			t.Errorf("%s: out[%d] is made of %s, want %s; %+v", c.name, c.at, got, c.want, made)
		}
	}
	if _, _, ok := follow(t, alone, 5, 0); ok {
		t.Error("no block writes out[5]")
	}
	if _, made, _ := follow(t, chain, 3, 1); !strings.Contains(made.Incomplete, "takes more than 1") {
		t.Errorf("a limit is ignored: %+v", made)
	}
}

// TestPlaces: where elements come in, and who stores.
func TestPlaces(t *testing.T) {
	_, made, _ := follow(t, alone, 2, 0)
	x := func(at int) origin.Element { return origin.Element{Arg: 0, At: at} }
	if p := made.Enters(x(2), false); p == nil || p.Source.Line != 13 || p.Block != (probes.Dim3{2, 0, 0}) {
		t.Errorf("x[2] enters at %+v", p)
	}
	if p := made.Stores(); p == nil || p.Source.Line != 14 {
		t.Errorf("stored at %+v", p)
	}
	if p := made.Enters(x(1), false); p != nil {
		t.Errorf("x[1] enters at %+v, and does not enter", p)
	}
	if !made.Takes(x(2)) || made.Takes(x(1)) {
		t.Error("block 2 reads x[2] alone")
	}
	if p := made.Lost(x(1), x(2)); p == nil || p.Source.Line != 13 {
		t.Errorf("x[1] is lost at %+v", p)
	}
}
