package walk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// list writes the listing: every instruction of the entry and of the functions it calls, with the labels, and
// a line where the place in the CUDA source changes.
func (w *walker) list() {
	numbers := map[string]int32{}
	number := func(s *target.Source) int32 {
		if s == nil || s.Line <= 0 {
			return -1
		}
		key := fmt.Sprintf("%s:%d", s.File, s.Line)
		if _, ok := numbers[key]; !ok {
			numbers[key] = int32(len(numbers))
		}
		return numbers[key]
	}
	pc := 0
	for i, f := range w.program.Functions() {
		if i == 0 {
			w.names = make(map[string]int, len(f.Regs))
			for r := range f.Regs {
				w.names[f.RegName(int32(r))] = r
			}
		} else {
			w.listing = append(w.listing, Listing{Text: ".func " + f.Demangled, PC: -1, Target: -1})
		}
		base := pc
		labels := labelsAt(f)
		for j := 0; j <= len(f.Body); j++ {
			for _, l := range labels[j] {
				w.listing = append(w.listing, Listing{Text: l + ":", PC: -1, Target: -1})
			}
			src, outer := w.program.Source(pc), w.program.Outer(pc)
			row := Listing{Text: "ret;", PC: pc, Target: -1, Probe: w.program.IsProbe(pc)}
			if src != nil {
				row.File, row.Line, row.Calls = src.File, src.Line, src.Calls
			}
			if j < len(f.Body) {
				row.Text, row.PTX = f.InstrString(f.Body[j]), f.Body[j].Pos.Line
				row.Target = branchTarget(f.Body[j], base)
				for _, r := range w.program.Written(pc) {
					row.Writes = append(row.Writes, f.RegName(int32(r)))
				}
			}
			n := number(src)
			if n >= 0 && (len(w.lines) == 0 || w.lines[len(w.lines)-1] != n) {
				w.listing = append(w.listing, Listing{
					Text: fmt.Sprintf("// %s:%d", baseName(src.File), src.Line), PC: -1, File: src.File,
					Line: src.Line, Target: -1,
				})
			}
			if i > 0 { // a called function is part of the line that calls it
				outer = nil
			}
			calls := target.Calls("")
			if src != nil {
				calls = src.Calls
			}
			w.calls = append(w.calls, calls)
			w.lines = append(w.lines, n)
			w.innermost.add(src, n)
			w.outermost.add(outer, number(outer))
			w.rows = append(w.rows, len(w.listing))
			w.listing = append(w.listing, row)
			pc++
		}
	}
	w.heads = headsOf(w.listing)
	w.entries = entriesOf(w.innermost, w.heads, w.listing)
	for _, row := range w.rows {
		l := &w.listing[row]
		l.Begins = w.entries[l.PC]&stopsAtBreak != 0
	}
}

// labelsAt is a function's labels by body index.
func labelsAt(f *ptx.Func) map[int][]string {
	out := map[int][]string{}
	for name, at := range f.Labels {
		out[at] = append(out[at], name)
	}
	for _, ls := range out {
		slices.Sort(ls)
	}
	return out
}

// branchTarget is the PC that a branch goes to, -1 where it is none.
func branchTarget(in *ptx.Instr, base int) int {
	if in.Op == "bra" && len(in.Args) > 0 && in.Args[0].Kind == ptx.OpLabel {
		return base + int(in.Args[0].Target)
	}
	return -1
}

// Listing is the PTX.
func (w *walker) Listing() []Listing { return w.listing }

// Registers lists the current warp's registers.
func (w *walker) Registers() []Register {
	pc, mask := w.at(w.warp)
	f := w.program.Functions()[0]
	if pc < 0 || pc >= len(f.Body) {
		return nil
	}
	written, read, live := w.program.Registers(pc)
	var out []Register
	done := map[int]bool{}
	add := func(named, ofLine bool, regs []int) {
		for _, r := range regs {
			if done[r] {
				continue
			}
			done[r] = true
			reg := Register{
				Name: f.RegName(int32(r)), Type: f.Regs[r].Type.String(), Named: named, OfLine: ofLine,
				Active: mask,
			}
			for lane := range reg.Bits {
				reg.Bits[lane] = w.block.Register(w.warp, lane, r)
			}
			out = append(out, reg)
		}
	}
	add(true, true, written)
	add(true, true, read)
	add(false, true, w.ofLine(pc, len(f.Body), live))
	add(false, false, live)
	return out
}

