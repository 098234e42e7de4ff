package lineage_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/probes"
)

// randomProgram makes a program of 32 threads on integers in %r20 to %r27. A linear one adds, multiplies by
// odd numbers and moves; others choose, cut, compare, guard and branch, too.
func randomProgram(seed uint64, linear bool) *program {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 7)), linear: linear}
	for i := range 8 {
		g.line("ld.global.u32 %%r%d, [%%rd4+%d];", 20+i, 128*(i%2))
	}
	for range 14 {
		g.instruction()
	}
	g.line("st.global.u32 [%%rd5], %s;", g.reg())
	g.line("st.global.u32 [%%rd5+128], %s;", g.reg())
	return &program{
		name: fmt.Sprintf("random %d", seed), body: g.b.String(), dtype: probes.U32, in: 64, out: 64,
		exact: linear,
	}
}

type generator struct {
	rng    *rand.Rand
	b      strings.Builder
	linear bool
	label  int
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.b, "\t"+format+"\n", args...) }

func (g *generator) reg() string { return fmt.Sprintf("%%r%d", 20+g.rng.IntN(8)) }

func (g *generator) instruction() {
	n := 6
	if !g.linear {
		n = 16
	}
	d, a, b := g.reg(), g.reg(), g.reg()
	switch g.rng.IntN(n) {
	case 0:
		g.line("add.u32 %s, %s, %s;", d, a, b)
	case 1:
		g.line("mad.lo.u32 %s, %s, %d, %s;", d, a, 2*g.rng.IntN(9)+1, b)
	case 2:
		g.line("shfl.sync.bfly.b32 %s, %s, %d, 0x1f, -1;", d, a, g.rng.IntN(32))
	case 3:
		g.line("shfl.sync.down.b32 %s, %s, %d, 0x1f, -1;", d, a, g.rng.IntN(8))
	case 4: // through shared memory, to another lane
		g.line("bar.sync 0;")
		g.line("st.shared.u32 [%%r4], %s;", a)
		g.line("bar.sync 0;")
		g.line("xor.b32 %%r5, %%r4, %d;", 4*g.rng.IntN(32))
		g.line("ld.shared.u32 %s, [%%r5];", d)
	case 5:
		g.line("mov.u32 %s, %s;", d, a)
	case 6:
		g.line("%s.b32 %s, %s, %s;", []string{"and", "or", "xor"}[g.rng.IntN(3)], d, a, b)
	case 7:
		g.line("%s.b32 %s, %s, 0x%x;", []string{"and", "or", "xor"}[g.rng.IntN(3)], d, a, g.rng.Uint32())
	case 8:
		g.line("%s.%s %s, %s, %d;", "shr", []string{"u32", "s32"}[g.rng.IntN(2)], d, a, g.rng.IntN(32))
	case 9:
		g.line("prmt.b32 %s, %s, %s, 0x%x;", d, a, b, g.rng.IntN(0x10000))
	case 10:
		g.line("%s.u32 %s, %s, %s;", []string{"min", "max"}[g.rng.IntN(2)], d, a, b)
	case 11:
		g.line("setp.lt.u32 %%p1, %s, %s;", a, b)
		g.line("selp.b32 %s, %s, %s, %%p1;", d, g.reg(), g.reg())
	case 12:
		g.line("setp.lt.u32 %%p2, %s, %s;", a, b)
		g.line("@%%p2 add.u32 %s, %s, 77;", d, g.reg())
	case 13:
		g.label++
		g.line("setp.gt.u32 %%p3, %s, %s;", a, b)
		g.line("@%%p3 bra L%d;", g.label)
		g.line("add.u32 %s, %s, %s;", d, a, g.reg())
		g.b.WriteString(fmt.Sprintf("L%d:\n", g.label))
		g.line("bar.warp.sync -1;")
	case 14: // to an address that depends on data
		g.line("bar.sync 0;")
		g.line("st.shared.u32 [%%r4], %s;", a)
		g.line("bar.sync 0;")
		g.line("and.b32 %%r6, %s, 31;", b)
		g.line("shl.b32 %%r6, %%r6, 2;")
		g.line("add.u32 %%r6, %%r6, %%r2;")
		g.line("ld.shared.u32 %s, [%%r6];", d)
	case 15:
		g.line("bfi.b32 %s, %s, %s, %d, %d;", d, a, b, g.rng.IntN(32), 1+g.rng.IntN(16))
	}
}

// TestRandomPrograms: of a linear program lineage says exactly what changes what; of any other nothing
// changes a value that lineage says it does not depend on.
func TestRandomPrograms(t *testing.T) {
	n := uint64(12)
	if testing.Short() {
		n = 3
	}
	for seed := range n {
		for _, linear := range []bool{true, false} {
			p := randomProgram(seed, linear)
			t.Run(fmt.Sprintf("%d linear %v", seed, linear), p.check)
		}
	}
}
