package configs

import (
	"slices"

	"tilescope/probes"
)

// What a run does with the numbers of a plan, checked before anything is allocated: tensors are [B,H,S,D]
// throughout, a stage's tile lies in its array, and the reference's tiles have one size. What is refused here
// would be an index out of range, or a comparison of other cells, later.

const (
	maxBlocks    = 1 << 24 // of a grid: each is captured and judged
	maxKVTiles   = 1 << 20
	maxTileBytes = 1 << 28
	maxReference = 4 << 30 // bytes of one block's reference
)

// sub is the place of a key within the thing at p.
func (p place) sub(key string) place {
	p.field += "." + key
	return p
}

// uses holds the arguments and stages of a finished plan to what is done with them.
func (r *resolver) uses() error {
	for i, a := range r.m.Args {
		if err := r.input(i, a, r.plan.Args[i]); err != nil {
			return err
		}
	}
	if n := float64(r.plan.Grid[0]) * float64(r.plan.Grid[1]) * float64(r.plan.Grid[2]); n > maxBlocks {
		return r.m.Launch.Grid[0].fail("a grid of %.0f blocks (shape %s); at most %d can be captured", n,
			r.shape, maxBlocks)
	}
	if len(r.plan.Stages) == 0 {
		return nil
	}
	if err := r.result(); err != nil {
		return err
	}
	stages := r.stageEntries()
	for i := range r.plan.Stages {
		for _, check := range []func(*Stage, *probes.StagePlan) error{r.outputStage, r.arrays} {
			if err := check(stages[i], &r.plan.Stages[i]); err != nil {
				return err
			}
		}
	}
	return r.tiles(stages)
}

// stageEntries are the manifest's entries that the plan's stages came from.
func (r *resolver) stageEntries() []*Stage {
	var out []*Stage
	for i := range r.m.Stages {
		s := &r.m.Stages[i]
		if len(out) < len(r.plan.Stages) && r.plan.Stages[len(out)].Stage == s.Stage {
			if there, err := r.holds(s.When); err == nil && there {
				out = append(out, s)
			}
		}
	}
	return out
}

// input checks that an argument that a tensor is copied into has the tensor's extents and one of its types.
func (r *resolver) input(i int, a Arg, p probes.Arg) error {
	if a.Role != probes.RoleInput {
		return nil
	}
	for _, in := range r.plan.Inputs {
		if in.Arg != i {
			continue
		}
		if q := r.plan.Quant; in.Coded && q.Along >= len(in.Dims) {
			return r.m.errorAt(a.at.sub("dims"),
				"the quantiser has scales along dimension %d; tensor %s has %d, numbered from 0", q.Along,
				in.Name, len(in.Dims))
		}
		types := []probes.DType{probes.F16, probes.BF16, probes.F32, probes.F64, probes.E4M3, probes.E5M2}
		if a.Fill != nil {
			types = append(types, probes.I8, probes.U8, probes.I16, probes.U16, probes.I32, probes.U32,
				probes.I64, probes.U64)
		} else if r.m.Quantiser != nil {
			types = []probes.DType{probes.U8, probes.F16, probes.F32}
		}
		if !slices.Contains(types, a.DType) {
			return r.m.errorAt(a.at.sub("type"), "tensor %s is there as %s, not as %s*", a.Tensor,
				or(names(types, func(t probes.DType) string { return t.String() + "*" })), a.DType)
		}
		return r.sized(a, p, in.Dims)
	}
	if r.m.Quantiser == nil {
		return r.m.errorAt(a.at.sub("tensor"),
			"the scales %s come from a quantiser, which the manifest does not have", a.Tensor)
	}
	for _, in := range r.plan.Inputs {
		if in.Scales == i {
			return r.sized(a, p, []int{in.Dims[r.plan.Quant.Along]})
		}
	}
	return r.m.errorAt(a.at.sub("tensor"), "the scales %s belong to no quantised input", a.Tensor)
}

// sized holds an argument to the extents of the tensor that it is, in order; extents of 1 do not count, and
// neighbours may be one dimension: [B * H, S, D], a list of B * H * S * D.
func (r *resolver) sized(a Arg, p probes.Arg, want []int) error {
	total := 1
	for _, n := range want {
		total *= n
	}
	got := p.Elems()
	if got == total && folds(p.Dims, want) && !r.misnamed(a, p.Dims, want) {
		return nil
	}
	tensor := a.Tensor
	if tensor == "" {
		tensor = conventions().Output.Name
	}
	return r.m.errorAt(a.at.sub("dims"),
		"argument %s is %v, %d elements; tensor %s is %v, %d elements (shape %s)", a.Name, p.Dims, got,
		tensor, want, total, r.shape)
}

// folds reports whether dims are want with neighbours taken together; extents of 1 do not count.
func folds(dims, want []int) bool {
	have, n := 0, 1 // of want, and what its extents so far make of the next of dims
	for _, d := range dims {
		for n = 1; n < d && have < len(want); have++ {
			n *= want[have]
		}
		if n != d {
			return false
		}
	}
	for ; have < len(want); have++ {
		if want[have] != 1 {
			return false
		}
	}
	return true
}

// misnamed reports whether an argument names a dimension of a conventional tensor where that has another
// of the same extent.
func (r *resolver) misnamed(a Arg, dims, want []int) bool {
	c := conventions().input(a.Tensor)
	if a.Role == probes.RoleOutput {
		c = &conventions().Output
	}
	if c == nil || a.Role == probes.RoleInput && r.m.loadsItself(a.Tensor) || len(c.Dims) != len(want) ||
		conventionalOrder(a, c) != nil {
		return false
	}
	at := 0
	for d, x := range a.Dims {
		from, n := at, 1
		for ; n < dims[d] && at < len(want); at++ {
			n *= want[at]
		}
		if i := slices.Index(c.Dims, x.Text); i >= 0 && dims[d] > 1 && (i < from || i >= at) {
			return true
		}
	}
	return false
}

