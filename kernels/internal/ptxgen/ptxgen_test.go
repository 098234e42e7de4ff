package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/kernels"
	"tilescope/probes"
)

func planned(t *testing.T) []job {
	t.Helper()
	c, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := plan(c)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// The archive holds what the plan asks for, made of the sources in this tree: known by
// digest, with no compiler.
func TestArchiveIsCurrent(t *testing.T) {
	a, err := kernels.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if a.Compiler() != pinned || !slices.Equal(a.Options(), cuda.Options(arch)) {
		t.Errorf("built by %s with %v; run make ptx", a.Compiler(), a.Options())
	}
	want := map[string]bool{}
	for _, j := range planned(t) {
		want[j.key.String()] = true
		switch d, ok := a.Digest(j.key); {
		case !ok:
			t.Errorf("%s is missing; run make ptx", j.key)
		case d != j.inputs.Digest():
			t.Errorf("%s is out of date; run make ptx", j.key)
		}
	}
	for _, key := range a.Keys() {
		if !want[key.String()] {
			t.Errorf("%s is not asked for; run make ptx", key)
		}
	}
}

var fileDirective = regexp.MustCompile(`(?m)^\s*\.file\s+\d+\s+"([^"]*)"`)

func TestEntriesAreReproducible(t *testing.T) {
	a, err := kernels.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range a.Keys() {
		e, _, err := a.Find(key)
		if err != nil {
			t.Fatal(err)
		}
		var files [][]string
		for line := range strings.Lines(string(e.PTX)) {
			if strings.Contains(line, ".file") { // spares the expression most lines
				files = append(files, fileDirective.FindAllStringSubmatch(line, -1)...)
			}
		}
		if len(files) == 0 {
			t.Errorf("%s has no debug lines", key)
		}
		for _, m := range files {
			if filepath.IsAbs(m[1]) || strings.Contains(m[1], "..") {
				t.Errorf("%s: .file %q is not relative to a source root", key, m[1])
			}
		}
		instrumented := slices.Contains(key.Defines, "TS_PROBES=1")
		if has := strings.Contains(string(e.PTX), `"`+probes.HeaderName+`"`); has != instrumented {
			t.Errorf("%s: code of %s: %v", key, probes.HeaderName, has)
		}
	}
}

// Each fault changes the kernel that it is planted in, and score-uninit really indexes local memory.
func TestFaultsChangeTheKernel(t *testing.T) {
	a, err := kernels.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	c, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	text := func(m *configs.Manifest, variant string, faults ...string) string {
		sel, err := m.Select(variant, nil, faults, probes.GateNone)
		if err != nil {
			t.Fatal(err)
		}
		e, ok, err := a.Find(kernels.Key{Kernel: m.Name, Defines: sel.Defines(), Faults: sel.Planted()})
		if err != nil || !ok {
			t.Fatalf("%s %s %v: %v %v", m.Name, variant, faults, ok, err)
		}
		return instructions(string(e.PTX))
	}
	for _, m := range c.Manifests {
		for _, f := range m.Faults {
			if same := text(m, f.Base, f.Name) == text(m, f.Base); same != f.Host {
				t.Errorf("%s: the same instructions as %s: %v", f.Name, f.Base, same)
			}
			if f.Name == "score-uninit" && !strings.Contains(text(m, f.Base, f.Name), "ld.local") {
				t.Errorf("%s: reads no local memory", f.Name)
			}
		}
	}
}

// instructions drops debug lines.
func instructions(ptx string) string {
	var b strings.Builder
	for line := range strings.Lines(ptx) {
		if s := strings.TrimSpace(line); strings.HasPrefix(s, ".section") {
			break // the debug sections end a module
		} else if !strings.HasPrefix(s, ".loc") && !strings.HasPrefix(s, ".file") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// buildSample: of so many builds one is compiled, or assembled, without TILESCOPE_LONG.
const buildSample = 4

var probeToken = regexp.MustCompile(`(?m)^\s*TS_[A-Z_]+\(.*\);$|\s*\bTS_PARAM\b|^#include "tilescope\.cuh"$`)

// Without TS_PROBES the probes leave no trace: the archive's plain builds are, byte for byte, what a source
// that never mentions them compiles to. One build in buildSample is compiled, all with TILESCOPE_LONG (make
// test-long).
func TestProbesVanish(t *testing.T) {
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Root: filepath.Join("..", "..", "..")})
	if err != nil || tc.Compiler() != pinned {
		t.Skipf("the pinned compiler is not on this machine: %v", err)
	}
	a, err := kernels.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, j := range planned(t) {
		if !j.clean {
			continue
		}
		n++
		if n%buildSample != 1 && os.Getenv("TILESCOPE_LONG") == "" {
			continue
		}
		source := probeToken.ReplaceAllString(string(j.inputs.Source), "")
		if left := regexp.MustCompile(`\bTS_[A-Z_]+\b`).FindString(source); left != "" {
			t.Fatalf("%s still mentions %s", j.name, left)
		}
		p, err := tc.Compile(t.Context(), cuda.Build{
			Name: j.name, Source: source, Headers: j.inputs.Headers, Defines: j.inputs.Defines, Arch: j.arch,
		})
		if err != nil {
			t.Fatalf("%s: %v", j.key, err)
		}
		e, ok, err := a.Find(j.key)
		if err != nil || !ok {
			t.Fatalf("%s: %v %v", j.key, ok, err)
		}
		if p.Text != string(e.PTX) {
			t.Errorf("%s: with the probe lines blanked the PTX is another", j.key)
		}
	}
	if n == 0 {
		t.Error("no plain build planned")
	}
}

// sharedBytes is what each rung's table of shared memory adds up to.
var sharedBytes = map[string]int{
	"scalar": 24832, "stage1": 33024, "stage2": 37120, "stage3a": 35072, "swizzle": 37120, "swizzle3a": 35072,
	"stage3b": 35712, "pipe3": 41216, "kvlut": 38144, "flashcore_vec": 27392, "flashcore_fused_wmma": 30976,
	"accum_lut": 1536, "gemm_wmma": 16384, "gemm_gelu_tanh": 16384, "gemm_double_buffer": 23552,
	"softmax_row": 2112, "log_softmax_row": 2112, "layernorm": 64, "rmsnorm": 64, "attention_causal": 20288,
	"attention_window": 20288, "attention_gqa": 30976, "attention_gqa_causal": 30976,
	"attention_backward": 41728, "attention_backward_causal": 41728,
	"stage5_hopper": 0, "stage5_hopper_deep": 0, "stage5_hopper_plain": 0, // all of it is dynamic
}

// Every rung passes the PTXAS gate on the oldest and the newest architecture, and Stage 2 and 3A take the
// shared memory of their reports. One variant in buildSample is assembled, all with TILESCOPE_LONG (make
// test-long).
func TestResources(t *testing.T) {
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Root: filepath.Join("..", "..", "..")})
	if err != nil || tc.PTXAS == "" {
		t.Skipf("no ptxas on this machine: %v", err)
	}
	c, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range c.Manifests {
		for _, v := range m.Variants {
			if len(v.Faults) > 0 {
				continue
			}
			if n++; n%buildSample != 1 && os.Getenv("TILESCOPE_LONG") == "" {
				continue
			}
			sel, err := m.Select(v.Name, nil, nil, probes.GateNone)
			if err != nil {
				t.Fatal(err)
			}
			e, ok, err := kernels.Find(kernels.Key{Kernel: m.Name, Defines: sel.Defines()})
			if err != nil || !ok {
				t.Fatalf("%s: %v %v", v.Name, ok, err)
			}
			targets := []string{"sm_80", "sm_90"}
			if m.Compile.Arch != "" {
				targets = []string{m.Compile.Arch}
			}
			for _, arch := range targets {
				r, err := tc.Assemble(t.Context(), e.PTX, m.Entry, arch)
				if err != nil {
					t.Fatal(err)
				}
				if r.SharedBytes != sharedBytes[v.Name] ||
					r.SpillStoreBytes+r.SpillLoadBytes+r.LocalBytes > 0 ||
					r.Registers > m.Thresholds.Registers ||
					r.SharedBytes > m.Thresholds.SharedBytes {
					t.Errorf("%s on %s: %+v, want %d bytes of shared memory, no spills", v.Name, arch, r,
						sharedBytes[v.Name])
				}
			}
		}
	}
}

