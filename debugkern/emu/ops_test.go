package emu

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// opCase is one line of testdata/ops: an instruction with inputs and results, one set a lane.
type opCase struct {
	place  string
	instr  string
	inputs [][3]uint64
	want   []uint64
}

func readOps(tb testing.TB) []opCase {
	tb.Helper()
	files, err := filepath.Glob("testdata/ops/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatal("no operation tables", err)
	}
	var cases []opCase
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			instr, values, ok := strings.Cut(line, " : ")
			c := opCase{place: fmt.Sprintf("%s:%d", filepath.Base(f), n+1), instr: instr}
			for _, v := range strings.Fields(values) {
				in, out, _ := strings.Cut(v, "=")
				var set [3]uint64
				for i, s := range strings.Split(in, ",") {
					set[i] = hex(tb, c.place, s)
				}
				c.inputs = append(c.inputs, set)
				c.want = append(c.want, hex(tb, c.place, out))
			}
			if !ok || len(c.want) == 0 {
				tb.Fatalf("%s: no cases", c.place)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func hex(tb testing.TB, place, s string) uint64 {
	tb.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		tb.Fatalf("%s: %v", place, err)
	}
	return v
}

var placeholder = regexp.MustCompile(`%([0-3])([rdhp])`)

// module writes a kernel that loads a, b and c of its lane, executes the instruction under a guard, and
// stores the result. Lanes that the guard switches off store what was in the result before: the lane's a.
func (c *opCase) module(guard bool) string {
	names := map[byte]string{'r': "%r", 'd': "%rd", 'h': "%rs", 'p': "%p"}
	kind := byte('r')
	text := placeholder.ReplaceAllStringFunc(c.instr, func(s string) string {
		if s[1] == '0' {
			kind = s[2]
		}
		return names[s[2]] + s[1:2]
	})
	g := ""
	if guard {
		g = "@%p9 "
	}
	var b strings.Builder
	b.WriteString(header + `.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
	ld.param.u64 %rd10, [in]; ld.param.u64 %rd11, [out];
	mov.u32 %r10, %tid.x;
	mul.wide.u32 %rd12, %r10, 24; add.s64 %rd10, %rd10, %rd12;
	mul.wide.u32 %rd12, %r10, 8; add.s64 %rd11, %rd11, %rd12;
	ld.global.u64 %rd1, [%rd10]; ld.global.u64 %rd2, [%rd10+8]; ld.global.u64 %rd3, [%rd10+16];
	cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
	cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2; cvt.u16.u64 %rs3, %rd3;
	mov.u32 %r0, %r1; mov.u64 %rd0, %rd1; mov.u16 %rs0, %rs1; setp.ne.s32 %p0, %r1, 0;
	and.b32 %r11, %r10, 1; setp.eq.s32 %p9, %r11, 0;
`)
	fmt.Fprintf(&b, "\t%s%s;\n", g, text)
	switch kind {
	case 'r':
		b.WriteString("\tcvt.u64.u32 %rd5, %r0;\n")
	case 'd':
		b.WriteString("\tmov.u64 %rd5, %rd0;\n")
	case 'h':
		b.WriteString("\tcvt.u64.u16 %rd5, %rs0;\n")
	case 'p':
		b.WriteString("\tselp.u64 %rd5, 1, 0, %p0;\n")
	}
	b.WriteString("\tst.global.u64 [%rd11], %rd5;\n\tret;\n}\n")
	return b.String()
}

const header = ".version 8.2\n.target sm_90\n.address_size 64\n"

func load8(tb testing.TB, name, text string) *Kernel {
	tb.Helper()
	m, err := ptx.Parse(name, []byte(text))
	if err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, text)
	}
	k, err := New(chip.SM90()).Load(context.Background(), m, m.Entries()[0].Name)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return k.(*Kernel)
}

func launchTB(tb testing.TB, k target.Kernel, l *target.Launch) *target.Result {
	tb.Helper()
	r, err := k.Launch(context.Background(), l)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// inOut is the arguments of most test kernels: words in, words out.
func inOut(in []byte, out int) []target.Arg {
	return []target.Arg{
		{
			Name: "in", Buffer: &target.Buffer{
				DType: probes.U64, Dims: []int{len(in) / 8}, Init: in, Bytes: len(in),
			},
		},
		{
			Name:   "out",
			Buffer: &target.Buffer{DType: probes.U64, Dims: []int{out / 8}, Bytes: out, Output: true},
		},
	}
}

// TestOps executes every line three ways: all lanes (inputs differ by lane), one input in all lanes (the
// uniform path), and half the lanes switched off.
func TestOps(t *testing.T) {
	for _, c := range readOps(t) {
		t.Run(c.place, func(t *testing.T) {
			for _, guard := range []bool{false, true} {
				k := load8(t, c.place, c.module(guard))
				c.check(t, k, guard, func(lane int) int { return lane % len(c.inputs) })
				for i := range c.inputs {
					c.check(t, k, guard, func(int) int { return i })
				}
			}
		})
	}
}

func (c *opCase) check(t *testing.T, k target.Kernel, guard bool, pick func(lane int) int) {
	t.Helper()
	if guard && strings.HasPrefix(c.instr, "activemask") {
		return
	}
	var in []byte
	for lane := range 32 {
		for _, v := range c.inputs[pick(lane)] {
			in = binary.LittleEndian.AppendUint64(in, v)
		}
	}
	r := launchTB(t, k, &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Args: inOut(in, 256),
	})
	if len(r.Findings) > 0 {
		t.Fatalf("finding: %+v", r.Findings[0])
	}
	kind := placeholder.FindStringSubmatch(c.instr)[2]
	for lane := range 32 {
		got := binary.LittleEndian.Uint64(r.Outputs["out"][8*lane:])
		want := c.want[pick(lane)]
		if guard && lane&1 == 1 {
			want = c.inputs[pick(lane)][0]
			switch kind {
			case "r":
				want &= 0xffffffff
			case "h":
				want &= 0xffff
			case "p":
				want = b2i(uint32(want) != 0)
			}
		}
		if got != want {
			t.Fatalf("%s: lane %d, inputs %x, guard %v: got %x, want %x", c.instr, lane, c.inputs[pick(lane)],
				guard, got, want)
		}
	}
}

// TestEveryOpcodeIsTested fails for an opcode of a kind that the decoder takes and that no table or
// kernel of testdata uses.
func TestEveryOpcodeIsTested(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readOps(t) {
		op, _, _ := strings.Cut(c.instr, ".")
		seen[strings.Fields(op)[0]] = true
	}
	files, _ := filepath.Glob("testdata/kernels/*.ptx")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ptx.Parse(f, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, fn := range m.Funcs {
			for _, in := range fn.Body {
				seen[in.Op] = true
			}
		}
	}
	modelled := 0
	for _, op := range isa.Opcodes() {
		if !slices.ContainsFunc(isa.Forms(op), func(f *isa.Form) bool { return decoders[f.Kind] != nil }) {
			continue
		}
		if modelled++; !seen[op] {
			t.Errorf("opcode %s has no test", op)
		}
	}
	if modelled < 80 {
		t.Errorf("%d opcodes are decoded: the test looked at the wrong table", modelled)
	}
}
