package diagnose

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// An edit that puts a stage right in one run may fit that run alone: 160 belongs where C belongs as long as C
// is 160. So a proven edit is tried on other shapes and inputs of the same build before it is advised.

// other is a configuration of the kernel that an edit is tried in.
type other struct {
	req  debugkern.Request
	name string         // "shape ragged (R=19,C=203)"
	run  *debugkern.Run // nil: not executed yet
	made bool
	any  bool // it may be another build than the run's
	// mixed: its shape is none of the manifest's, so that only what the kernel has right in it counts
	mixed bool
	// spoilt is the run of a mixed one in which something is wrong; nil: there is none
	spoilt *debugkern.Run
}

const (
	// mostOthers is how many other configurations are executed at most.
	mostOthers = 2
	// mostMixed is how many shapes are executed at most that are none of the manifest's: one with two of what
	// the run has one of, one with more blocks, one with one tile, and then those that are made of an extent
	// of another shape and the others of the run's.
	mostMixed = 4
	// mostSpoilt is how many of these are executed in which the kernel is wrong.
	mostSpoilt = 2
	// otherWork is how many warp instructions one of them may take, unless the run itself takes more.
	otherWork = 1 << 20
)

// otherConfigurations lists shapes of the manifest that cost little to execute, those first that differ in
// most extents. Their inputs are made from another seed. Inputs of a file have one shape: there is no other.
func (q *inquiry) otherConfigurations() []*other {
	sel, plan := q.run.Selection, q.run.Plan
	req := q.run.Request
	if sel == nil || req.Inputs != "" || len(req.Launch) > 0 || q.s == nil ||
		plan.Gate.Name != probes.GateNone {
		return nil
	}
	req.Backend, req.Plain, req.Check, req.Seed = "emu", false, 0, req.Seed+1
	req.Blocks, req.Tiles, req.Stages = debugkern.Region{}, debugkern.Span{}, nil
	type choice struct {
		o      *other
		shape  probes.Shape
		tiles  int
		differ int
		work   uint64
	}
	var list []choice
	own := max(q.run.Report.Cost.WarpInstructions, 1)
	tiles := func(p *probes.Plan) uint64 { return uint64(p.Grid.Count() * max(1, p.Work.MaxTiles)) }
	each := own / max(1, tiles(plan))
	// affordable is the plan of a shape, and its work; false where it is none or costs too much.
	affordable := func(s probes.Shape) (*probes.Plan, uint64, bool) {
		p, err := sel.ResolveContext(q.ctx, s)
		if err != nil {
			return nil, 0, false
		}
		work := each * tiles(p)
		return p, work, work <= max(own, otherWork)
	}
	for _, s := range sel.Manifest.Shapes {
		differ := 0
		for i, n := range s.Shape.Extents() {
			if n != plan.Shape.Extents()[i] {
				differ++
			}
		}
		if s.Shape == plan.Shape {
			continue
		}
		p, work, ok := affordable(s.Shape)
		if !ok {
			continue
		}
		o := &other{req: req, name: fmt.Sprintf("shape %s (%s)", s.Name, s.Shape)}
		o.req.Shape = s.Name
		list = append(list, choice{o, s.Shape, p.Work.MaxTiles, differ, work})
	}
	slices.SortStableFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.differ, a.differ), cmp.Compare(a.work, b.work))
	})
	var out []*other
	for _, c := range list {
		out = append(out, c.o)
	}
	// One of them has a part of a tile where the run has whole ones, or the other way round, and several
	// tiles, if there is one: with one tile much goes well.
	for _, odd := range []func(c choice) bool{
		func(c choice) bool { return ragged(c.shape) != ragged(plan.Shape) && c.tiles > 1 },
		func(c choice) bool { return ragged(c.shape) != ragged(plan.Shape) },
		func(c choice) bool { return c.tiles > 1 },
	} {
		if i := slices.IndexFunc(list, odd); i >= 0 {
			if i >= mostOthers {
				out[mostOthers-1] = out[i]
			}
			break
		}
	}
	again := &other{req: req, name: fmt.Sprintf("the run with seed %d", req.Seed)}
	again.req.Shape = q.run.Request.Shape
	q.large = &other{req: again.req, name: "the run with inputs eight times as large"}
	q.large.req.Large = true
	oneSided := &other{req: again.req, name: "the run with inputs of one sign each"}
	oneSided.req.OneSided = true
	most := plan.Work.MaxTiles // what is kept from tile to tile goes on to the next
	for _, c := range list {
		if c.tiles > most {
			most, oneSided.req.Shape = c.tiles, c.o.req.Shape
			oneSided.name = c.o.name + " with inputs of one sign each"
		}
	}
	out = append(out[:min(len(out), mostOthers)], again, oneSided)
	var mixed []*other
	var shapes []probes.Shape // of the manifest, and those of mixed
	for _, s := range sel.Manifest.Shapes {
		shapes = append(shapes, s.Shape)
	}
	take := func(list []probes.Shape, most int) {
		for _, s := range list {
			if len(mixed) == most {
				return
			}
			if _, _, ok := affordable(s); ok {
				o := &other{req: req, name: fmt.Sprintf("shape %s", s), mixed: true}
				o.req.Shape = s.String()
				mixed, shapes = append(mixed, o), append(shapes, s)
			}
		}
	}
	next := func(list []probes.Shape) { take(list, len(mixed)+1) }
	next(doubled(slices.Concat([]probes.Shape{plan.Shape}, shapes)))
	next(q.moreBlocks())
	next(q.oneTile())
	take(mixedShapes(plan.Shape, shapes), mostMixed)
	return append(out, mixed...)
}

