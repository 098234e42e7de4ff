package debugkern_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// tally is a Domain that names what values are made of by a set of arguments.
type tally struct{ dots, ops int }

func (d *tally) Leaf(arg, _ int) uint32        { return 1 << arg }
func (d *tally) Scalar(_, _, _ int) uint32     { return 0 }
func (d *tally) Const(uint64, ptx.Type) uint32 { return 0 }
func (d *tally) Index() uint32                 { return 0 }
func (d *tally) Op(_ *lineage.Op, in []uint32) (v uint32) {
	d.ops++
	for _, i := range in {
		v |= i
	}
	return v
}
func (d *tally) Dot(_ *lineage.Op, acc uint32, a, b []uint32) uint32 {
	d.dots++
	for i := range a {
		acc |= a[i] | b[i]
	}
	return acc
}
func (d *tally) Join(_ *lineage.Op, ps []lineage.Piece[uint32]) (v uint32) {
	for _, p := range ps {
		v |= p.Of
	}
	return v
}

// stored lists, for each argument that the block stores to, the sets of arguments that its elements are made
// of: "O: 2048 of Q K V".
func stored(t *testing.T, run *debugkern.Run) string {
	t.Helper()
	trace, err := run.Record(t.Context(), run.Blocks()[0], lineage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	args := trace.Launch().Args
	last := map[[2]int]uint32{}
	err = lineage.Interpret(t.Context(), trace, &tally{}, nil, func(s *lineage.Store, v uint32) {
		if s.Arg >= 0 {
			last[[2]int{s.Arg, s.Element}] = v
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for at, v := range last {
		counts[args[at[0]].Name+" of"+names(args, v)]++
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d %s", counts[k], k))
	}
	return strings.Join(out, ", ")
}

func names(args []target.Arg, v uint32) (out string) {
	for i := range args {
		if v>>i&1 != 0 {
			out += " " + args[i].Name
		}
	}
	return out
}

// TestRecordCatalogue: every element of an output is made of the inputs that the kernel is
// about, and of no other.
func TestRecordCatalogue(t *testing.T) {
	for target, want := range map[string]string{
		"flashcore_vec":        "2048 O of Q K V",
		"flashcore_fused_wmma": "2048 O of Q K V",
		"stage2":               "2048 O of Q K V Qs Ks Vs",
		"gemm_wmma":            "2048 C of A B bias",
		"softmax_row":          "2560 Y of X",
		"layernorm":            "1280 Y of X gamma beta",
		"attention_causal":     "2048 O of Q K V",
	} {
		t.Run(target, func(t *testing.T) {
			run := debugtest.Run(t, debugkern.Request{Target: target, Shape: "validation"})
			if got := stored(t, run); got != want {
				t.Errorf("stored %s, want %s", got, want)
			}
		})
	}
}
