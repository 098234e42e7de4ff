package diagnose_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/ptx/ptxtest"
	"tilescope/debugkern/report"
	"tilescope/kernels"
	"tilescope/probes"
)

// original is a manifest of the catalogue, the PTX of its default variant with probes, and a small shape.
type original struct{ name, manifest, ptx, shape string }

// originals are the catalogue's kernels that are run and compared, as a user's own would be: the
// manifest brings PTX.
func originals(t testing.TB) []original {
	t.Helper()
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join("..", "..", "configs", "kernels", "*.yaml"))
	var out []original
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := cat.Open(t.Context(), strings.TrimSuffix(filepath.Base(file), ".yaml"))
		if err != nil || len(m.Stages) == 0 {
			continue
		}
		sel, err := m.Select("", nil, nil, probes.GateNone)
		if err != nil {
			t.Fatal(err)
		}
		e, ok, err := kernels.Find(kernels.Key{Kernel: m.Name, Defines: append(sel.Defines(), "TS_PROBES=1")})
		if err != nil || !ok {
			t.Fatalf("%s: %t, %v", m.Name, ok, err)
		}
		shape := "partial"
		if m.Shapes[0].Shape.IsListed() {
			shape = "1,1,3,64"
		}
		text = regexp.MustCompile(`(?m)^arch: .*\n`).ReplaceAll(text, nil)
		manifest := string(regexp.MustCompile(`(?m)^source: .*$`).ReplaceAll(text, []byte("ptx: k.ptx")))
		out = append(out, original{m.Name, manifest, string(e.PTX), shape})
	}
	if len(out) < 3 {
		t.Fatalf("%d kernels", len(out))
	}
	return out
}

// trial is a session for mutants: captures, instructions and time are bounded, so that none takes long.
type mutantTrial struct {
	s   *debugkern.Session
	dir string
}

const (
	mutantBudget = 200_000 // warp instructions of a block: the kernels take some thousands on these shapes
	mutantTime   = 5 * time.Second
)