// doubled lists shapes with two of what there is one of in each of some shapes, as of batches: in one, an
// index that leaves it out is the same as one that has it.
func doubled(of []probes.Shape) (out []probes.Shape) {
	for _, s := range of {
		was := s
		for i, n := range s.Extents() {
			if n == 1 {
				s[i].N = 2
			}
		}
		if s != was && !slices.Contains(slices.Concat(of, out), s) {
			out = append(out, s)
		}
	}
	return out
}

// moreBlocks lists shapes with one extent longer, by the rows of a stage's tile, and a grid that is so in a
// dimension in which the run's has one block: there what a block begins with is 0 in the run.
func (q *inquiry) moreBlocks() (out []probes.Shape) {
	plan := q.run.Plan
	longer := func(s probes.Shape) bool {
		p, err := q.run.Selection.ResolveContext(q.ctx, s)
		if err != nil {
			return false
		}
		for d, n := range plan.Grid {
			if n == 1 && p.Grid[d] > 1 {
				return true
			}
		}
		return false
	}
	var tried []probes.Shape // stages have tiles of as many rows
	for i := range plan.Stages {
		for k, n := range plan.Shape.Extents() {
			s := plan.Shape
			s[k].N = n + plan.Stages[i].Rows
			if n == 1 || slices.Contains(tried, s) {
				continue
			}
			if tried = append(tried, s); longer(s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// oneTile lists shapes with one extent, of those that are longer, as long as a tile of a stage is wide: there
// what is copied ahead, and what is done for the tile before or for the next, has nothing to be done with.
func (q *inquiry) oneTile() (out []probes.Shape) {
	plan := q.run.Plan
	for i := range plan.Stages {
		sp := &plan.Stages[i]
		if !sp.PerTile || sp.Cols < 2 || sp.Op != nil && sp.Op.Op == "load" {
			continue
		}
		for k, n := range plan.Shape.Extents() {
			s := plan.Shape
			if s[k].N = sp.Cols; n > sp.Cols && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// mixedShapes lists shapes with one extent of another one: in two shapes of a manifest a number may be what
// several expressions give, and these differ where only one extent does. Those come first in which more
// extents are larger than 1 than in any of the others, as several batches of several heads; then those in
// which an extent has other remainders.
func mixedShapes(own probes.Shape, others []probes.Shape) []probes.Shape {
	several := func(s probes.Shape) (n int) {
		for _, x := range s.Extents() {
			if x > 1 {
				n++
			}
		}
		return n
	}
	most := several(own)
	for _, o := range others {
		most = max(most, several(o))
	}
	var full, odd, rest []probes.Shape
	for _, o := range others {
		for i, n := range o.Extents() {
			s := own
			if i >= len(own.Extents()) || n == s[i].N {
				continue
			}
			was := s[i].N
			s[i].N = n
			switch {
			case slices.Contains(slices.Concat(others, full, odd, rest), s):
			case several(s) > most:
				full = append(full, s)
			case n%8 == 0 != (was%8 == 0):
				odd = append(odd, s)
			default:
				rest = append(rest, s)
			}
		}
	}
	return slices.Concat(full, odd, rest)
}

// ragged reports whether a shape has an extent that no tile divides.
func ragged(s probes.Shape) bool {
	const least = 8 // rows or columns of a tile
	return slices.ContainsFunc(s.Extents(), func(n int) bool { return n > least && n%least != 0 })
}

// running executes configurations one after another, and passes on those that run.
func (q *inquiry) running(list []*other) iter.Seq2[*other, error] {
	return func(yield func(*other, error) bool) {
		for _, o := range list {
			run, err := q.execute(o)
			if (run != nil || err != nil) && !yield(o, err) {
				return
			}
		}
	}
}

// execute runs the configuration as it is; nil where it does not run.
func (q *inquiry) execute(o *other) (*debugkern.Run, error) {
	if o.made {
		return o.run, nil
	}
	o.made = true
	r, err := q.s.Run(q.ctx, o.req, q.progress)
	if err != nil {
		return nil, q.fatal(err)
	}
	same := r.Entry() != nil && (o.any || len(r.Entry().Body) == len(q.run.Entry().Body))
	switch {
	case !same:
	case !o.mixed || r.Report.Verdict == report.Agree && rightAll(r.Report):
		o.run = r
	case r.Report.Verdict == report.Diverge:
		o.spoilt = r
	}
	return o.run, nil
}

// spoiltShapes lists configurations of shapes that are none of the manifest's in which something is wrong.
// The kernel may not be made for them. But of two edits with which all is right elsewhere, the one that is
// right in these too is meant.
func (q *inquiry) spoiltShapes() (out []*other, err error) {
	for _, o := range q.elsewheres() {
		if _, err := q.execute(o); err != nil {
			return nil, err
		}
		if o.spoilt != nil && len(out) < mostSpoilt {
			out = append(out, o)
		}
	}
	return out, nil
}

// elsewhere is what came of an edit in other configurations.
type elsewhere struct {
	right string // the first in which stages are wrong without it and right with it; "": none
	wrong string // the first that it does not put right, or makes wrong; "": none
	// breaks: wrong is right without the edit
	breaks bool
	// size: what a number has to be a multiple of, where the number itself is wrong elsewhere; nil: none
	size *repair.Size
}

// elsewhere tries an edit in other configurations, until one refutes it: in which the stages stay wrong
// with it, or become so.
func (q *inquiry) elsewhere(c *repair.Cure, group []probes.Stage) (*elsewhere, error) {
	e := &elsewhere{}
	for o, err := range q.running(q.elsewheres()) {
		if err != nil {
			return nil, err
		}
		run := o.run
		was := wrongThere(run, group)
		ok, err := q.rightThere(run, c.Edits, group)
		switch {
		case err != nil:
			return nil, err
		case ok && was:
			e.right = cmp.Or(e.right, o.name)
		case was:
			e.wrong = o.name
			e.size, err = q.sizeThere(run, c, group)
			return e, err
		case !ok:
			return &elsewhere{wrong: o.name, breaks: true}, nil
		}
	}
	return e, nil
}

// elsewheres are the configurations that edits are tried in.
func (q *inquiry) elsewheres() []*other {
	if !q.configured {
		q.configurations, q.configured = q.otherConfigurations(), true
	}
	return q.configurations
}

// tryThere makes a trial of another run, of its first blocks where the trial names none; nil where that
// cannot be done.
func (q *inquiry) tryThere(run *debugkern.Run, t debugkern.Trial) (*debugkern.Run, error) {
	if t.Blocks == nil {
		blocks := run.Blocks()
		t.Blocks = blocks[:min(len(blocks), mostBlocks(run.Entry()))]
	}
	t.Tiles, t.Budget = true, 4*run.Report.Cost.WarpInstructions+patience
	now, err := q.trial(run, t)
	if err != nil {
		return nil, q.fatal(err)
	}
	return now, nil
}

// mostBlocks is how many blocks of a kernel a trial executes at most: more where blocks update memory that
// they may share, as what a part of them leaves there is not what all do.
func mostBlocks(fn *ptx.Func) int {
	if debugkern.UpdatesMemory(fn) {
		return 4 * trialBlocks
	}
	return trialBlocks
}

// wrongThere reports whether the first of some stages is wrong in a run.
func wrongThere(run *debugkern.Run, group []probes.Stage) bool {
	st := run.Report.Stage(group[0].String())
	return st != nil && st.Local.Bad > 0
}

// rightThere reports whether edits put stages right in the blocks of another run, and make nothing worse.
func (q *inquiry) rightThere(run *debugkern.Run, edits []ptx.Edit, group []probes.Stage) (bool, error) {
	now, err := q.tryThere(run, debugkern.Trial{Edits: edits})
	if err != nil || now == nil || now.Report.Verdict == report.Failed {
		return false, err
	}
	for i := range now.Report.Stages {
		x := &now.Report.Stages[i]
		was := run.Report.Stage(x.Name)
		if slices.Contains(group, probes.Stage(x.Name)) && x.Local.Bad > 0 ||
			was != nil && x.Local.Bad > was.Local.Bad {
			return false, nil
		}
	}
	return true, nil
}

// sizeThere looks for a size of the plan that an edit's number is in the run that is diagnosed, and with
// whose value there the stages of the other run are right.
func (q *inquiry) sizeThere(
	run *debugkern.Run, c *repair.Cure, group []probes.Stage,
) (*repair.Size, error) {
	tried := map[float64]bool{}
	for i := range c.Sizes {
		n := c.Sizes[i].In(run)
		if n == 0 || n == c.Sizes[i].In(q.run) || tried[n] {
			continue
		}
		tried[n] = true
		if ok, err := q.rightThere(run, c.Sized(n), group); err != nil || ok {
			return &c.Sizes[i], err
		}
	}
	return nil, nil
}
