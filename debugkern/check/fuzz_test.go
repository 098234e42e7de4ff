package check_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/ptx/ptxtest"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// FuzzChecked executes kernels with damaged statements under every checker: whatever still loads must neither
// panic nor lead to another list of findings the second time.
func FuzzChecked(f *testing.F) { fuzzDamaged(f, 300, 11, ptxtest.Statements) }

// FuzzTokens is FuzzChecked with damaged tokens: other modifiers, registers, numbers and punctuation.
func FuzzTokens(f *testing.F) { fuzzDamaged(f, 100, 12, ptxtest.Tokens) }

// fuzzDamaged fuzzes the seed of a way to change one to four places of a real kernel.
func fuzzDamaged(
	f *testing.F, seeds, stream uint64, damage func(rng *rand.Rand, text, other string, n int) string,
) {
	var texts []string
	for _, pattern := range []string{"testdata/*/*.ptx", "../emu/testdata/kernels/*.ptx"} {
		for _, name := range kernelFiles(f, pattern) {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	for seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, stream))
		text := damage(rng, texts[rng.IntN(len(texts))], texts[rng.IntN(len(texts))], 1+rng.IntN(4))
		m, err := ptx.Parse("fuzz.ptx", []byte(text))
		if err != nil {
			return
		}
		for _, e := range m.Entries() {
			if k, err := emu.New(chip.SM90()).Load(context.Background(), m, e.Name); err == nil {
				checkTwice(t, k, e, rng)
			}
		}
	})
}

// checkTwice launches an entry with buffers for its parameters, under all checkers, on one
// core and on several.
func checkTwice(t *testing.T, k target.Kernel, e *ptx.Func, rng *rand.Rand) {
	l := &target.Launch{
		Grid: probes.Dim3{1 + rng.IntN(3), 1, 1}, Block: probes.Dim3{1 + rng.IntN(96), 1, 1}, Budget: 3000,
		Schedule: target.Schedule{Policy: []string{"in-order", "random", "priority"}[rng.IntN(3)], Seed: 3},
	}
	for _, p := range e.Params {
		if p.Size > 4096 {
			return
		}
		a := target.Arg{Name: p.Name, Scalar: make([]byte, p.Size)}
		if p.Size == 8 {
			a.Buffer = &target.Buffer{DType: probes.U32, Dims: []int{256}, Bytes: 1024, Output: true}
		}
		l.Args = append(l.Args, a)
	}
	cores := 3
	if detector {
		cores = 1 // see detector: the second list is then of the same order of execution
	}
	once := checkOnce(k, l, 1)
	if again := checkOnce(k, l, cores); again != once {
		t.Fatalf("on one core\n%s\non %d\n%s", once, cores, again)
	}
}

// checkOnce is all that the checkers say of a launch; "" where it fails.
func checkOnce(k target.Kernel, l *target.Launch, parallel int) string {
	c := check.New(check.Options{Set: check.All | check.Origins | check.Precision})
	run := *l
	run.Observe, run.Discard, run.Parallel = c.Observer, c.Discard, parallel
	_, err := k.Launch(context.Background(), &run)
	var says strings.Builder
	for _, f := range c.Findings() {
		fmt.Fprintf(&says, "%s %s %v %v %v %d %s\n", f.Kind, f.Message, f.Source, f.Warps, f.Lanes,
			f.Count, f.Missing)
	}
	if err != nil {
		return ""
	}
	return says.String()
}

// TestContestedCells: what a cell holds that several blocks write at once is chance, so that it says nothing
// about two writes of one of them. Where one block writes it alone, it does.
func TestContestedCells(t *testing.T) {
	for grid, said := range map[int]bool{1: true, 2: false} {
		m, err := ptx.Parse("contested.ptx", []byte(contested))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(context.Background(), m, "contested")
		if err != nil {
			t.Fatal(err)
		}
		out := &target.Buffer{DType: probes.U32, Dims: []int{8}, Bytes: 32, Output: true}
		says := checkOnce(k, &target.Launch{
			Grid: probes.Dim3{grid, 1, 1}, Block: probes.Dim3{64, 1, 1},
			Args: []target.Arg{{Name: "out", Buffer: out}},
		}, 1)
		if !strings.Contains(says, "write-after-write") || strings.Contains(says, "same value") != said {
			t.Errorf("%d blocks: %s", grid, says)
		}
	}
}

const contested = `.version 8.0
.target sm_80
.address_size 64
.visible .entry contested(.param .u64 out)
{
	.reg .pred %p0;
	.reg .b32 %r<4>;
	.reg .b64 %o;
	ld.param.u64 %o, [out];
	mov.u32 %r0, %tid.x;
	and.b32 %r0, %r0, 31;
	mov.u32 %r1, %ctaid.x;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 st.global.u32 [%o], %r1;
	@%p0 st.global.u32 [%o+4], %r0;
	ret;
}
`