func newMutantTrial(t testing.TB) *mutantTrial {
	t.Helper()
	s, err := debugkern.Open(context.Background(), debugkern.Options{
		Config: &configs.Config{CaptureMax: 1 << 24},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &mutantTrial{s, t.TempDir()}
}

// try runs a manifest and its PTX, and diagnoses it if asked to. Whatever is wrong with them is an error with
// an exit code, and comes in time: anything else fails the test. It returns the code, 0 where there is a
// verdict.
func (m *mutantTrial) try(t testing.TB, shape, manifest, ptx string, diagnosed bool) (code report.Code) {
	t.Helper()
	path := filepath.Join(m.dir, "k.yaml")
	if err := errors.Join(os.WriteFile(path, []byte(manifest), 0o600),
		os.WriteFile(filepath.Join(m.dir, "k.ptx"), []byte(ptx), 0o600)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	start := time.Now()
	req := debugkern.Request{
		Target: path, Shape: shape, Backend: "emu", Timeout: mutantTime, Budget: mutantBudget,
	}
	_, err := m.s.Run(t.Context(), req, nil)
	if err == nil && diagnosed {
		var d *diagnose.Diagnosis
		if d, err = diagnose.Diagnose(t.Context(), m.s, req, diagnose.Options{Schedules: 2}); err == nil &&
			(len(d.Story) == 0 || len(d.Story) > 12) {
			t.Errorf("a story of %d lines", len(d.Story))
		}
	}
	if took := time.Since(start); took > 4*mutantTime {
		t.Errorf("took %s", took)
	}
	var coded *report.Error
	if err != nil &&
		(!errors.As(err, &coded) || coded.Code == report.CodeInternal ||
			strings.Contains(err.Error(), "BUG:") || strings.Contains(err.Error(), "runtime error")) {
		t.Errorf("%v", err)
	}
	if coded != nil {
		return coded.Code
	}
	return 0
}

var (
	yamlNumber = regexp.MustCompile(`\b\d+(\.\d+)?\b`)
	yamlName   = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
	yamlOp     = regexp.MustCompile(` [-+*/] `)
	flowEntry  = regexp.MustCompile(`\b(\w+): (\[[^\[\]]*\]|\{[^{}]*\}|"[^"]*"|[^,{}\[\]\n]+)(, )?`)
	oddNumbers = []string{
		"0", "1", "-1", "2", "3", "7", "15", "33", "63", "65", "128", "1000", "65535", "65536", "1048576",
		"2147483647", "9223372036854775807", "0.5", "1e300",
	}
	wordGroups = [][]string{
		{"u8", "i8", "u16", "i32", "f16", "bf16", "f32", "f64", "e4m3", "u64"},
		{"probe", "frag", "none", "{output: O}", "{shared: sS, at: {line: 80}, tile_at: {line: 60}}",
			"{shared: sS, at: {barrier: 1}, tile_at: {line: 60}}"},
		{"block", "tile"}, {"input", "output", "scratch", "scale"},
		{"Q", "K", "V", "S", "m", "l", "P", "U", "O", "Qs", "Ks", "Vs"},
		{"zero", "neg-inf", "unspecified"}, {"tensor", "fma", "mul-add", "shuffle", "none"},
		{"true", "false"}, {"natural", "log2"},
		{"bx", "by", "bz", "kv"}, {"B", "H", "S", "D", "TILE_M", "TILE_N", "HEAD_DIM"},
		{"min", "max", "ceil_div"},
	}
)

// mutatedManifest changes a manifest in one to three places: numbers, operators, words for others of their
// kind, keys and lines removed, doubled or exchanged.
func mutatedManifest(rng *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	var at []int
	for i, l := range lines {
		if s := strings.TrimSpace(l); s != "" && s[0] != '#' {
			at = append(at, i)
		}
	}
	one := func(re *regexp.Regexp, s string, with func(string) string) string {
		found := re.FindAllStringIndex(s, -1)
		if len(found) == 0 {
			return s
		}
		f := found[rng.IntN(len(found))]
		return s[:f[0]] + with(s[f[0]:f[1]]) + s[f[1]:]
	}
	for range 1 + rng.IntN(3) {
		i, j := at[rng.IntN(len(at))], at[rng.IntN(len(at))]
		switch rng.IntN(10) {
		case 0, 1, 2:
			lines[i] = one(yamlNumber, lines[i], func(string) string {
				return oddNumbers[rng.IntN(len(oddNumbers))]
			})
		case 3, 4, 5:
			lines[i] = one(yamlName, lines[i], func(w string) string {
				for _, g := range wordGroups {
					if slices.Contains(g, w) {
						return g[rng.IntN(len(g))]
					}
				}
				return w
			})
		case 6:
			lines[i] = one(yamlOp, lines[i], func(string) string {
				return []string{" + ", " - ", " * ", " / "}[rng.IntN(4)]
			})
		case 7:
			lines[i] = one(flowEntry, lines[i], func(string) string { return "" })
		case 8:
			lines[i], lines[j] = lines[j], lines[i]
		case 9:
			if lines[i] = ""; rng.IntN(2) == 0 {
				lines[i] = lines[j] + "\n" + lines[j]
			}
		}
	}
	return strings.Join(lines, "\n")
}

// TestMutants: real manifests and real PTX, changed, are run, and some diagnosed. Each ends with a verdict or
// with an error that has an exit code, in time. One kernel of three each time, all of them, and ten times as
// many changes, with TILESCOPE_LONG (make test-long).
func TestMutants(t *testing.T) {
	m := newMutantTrial(t)
	count := map[string]map[report.Code]int{}
	for i, o := range originals(t) {
		if i%3 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
			continue
		}
		if code := m.try(t, o.shape, o.manifest, o.ptx, false); code != 0 {
			t.Fatalf("%s as it is: exit %d", o.name, code)
		}
		each := uint64(mutantsEach)
		if os.Getenv("TILESCOPE_LONG") != "" {
			each *= 10
		}
		for seed := range each {
			for kind, change := range map[string]func(*rand.Rand) (string, string){
				"manifest": func(r *rand.Rand) (string, string) {
					return mutatedManifest(r, o.manifest), o.ptx
				},
				"ptx": func(r *rand.Rand) (string, string) {
					return o.manifest, ptxtest.Statements(r, o.ptx, o.ptx, 1+r.IntN(2))
				},
			} {
				manifest, ptx := change(rand.New(rand.NewPCG(seed, 3)))
				failed := t.Failed()
				code := m.try(t, o.shape, manifest, ptx, seed%50 == 7)
				if !failed && t.Failed() {
					t.Fatalf("%s of %s, seed %d", kind, o.name, seed)
				}
				if count[kind] == nil {
					count[kind] = map[report.Code]int{}
				}
				count[kind][code]++
			}
		}
	}
	t.Log(fmt.Sprint(count))
	for kind, codes := range count {
		if codes[0] == 0 || len(codes) < 2 {
			t.Errorf("%s: %v: every mutant comes to the same end", kind, codes)
		}
	}
}

const mutantsEach = 20 // 200 with TILESCOPE_LONG

// FuzzManifest takes any text for a manifest and PTX of the catalogue: it loads, runs and is
// diagnosed, or is refused.
func FuzzManifest(f *testing.F) {
	all := originals(f)
	for i, o := range all {
		f.Add([]byte(o.manifest), uint8(i))
	}
	m := newMutantTrial(f)
	f.Fuzz(func(t *testing.T, manifest []byte, kernel uint8) {
		o := all[int(kernel)%len(all)]
		m.try(t, o.shape, string(manifest), o.ptx, true)
	})
}

// FuzzMutants changes manifests and PTX of the catalogue where it hurts, by seed.
func FuzzMutants(f *testing.F) {
	all := originals(f)
	for seed := range uint64(4) {
		f.Add(seed, uint8(seed), true, seed%2 == 0)
	}
	m := newMutantTrial(f)
	f.Fuzz(func(t *testing.T, seed uint64, kernel uint8, manifest, ptx bool) {
		o := all[int(kernel)%len(all)]
		rng := rand.New(rand.NewPCG(seed, uint64(kernel)))
		if manifest {
			o.manifest = mutatedManifest(rng, o.manifest)
		}
		if ptx {
			o.ptx = ptxtest.Statements(rng, o.ptx, o.ptx, 1+rng.IntN(2))
		}
		m.try(t, o.shape, o.manifest, o.ptx, true)
	})
}
