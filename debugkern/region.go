package debugkern

import (
	"fmt"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Span is a range of whole numbers: N of them from Lo on. The zero Span is all there are.
type Span struct{ Lo, N int }

// String is the span as options have it: "*", "3" or "2-5".
func (s Span) String() string {
	switch s.N {
	case 0:
		return "*"
	case 1:
		return strconv.Itoa(s.Lo)
	}
	return fmt.Sprintf("%d-%d", s.Lo, s.Lo+s.N-1)
}

// within is the span of [0, limit).
func (s Span) within(limit int) (Span, error) {
	if s.N == 0 {
		return Span{0, limit}, nil
	}
	if s.Lo+s.N > limit {
		return s, fmt.Errorf("%q lies outside 0-%d", s, limit-1)
	}
	return s, nil
}

// ParseSpan reads "*", "A" or "A-B", both ends included.
func ParseSpan(text string) (Span, error) {
	text = strings.TrimSpace(text)
	if text == "*" {
		return Span{}, nil
	}
	a, b, ranged := strings.Cut(text, "-")
	lo, err := strconv.Atoi(a)
	hi := lo
	if err == nil && ranged {
		hi, err = strconv.Atoi(b)
	}
	switch {
	case err != nil:
		return Span{}, fmt.Errorf("%q is not a number, a range A-B, or *", text)
	case hi < lo:
		return Span{}, fmt.Errorf("%q runs backwards: the lower end comes first", text)
	case lo < 0:
		return Span{}, fmt.Errorf("%q is below 0", text)
	}
	return Span{lo, hi - lo + 1}, nil
}

// Region is a box of blocks, by dimension; the zero Region is the whole grid.
type Region [3]Span

// String is the region as --blocks has it; "" for the whole grid.
func (r Region) String() string {
	if r == (Region{}) {
		return ""
	}
	return fmt.Sprintf("%s,%s,%s", r[0], r[1], r[2])
}

// ParseBlocks reads --blocks: X,Y,Z, each a number, A-B or *, the last ones left out or not; "" and "*" are
// the whole grid. What it refuses is a usage error.
func ParseBlocks(text string) (Region, error) {
	var r Region
	if text == "" {
		return r, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return r, report.Usagef("--blocks %s: expected X,Y,Z, each a number, a range A-B, or *", text)
	}
	for i, part := range parts {
		s, err := ParseSpan(part)
		if err != nil {
			return r, report.Usagef("--blocks %s: %c: %w", text, "xyz"[i], err)
		}
		r[i] = s
	}
	return r, nil
}

// ParseTiles reads --tiles: A, A-B, or "" and "*" for all. What it refuses is a usage error.
func ParseTiles(text string) (Span, error) {
	if text == "" {
		return Span{}, nil
	}
	s, err := ParseSpan(text)
	if err != nil {
		return s, report.Usagef("--tiles %s: %w", text, err)
	}
	return s, nil
}

// ParseStages reads --stages: names with commas between them; "" and "*" are all stages, nil.
func ParseStages(text string) []probes.Stage {
	if text == "" || text == "*" {
		return nil
	}
	var out []probes.Stage
	for name := range strings.SplitSeq(text, ",") {
		out = append(out, probes.Stage(strings.TrimSpace(name)))
	}
	return out
}

// StagesText is a list of stages as --stages has it; "" for all.
func StagesText(list []probes.Stage) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.String()
	}
	return strings.Join(names, ",")
}

// Within returns the blocks of a grid that the region has. A region that lies outside is a usage error.
func (r Region) Within(grid probes.Dim3) (probes.Range, error) {
	var out probes.Range
	for i, s := range r {
		s, err := s.within(grid[i])
		if err != nil {
			return out, report.Usagef("--blocks %s: %c: %w", r, "xyz"[i], err)
		}
		out.Lo[i], out.N[i] = s.Lo, s.N
	}
	return out, nil
}

// rangeOf is the part of a plan's launch that is captured.
func rangeOf(p *probes.Plan, blocks Region, tiles Span) (probes.Range, error) {
	r, err := blocks.Within(p.Grid)
	if err != nil {
		return r, err
	}
	s, err := tiles.within(p.Work.MaxTiles)
	if err != nil {
		return r, report.Usagef("--tiles %s: %w", tiles, err)
	}
	r.TileLo, r.TileN = s.Lo, s.N
	return r, nil
}

// stagesOf are the stages of a list, nil for all, that are captured and that the gate leaves on.
func stagesOf(p *probes.Plan, list []probes.Stage) (probes.StageSet, error) {
	judged := p.Gate.Judged
	var have probes.StageSet
	for i := range p.Stages {
		if p.Stages[i].Capture.Kind != probes.CaptureNone { // a stage without capture cannot be missing
			have = have.Union(probes.StagesOf(p.Stages[i].Stage))
		}
	}
	if list == nil {
		return have.Intersect(judged), nil
	}
	for _, s := range list {
		if !have.Has(s) {
			return nil, report.Usagef("--stages %s: kernel %s captures no stage %q (stages are %s)",
				StagesText(list), p.Kernel, s, stageNames(have))
		}
	}
	return probes.StagesOf(list...).Intersect(judged), nil
}
