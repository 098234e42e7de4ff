package expect

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/probes"
)

// Launch is what another kernel left of the same inputs, as a source. A stage is compared with the stage of
// its name, tile by tile, where both have the same tiles; else, and an argument always, with the whole of an
// output argument.
type Launch struct {
	Name string       // of the kernel, in messages
	Plan *probes.Plan // its own
	For  *probes.Plan // that of the launch that is compared
	// Tile returns one of its captured tiles; not Reached where there is none.
	Tile func(s probes.Stage, block probes.Dim3, kv int) probes.Tile
	// Argument returns what it left in an output argument; nil where it left nothing in one of that name.
	Argument func(name string) []byte
}

// Label implements Source.
func (l *Launch) Label() string { return l.Name }

// Names implements Source: its stages, and its outputs.
func (l *Launch) Names() []string {
	var out []string
	for _, sp := range l.Plan.Tiles() {
		if !sp.OfLaunch() {
			out = append(out, sp.Stage.String())
		}
	}
	for _, a := range l.Plan.Args {
		if a.Pointer && l.Argument(a.Name) != nil && !slices.Contains(out, a.Name) {
			out = append(out, a.Name)
		}
	}
	return out
}

func (l *Launch) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{l.Name}, args...)...)
}

// Values implements Source.
func (l *Launch) Values(_ context.Context, name string, sp *probes.StagePlan) (Values, bool, error) {
	other, why := l.Plan.Stage(probes.Stage(name)), ""
	if other != nil && !other.OfLaunch() && !sp.OfLaunch() {
		if why = probes.Unlike(sp, other, "here", "there"); why == "" {
			v, err := l.tiles(sp, other)
			return v, true, err
		}
	}
	argument := name
	if other != nil && (other.OfLaunch() || other.Capture.Kind == probes.CaptureOutput) {
		argument = other.Capture.Output
	}
	data := l.Argument(argument)
	switch {
	case other == nil && data == nil:
		return nil, false, nil
	case data == nil || !sp.OfLaunch() && sp.Capture.Kind != probes.CaptureOutput:
		if why == "" {
			why = "one of the two is no stage"
		}
		return nil, true, l.errorf("%s cannot be compared with %s there: %s; "+
			"only what is cut out of an output can be compared whatever the tiles", sp.Stage, name, why)
	}
	v, err := l.whole(argument, data, sp)
	return v, true, err
}

// whole is an output argument of the other kernel.
func (l *Launch) whole(argument string, data []byte, sp *probes.StagePlan) (Values, error) {
	for _, a := range l.Plan.Args {
		if a.Name != argument {
			continue
		}
		if a.DType.Float() != sp.DType.Float() {
			return nil, l.errorf("argument %s is %s, and %s here is %s", argument, a.DType, sp.Stage,
				sp.DType)
		}
		if have := l.Plan.OutputDims(); !slices.Equal(a.Dims, sp.Capture.Dims) &&
			!(argument == l.Plan.OutputArg() && slices.Equal(have, sp.Capture.Dims)) &&
			!l.sameArgument(a.Dims, sp) {
			return nil, l.errorf("argument %s has shape %s, and %s here is of %s", argument, extents(a.Dims),
				sp.Stage, extents(sp.Capture.Dims))
		}
		return &whole{sp, a.DType, data}, nil
	}
	return nil, l.errorf("there is no argument %s", argument)
}

// sameArgument reports whether extents are those of the argument that a stage is cut out of, as the manifest
// has it.
func (l *Launch) sameArgument(dims []int, sp *probes.StagePlan) bool {
	return slices.ContainsFunc(l.For.Args, func(a probes.Arg) bool {
		return a.Name == sp.Capture.Output &&
			slices.Equal(a.Dims, dims)
	})
}

// place is a tile of the other kernel.
type place struct {
	block probes.Dim3
	kv    int
}

// launched are the tiles of a stage of the other kernel, by the tiles here that compute the same part of the
// problem.
type launched struct {
	l      *Launch
	stage  probes.Stage
	dtype  probes.DType
	sp     *probes.StagePlan
	names  []string
	places map[string]place
}

// tiles pairs the tiles of a stage in both kernels by the part of the problem that they compute.
func (l *Launch) tiles(sp, other *probes.StagePlan) (Values, error) {
	if sp.DType.Float() != other.DType.Float() {
		return nil, l.errorf("stage %s is %s there, %s here", other.Stage, other.DType, sp.DType)
	}
	out := &launched{l: l, stage: other.Stage, dtype: other.DType, sp: sp,
		names: probes.SharedPositions(l.For, l.Plan), places: map[string]place{}}
	eachTile(l.Plan, other, func(block probes.Dim3, kv int) bool {
		out.places[l.Plan.Part(out.names, other, block, kv)] = place{block, kv}
		return true
	})
	var err error
	eachTile(l.For, sp, func(block probes.Dim3, kv int) bool {
		at, ok := out.places[l.For.Part(out.names, sp, block, kv)]
		switch {
		case !ok:
			err = l.errorf("no tile of stage %s there computes what block %s, iteration %d, computes here",
				other.Stage, block, kv)
		case !l.Tile(other.Stage, at.block, at.kv).Reached():
			err = l.errorf("block %s left no tile of stage %s in iteration %d", at.block, other.Stage, at.kv)
		case other.ValidRows.At(at.block, at.kv) < sp.ValidRows.At(block, kv) ||
			other.ValidCols.At(at.block, at.kv) < sp.ValidCols.At(block, kv):
			err = l.errorf("fewer cells of stage %s are valid in block %s, iteration %d, than here",
				other.Stage, at.block, at.kv)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// eachTile visits the tiles of a stage over the whole grid until visit says that it is enough.
func eachTile(p *probes.Plan, sp *probes.StagePlan, visit func(block probes.Dim3, kv int) bool) {
	for i := range p.Grid.Count() {
		block, n := p.Grid.At(i), 1
		if sp.PerTile {
			n = p.Work.Tiles.At(block, 0)
		}
		for kv := range n {
			if !visit(block, kv) {
				return
			}
		}
	}
}

// DType implements Values.
func (v *launched) DType() probes.DType { return v.dtype }

// Covers implements Values.
func (v *launched) Covers(probes.Dim3) bool { return true }

// Tile implements Values. A cell that the other kernel did not capture is NaN.
func (v *launched) Tile(block probes.Dim3, kv int) func(dst []float64, row int) {
	if !v.sp.PerTile {
		kv = 0
	}
	at := v.places[v.l.For.Part(v.names, v.sp, block, kv)]
	t := v.l.Tile(v.stage, at.block, at.kv)
	return func(dst []float64, row int) {
		for col := range dst {
			if dst[col] = math.NaN(); t.Captured(row, col) {
				dst[col] = t.At(row, col)
			}
		}
	}
}
