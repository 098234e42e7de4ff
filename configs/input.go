package configs

import (
	"fmt"
	"slices"

	"tilescope/probes"
)

// inputs resolves the tensors that the launch reads: extents, what they hold, and which argument has the scales of a quantised one.
func (r *resolver) inputs(limit float64) error {
	total := 0.0
	for i, a := range r.m.Args {
		if a.Role != probes.RoleInput || a.Fill == nil && r.m.isScales(a.Tensor) {
			continue
		}
		in := probes.Input{Name: a.Tensor, Arg: i, Dims: r.plan.Args[i].Dims, Scales: -1}
		if c := conventions().input(a.Tensor); c != nil && !r.m.loadsItself(a.Tensor) {
			dims, err := r.conventionalDims(c)
			if err != nil {
				return err
			}
			in.Dims = dims
		}
		in.Coded = r.m.Quantiser != nil && !a.DType.Float() && a.Fill == nil
		for k, s := range r.m.Args {
			if in.Coded && s.Role == probes.RoleInput && s.Tensor == a.Tensor+"s" {
				in.Scales = k
			}
		}
		if f := a.Fill; f != nil {
			in.Fill.Kind = f.Kind
			for k, x := range [2]*Expr{f.Lo, f.Hi} {
				if x == nil {
					continue
				}
				v, err := x.integer(r.env, -1<<31, 1<<32-1)
				if err != nil {
					return err
				}
				*[2]*int64{&in.Fill.Lo, &in.Fill.Hi}[k] = int64(v)
			}
			if in.Fill.Lo > in.Fill.Hi {
				return r.m.errorAt(a.at.sub("fill"), "randint(%d, %d): no number lies between", in.Fill.Lo, in.Fill.Hi)
			}
		}
		bytes := 4.0
		for _, d := range in.Dims {
			bytes *= float64(d)
		}
		total += bytes
		r.plan.Inputs = append(r.plan.Inputs, in)
	}
	if len(r.m.Stages) > 0 && total > limit {
		return &ShapeError{Kernel: r.m.Name, Shape: r.shape, Say: fmt.Sprintf("its inputs would take %s, and the limit is %s", Bytes(total), Bytes(limit))}
	}
	return nil
}

// loadsItself reports whether the manifest says itself where the stages that load a tensor are in it. Then its dimensions are the
// argument's, else those of the convention, by whose operators it is loaded.
func (m *Manifest) loadsItself(tensor string) bool {
	for i := range m.Stages {
		if o := m.Stages[i].op; o != nil && o.loads(tensor) {
			return true
		}
	}
	return len(m.Stages) > 0 && !slices.ContainsFunc(m.Stages, func(s Stage) bool {
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
			return nil, &ShapeError{Kernel: r.m.Name, Shape: r.shape, Say: fmt.Sprintf("tensor %s is %v by convention; name it otherwise, or load it with an op of its own", c.Name, c.Dims)}
		}
		out[i] = n
	}
	return out, nil
}

// placed resolves where in an output argument a stage's tile lies.
func (r *resolver) placed(s *Stage, sp *probes.StagePlan) error {
	c := &sp.Capture
	if c.Kind != probes.CaptureOutput {
		return nil
	}
	field := place{s.at.line, s.at.col, s.captureField}
	at := []*Expr(nil)
	if s.output != nil {
		at, c.Rows, c.Cols = s.output.at, s.output.rows, s.output.cols
	} else {
		if err := r.conventionalOutput(c.Output, field); err != nil {
			return err
		}
		o := conventions().Output
		c.Rows, c.Cols = o.Rows, o.Cols
		for _, text := range o.At {
			x, err := r.expression(text, field, inBlock)
			if err != nil {
				return r.unplaced(c.Output, field)
			}
			at = append(at, x)
		}
	}
	dims := r.outputDims(c.Output)
	if len(dims) != len(at) || c.Rows >= len(dims) || c.Cols >= len(dims) {
		return r.m.errorAt(field, "a position of %d dimensions, rows along %d and columns along %d; argument %s has %d dimensions, numbered from 0", len(at), c.Rows, c.Cols, c.Output, len(dims))
	}
	if c.Cols < 0 && sp.Cols != 1 {
		return r.m.errorAt(field, "a tile of %d columns needs cols:, the dimension of %s that they run along", sp.Cols, c.Output)
	}
	for d, x := range at {
		e, err := r.extent(x, r.kvTiles(sp.PerTile), 0, int64(dims[d])-1, 0)
		if err != nil {
			return err
		}
		c.At = append(c.At, e)
	}
	return nil
}

// conventionalOutput holds an argument that a tile is cut out of by convention to the conventional output's extents.
func (r *resolver) conventionalOutput(name string, field place) error {
	for i, a := range r.m.Args {
		if a.Name != name {
			continue
		}
		want, err := r.conventionalDims(&conventions().Output)
		if err != nil {
			return r.unplaced(name, field)
		}
		return r.sized(a, r.plan.Args[i], want)
	}
	return nil
}

// unplaced is the error of a tile of an output that no convention places.
func (r *resolver) unplaced(output string, field place) error {
	return r.m.errorAt(field, "where the tile lies in %s is not known: give at: [...], the position of its first cell, and rows: and cols:, the dimensions that they run along", output)
}

// outputDims are the extents of an output argument: the convention's where it is the conventional output and loaded by convention.
func (r *resolver) outputDims(name string) []int {
	for i, a := range r.m.Args {
		if a.Name != name {
			continue
		}
		dims := r.plan.Args[i].Dims
		if len(dims) == len(conventions().Output.Dims) {
			return dims
		}
		if c, err := r.conventionalDims(&conventions().Output); err == nil && elems(c) == elems(dims) {
			return c
		}
		return dims
	}
	return nil
}

func elems(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Tensor is an input as the manifest writes it: Dims has the dimension of the shape that each of its extents is, "" where it is
// another expression.
type Tensor struct {
	Name string
	Dims []string
}

// Tensors lists the inputs by name, scales of quantised ones left out.
func (m *Manifest) Tensors() []Tensor {
	var out []Tensor
	for _, a := range m.Args {
		if a.Role != probes.RoleInput || a.Fill == nil && m.isScales(a.Tensor) {
			continue
		}
		t := Tensor{Name: a.Tensor}
		texts := names(a.Dims, (*Expr).String)
		if c := conventions().input(a.Tensor); c != nil && !m.loadsItself(a.Tensor) {
			texts = c.Dims
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
