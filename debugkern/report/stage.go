package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"tilescope/probes"
)

// Guilty is a wrong stage where it first went wrong.
type Guilty struct {
	Stage  string      `json:"stage"`
	Block  probes.Dim3 `json:"block"`
	KVTile int         `json:"kv_tile"` // before the loop: -1; after it: the number of tiles
	// Loop is the index of each named loop in that iteration.
	Loop map[string]int `json:"loop,omitempty"`

	Phase probes.Phase `json:"-"` // the stage's
}

// AtTile names the iteration that a tile of a stage belongs to, with text in front: tile is what the kernel's
// are called (probes.Work.TileName, "" for "kv tile"). It is "" for a stage that is computed before or after
// the loop, which a block has once.
func AtTile(front string, phase probes.Phase, tile string, kv int) string {
	if phase != probes.PhaseEach {
		return ""
	}
	return fmt.Sprintf("%s%s %d", front, cmp.Or(tile, "kv tile"), kv)
}

// Stage is one stage's verdict.
type Stage struct {
	Name      string     `json:"name"`
	Probe     string     `json:"probe"` // how it was captured
	Verdict   string     `json:"verdict"`
	Argument  string     `json:"argument,omitempty"` // of an argument: its name
	Reference Reference  `json:"reference"`
	Tolerance *Tolerance `json:"tolerance"` // nil where nothing is compared
	Tiles     int        `json:"tiles"`
	// NotReached: tiles that should have been captured and were not
	NotReached int `json:"not_reached,omitempty"`
	// NotCaptured: compared cells that no thread captured, those of tiles not reached among them
	NotCaptured int        `json:"not_captured"`
	Local       ErrorStats `json:"local"`
	Global      ErrorStats `json:"global"`
	FirstBad    *BadCell   `json:"first_bad"`
	// Region says where the locally bad cells are: "odd columns of every kv tile (1024 of 2048 cells)"; ""
	// where there are none or nothing simple is true of them.
	Region       string        `json:"region,omitempty"`
	Fingerprints []Fingerprint `json:"fingerprints"`

	// Unwritten: it is an output of which no thread wrote any element
	Unwritten bool `json:"-"`

	Phase    probes.Phase `json:"-"`
	TileName string       `json:"-"` // what the iterations of its loop are called
}

// Compared says what the stage is compared with and by which tolerance, where that is not the graph by
// derived bounds; else "".
func (s *Stage) Compared() string {
	if s.Tolerance == nil || !s.Reference.Given() && s.Tolerance.Derived {
		return ""
	}
	return fmt.Sprintf("compared with %s, %s", s.Reference, s.Tolerance)
}

// Unreached reports whether execution ended before any tile of the stage: no gate left it out.
func (s *Stage) Unreached() bool { return s.Verdict == Off && s.NotReached > 0 }

// ErrorStats are errors over a stage's compared cells. MaxULP counts representable values of the stage's
// dtype; Error and Bound are those of the worst cell, the one whose error is largest for its bound (MaxAbs
// may be another cell's); Bad counts cells above their own bound.
type ErrorStats struct {
	MaxAbs     Number `json:"max_abs"`
	MaxULP     int64  `json:"max_ulp"`
	Error      Number `json:"error"`
	Bound      Number `json:"bound"`
	Derivation string `json:"derivation,omitempty"` // how Bound came about
	Bad        int    `json:"bad"`
	Cells      int    `json:"cells"`
	Nonfinite  int    `json:"nonfinite"`
	// NaN: those of Nonfinite that are no numbers; not in documents, so that it is 0 in one that was read
	NaN int `json:"-"`
	// Unwritten: of an output, how many of NaN stand for elements that were never written
	Unwritten int `json:"-"`
}

// Size writes the size of one of the errors by a verb for floats; where a cell that is not finite takes part
// it has none, and is what the cells are.
func (s *ErrorStats) Size(n Number, verb string) string { return n.sizeOf(verb, s.Nonfinite, s.NaN) }

// Odd says how many cells are not finite: "3 NaN".
func (s *ErrorStats) Odd() string { return Odd(s.Nonfinite, s.NaN, s.Unwritten) }

// BadCell is a cell above its bound. Warp, Lane and Source are who wrote it last, where the backend can find
// it.
type BadCell struct {
	Block  probes.Dim3    `json:"block"`
	KVTile int            `json:"kv_tile"`
	Loop   map[string]int `json:"loop,omitempty"` // as Guilty's
	Row    int            `json:"row"`
	Col    int            `json:"col"`
	// Index: of an argument: the element, by dimension; Block is then the one that wrote it
	Index []int  `json:"index,omitempty"`
	Got   Number `json:"got"`
	Want  Number `json:"want"`
	// Follows says which values that the cell is made of are not finite, and whether they should be:
	// "m is -Inf, as it should be"; "" where all are finite, or the cell is.
	Follows string  `json:"follows,omitempty"`
	Warp    *int    `json:"warp"`
	Lane    *int    `json:"lane"`
	Source  *Source `json:"source"`
	// Computed is the line of the arithmetic that made the value, left out where it is Source's or not known.
	// Probe says that Source is a probe's line, which captures what the kernel does not store there.
	Computed *Source `json:"computed,omitempty"`
	Probe    bool    `json:"probe,omitempty"`
}

// NeverWritten reports whether a bad cell of the stage, an output, stands for an element that was never
// written: all that are no numbers do.
func (s *Stage) NeverWritten(b *BadCell) bool {
	return math.IsNaN(float64(b.Got)) && s.Global.Unwritten > 0 && s.Global.Unwritten == s.Global.NaN
}

// FollowsText says of what values that are not finite the cell is made; "" where of none. Where one of them
// should be finite, the cell's own value follows from it.
func (b *BadCell) FollowsText() string {
	switch {
	case b.Follows == "":
		return ""
	case strings.Contains(b.Follows, "should not be"):
		return "it follows: there " + b.Follows
	}
	return "there " + b.Follows
}

// WrittenAt says at which lines the cell's value was computed, if that is known to be another line, and
// stored or captured: "computed at k.cu:160, captured at line 161". It is "" where no line is known.
func (b *BadCell) WrittenAt() string {
	if b.Source == nil {
		return ""
	}
	return WrittenAt(b.Computed, b.Source, map[bool]string{false: "stored", true: "captured"}[b.Probe])
}

// WrittenAt is BadCell.WrittenAt for other writes: verb is what happens at the line of the write. computed
// may be nil.
func WrittenAt(computed, written *Source, verb string) string {
	switch {
	case computed == nil:
		return fmt.Sprintf("%s at %s:%d", verb, written.File, written.Line)
	case computed.File == written.File:
		return fmt.Sprintf("computed at %s:%d, %s at line %d", computed.File, computed.Line, verb,
			written.Line)
	}
	return fmt.Sprintf("computed at %s:%d, %s at %s:%d", computed.File, computed.Line, verb, written.File,
		written.Line)
}

// Fingerprint is a transform of the right tile that equals the wrong one.
type Fingerprint struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Evidence string `json:"evidence"`
	Explains Number `json:"explains"` // share of the stage's locally bad cells
}
