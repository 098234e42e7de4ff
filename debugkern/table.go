package debugkern

import (
	"cmp"
	"context"
	"encoding/binary"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// Table is a table of the accumulator's cells judged against introspection: a kernel's own, as it stands in the module that
// was executed, or a header's (TableFile), which has a Name alone.
type Table struct {
	Name  string            // the variable's, in the source
	Var   string            // as in the PTX
	Line  int               // of its definition in the PTX
	At    *report.Source    // where the source declares it, nil where that was not found
	Cells [][]report.Cell16 // by lane and element
	Right []byte            // what it should hold, in its own element type: the Data of a ptx.Edit
	*report.Lut
}

// Table finds the table by which a run's kernel takes an accumulator apart, and judges it; nil where its
// module has none. It is recognised by its content, not its name: constant data of 32×8 pairs of integers
// that name most cells of a 16×16 tile.
func (r *Run) Table(ctx context.Context) (*Table, error) {
	all, err := r.Tables(ctx)
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], err
}

// Tables is all of them, in the order of the module.
func (r *Run) Tables(ctx context.Context) ([]Table, error) {
	var found []Table
	m := r.state.build.Module
	for _, v := range m.Vars {
		if v.Space != ptx.SpaceConst && v.Space != ptx.SpaceGlobal || len(v.Relocs) > 0 {
			continue
		}
		for _, size := range []int{1, 2, 4} {
			cells := tableIn(v.Init, size)
			if cells == nil || !m.Uses(m.Func(r.Plan.Entry), v) { // compilers emit data that nothing reads
				continue
			}
			t, err := r.judgeTable(ctx, v, cells, size)
			if err != nil {
				return nil, err
			}
			found = append(found, *t)
		}
	}
	return found, nil
}

// judgeTable compares a table with the accumulator map that it is nearest to: float's and half's need not be
// the same.
func (r *Run) judgeTable(ctx context.Context, v *ptx.Var, got [][]report.Cell16, size int) (*Table, error) {
	var docs []*report.Lut
	for _, dtype := range []string{"f32", "f16"} {
		doc, err := r.state.session.Lut(ctx, r.Request, LutFilter{Kind: "acc", DType: dtype})
		if err != nil {
			return nil, err
		}
		judgeTable(doc, got)
		docs = append(docs, doc)
	}
	best := slices.MinFunc(docs, func(a, b *report.Lut) int { return cmp.Compare(len(a.Wrong), len(b.Wrong)) })
	t := &Table{
		Name: v.Demangled, Var: v.Name, Line: v.Pos.Line, At: r.declaration(v.Demangled, got), Cells: got, Right: make([]byte, v.Size), Lut: best,
	}
	for l, elems := range best.Maps[0].Lanes {
		for e, cell := range elems {
			for k, n := range cell {
				t.Right[(2*(l*tableElements+e)+k)*size] = byte(n)
			}
		}
	}
	return t, nil
}

// tableEntries are the pairs of WMMA_ACCUM_LUT[32][8][2].
const (
	tableLanes    = 32
	tableElements = 8
)

// tableIn reads data as pairs of integers of size bytes; nil unless there are exactly as many as a table has, and at least
// three quarters of the tile's cells are among them: a table with a hole or a cell named twice is still one.
func tableIn(data []byte, size int) [][]report.Cell16 {
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
	seen, cells := map[report.Cell16]bool{}, make([][]report.Cell16, tableLanes)
	for l := range cells {
		for e := range tableElements {
			i := 2 * (l*tableElements + e)
			c := report.Cell16{at(i), at(i + 1)}
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

var includeLine = regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"]+)"`)

// declaration finds the source line that declares a table: of several headers of the same name, the one whose numbers are
// those that were compiled.
func (r *Run) declaration(name string, got [][]report.Cell16) *report.Source {
	var files []string
	seen := map[string]bool{}
	add := func(file string) {
		if base := filepath.Base(file); !seen[base] {
			seen[base] = true
			files = append(files, file)
		}
	}
	for _, f := range r.state.build.Module.Files {
		add(f.Name)
	}
	for i := 0; i < len(files); i++ {
		lines := r.Source(files[i])
		text := strings.Join(lines, "\n")
		for _, m := range includeLine.FindAllStringSubmatch(text, -1) {
			add(filepath.ToSlash(filepath.Join(filepath.Dir(files[i]), m[1])))
		}
		lanes, err := parseLut(text, name)
		if err != nil || !slices.EqualFunc(lanes, got, slices.Equal) {
			continue
		}
		head := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\[\s*32\s*\].*=`)
		for n, line := range lines {
			if head.MatchString(line) {
				return &report.Source{File: files[i], Line: n + 1}
			}
		}
	}
	return nil
}
