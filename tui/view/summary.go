package view

import (
	"context"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Summary is every tile's verdict, gathered once a run.
type Summary struct {
	Blocks []probes.Dim3
	Index  map[probes.Dim3]int // of a block in Blocks
	Lo, N  int                 // kv tiles, over all blocks
	Stages map[probes.Stage]*StageSummary
}

// StageSummary is one stage over all blocks.
type StageSummary struct {
	OK, Wrong, Tainted, Off int // tiles
	verdict                 []uint8
	Width                   int
}

// Summarise asks for every tile's verdict. It may take milliseconds on a large run: call it from a command.
func Summarise(ctx context.Context, v debugkern.Viewer, plan *probes.Plan) *Summary {
	s := &Summary{Blocks: v.Blocks(), Stages: map[probes.Stage]*StageSummary{}, Index: map[probes.Dim3]int{}}
	end := 0
	for i, b := range s.Blocks {
		s.Index[b] = i
		lo, n := v.Tiles(b)
		if i == 0 {
			s.Lo = lo
		}
		s.Lo, end = min(s.Lo, lo), max(end, lo+n)
	}
	s.N = max(0, end-s.Lo)
	for _, sp := range plan.Tiles() {
		if ctx.Err() != nil {
			break
		}
		switch {
		case !sp.OfLaunch():
			s.stage(v, sp)
		case sp.Referenced() && len(s.Blocks) > 0: // a tile of the launch stands in the first block's place
			st := &StageSummary{Width: 1, verdict: make([]uint8, len(s.Blocks))}
			s.Stages[sp.Stage] = st
			st.count(0, v.Tile(debugkern.Place{Stage: sp.Stage}).Verdict)
		}
	}
	return s
}

func (s *Summary) stage(v debugkern.Viewer, sp *probes.StagePlan) {
	width := 1
	if sp.PerTile {
		width = s.N
	}
	st := &StageSummary{Width: width, verdict: make([]uint8, width*len(s.Blocks))}
	s.Stages[sp.Stage] = st
	for i, b := range s.Blocks {
		lo, n := v.Tiles(b)
		if !sp.PerTile {
			lo, n = s.Lo, 1
		}
		for kv := lo; kv < lo+n; kv++ {
			p := debugkern.Place{Stage: sp.Stage, Block: b}
			if sp.PerTile {
				p.KVTile = kv
			}
			st.count(i*width+kv-s.Lo, v.Tile(p).Verdict)
		}
	}
}

func (st *StageSummary) count(i int, verdict string) {
	switch verdict {
	case report.OK:
		st.OK++
	case report.Wrong:
		st.Wrong++
	case report.Tainted:
		st.Tainted++
	default:
		st.Off++
		verdict = report.Off
	}
	st.verdict[i] = uint8(slices.Index(verdicts[:], verdict))
}

// verdicts are stored by their index; 0 is a tile that the block does not have.
var verdicts = [...]string{"", report.OK, report.Wrong, report.Tainted, report.Off}

// At is the verdict of a block's tile, "" where the block has no such tile.
func (s *Summary) At(p debugkern.Place) string {
	st, i := s.Stages[p.Stage], s.Index[p.Block]
	if st == nil {
		return ""
	}
	c := 0
	if st.Width > 1 {
		c = p.KVTile - s.Lo
	}
	if c < 0 || c >= st.Width {
		return ""
	}
	return verdicts[st.verdict[i*st.Width+c]]
}

// Verdict is the verdict of the stage's tile of the block at an index of Summary.Blocks, col kv tiles after
// the first.
func (st *StageSummary) Verdict(block, col int) string {
	return verdicts[st.verdict[block*st.Width+col]]
}
