package cfg

import (
	"slices"
	"testing"

	"tilescope/debugkern/ptx"
)

// text has a loop with a branch in it, an exit under a guard, and code that nothing reaches.
const text = `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, 0;
	setp.gt.u32 %p1, %r1, 7;
	@%p1 exit;
$loop:
	mov.u32 %r2, 5;
	setp.lt.u32 %p2, %r1, 3;
	@%p2 bra $skip;
	mov.u32 %r2, 6;
$skip:
	add.s32 %r1, %r1, %r2;
	setp.lt.u32 %p1, %r1, 100;
	@%p1 bra $loop;
	st.global.u32 [%rd1], %r1;
	bra $end;
	mov.u32 %r3, 1;
$end:
	ret;
}
`

// Body indices in text.
const (
	iExit, iLoop, iSkipBranch, iElse, iJoin, iBack, iStore, iDead, iRet = 3, 4, 6, 7, 8, 10, 11, 13, 14
)

func graph(t *testing.T) *Graph {
	t.Helper()
	m, err := ptx.Parse("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return New(m.Entries()[0])
}

func TestBlocks(t *testing.T) {
	g := graph(t)
	want := []int{0, iLoop, iElse, iJoin, iStore, iDead, iRet, iRet + 1}
	if !slices.Equal(g.Start, want) {
		t.Fatalf("blocks begin at %v, want %v", g.Start, want)
	}
	for b, succ := range [][]int{{1}, {3, 2}, {3}, {1, 4}, {6}, {6}, nil} {
		if !slices.Equal(g.Succ[b], succ) {
			t.Errorf("block %d leads to %v, want %v", b, g.Succ[b], succ)
		}
	}
	if !slices.Equal(g.Pred[3], []int{1, 2}) {
		t.Errorf("block 3 is reached from %v", g.Pred[3])
	}
	for b, exits := range []bool{true, false, false, false, false, false, true} {
		if g.Exits(b) != exits {
			t.Errorf("block %d: exits %v", b, !exits)
		}
	}
}

func TestLoops(t *testing.T) {
	g := graph(t)
	loops := g.Loops()
	if len(loops) != 1 || len(loops[1]) != 3 || !loops[1][1] || !loops[1][2] || !loops[1][3] {
		t.Errorf("loops %v", loops)
	}
}

func TestWays(t *testing.T) {
	g := graph(t)
	for _, c := range []struct {
		at, a, b int
		cuts     bool
	}{{iJoin, iLoop, iStore, true}, {iElse, iLoop, iStore, false}, {iLoop, 0, iStore, true}, {iDead, 0, iRet,
		false}} {
		if got := g.Cuts(c.at, c.a, c.b); got != c.cuts {
			t.Errorf("%d cuts the ways from %d to %d: %v", c.at, c.a, c.b, got)
		}
	}
	if !g.Follows(iLoop, iStore) || g.Follows(iBack, iLoop) || !g.Reach(g.Of[iBack], -1, false)[g.Of[iLoop]] {
		t.Error("the loop's branch goes back, and not ahead")
	}
	if after := g.Postdominators(); after[0][g.Of[iJoin]] || !after[g.Of[iLoop]][g.Of[iRet]] {
		t.Error("the exit is the only way past the join, and none leads past the return")
	}
	deciders := g.Deciders()
	if !slices.Equal(deciders[g.Of[iElse]], []int{g.Of[iLoop]}) || !slices.Equal(deciders[g.Of[iStore]],
		[]int{0}) {
		t.Errorf("the else branch is decided in %v, the store in %v", deciders[g.Of[iElse]],
			deciders[g.Of[iStore]])
	}
}

func TestLiveness(t *testing.T) {
	g := graph(t)
	l := NewLiveness(g, func(int) {})
	name := func(at int) (out []string) {
		l.Before(at).Each(func(r int32) { out = append(out, g.Func.RegName(r)) })
		slices.Sort(out)
		return out
	}
	for at, want := range map[int][]string{
		0: nil, iLoop: {"%r1", "%rd1"}, iElse: {"%r1", "%rd1"}, iJoin: {"%r1", "%r2", "%rd1"},
		iStore: {"%r1", "%rd1"}, iRet: nil,
	} {
		if got := name(at); !slices.Equal(got, want) {
			t.Errorf("live in front of %d: %v, want %v", at, got, want)
		}
	}
	for _, iv := range l.Intervals(func(int) {}) {
		switch g.Func.RegName(iv.Reg) {
		case "%rd1": // through the whole loop
			if iv.From != 1 || iv.To != 2*iStore {
				t.Errorf("%%rd1 lives from %d to %d", iv.From, iv.To)
			}
		case "%r2":
			if iv.From != 2*iLoop+1 || iv.To != 2*iJoin {
				t.Errorf("%%r2 lives from %d to %d", iv.From, iv.To)
			}
		}
	}
}

// TestEmpty: a function without instructions has no blocks.
func TestEmpty(t *testing.T) {
	g := New(&ptx.Func{})
	if len(g.Succ) != 0 || len(g.Loops()) != 0 {
		t.Errorf("%d blocks", len(g.Succ))
	}
}
