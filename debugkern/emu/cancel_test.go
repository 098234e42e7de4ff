package emu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
)

// straightLine is a kernel of n instructions without a branch, each on a register of its own: what every
// analysis has most work with.
func straightLine(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\t.reg .b32 %%r<%d>;\n\t.reg .b64 %%rd<3>;\n",
		n+2)
	b.WriteString("\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, 0;\n")
	for i := range n {
		fmt.Fprintf(&b, "\tadd.u32 %%r%d, %%r%d, %%r1;\n", i+2-i%2, i+1)
	}
	b.WriteString("\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n")
	return b.String()
}

// ending is a context that ends when it is looked at for the n-th time, and counts the looks.
type ending struct {
	context.Context
	left, looks int
}

func (e *ending) Err() error {
	e.looks++
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLoadEndsWithTheContext cancels parsing, validating and loading a long kernel at looks spread over all
// of each, and allows no more than a tenth of a second's work from one look to the next on an idle machine
// (ten times that here).
func TestLoadEndsWithTheContext(t *testing.T) {
	text := []byte(straightLine(60_000))
	m, err := ptx.Parse("long.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	half, err := ptx.Parse("half.ptx", []byte(straightLine(30_000))) // load looks more often
	if err != nil {
		t.Fatal(err)
	}
	for name, work := range map[string]func(context.Context) error{
		"parse": func(ctx context.Context) error {
			_, err := ptx.ParseContext(ctx, "long.ptx", text)
			return err
		},
		"validate": func(ctx context.Context) error { return ptx.ValidateContext(ctx, m) },
		"load": func(ctx context.Context) error {
			_, err := New(chip.SM90()).Load(ctx, half, "k")
			return err
		},
	} {
		const plenty = 1 << 40
		whole := &ending{t.Context(), plenty, 0}
		start := time.Now()
		if err := work(whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		took := time.Since(start)
		if whole.looks < 15 {
			t.Errorf("%s looks at the context %d times in %s", name, whole.looks, took)
		}
		gaps := &timed{Context: t.Context()}
		if err := work(gaps); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: %d looks in %s, at most %s apart", name, whole.looks, took, gaps.most)
		if gaps.most > time.Second {
			t.Errorf("%s: %s from one look at the context to the next", name, gaps.most)
		}
		for _, n := range []int{0, 1, whole.looks / 2, whole.looks - 1} {
			if err := work(&ending{t.Context(), n, 0}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s cancelled at look %d of %d: %v", name, n, whole.looks, err)
			}
		}
	}
}

// timed measures the longest time between two looks at it.
type timed struct {
	context.Context
	last time.Time
	most time.Duration
}

func (e *timed) Err() error {
	now := time.Now()
	if !e.last.IsZero() {
		e.most = max(e.most, now.Sub(e.last))
	}
	e.last = now
	return nil
}
