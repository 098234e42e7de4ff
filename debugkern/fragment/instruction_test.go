package fragment_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/fragment"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

func instruction(t *testing.T, name, kind, dtype string) *report.Fragment {
	t.Helper()
	for _, f := range fragment.Instructions() {
		if f.Instruction == name && f.Kind == kind && f.DType == dtype {
			return &f
		}
	}
	t.Fatalf("no %s %s %s", name, kind, dtype)
	return nil
}

// TestInstructionsByThePTXISA: cells that the figures of the PTX ISA name, and every cell of every map as
// often as any other.
func TestInstructionsByThePTXISA(t *testing.T) {
	for _, c := range []struct {
		name, kind, dtype string
		lane, element     int
		want              report.Cell16
	}{
		{"m16n8k16", "a", "f16", 5, 2, report.Cell16{9, 2}}, {"m16n8k16", "a", "f16", 5, 4,
			report.Cell16{1, 10}},
		{"m16n8k16", "b", "f16", 5, 0, report.Cell16{2, 1}}, {"m16n8k16", "b", "f16", 5, 3,
			report.Cell16{11, 1}},
		{"m16n8k16", "acc", "f32", 31, 3, report.Cell16{15, 7}}, {"m16n8k32", "a", "b8", 1, 8,
			report.Cell16{0, 20}},
		{"m8n8k4", "acc", "f64", 4, 1, report.Cell16{1, 1}},
		{"wgmma.m64k16", "a", "f16", 5, 2, report.Cell16{9, 2}},
		{"wgmma.m64k8", "a", "tf32", 6, 3, report.Cell16{9, 6}},
		{"wgmma.m64k32", "a", "b8", 1, 8, report.Cell16{0, 20}},
		{"wgmma.m64n64", "acc", "f32", 6, 63/2 - 1, report.Cell16{9, 60}},
		{"wgmma.m64n256", "acc", "f16", 31, 127, report.Cell16{15, 255}},
		{"ldmatrix.x4", "matrix", "b16", 1, 2, report.Cell16{8, 2}},
		{"ldmatrix.x1.trans", "matrix", "b16", 1, 0, report.Cell16{2, 0}},
	} {
		f := instruction(t, c.name, c.kind, c.dtype)
		if got := f.Lanes[c.lane][c.element]; got != c.want {
			t.Errorf("%s %s: lane %d element %d is %s, expected %s", c.name, c.kind, c.lane, c.element,
				got, c.want)
		}
	}
	seen := map[string]bool{}
	for _, f := range fragment.Instructions() {
		name := fmt.Sprint(f.Instruction, " ", f.Kind, " ", f.DType)
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		rows, cols := f.Extents()
		count := map[report.Cell16]int{}
		for _, cells := range f.Lanes {
			for _, c := range cells {
				count[c]++
				if c[0] >= rows || c[1] >= cols {
					t.Fatalf("%s: cell %s of %d×%d", name, c, rows, cols)
				}
			}
		}
		if len(count) != rows*cols {
			t.Errorf("%s: %d of %d cells", name, len(count), rows*cols)
		}
		if phases, err := fragment.Banks(fragment.BankPattern{Lanes: f.Lanes, Columns: f.Layout == "col",
			Bits: fragment.Bits(f.DType), LD: 256, Rows: rows, Cols: cols}); err != nil || len(phases) == 0 {
			t.Errorf("%s: %d phases, %v", name, len(phases), err)
		}
	}
}

// TestLookupsAreFoundByContent: whatever a table is called, in whichever of four encodings, in the module
// or in a source; what only has as many numbers is none.
func TestLookupsAreFoundByContent(t *testing.T) {
	f := instruction(t, "m16n8k16", "b", "f16")
	write := func(byLanes, pairs bool, change func(numbers []int)) string {
		var numbers []int
		add := func(c report.Cell16) {
			if pairs {
				numbers = append(numbers, c[0], c[1])
			} else {
				numbers = append(numbers, c[0]*8+c[1])
			}
		}
		for i := range 128 {
			if byLanes {
				add(f.Lanes[i/4][i%4])
			} else {
				add(f.Lanes[i%32][i/32])
			}
		}
		if change != nil {
			change(numbers)
		}
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
	}
	module := func(data string, n int) *ptx.Module {
		text := fmt.Sprintf(`.version 8.0
.target sm_80
.address_size 64
.const .align 1 .b8 k[%d] = {%s};
.visible .entry e(.param .u64 p)
{
	.reg .b64 %%rd<3>;
	.reg .b16 %%rs<2>;
	mov.u64 %%rd1, k;
	ld.const.u8 %%rs1, [%%rd1];
	ret;
}
`, n, data)
		m, err := ptx.Parse("k.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	none := func(string) []string { return nil }
	for _, c := range []struct {
		name    string
		data    string
		n       int
		wrong   int
		missing int
		none    bool
	}{
		{"pairs", write(true, true, nil), 256, 0, 0, false}, {"by elements", write(false, true, nil), 256,
			0, 0, false},
		{"indices", write(true, false, nil), 128, 0, 0, false},
		{"indices by elements", write(false, false, nil), 128, 0, 0, false},
		{"a cell twice", write(true, false, func(n []int) { n[0] = n[1] }), 128, 1, 1, false},
		{"out of the tile", write(true, false, func(n []int) { n[7] = 200 }), 128, 1, 1, false},
		{"counts", write(true, false, func(n []int) {
			for i := range n {
				n[i] = i * 5 % 128
			}
		}), 128, 0, 0, true},
		{"zeros", write(true, true, func(n []int) { clear(n) }), 256, 0, 0, true},
	} {
		m := module(c.data, c.n)
		got := fragment.FindLookups(m, m.Func("e"), none, fragment.Instructions())
		if c.none {
			if len(got) != 0 {
				t.Errorf("%s: taken for a table of %s", c.name, got[0].Maps[0].Instruction)
			}
			continue
		}
		if len(got) != 1 || got[0].Var != "k" || len(got[0].Wrong) != c.wrong ||
			len(got[0].Missing) != c.missing {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	source := "// table\nconstexpr unsigned char B[4][32] = {\n" + write(false, false, nil) + " /* end */};\n"
	m := module("1", 1)
	m.Files = append(m.Files, ptx.File{Name: "own.cu"})
	got := fragment.FindLookups(m, m.Func("e"), func(name string) []string {
		if name == "own.cu" {
			return strings.Split(source, "\n")
		}
		return nil
	}, fragment.Instructions())
	if len(got) != 1 || got[0].Name != "B" || got[0].At == nil || got[0].At.Line != 2 || !*got[0].Ordered ||
		!slices.Equal(got[0].Cells[5], f.Lanes[5]) {
		t.Errorf("in a source: %+v", got)
	}
}
