package bugs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/kernels"
)

// What the archive is built with: the compiler of kernels/ptx.archive, and its architecture where a manifest
// names none.
const (
	pinned = "NVRTC 12.0.140"
	arch   = "sm_80"
)

const archivePath = "ptx.archive"

var update = flag.Bool("update", false, "compile what the archive lacks or has of other texts, and write it")

// openArchive reads the archive.
func openArchive() (*kernels.Archive, error) {
	data, err := os.ReadFile(archivePath)
	if err != nil {
		return nil, err
	}
	a, err := kernels.ReadArchive(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archivePath, err)
	}
	return a, nil
}

// The archive has the PTX of every entry, built of the texts that are in the tree. With -update it is brought
// up to date first.
func TestArchive(t *testing.T) {
	var all []*bug
	for _, set := range sets(t) {
		all = append(all, set.Bugs...)
	}
	if *update {
		write(t, all)
	}
	a, err := openArchive()
	if err != nil {
		t.Fatal(err)
	}
	if a.Compiler() != pinned {
		t.Errorf("built by %s, expected %s", a.Compiler(), pinned)
	}
	if len(a.Keys()) != len(all) {
		t.Errorf("%d builds for %d entries: run go test -run TestArchive -update", len(a.Keys()), len(all))
	}
	for _, b := range all {
		if d, ok := a.Digest(b.key()); !ok || d != b.inputs().Digest() {
			t.Errorf("%s: the archive lacks it, or has it of another text: run go test -run TestArchive -update",
				b.Name)
		}
	}
}

// No bug of a set that measures, or measured, compiles to the PTX of another entry: what a diagnosis says of
// it was not developed with it under another name. One pair is older than the rule.
func TestMeasuringBugsAreNew(t *testing.T) {
	a, err := openArchive()
	if err != nil {
		t.Fatal(err)
	}
	const older = "delta-first-columns-twice"
	seen := map[string]*bug{}
	measuring := sets(t, unseen, measured)
	for _, set := range slices.Concat(sets(t, open, harmless), measuring) {
		for _, b := range set.Bugs {
			e, ok, err := a.Find(b.key())
			if err != nil || !ok {
				t.Fatalf("%s: the archive lacks it (%v): run go test -run TestArchive -update", b.Name, err)
			}
			other := seen[string(e.PTX)]
			if other != nil && slices.Contains(measuring, set) && b.Name != older {
				t.Errorf("%s of %s compiles to the PTX of %s of %s", b.Name, set.name, other.Name, other.set)
			}
			seen[string(e.PTX)] = b
		}
	}
}

// write compiles and packs all entries. PTX of the same texts is taken from the archive that there is.
func write(t *testing.T, all []*bug) {
	t.Helper()
	old, err := openArchive()
	if err != nil {
		t.Logf("built from nothing: %v", err)
	}
	w := kernels.NewWriter(pinned, cuda.Options(arch))
	var tc *cuda.Toolchain
	for _, b := range all {
		in := b.inputs()
		var text string
		if old != nil {
			if d, ok := old.Digest(b.key()); ok && d == in.Digest() {
				e, _, err := old.Find(b.key())
				if err != nil {
					t.Fatal(err)
				}
				text = string(e.PTX)
			}
		}
		if text == "" {
			if tc == nil {
				tc = toolchain(t)
			}
			p, err := tc.Compile(t.Context(), cuda.Build{
				Name: b.source(), Source: string(in.Source), Headers: in.Headers, Defines: in.Defines,
				Arch: b.arch(),
			})
			if err != nil {
				t.Errorf("%s: %v", b.Name, err)
				continue
			}
			text = p.Text
		}
		if err := w.Add(b.key(), in.Options, in.Digest(), text); err != nil {
			t.Fatal(err)
		}
	}
	data, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archivePath, data, 0o644); err != nil {
		t.Fatal(err)
	}
	n, size := w.Texts()
	t.Logf("%d builds, %d distinct, %.1f MB of PTX in %.0f KB", len(all), n, float64(size)/1e6,
		float64(len(data))/1e3)
}

// toolchain opens the pinned compiler at TILESCOPE_TOOLCHAIN, or in the repository.
func toolchain(t *testing.T) *cuda.Toolchain {
	t.Helper()
	at := os.Getenv("TILESCOPE_TOOLCHAIN")
	if at == "" {
		var err error
		if at, err = filepath.Abs("../../../.toolchain"); err != nil {
			t.Fatal(err)
		}
	}
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tc.Close() })
	if tc.Compiler() != pinned {
		t.Fatalf("%s is %s, expected %s", at, tc.Compiler(), pinned)
	}
	return tc
}
