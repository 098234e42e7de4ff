package configs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tilescope/probes"
)

// ending is a context that ends when it is looked at for the n-th time.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestResolveEndsWithTheContext cancels the evaluation of a manifest over a large grid: it ends with
// the context's error.
func TestResolveEndsWithTheContext(t *testing.T) {
	cat, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, variant, err := cat.Lookup("stage2")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	shape := probes.Listed(1, 4, 200_000, 64)
	const plenty = 1 << 30
	whole := &ending{t.Context(), plenty}
	if _, err := sel.ResolveContext(whole, shape); err != nil {
		t.Fatal(err)
	}
	looks := plenty - whole.left
	if looks < 3 {
		t.Fatalf("%d looks at the context: the shape is too small for this test", looks)
	}
	for _, n := range []int{0, looks / 2, looks - 1} {
		if _, err := sel.ResolveContext(&ending{t.Context(), n}, shape); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at look %d of %d: %v", n, looks, err)
		}
	}
}

// TestReadingEndsWithTheContext: nothing that reads a file for somebody goes on when the context has ended,
// and none of it is a mistake of the file.
func TestReadingEndsWithTheContext(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		dir + "/tilescope.yaml": "seed: 3\n", dir + "/config.yaml": "seed: 4\n",
		dir + "/k.yaml": usesManifest, state + "/state.json": "{}",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, path := LoadOptions{Dir: dir, UserDir: dir, Env: []string{}}, filepath.Join(dir, "k.yaml")
	calls := map[string]func(context.Context) error{
		"Load":         func(ctx context.Context) error { _, _, err := Load(ctx, o); return err },
		"Get":          func(ctx context.Context) error { _, err := Get(ctx, o, "seed"); return err },
		"Set":          func(ctx context.Context) error { _, err := Set(ctx, o, "seed", "5"); return err },
		"LoadManifest": func(ctx context.Context) error { _, err := LoadManifest(ctx, path); return err },
		"Open": func(ctx context.Context) error {
			_, _, err := (&Catalogue{}).Open(ctx, path)
			return err
		},
		"LoadState": func(ctx context.Context) error { _, err := LoadState(ctx, state); return err },
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, call := range calls {
		if err := call(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(t.Context()); errors.Is(err, context.Canceled) {
			t.Errorf("%s without a cancel: %v", name, err)
		}
	}
}

// lateness returns how long LoadManifest goes on after its context has ended, in processor time of this
// process: on a machine that others keep busy more time than that passes, which is not its doing. It is 0
// where it ended before.
func lateness(t *testing.T, path string, after time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	var mu sync.Mutex
	var atEnd time.Duration
	ended := false
	context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		atEnd, ended = processorTime(), true
	})
	_, err := LoadManifest(ctx, path)
	mu.Lock()
	defer mu.Unlock()
	if !ended {
		return 0, err
	}
	return processorTime() - atEnd, err
}

// TestLargeManifestEndsWithTheContext: documents that take a second and more to read end within 100 ms of the
// context, wherever that ends: in YAML, in expressions, in the check of every variant on every shape. Each is
// given three tries, as collections of garbage and this test's own neighbours take processor time too.
func TestLargeManifestEndsWithTheContext(t *testing.T) {
	const size = 1<<20 - 1<<10
	slow, shapes, variants := "", "shapes:\n", "flags: [{name: F}]\nvariants:\n"
	for i := range 400 {
		slow += fmt.Sprintf(", C%d: %q", i, strings.TrimSuffix(strings.Repeat("1+", 240), "+"))
	}
	for i := range maxNames {
		shapes += fmt.Sprintf("  s%d: [1, 2, 64, 64]\n", i)
		variants += fmt.Sprintf("  v%d: {}\n", i)
	}
	evaluated := strings.Replace(strings.Replace(usesManifest, "BC: 16}", "BC: 16"+slow+"}", 1),
		"shapes: {validation: [1, 2, 64, 64]}\n", shapes+variants, 1)
	for name, text := range map[string]string{
		"list":       "x: [" + strings.Repeat("1,", size/2) + "]",
		"mappings":   "x: {" + strings.Repeat("a: {b: c}, ", size/11) + "}",
		"one scalar": "x: " + strings.Repeat("y", size), "evaluated": evaluated,
	} {
		path := filepath.Join(t.TempDir(), "k.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, after := range []time.Duration{
			5 * time.Millisecond, 60 * time.Millisecond, 250 * time.Millisecond,
		} {
			late, err := lateness(t, path, after)
			for range 2 {
				if late > slower*100*time.Millisecond {
					late, err = lateness(t, path, after)
				}
			}
			if late > slower*100*time.Millisecond {
				t.Errorf("%s: cancelled after %s, it ends %s of processor time later: %.100v", name,
					after, late, err)
			}
			if late > 0 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: cancelled after %s: %.200v", name, after, err)
			}
		}
	}
}
