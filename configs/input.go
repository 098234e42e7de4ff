package configs

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tilescope/probes"
)

// inputs resolves the tensors that the launch reads: extents, what they hold, and which argument has the
// scales of a quantised one.
func (r *resolver) inputs(limit float64) error {
	total := 0.0
	for i, a := range r.m.Args {
		if !r.m.isInput(a) {
			continue
		}
		in := probes.Input{Name: a.Tensor, Arg: i, Dims: r.plan.Args[i].Dims, Scales: -1}
		if c := conventions().input(a.Tensor); c != nil && !r.m.loadsItself(a.Tensor) {
			dims, err := r.conventionalDims(c)
			if err != nil {
				return err
			}
			if in.Dims = dims; conventionalOrder(a, c) != nil {
				in.Dims = r.plan.Args[i].Dims
			}
		}
		in.Coded = r.m.Quantiser != nil && !a.DType.Float() && a.Fill == nil
		for k, s := range r.m.Args {
			if in.Coded && s.Role == probes.RoleInput && s.Tensor == a.Tensor+"s" {
				in.Scales = k
			}
		}
		var err error
		if in.Fill, err = r.filled(a, in.Elems()); err != nil {
			return err
		}
		bytes := 4.0 // a float cannot overflow
		for _, d := range in.Dims {
			bytes *= float64(d)
		}
		total += bytes
		r.plan.Inputs = append(r.plan.Inputs, in)
	}
	if len(r.m.Stages) > 0 && total > limit {
		return &ShapeError{
			Kernel: r.m.Name, Shape: r.shape,
			Say: fmt.Sprintf("its inputs would take %s, and the limit is %s", Bytes(total), Bytes(limit)),
		}
	}
	return nil
}

// loadsItself reports whether the manifest says itself where the stages that load a tensor are in it. Then
// its dimensions are the argument's, else those of the convention, by whose operators it is loaded.
func (m *Manifest) loadsItself(tensor string) bool {
	for i := range m.Stages {
		if o := m.Stages[i].op; o != nil && o.loads(tensor) {
			return true
		}
	}
	return !slices.ContainsFunc(m.Stages, func(s Stage) bool {
		c := conventions().stage(s.Stage)
		return s.op == nil && c != nil
	})
}

// loads reports whether an operation reads a tensor.
func (o *operation) loads(tensor string) bool {
	return slices.ContainsFunc(o.args, func(a operand) bool {
		return a.op != nil && a.op.loads(tensor) || o.op == "load" && a.name == tensor
	})
}

// conventionalDims are a tensor's extents by convention.
func (r *resolver) conventionalDims(c *conventionalTensor) ([]int, error) {
	out := make([]int, len(c.Dims))
	for i, name := range c.Dims {
		n, ok := r.shape.Extent(name)
		if !ok {
			return nil, &ShapeError{
				Kernel: r.m.Name, Shape: r.shape,
				Say: fmt.Sprintf(
					"tensor %s is %v by convention; name it otherwise, or load it with an op of its own",
					c.Name, c.Dims),
			}
		}
		out[i] = n
	}
	return out, nil
}

// conventionalOrder is which of a conventional tensor's dimensions each of an argument's is, where the
// argument names them all in another order ([B, S, H, D]); nil: it has the convention's order, or
// dimensions of its own.
func conventionalOrder(a Arg, c *conventionalTensor) []int {
	out, same := make([]int, len(a.Dims)), true
	for d, x := range a.Dims {
		if out[d] = slices.Index(c.Dims, x.Text); out[d] < 0 || slices.Contains(out[:d], out[d]) {
			return nil
		}
		same = same && out[d] == d
	}
	if same || len(out) != len(c.Dims) {
		return nil
	}
	return out
}

// reordered is conventionalOrder of an input that is loaded by convention; nil where it is none.
func (m *Manifest) reordered(tensor string) []int {
	c := conventions().input(tensor)
	if c == nil || m.loadsItself(tensor) {
		return nil
	}
	for _, a := range m.Args {
		if a.Tensor == tensor && m.isInput(a) {
			return conventionalOrder(a, c)
		}
	}
	return nil
}

// placed resolves where in an output argument a stage's tile lies.
func (r *resolver) placed(s *Stage, sp *probes.StagePlan) error {
	c := &sp.Capture
	if c.Kind != probes.CaptureOutput {
		return nil
	}
	field := place{s.at.line, s.at.col, s.captureField}
	if s.output == nil {
		return r.placedByConvention(sp, c.Output, field)
	}
	for _, a := range r.plan.Args {
		if a.Name == c.Output {
			c.Dims = a.Dims
		}
	}
	if n := len(c.Dims); n != len(s.output.at) || s.output.rows >= n || s.output.cols >= n {
		return r.m.errorAt(field,
			"a position of %d dimensions, rows along %d and columns along %d; argument %s has %d dimensions, numbered from 0",
			len(s.output.at), s.output.rows, s.output.cols, c.Output, n)
	}
	return r.place(sp, s.output, field)
}

