package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// PrintedLines returns the lines that a kernel printed, by block; nil for none.
func PrintedLines(res *target.Result) []string {
	if p := strings.TrimRight(string(res.Printed), "\n"); p != "" {
		return strings.Split(p, "\n")
	}
	return nil
}

// FindingsOf returns findings as documents spell them, in the same order. A finding without a
// severity gets its kind's.
func FindingsOf(fs []target.Finding) []Finding {
	docs := make([]Finding, 0, len(fs))
	for _, f := range fs {
		d := Finding{
			Kind: string(f.Kind), Severity: string(f.Severity), Message: f.Message, Variable: f.Variable,
			Index: orEmpty(f.Index), Space: f.Space, Block: f.Block, Warps: orEmpty(f.Warps),
			Lanes: orEmpty(f.Lanes), KVTile: f.KVTile, Source: SourceOf(f.Source), Other: SourceOf(f.Other),
			Neighbour: f.Neighbour, Consequence: f.Consequence, Count: f.Count, Remedy: f.Remedy,
			Left: f.Left, Across: f.Across, Pairs: f.Pairs,
		}
		if f.Missing != "" {
			d.Missing = &f.Missing
		}
		if t := f.Transactions; t != nil {
			d.ExpectedBytes, d.ArrivedBytes = &t.Expected, &t.Arrived
		}
		if d.Severity == "" {
			d.Severity = string(f.Kind.Severity())
		}
		d.ID = findingID(&d)
		docs = append(docs, d)
	}
	return docs
}

// orEmpty keeps lists lists in JSON: never null.
func orEmpty(v []int) []int {
	if v == nil {
		return []int{}
	}
	return v
}

// Finding is target.Finding as documents spell it.
type Finding struct {
	ID          string      `json:"id"`                   // stable for the same defect in the same source
	Suppressed  string      `json:"suppressed,omitempty"` // why it does not count; "" where it does
	Step        *int        `json:"step,omitempty"`       // of a sequence of launches: which
	Kind        string      `json:"kind"`
	Severity    string      `json:"severity"`
	Message     string      `json:"message"`
	Variable    string      `json:"variable"`
	Index       []int       `json:"index"`
	Space       string      `json:"space"`
	Block       probes.Dim3 `json:"block"`
	Warps       []int       `json:"warps"`
	Lanes       []int       `json:"lanes"`
	KVTile      int         `json:"kv_tile"`
	Source      *Source     `json:"source"`
	Other       *Source     `json:"other"`
	Missing     *string     `json:"missing"`
	Neighbour   string      `json:"neighbour"`
	Consequence string      `json:"consequence"`
	Count       int         `json:"count"`
	// ExpectedBytes and ArrivedBytes are of the mbarrier that the finding is about, in its current phase; nil
	// where there is none.
	ExpectedBytes *int `json:"expected_bytes,omitempty"`
	ArrivedBytes  *int `json:"arrived_bytes,omitempty"`

	// Remedy is what Missing asks for, as edits of the module that was executed; nil where there is none.
	Remedy []ptx.Edit `json:"-"`
	Left   bool       `json:"-"` // the finding's warps did none of the block's work from KVTile on
	Across bool       `json:"-"` // a race between two blocks
	// Pairs is what a race consists of, by hazard and places.
	Pairs []target.Pairs `json:"-"`
	// Placed is set where the kernel's barriers are its compiler's: no line of its source has one.
	Placed bool `json:"-"`
}

// MorePairs lists the pairs of a race among findings that others, made before of the same build, do not have:
// on its variable there are more of the hazard, and these are at other places or, where counted, clearly
// more.
// Any change moves the schedule, which decides at which of several stores of one cell a pair is seen, and
// somewhat how many are: of one hazard as many as before at other places, or fewer than twice as many at one,
// are no more.
func MorePairs(before, after []Finding, f *Finding, counted bool) []target.Pairs {
	was, wasAt := tallyPairs(before, f)
	is, isAt := tallyPairs(after, f)
	var out []target.Pairs
	for _, p := range f.Pairs {
		hazard, at := pairKeys(p)
		if n, known := wasAt[at]; is[hazard] > was[hazard] && (!known || counted && isAt[at] >= 2*n) {
			out = append(out, p)
		}
	}
	return out
}

