package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/patch"
	"tilescope/kernels"
)

// catalogue calls f for every embedded kernel that has a source.
func catalogue(t *testing.T, f func(m *configs.Manifest)) {
	t.Helper()
	c, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Manifests {
		if m.Source != "" {
			f(m)
		}
	}
}

// Kernels read as kernels: no source or header has a trace of a planted fault.
func TestSourcesHaveNoFaults(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if ext := filepath.Ext(file); ext != ".cu" && ext != ".cuh" && ext != ".h" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if strings.Contains(string(text), "FAULT_") {
			t.Errorf("%s has a fault's symbol; write the fault as a patch in kernels/faults",
				filepath.Base(file))
		}
	}
	if n < 8 {
		t.Errorf("%d sources looked at", n)
	}
}

// Every patch is that of one fault, named for it, says in its first line what it breaks, and its hunks stand
// at the lines that they state.
func TestPatchesAreCurrent(t *testing.T) {
	used := map[string]bool{}
	catalogue(t, func(m *configs.Manifest) {
		for _, f := range m.Faults {
			if f.Host {
				continue
			}
			if want := "faults/" + m.Name + "/" + f.Name + ".patch"; f.Patch != want {
				t.Errorf("%s: fault %s: patch %s, want %s", m.File, f.Name, f.Patch, want)
				continue
			}
			used[f.Patch] = true
			checkPatch(t, f)
		}
	})
	err := filepath.WalkDir(filepath.Join("..", "..", "faults"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if name, err := filepath.Rel(filepath.Join("..", ".."), path); err != nil ||
				!used[filepath.ToSlash(name)] {
				t.Errorf("%s: no fault of the catalogue has this patch", name)
			}
			return nil
		})
	if err != nil || len(used) < 30 {
		t.Errorf("%d patches, %v", len(used), err)
	}
}

func checkPatch(t *testing.T, f configs.Fault) {
	t.Helper()
	diff, ok := kernels.Source(f.Patch)
	if !ok {
		t.Errorf("fault %s: no %s", f.Name, f.Patch)
		return
	}
	if !strings.HasPrefix(string(diff), "# "+f.Name+": ") {
		t.Errorf("%s: the first line does not say what the fault breaks: # %s: …", f.Patch, f.Name)
	}
	p, err := patch.Parse(f.Patch, diff)
	if err != nil {
		t.Error(err)
		return
	}
	for _, file := range p.Files {
		text, _ := kernels.Source(file.Name)
		lines := strings.SplitAfter(string(text), "\n")
		for _, h := range file.Hunks {
			line := h.Start
			for _, e := range h.Edits {
				if e.Op == '+' {
					continue
				}
				if line > len(lines) || lines[line-1] != e.Text {
					t.Errorf("%s:%d: line %d of %s is another; write the patch anew", f.Patch, e.Line,
						line, file.Name)
					break
				}
				line++
			}
		}
	}
	changed, err := kernels.Patched(f.Patch)
	if err != nil || len(changed) == 0 {
		t.Errorf("fault %s alone: %v", f.Name, err)
	}
}

// excluded are the pairs of faults that change the same lines: no kernel has both.
var excluded = []string{
	"ds-scale delta-outside", "key-end top-left", "bias-missing bias-row", "score-uninit reduce-lane0",
	"u-no-rescale u-rescale-twice", "mask-missing mask-zero", "sync-p barrier-divergent",
	"lut-order lut-hole", "expect-less expect-more",
}

// Two faults of a kernel can be planted together, in the manifest's order, or are refused with the
// place where they meet.
func TestPatchesInPairs(t *testing.T) {
	var refused []string
	pairs := 0
	catalogue(t, func(m *configs.Manifest) {
		for i, a := range m.Faults {
			for _, b := range m.Faults[i+1:] {
				if a.Patch == "" || b.Patch == "" {
					continue
				}
				pairs++
				_, err := kernels.Patched(a.Patch, b.Patch)
				var located *patch.Error
				switch {
				case err == nil:
				case errors.As(err, &located) && located.Line > 0 &&
					strings.HasSuffix(located.File, b.Patch) &&
					strings.Contains(err.Error(), "cannot be combined with "+kernels.Folder+a.Patch):
					refused = append(refused, a.Name+" "+b.Name)
				default:
					t.Errorf("%s with %s: %v", a.Name, b.Name, err)
				}
			}
		}
	})
	if !slices.Equal(refused, excluded) || pairs < 400 {
		t.Errorf("of %d pairs these are refused: %q, want %q", pairs, refused, excluded)
	}
}