// place evaluates where the tiles of a stage lie in an argument whose extents are there already.
func (r *resolver) place(sp *probes.StagePlan, at *placement, field place) error {
	c := &sp.Capture
	if at.cols < 0 && sp.Cols != 1 {
		return r.m.errorAt(field, "a tile of %d columns needs cols:, the dimension of %s that they run along",
			sp.Cols, c.Output)
	}
	c.Rows, c.Cols = at.rows, at.cols
	for d, x := range at.at {
		lo, hi := int64(0), int64(c.Dims[d])-1
		if x.reads { // where nothing is valid, a tile may lie anywhere
			lo, hi = math.MinInt32, math.MaxInt32
		}
		e, err := r.extent(x, r.kvTiles(sp.PerTile), lo, hi, 0)
		if err == nil && x.reads && !r.corners {
			err = r.begins(x, sp, &e, c.Dims[d])
		}
		if err != nil {
			return err
		}
		c.At = append(c.At, e)
	}
	return nil
}

// begins refuses tiles with valid cells that begin outside a dimension of n; those without any are
// taken to begin inside.
func (r *resolver) begins(x *Expr, sp *probes.StagePlan, at *probes.Extent, n int) error {
	for i := range r.plan.Grid.Count() {
		block := r.plan.Grid.At(i)
		for kv := range r.kvTiles(sp.PerTile) {
			v := at.At(block, kv)
			if v >= 0 && v < n || sp.ValidRows.At(block, kv) == 0 || sp.ValidCols.At(block, kv) == 0 ||
				sp.PerTile && kv >= r.plan.Work.Tiles.At(block, 0) {
				continue
			}
			for d, index := range [4]int{block[0], block[1], block[2], kv} {
				r.env.vars[slotBX+d] = intValue(int64(index))
			}
			return x.fail("%q is %d; expected 0 to %d (shape %s%s%s)", clip(x.Text), v, n-1, r.shape,
				atBlock(x, r.env.vars[slotBX:slotKV+1]), r.readings(x))
		}
	}
	for i, v := range at.Values {
		at.Values[i] = min(max(v, 0), n-1)
	}
	return nil
}

// placedByConvention places the tiles of a stage in an output argument of the conventional output's extents.
func (r *resolver) placedByConvention(sp *probes.StagePlan, output string, field place) error {
	o := conventions().Output
	var order []int
	for _, a := range r.m.Args {
		if a.Name == output {
			order = conventionalOrder(a, &o)
		}
	}
	at := &placement{rows: along(o.Rows, order), cols: along(o.Cols, order)}
	dims, err := r.conventionalDims(&o)
	for d := range o.At {
		if order != nil {
			d = order[d]
		}
		x, bad := r.expression(o.At[d], field, inBlock)
		err = errors.Join(err, bad)
		at.at = append(at.at, x)
	}
	if order != nil && err == nil {
		dims = permuted(dims, order)
	}
	if err != nil {
		return r.m.errorAt(field,
			"where the tile lies in %s is not known: give at: [...], the position of its first cell, and rows: and cols:, the dimensions that they run along",
			output)
	}
	for i, a := range r.m.Args {
		if a.Name == output {
			if err := r.sized(a, r.plan.Args[i], dims); err != nil {
				return err
			}
		}
	}
	sp.Capture.Dims = dims
	return r.place(sp, at, field)
}

// along is which of an argument's dimensions a conventional one is; order nil: the same.
func along(d int, order []int) int {
	if order == nil {
		return d
	}
	return slices.Index(order, d)
}

// permuted are what a convention says by dimension, by an argument's.
func permuted[T any](list []T, order []int) []T {
	out := make([]T, len(order))
	for d, from := range order {
		out[d] = list[from]
	}
	return out
}

// resultPlace places the kernel's result in the output argument where the stage is captured otherwise and a
// convention says where it is: the argument is then compared as a whole too.
func (r *resolver) resultPlace() {
	sp, output := r.plan.Output(), r.plan.OutputArg()
	if sp == nil || sp.Capture.Kind == probes.CaptureOutput || output == "" {
		return
	}
	trial := *sp
	if r.placedByConvention(&trial, output, place{}) == nil {
		sp.Capture.Dims, sp.Capture.At, sp.Capture.Rows, sp.Capture.Cols = trial.Capture.Dims,
			trial.Capture.At, trial.Capture.Rows, trial.Capture.Cols
	}
}

// Tensor is an input as the manifest writes it: Dims has the dimension of the shape that each of its extents
// is, "" where it is another expression.
type Tensor struct {
	Name string
	Dims []string
}

// Tensors lists the inputs by name, scales of quantised ones left out.
func (m *Manifest) Tensors() []Tensor {
	var out []Tensor
	for _, a := range m.Args {
		if !m.isInput(a) {
			continue
		}
		t := Tensor{Name: a.Tensor}
		texts := names(a.Dims, (*Expr).String)
		if c := conventions().input(a.Tensor); c != nil && !m.loadsItself(a.Tensor) {
			if texts = c.Dims; conventionalOrder(a, c) != nil {
				texts = permuted(c.Dims, conventionalOrder(a, c))
			}
		}
		for _, text := range texts {
			if !slices.Contains(m.DimNames(), text) {
				text = ""
			}
			t.Dims = append(t.Dims, text)
		}
		out = append(out, t)
	}
	return out
}
