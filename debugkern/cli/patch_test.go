package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

const faultsFolder = "faults/sdpa_fp8_stage_c_wmma/"

// ownPatches writes a fault's patch to where a copy of the catalogue's manifest looks for it.
func ownPatches(t *testing.T, manifest string, edit func(string) string, faults ...string) {
	t.Helper()
	for _, f := range faults {
		text, ok := kernels.Source(faultsFolder + f + ".patch")
		if !ok {
			t.Fatalf("no patch of %s", f)
		}
		put(t, filepath.Join(filepath.Dir(manifest), filepath.FromSlash(faultsFolder), f+".patch"),
			edit(string(text)))
	}
}

func same(s string) string { return s }

// A person's own patches, of the source and of a header, are compiled in memory: the run is that of the
// embedded kernel, the header's digest is that of the text that was read, and the files stay as they are.
func TestOwnPatches(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	path := ownSource(t, same)
	ownPatches(t, path, same, "sync-p", "lut-order")
	args := append([]string{
		"run", path, "--set", "USE_FUSED_SOFTMAX", "--fault", "sync-p", "--fault", "lut-order",
	}, stage2Sets...)
	rep, code, errText := runJSON(t, args...)
	ours, oursCode, _ := runJSON(t, "run", "stage3b", "--fault", "sync-p", "--fault", "lut-order", "--shape",
		"small", "--backend", "emu")
	if code != 1 || code != oursCode || rep.Digest != ours.Digest || len(rep.Faults) != 2 {
		t.Fatalf("exit %d, %s, digest %s; ours %d, %s: %s", code, summary(rep), rep.Digest, oursCode,
			ours.Digest, errText)
	}
	header := filepath.Join(filepath.Dir(path), "wmma16x16_accum_lut.h")
	patched, err := kernels.Patched(faultsFolder + "lut-order.patch")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(rep.Build.Headers,
		report.Header(cuda.NewHeader(header, patched["wmma16x16_accum_lut.h"], cuda.OriginOwn))) {
		t.Errorf("no %s with the patched text's digest in %+v", header, rep.Build.Headers)
	}
	text, err := os.ReadFile(header)
	if want, _ := kernels.Source("wmma16x16_accum_lut.h"); err != nil || string(text) != string(want) {
		t.Errorf("the header itself was changed: %v", err)
	}
	clean, code, errText := runJSON(t, append([]string{"run", path, "--set", "USE_FUSED_SOFTMAX"},
		stage2Sets...)...)
	if code != 0 || clean.Digest == rep.Digest {
		t.Errorf("without the faults: exit %d, %s: %s", code, summary(clean), errText)
	}
}

// A patch that cannot be read, does not apply, or cannot be combined is refused before anything is built,
// with file, line and hunk.
func TestPatchesRefused(t *testing.T) {
	t.Parallel()
	path := ownSource(t, func(src string) string {
		return strings.Replace(src, "__syncthreads();  // C", "__syncthreads();  // See", 1)
	})
	ownPatches(t, path, same, "sync-p", "sync-s")
	ownPatches(t, path, func(s string) string {
		return strings.ReplaceAll(s, "wmma16x16_accum_lut.h", "nowhere.h")
	}, "lut-order")
	ownPatches(t, path, func(s string) string { return s + "and so on\n" }, "sync-kv")
	ptx := ownManifest(t, stage2PTX(t, "TS_PROBES=1"), nil)
	stage2 := []string{"--set", "USE_CP_ASYNC", "--set", "USE_WMMA_PV", "--backend", "emu"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"does not apply": {append([]string{path, "--fault", "sync-p"}, stage2...),
			[]string{"sync-p.patch:5: hunk 1 does not apply to sdpa_fp8_stage_c_wmma.cu", "// See"}},
		"not there": {append([]string{path, "--fault", "kt-ld"}, stage2...),
			[]string{"own.yaml", "fault kt-ld", "kt-ld.patch"}},
		"no such header": {
			append([]string{path, "--fault", "lut-order", "--set", "USE_FUSED_SOFTMAX"}, stage2...),
			[]string{"lut-order.patch", "nowhere.h", "folder of the source"},
		},
		"malformed": {append([]string{path, "--fault", "sync-kv"}, stage2...),
			[]string{"sync-kv.patch:7: ", "belongs to no hunk"}},
		"of PTX": {[]string{ptx, "--fault", "sync-p"},
			[]string{"own.yaml", "fault sync-p", "brings its own PTX"}},
		"the same lines": {
			[]string{"stage2", "--shape", "partial", "--fault", "barrier-divergent", "--fault", "sync-p"},
			[]string{
				"kernels/" + faultsFolder +
					"barrier-divergent.patch:5: hunk 1 cannot be combined with kernels/" + faultsFolder +
					"sync-p.patch, which changes line ",
			},
		},
		"the same header": {[]string{"stage3b", "--fault", "lut-order", "--fault", "lut-hole"},
			[]string{"lut-hole.patch", "cannot be combined with", "lut-order.patch"}},
		"of a variant's own": {[]string{"stage3b-reported", "--fault", "lut-hole"},
			[]string{"cannot be combined with"}},
	} {
		for _, command := range []string{"run", "diagnose"} {
			_, errText, code := call(t, append([]string{command}, c.args...)...)
			for _, want := range c.want {
				if code != 2 || !strings.Contains(errText, want) {
					t.Errorf("%s: %s: exit %d, %q lacks %q", name, command, code, errText, want)
				}
			}
		}
	}
}

// The table of a header is judged as a patch leaves it.
func TestLutPatched(t *testing.T) {
	dir := "../../kernels/"
	header, patch := dir+"wmma16x16_accum_lut.h", dir+faultsFolder+"lut-order.patch"
	if out, errText, code := call(t, "lut", header, "--patch", patch); code != 1 ||
		!strings.Contains(out, "covers every cell, order wrong: sorted by row") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	for _, args := range [][]string{
		{"lut", "--patch", patch}, {"lut", header, "--patch", "nowhere.patch"},
		{"lut", header, "--patch", dir + faultsFolder + "kt-ld.patch"}, {"lut", header, "--patch", header},
	} {
		if _, errText, code := call(t, args...); code != 2 || errText == "" {
			t.Errorf("%v: exit %d: %s", args, code, errText)
		}
	}
}
