package configs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"tilescope/probes"
)

// FuzzLoad: any text gives a manifest or located mistakes, and a manifest that was accepted can be selected
// and resolved without a crash.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"kernels/*.yaml", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds for %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, s := range []string{
		"", "a: &a [*a]", "{", "- 1", "stages: [{name: S}]\nstages: 3", "\x00", "? [a]\n: b",
		"args: [max(1, 2]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest("f.yaml", text)
		if err != nil {
			var all *Errors
			if !errors.As(err, &all) || len(all.List) == 0 || m != nil {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		m.Doc()
		s, err := m.Select("", nil, nil, probes.GateNone)
		if err != nil {
			t.Fatalf("the default variant of an accepted manifest: %v", err)
		}
		if p, err := s.Resolve(probes.Listed(1, 1, 32, 64)); err == nil && p.Grid.Count() < 1 {
			t.Fatalf("grid %v", p.Grid)
		}
	})
}

// FuzzConfig: any text of a tilescope.yaml gives a configuration in which every key has a value,
// or located mistakes.
func FuzzConfig(f *testing.F) {
	f.Add(defaultText)
	for _, s := range []string{
		"", "# nothing", "target: stage2\nfaults: [p-stale-m]\nflags: {USE_CP_ASYNC: true}",
		"memory: {max: 8GiB}", "memory:\n  max: -1", "timeout: 1s\ntimeout: 2s", "a: &a [*a]",
		"schedule: random:3:latest", "capture: 3", "seed: 1e400", "{", "\x00",
	} {
		f.Add([]byte(s))
	}
	base, errs := parseLayer(f.Context(), "default", "default.yaml", defaultText)
	if errs != nil {
		f.Fatal(errs[0])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, errs := parseLayer(t.Context(), "f.yaml", "f.yaml", text)
		for _, e := range errs {
			if e.File != "f.yaml" || e.Msg == "" {
				t.Fatalf("a mistake that says not where or what: %+v", e)
			}
		}
		if errs != nil {
			return
		}
		v := merge([]layer{base, l})
		for _, k := range keys() {
			if v.Get(k.name) == nil {
				t.Fatalf("%s has no value", k.name)
			}
		}
		if c := typed(v, LoadOptions{Dir: "/work", CacheDir: "/cache"}); c.Timeout < 0 || c.Repeat < 0 ||
			c.CaptureMax < 0 || c.CacheMax < 0 || c.Device < 0 {
			t.Fatalf("a negative limit was accepted: %+v", c)
		}
	})
}

// FuzzExpression: any text of an expression is refused with a reason, or has one value, the same each time: a
// finite number or a mistake.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"1 + 2 * 3", "ceil_div(S, 32)", "ON ? min(S, D) : 2 ** bx", "1 / sqrt(D) - 0x20 % 7",
		"not OFF && S >= 49", "9223372036854775807 * -1", "round(-2.5) // c", "(((1", "let a = 1; a", "\"\"",
		"pow(10, 308) * 1e308",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, e, errs := parseExpr(text)
		if len(errs) > 0 {
			if errs[0].Msg == "" || x != nil {
				t.Fatalf("%+v with %v", errs[0], x)
			}
			return
		}
		if x == nil {
			t.Fatal("neither an expression nor a mistake")
		}
		v, err := x.value(e)
		if err == nil && (math.IsNaN(v.real()) || math.IsInf(v.real(), 0)) {
			t.Fatalf("%q = %v", text, v)
		}
		_, again, _ := parseExpr(text)
		if w, werr := x.value(again); (err == nil) != (werr == nil) || err == nil && v != w {
			t.Fatalf("%q = %v, %v and then %v, %v", text, v, err, w, werr)
		}
	})
}
