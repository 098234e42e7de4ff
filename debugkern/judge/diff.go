// Package judge compares a kernel's captured tiles with the reference: which cells are further off than a
// right kernel could be, which stage made the error, where it first went wrong, and what it looks like.
//
// The one idea: every number carries how far a right kernel may be from it. A bound is derived per cell from
// what the stage computes (how many roundings, of which type, of how large numbers), never guessed. Each
// stage is judged twice: locally, from the kernel's own earlier stages, so only its own roundings count; and
// globally, from the true inputs, where the bound also carries what earlier stages were allowed. A stage
// beyond its local bound is wrong, one beyond its global bound alone is tainted. A stage is judged locally
// where the manifest's `from` names all that it is computed from by definition and that was captured; else
// from the inputs alone, and then it is wrong only where nothing before it in the block is off.
//
// It must not know backends, manifests, kernels or faults by name.
package judge

import (
	"fmt"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/region"
	"tilescope/probes"
)

// Source gives the tiles of one execution. kv is 0 for stages taken once a block. A tile that was not
// captured or not reached has no Data. It must be safe for concurrent use.
type Source interface {
	Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile
}

// Verdict is what is said of a stage or a tile.
type Verdict uint8

const (
	Off     Verdict = iota // left out or injected by the gate, not captured, or not reached
	OK                     // within its bounds
	Tainted                // only the global bound is exceeded: the error came from before
	Wrong                  // the local bound is exceeded: the error was made here
)

func (v Verdict) String() string { return [...]string{"off", "ok", "tainted", "wrong"}[v] }

// Options say what was captured and how to go about it.
type Options struct {
	Range  probes.Range  // what was captured; a zero Range: everything
	Blocks []probes.Dim3 // of the range, those that were executed and are judged; nil: all
	// InPart are arguments that are judged although only some blocks were executed: their written cells. No
	// block adds to them, so that each cell has the value of one block
	InPart probes.StageSet
	Stages probes.StageSet // which stages were captured; nil: all that the plan has
	// Replaced: what was put in place of tiles as soon as they were captured; nil: nothing
	Replaced Replaced
	// Expected: what stages are compared with in place of the graph, and by which bounds; nil: nothing
	Expected Expected
	Progress func(done, total int) // blocks; called from one goroutine at a time, may be nil
	Parallel int                   // blocks in flight; 0: all cores

	weights ref.Weights // factors of the bounds' terms: for the tests of the bounds alone
}

// Replaced is what execution went on from where a tile was replaced as soon as it was captured: the tile
// itself is judged as the source has it, what is computed from it as computed from this. It must be safe
// for concurrent use.
type Replaced func(s probes.Stage, block probes.Dim3, kv int) (probes.Tile, bool)

// Place is a tile as documents name it: kv_tile is -1 before the loop and the number of tiles after it.
type Place struct {
	Stage  probes.Stage
	Block  probes.Dim3
	KVTile int
}

// Cell is a cell beyond its bound.
type Cell struct {
	Place
	Row, Col  int
	Got, Want float64 // Want is the local reference where the stage is wrong, the global where it is tainted
}

// Stats are the errors over a stage's compared cells.
type Stats struct {
	MaxAbs     float64 // +Inf where a cell is not finite and should be
	MaxULP     int64   // representable values of the stage's dtype between a cell and its rounded reference
	Bound      float64 // of the worst cell: the one with the largest error for its bound
	Error      float64 // of that cell
	Derivation string  // how Bound came about
	Bad        int     // cells above their own bound
	Cells      int
	Nonfinite  int // cells that are not finite
	NaN        int // those of them that are no numbers
}

// StageResult is one stage's judgement.
type StageResult struct {
	Stage     probes.Stage
	Verdict   Verdict
	Tiles     int // judged
	Unreached int // captured, judged under this gate, but execution did not get there
	// Absent: compared cells that were not captured, those of unreached tiles among them: never judged
	Absent        int
	Local, Global Stats
	FirstBad      *Cell
	// Region: where the locally bad cells are; nil where nothing simple is true of them. Filled by Explain.
	Region       *region.Region
	Fingerprints []Fingerprint // filled by Explain, best first
}

