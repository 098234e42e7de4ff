package configs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tilescope/probes"
)

// FuzzLoad: any text gives a manifest or located mistakes, and a manifest that was accepted can be selected and
// resolved without a crash.
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
	for _, s := range []string{"", "a: &a [*a]", "{", "- 1", "stages: [{name: S}]\nstages: 3", "\x00", "? [a]\n: b", "args: [max(1, 2]"} {
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
		if p, err := s.Resolve(probes.Shape{B: 1, H: 1, S: 32, D: 64}); err == nil && p.Grid.Count() < 1 {
			t.Fatalf("grid %v", p.Grid)
		}
	})
}