// pairKeys are what pairs have in common with others of the same hazard, and with others at the same places.
func pairKeys(p target.Pairs) (hazard, at target.Pairs) {
	p.Count = 0
	return target.Pairs{Hazard: p.Hazard, Later: p.Later, OneWarp: p.OneWarp}, p
}

// tallyPairs counts the pairs of the findings of a finding's kind, variable and severity, by pairKeys.
func tallyPairs(fs []Finding, f *Finding) (byHazard, byPlaces map[target.Pairs]int) {
	byHazard, byPlaces = map[target.Pairs]int{}, map[target.Pairs]int{}
	for i := range fs {
		if fs[i].Kind != f.Kind || fs[i].Variable != f.Variable || fs[i].Severity != f.Severity {
			continue
		}
		for _, p := range fs[i].Pairs {
			hazard, at := pairKeys(p)
			byHazard[hazard] += p.Count
			byPlaces[at] += p.Count
		}
	}
	return byHazard, byPlaces
}

// What Missing has in the place of __syncthreads() and __syncwarp() where Placed is set.
const (
	PlacedBarrier     = "a barrier of the block that the compiler should have placed"
	PlacedWarpBarrier = "a barrier of the warp that the compiler should have placed"
)

// counted is what the number of a finding is of, by its kind: one of them, and what they are of. Of kinds
// that are not listed it is how often the finding was made.
var counted = map[target.Kind][2]string{
	target.Race: {"pair", " of accesses"}, target.CpAsync: {"pair", " of accesses"},
	target.ProxyFence:  {"pair", " of accesses"},
	target.OutOfBounds: {"access", ""}, target.Misaligned: {"access", ""},
	target.BankConflict: {"access", " of warps"}, target.Uncoalesced: {"access", " of warps"},
	target.Uninitialised: {"read", ""}, target.Overlap: {"read", ""}, target.NaNOrigin: {"value", ""},
	target.Unwritten: {"element", ""}, target.Expectation: {"element", ""},
	target.QuantiserMismatch: {"element", ""}, target.ProbeChangedResult: {"element", ""},
	target.NotCaptured: {"cell", ""}, target.BackendDifference: {"cell", ""}, target.LoopEnded: {"block", ""},
	target.RedundantBarrier: {"instruction", ""},
}

// Counted says how many of what a finding stands for: "4 pairs of accesses", "37 elements"; in few words
// without what the things are of, "4 pairs".
func (f *Finding) Counted(few bool) string {
	unit, known := counted[target.Kind(f.Kind)]
	if !known {
		unit[0] = "time"
	}
	out := fmt.Sprintf("%d %s", f.Count, unit[0])
	switch {
	case f.Count == 1:
	case strings.HasSuffix(unit[0], "s"):
		out += "es"
	default:
		out += "s"
	}
	if !few {
		out += unit[1]
	}
	return out
}

// Hang returns the first finding of threads that wait for what never comes; nil where there is none.
func (r *Run) Hang() *Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == string(target.Hang) && f.Suppressed == "" {
			return f
		}
	}
	return nil
}

// Uncaptured returns the first finding that explains why something was not captured, and so comes before any
// verdict about what was; nil where all was captured.
func (r *Run) Uncaptured() *Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == string(target.SeverityError) && Uncaptures(f.Kind) {
			return f
		}
	}
	return nil
}

// Uncaptures reports whether a kind of finding explains why something was not captured.
func Uncaptures(kind string) bool {
	return kind == string(target.LoopEnded) || kind == string(target.NotCaptured)
}

// findingID names a defect: the same for the same defect in the same source, whatever the launch.
func findingID(f *Finding) string {
	text := f.Kind + "\x00" + f.Variable
	if f.Across { // a race within a block may have the same places
		text += "\x00between blocks"
	}
	for _, at := range []*Source{f.Source, f.Other} {
		if at != nil {
			text += fmt.Sprintf("\x00%s:%d %s", filepath.Base(at.File), at.Line, at.Function)
		}
	}
	sum := sha256.Sum256([]byte(text))
	return f.Kind + "-" + hex.EncodeToString(sum[:4])
}
