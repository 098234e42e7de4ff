package debugkern

import (
	"context"
	"encoding/binary"

	"tilescope/debugkern/ptx"
)

// Table is a kernel's own table of the accumulator's cells, as it stands in the module that was executed, judged against
// introspection.
type Table struct {
	Name  string     // the variable's, in the source
	Line  int        // of its definition in the PTX
	Cells [][]Cell16 // by lane and element
	*LutDoc
}

// Table finds the table by which a run's kernel takes an accumulator apart, and judges it; nil where its module has none.
// It is told by its content, not its name: constant data of 32×8 pairs of integers that name most cells of a 16×16 tile.
func (r *Run) Table(ctx context.Context) (*Table, error) {
	v, cells := moduleTable(r.state.build.Module, r.Plan.Entry)
	if v == nil {
		return nil, nil
	}
	doc, err := r.state.session.Lut(ctx, r.Request, LutFilter{Kind: "acc", DType: "f32"})
	if err != nil {
		return nil, err
	}
	doc.judge(cells)
	return &Table{Name: v.Demangled, Line: v.Pos.Line, Cells: cells, LutDoc: doc}, nil
}

func moduleTable(m *ptx.Module, entry string) (*ptx.Var, [][]Cell16) {
	for _, v := range m.Vars {
		if v.Space != ptx.SpaceConst && v.Space != ptx.SpaceGlobal || len(v.Relocs) > 0 {
			continue
		}
		for _, size := range []int{1, 2, 4} {
			if cells := tableIn(v.Init, size); cells != nil && m.Uses(m.Func(entry), v) { // compilers keep what nothing reads
				return v, cells
			}
		}
	}
	return nil, nil
}

// tableEntries are the pairs of WMMA_ACCUM_LUT[32][8][2].
const (
	tableLanes    = 32
	tableElements = 8
)

// tableIn reads data as pairs of integers of size bytes; nil unless there are exactly as many as a table has, and at least
// three quarters of the tile's cells are among them: a table with a hole or a cell named twice is still one.
func tableIn(data []byte, size int) [][]Cell16 {
	if len(data) != tableLanes*tableElements*2*size {
		return nil
	}
	at := func(i int) int {
		switch size {
		case 2:
			return int(int16(binary.LittleEndian.Uint16(data[2*i:])))
		case 4:
			return int(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
		return int(data[i])
	}
	seen, cells := map[Cell16]bool{}, make([][]Cell16, tableLanes)
	for l := range cells {
		for e := range tableElements {
			i := 2 * (l*tableElements + e)
			c := Cell16{at(i), at(i + 1)}
			if c[0] >= 0 && c[0] < 16 && c[1] >= 0 && c[1] < 16 {
				seen[c] = true
			}
			cells[l] = append(cells[l], c)
		}
	}
	if len(seen) < 192 {
		return nil
	}
	return cells
}
