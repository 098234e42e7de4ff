package fragment

import (
	"fmt"
	"sync"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/report"
)

// Instructions returns the maps of mma.sync, wgmma and ldmatrix, which the PTX ISA fixes. Of mma.sync they
// are those of every shape and type that the table of instructions has: A, B (rows are the summed
// dimension) and accumulators. Of wgmma they are one warp's rows (isa.AsyncLayouts). Of ldmatrix they are
// the matrices as they lie in memory, row r of matrix k where lane 8k + r points. They are the same on
// every backend, and read-only.
func Instructions() []report.Fragment { return instructions() }

var instructions = sync.OnceValue(func() []report.Fragment {
	var out []report.Fragment
	seen := map[string]bool{}
	for _, l := range isa.Layouts() {
		f := report.Fragment{Instruction: l.Shape, DType: l.Element, Rows: l.Rows, Cols: l.Cols}
		if l.Sparse {
			f.Instruction += ".sp"
		}
		switch l.Role {
		case isa.ClassA:
			f.Kind, f.Layout = "a", "row"
		case isa.ClassB:
			f.Kind, f.Layout, f.Rows, f.Cols = "b", "col", l.Cols, l.Rows
		default:
			f.Kind, f.Layout = "acc", "row"
		}
		key := fmt.Sprint(f.Instruction, f.Kind, f.DType)
		if seen[key] { // accumulators of several types of operands
			continue
		}
		seen[key] = true
		f.Lanes = lanesOf(l.Elements, func(lane, e int) report.Cell16 {
			row, col := l.Cell(lane, e)
			if l.Role == isa.ClassB {
				row, col = col, row
			}
			return report.Cell16{row, col}
		})
		out = append(out, f)
	}
	for _, l := range isa.AsyncLayouts() {
		f := report.Fragment{
			Instruction: "wgmma." + l.Shape, Kind: "acc", DType: l.Element, Layout: "row", Rows: l.Rows,
			Cols: l.Cols,
		}
		if l.Role == isa.ClassA {
			f.Kind = "a"
		}
		f.Lanes = lanesOf(l.Elements, func(lane, e int) report.Cell16 {
			row, col := l.Cell(lane, e)
			return report.Cell16{row, col}
		})
		out = append(out, f)
	}
	for _, transposed := range []bool{false, true} {
		m := isa.Matrix8(transposed)
		for _, n := range []int{1, 2, 4} {
			f := report.Fragment{Instruction: fmt.Sprintf("ldmatrix.x%d", n), Kind: "matrix", DType: "b16",
				Layout: "row", Rows: 8 * n, Cols: 8}
			if transposed {
				f.Instruction += ".trans"
			}
			f.Lanes = lanesOf(2*n, func(lane, e int) report.Cell16 {
				row, col := m.Cell(lane, e%2)
				return report.Cell16{8*(e/2) + row, col}
			})
			out = append(out, f)
		}
	}
	return out
})

func lanesOf(elements int, cell func(lane, e int) report.Cell16) [][]report.Cell16 {
	out := make([][]report.Cell16, 32)
	for lane := range out {
		for e := range elements {
			out[lane] = append(out[lane], cell(lane, e))
		}
	}
	return out
}

// Bits is the size of an element of a type in a fragment.
func Bits(dtype string) int {
	switch dtype {
	case "b1":
		return 1
	case "b4":
		return 4
	case "b8":
		return 8
	case "f32", "s32", "tf32":
		return 32
	case "f64":
		return 64
	}
	return 16
}