// ofLine lists the registers of the instructions of a PC's source line in its basic block: those written up
// to the PC, and those read that are live there. What is written later has a value of before.
func (w *walker) ofLine(pc, end int, live []int) (out []int) {
	for p := w.heads[pc]; p < end && w.heads[p] == w.heads[pc]; p++ {
		if w.lines[p] != w.lines[pc] {
			continue
		}
		written, read, _ := w.program.Registers(p)
		if p <= pc {
			out = append(out, written...)
		}
		for _, r := range read {
			if slices.Contains(live, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// bytesAt is some bytes of shared memory.
type bytesAt struct{ at, n int }

// bytes copies some.
func (w *walker) bytes(s bytesAt) []byte {
	data, _ := w.block.Shared()
	if s.n == 0 || s.at+s.n > len(data) {
		return nil
	}
	return slices.Clone(data[s.at : s.at+s.n])
}

// Arrays lists the shared arrays.
func (w *walker) Arrays() []probes.SharedArray { return w.launch.Shared }

// array finds a shared array and its shape as a tile: all dimensions but the last are rows; a
// vector is one column.
func (w *walker) array(name string) (a probes.SharedArray, at, rows, cols int, err error) {
	var names []string
	for _, a = range w.launch.Shared {
		names = append(names, a.Name)
		if a.Name != name {
			continue
		}
		var ok bool
		if at, ok = w.block.Array(a); !ok {
			return a, 0, 0, 0, fmt.Errorf("shared array %s does not lie in this kernel's shared memory", name)
		}
		rows, cols = 1, 1
		for _, d := range a.Dims {
			rows *= d
		}
		if n := len(a.Dims); n > 1 {
			cols = a.Dims[n-1]
			rows /= max(cols, 1)
		}
		return a, at, rows, cols, nil
	}
	return a, 0, 0, 0, fmt.Errorf("no shared array %q in this build (shared arrays: %s)", name,
		strings.Join(names, ", "))
}

// cell is the bytes of a cell.
func (w *walker) cell(name string, row, col int) (bytesAt, error) {
	a, at, rows, cols, err := w.array(name)
	if err != nil {
		return bytesAt{}, err
	}
	if row < 0 || row >= rows || col < 0 || col >= cols {
		return bytesAt{}, fmt.Errorf("%s has %d×%d cells: [%d][%d] is none of them", name, rows,
			cols, row, col)
	}
	return bytesAt{at + (row*cols+col)*a.DType.Size(), a.DType.Size()}, nil
}

// Shared reads a shared array.
func (w *walker) Shared(name string) (SharedView, bool) {
	a, at, rows, cols, err := w.array(name)
	data, written := w.block.Shared()
	n := rows * cols * a.DType.Size()
	if err != nil || at+n > len(data) {
		return SharedView{}, false
	}
	v := SharedView{
		Array: a, Tile: probes.Tile{
			DType: a.DType, Rows: rows, Cols: cols, Data: slices.Clone(data[at : at+n]),
		},
	}
	size := a.DType.Size()
	for i := range rows * cols {
		v.Written = append(v.Written, !slices.Contains(written[at+i*size:at+(i+1)*size], 0))
	}
	return v, true
}

// Writes returns who wrote a shared cell up to now.
func (w *walker) Writes(ctx context.Context, array string, row, col int) ([]target.WriteSite, error) {
	s, err := w.cell(array, row, col)
	if err != nil {
		return nil, err
	}
	tracer, ok := w.kernel.(target.SharedTracer)
	if !ok {
		return nil, target.ErrNoTracer
	}
	return tracer.SharedWrites(ctx, w.launch, w.block.ID(), s.at, s.n, w.block.Steps())
}

// RegisterWrites executes the block again up to now and notes every instruction that wrote the
// register in a lane.
func (w *walker) RegisterWrites(ctx context.Context, name string, lane int) ([]target.WriteSite, error) {
	f := w.program.Functions()[0]
	reg, ok := w.names[name]
	if !ok || lane < 0 || lane > 31 {
		return nil, fmt.Errorf("no register %s, lane %d in %s", name, lane, f.Demangled)
	}
	element := make([]int, len(f.Body)) // of the destination, -1: not written
	for pc := range f.Body {
		element[pc] = slices.Index(w.program.Written(pc), reg)
	}
	var out []target.WriteSite
	warp, mma, now := w.warp, 0, w.block.Steps()
	see := func(e *target.Event) bool {
		if e.Warp != warp || !executes(e) || e.PC >= len(element) || e.Mask == 0 {
			return false
		}
		if n := len(out); element[e.PC] >= 0 && e.Mask>>lane&1 != 0 && (n == 0 || out[n-1].Step != e.Step) {
			d := target.WriteSite{
				Warp: warp, Lane: lane, PC: e.PC, Source: w.program.Source(e.PC), PTXLine: e.Instr.Pos.Line,
				Step:  e.Step,
				Instr: f.InstrString(e.Instr),
			}
			if e.Class == target.ClassMMA {
				d.Fragment = fmt.Sprintf("acc[%d] of mma #%d", element[e.PC], mma)
			}
			out = append(out, d)
		}
		if e.Class == target.ClassMMA {
			mma++
		}
		return false
	}
	_, err := w.moving(ctx, func(from mark) error {
		w.restore(w.marks[0])
		if _, err := w.run(ctx, now, see); err != nil {
			return err
		}
		return w.seek(ctx, now, &from)
	})
	return out, err
}