// Fingerprint is a transform of the right tile that equals the wrong one, and that no right cell contradicts
// where it is claimed: in the stage's Region, everywhere where there is none.
type Fingerprint struct {
	Name     string // one of the contract's names
	Value    string // which factor, offset, coefficient, …
	Evidence string // what was matched, in words
	// Explains: share of the stage's locally bad cells that the transform predicts to
	// within the stage's bound
	Explains float64
	Fitted   int // numbers that were fitted rather than taken from the algorithm
}

// TileVerdict is one tile at a glance.
type TileVerdict struct {
	Verdict   Verdict
	Bad       int32 // cells above their local bound
	Tainted   int32 // cells above their global bound
	Cells     int32
	Absent    int32 // of the cells, those that no thread captured: not judged
	Nonfinite int32
	MaxAbs    float64 // largest local error
}

// Judgement is the verdict on one execution. It is immutable after Judge (and Explain) and safe
// for concurrent use.
type Judgement struct {
	// Stages: in the plan's order; where Options.Expected is given, the arguments of the
	// plan's Memory after them
	Stages []StageResult
	Guilty []Place // every wrong stage once, where it first went wrong: by kv tile, stage, block

	ref   *ref.Reference
	g     *ref.Graph
	src   Source
	opt   Options
	tiles [][]TileVerdict // by stage; by block of the range, then kv tile of the range
	whole []wholeVerdict  // of arguments that were judged
}

// Stage returns the result of a stage, or nil where the plan has none.
func (j *Judgement) Stage(s probes.Stage) *StageResult {
	for i := range j.Stages {
		if j.Stages[i].Stage == s {
			return &j.Stages[i]
		}
	}
	return nil
}

// Tile returns the verdict of one tile; Off outside the captured range. kv is ignored for stages
// taken once a block.
func (j *Judgement) Tile(s probes.Stage, block probes.Dim3, kv int) TileVerdict {
	for _, w := range j.whole {
		if w.stage == s {
			return w.verdict
		}
	}
	i, ok := j.index(s, block, kv)
	if !ok {
		return TileVerdict{}
	}
	return j.tiles[j.g.Index(s)][i]
}

// index finds a tile in the compact array of its stage.
func (j *Judgement) index(s probes.Stage, block probes.Dim3, kv int) (int, bool) {
	if n := j.g.Index(s); n < 0 || n >= len(j.tiles) || j.tiles[n] == nil || !j.opt.Range.Contains(block) {
		return 0, false
	}
	b := j.opt.Range.Index(block)
	if sp := j.ref.Plan().Stage(s); sp == nil || !sp.PerTile {
		return b, sp != nil
	}
	t := kv - j.opt.Range.TileLo
	return b*j.opt.Range.TileN + t, t >= 0 && t < j.opt.Range.TileN
}

// Diverges reports whether a stage is wrong or tainted, or a cell that should have been captured was not.
func (j *Judgement) Diverges() bool {
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Verdict >= Tainted || s.Unreached > 0 || s.Absent > 0 {
			return true
		}
	}
	return false
}

// TileDiff is one tile with its references, row-major, Rows×Cols each.
type TileDiff struct {
	Place
	Rows, Cols              int
	ValidRows, ValidCols    int // cells that are compared
	Got                     []float64
	Local, Global, Mirrored []float64
	LocalBound, GlobalBound []float64
	Absent                  []bool // cells that no thread captured, nil: none; they are not judged
	// NoLocal: cells not judged locally, for what they are computed from was not captured; nil: none
	NoLocal []bool
	Verdict TileVerdict
}

// place names a tile as documents do.
func place(sp *probes.StagePlan, block probes.Dim3, kv, tiles int) Place {
	return Place{sp.Stage, block, sp.KVTile(kv, tiles)}
}

// less orders places by kv tile, then stage, then block in launch order.
func (p Place) less(q Place, g *ref.Graph) bool {
	if p.KVTile != q.KVTile {
		return p.KVTile < q.KVTile
	}
	if p.Stage != q.Stage {
		return g.Plan().Index(p.Stage) < g.Plan().Index(q.Stage)
	}
	grid := &g.Plan().Grid
	return grid.Linear(p.Block) < grid.Linear(q.Block)
}

func (p Place) String() string {
	return fmt.Sprintf("%s, block %s, kv tile %d", p.Stage, p.Block, p.KVTile)
}