// A sample has one build of every group and about one in so many of all; another archive has another sample,
// and all of them together leave nothing out.
func TestSample(t *testing.T) {
	const oneIn = 6
	jobs := planned(t)
	groups := map[string]bool{}
	for _, j := range jobs {
		groups[j.group()] = true
	}
	seen := map[string]bool{}
	var first []job
	for seed := range 60 {
		s := sample(jobs, [32]byte{byte(seed)}, oneIn)
		if least, most := len(jobs)/oneIn/2, len(jobs)/oneIn*2+len(groups); len(s) < least || len(s) > most {
			t.Errorf("seed %d: %d of %d builds", seed, len(s), len(jobs))
		}
		left := maps.Clone(groups)
		for _, j := range s {
			seen[j.key.String()] = true
			delete(left, j.group())
		}
		if len(left) > 0 {
			t.Errorf("seed %d: none of %v", seed, slices.Sorted(maps.Keys(left)))
		}
		equal := func(s, other []job) bool {
			return slices.EqualFunc(s, other, func(a, b job) bool { return a.key.String() == b.key.String() })
		}
		if seed == 0 {
			first = s
		} else if equal(s, first) {
			t.Errorf("seed %d: the sample of seed 0", seed)
		}
		if again := sample(jobs, [32]byte{byte(seed)}, oneIn); !equal(s, again) {
			t.Errorf("seed %d: another sample the second time", seed)
		}
	}
	if len(seen) != len(jobs) {
		t.Errorf("%d of %d builds in the samples of 60 seeds", len(seen), len(jobs))
	}
}

// What differs from the plan is found without a compiler: another compiler, a build too few, too many, out of
// date, or out of order.
func TestAsPlanned(t *testing.T) {
	jobs := planned(t)[:4]
	stale := jobs[1]
	stale.inputs.Source = []byte("another source")
	for name, c := range map[string]struct {
		compiler string
		builds   []job
		want     string
	}{
		"the plan":         {pinned, jobs, ""},
		"another compiler": {"NVRTC 12.4.99", jobs, "built by NVRTC 12.4.99"},
		"too few":          {pinned, jobs[:3], "lacks " + jobs[3].key.String()},
		"too many":         {pinned, planned(t)[:5], "does not ask for"},
		"out of date": {pinned, []job{jobs[0], stale, jobs[2], jobs[3]},
			jobs[1].key.String() + " is out of date"},
		"out of order": {pinned, []job{jobs[0], jobs[2], jobs[1], jobs[3]}, "another order"},
	} {
		w := kernels.NewWriter(c.compiler, cuda.Options(arch))
		for _, j := range c.builds {
			if err := w.Add(j.key, j.inputs.Options, j.inputs.Digest(), "// PTX"); err != nil {
				t.Fatal(err)
			}
		}
		data, err := w.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		a, err := kernels.ReadArchive(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := asPlanned(a, jobs); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