// outputStage holds a stage that is cut out of an output to what an output is.
func (r *resolver) outputStage(s *Stage, sp *probes.StagePlan) error {
	if sp.Capture.Kind != probes.CaptureOutput {
		return nil
	}
	if sp.Phase != probes.PhaseAfter && s.output == nil {
		return r.m.errorAt(place{s.at.line, s.at.col, s.captureField},
			"only a stage that is computed after the loop is cut out of an output; capture %s by probe or from a shared array",
			sp.Stage)
	}
	for _, a := range r.plan.Args {
		if a.Name == sp.Capture.Output && a.DType != sp.DType && !r.m.hostOnly {
			return r.m.errorAt(s.at.sub("dtype"),
				"stage %s is %s, but argument %s, which it is cut out of, is %s*", sp.Stage, sp.DType,
				a.Name, a.DType)
		}
	}
	return nil
}

// result refuses an argument of an integer type as the kernel's result.
func (r *resolver) result() error {
	name := r.plan.OutputArg()
	if r.plan.Output() == nil {
		return nil
	}
	for _, a := range r.m.Args {
		if a.Role != probes.RoleOutput || a.Name != name {
			continue
		}
		if !a.DType.Float() {
			return r.m.errorAt(a.at.sub("type"),
				"argument %s is tensor %s, a floating-point type is expected", a.Name,
				conventions().Output.Name)
		}
	}
	return nil
}

// arrays holds a tile to the rows and columns of the shared array that it is copied out of.
func (r *resolver) arrays(s *Stage, sp *probes.StagePlan) error {
	if n := float64(sp.Rows) * float64(sp.Cols) * float64(sp.DType.Size()); n > maxTileBytes {
		return r.m.errorAt(s.at.sub("dims"), "a tile of %s takes %s; at most %s are possible", sp.Stage,
			Bytes(n), Bytes(maxTileBytes))
	}
	for _, a := range r.plan.Shared {
		if sp.Capture.Kind != probes.CaptureShared || a.Name != sp.Capture.Shared {
			continue
		}
		rows, cols := sp.Rows, sp.Cols
		if sp.Transposed {
			rows, cols = cols, rows
		}
		if a.DType.Size() != sp.DType.Size() {
			return r.m.errorAt(s.at.sub("dtype"), "stage %s is %s, but its array %s is %s", sp.Stage,
				sp.DType, a.Name, a.DType)
		}
		ld := cols
		if n := len(a.Dims); n > 1 {
			ld = a.Dims[n-1]
		}
		if end := ((rows-1)*ld + cols) * a.DType.Size(); ld < cols && rows > 1 || end > a.Bytes {
			return r.m.errorAt(s.at.sub("dims"),
				"stage %s takes %d rows of %d, which array %s %v does not hold", sp.Stage, rows, cols,
				a.Name, a.Dims)
		}
	}
	return nil
}

// tiles holds the stages to each other: stages that share an axis have the same extent of it.
func (r *resolver) tiles(stages []*Stage) error {
	sides := map[string]*side{"": {n: 1, from: "a number for each row"}}
	for name, a := range conventions().Axes {
		if a.Extent != "" {
			if n, ok := r.shape.Extent(a.Extent); ok {
				sides[name] = &side{n: n, from: a.Says}
			}
		}
	}
	for i := range r.plan.Stages {
		sp := &r.plan.Stages[i]
		for axis, x := range [2]struct {
			what string
			n    int
		}{{"rows", sp.Rows}, {"columns", sp.Cols}} {
			have := sides[sp.Axes[axis]]
			if have == nil {
				have = &side{x.n, "stage " + sp.Stage.String()}
				sides[sp.Axes[axis]] = have
			}
			if x.n != have.n {
				return r.m.errorAt(stages[i].at.sub("dims"),
					"stage %s has %d %s, which disagrees with the %d of %s (shape %s)", sp.Stage, x.n, x.what,
					have.n, have.from, r.shape)
			}
		}
		if sp.Meaning.Normalised {
			return r.m.errorAt(stages[i].at.sub("normalised"),
				"the reference has no P that is divided by l within a tile")
		}
		if float := sp.DType.Float(); !float {
			return r.m.errorAt(stages[i].at.sub("dtype"),
				"a stage holds real numbers; %s is an integer type", sp.DType)
		}
	}
	for i := range r.plan.Undeclared {
		sp := &r.plan.Undeclared[i]
		for axis, n := range [2]*int{&sp.Rows, &sp.Cols} {
			if have := sides[sp.Axes[axis]]; have != nil {
				*n = have.n
			}
		}
	}
	return r.room()
}

// side is an extent that several stages share, and who said it first.
type side struct {
	n    int
	from string
}

// room refuses loops over kv tiles that no memory holds a reference for.
func (r *resolver) room() error {
	t := r.plan.Work.MaxTiles
	bytes := 8 * float64(t) * float64(r.plan.TileElems())
	if bytes > maxReference {
		return r.work.Tiles.fail(
			"%q is %d (shape %s): the reference of a block would take %s, and the limit is %s",
			clip(r.work.Tiles.Text), t, r.shape,
			Bytes(bytes), Bytes(maxReference))
	}
	return nil
}
