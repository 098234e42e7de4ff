package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// expectation is a row of the fault table: what the debugger must say about a planted fault.
type expectation struct {
	base, shape string
	guilty      string // the first guilty stage is one of these; "" none
	fingerprint string // the best one names this, explaining at least 0.9; "" not said
	finding     string // kind of a finding of severity error
	variable    string // that its variable contains, or several such by |
	missing     string // for a race: what its missing synchronisation contains
	tile        func(int) bool
}

func firstTile(t int) bool { return t == 0 }
func laterTile(t int) bool { return t >= 1 }
func lastOfTwo(t int) bool { return t == 1 }

// faultTable is the positive control of every check: each fault on its base and shape, and
// what must come of it.
var faultTable = map[string]expectation{
	"kt-ld": {base: "stage2", shape: "validation", guilty: "S", finding: "out-of-bounds",
		variable: "sKT", tile: firstTile},
	"kt-rowmajor": {base: "stage2", shape: "validation", guilty: "S", fingerprint: "operand-transposed",
		tile: firstTile},
	"k-scale-head": {base: "stage2", shape: "validation", guilty: "K", fingerprint: "factor",
		tile: firstTile},
	"v-scale-head": {base: "stage2", shape: "validation", guilty: "V", fingerprint: "factor",
		tile: firstTile},
	"v-midpoint": {base: "stage2", shape: "validation", guilty: "V", fingerprint: "offset",
		tile: firstTile},
	"scale-twice": {base: "stage2", shape: "validation", guilty: "S", fingerprint: "factor",
		tile: firstTile},
	"score-uninit": {base: "stage2", shape: "validation", guilty: "m l P", finding: "uninitialised"},
	"u-no-rescale": {base: "stage2", shape: "validation", guilty: "U", fingerprint: "term",
		tile: laterTile},
	"u-rescale-twice": {base: "stage2", shape: "validation", guilty: "U", fingerprint: "term",
		tile: laterTile},
	"l-no-rescale": {base: "stage2", shape: "validation", guilty: "l", fingerprint: "term",
		tile: laterTile},
	"p-stale-m": {base: "stage2", shape: "validation", guilty: "P", fingerprint: "factor",
		tile: laterTile},
	"reduce-lane0": {base: "stage2", shape: "validation", guilty: "m l P"},
	"p-normalised": {base: "stage2", shape: "validation", guilty: "P", fingerprint: "factor",
		tile: firstTile},
	"mask-missing": {base: "stage2", shape: "partial49", guilty: "m l P", tile: lastOfTwo},
	"mask-zero":    {base: "stage2", shape: "partial49", guilty: "m l P", tile: lastOfTwo},
	"p-stale-columns": {base: "stage2", shape: "partial49", guilty: "P", fingerprint: "previous-tile",
		tile: lastOfTwo},
	"q-overread":  {base: "stage2", shape: "partial", finding: "out-of-bounds", variable: "Q"},
	"s-overrun":   {base: "stage2", shape: "validation", finding: "out-of-bounds", variable: "sS"},
	"quant-127.5": {base: "stage2", shape: "validation", finding: "quantiser"},
	"kv-lut-overlap": {base: "kvlut", shape: "validation", guilty: "K", tile: lastOfTwo, finding: "overlap",
		variable: "kv_lut"},
	"lut-order": {base: "stage3b", shape: "validation", guilty: "m l P", tile: firstTile},
	"lut-hole":  {base: "stage3b", shape: "validation", guilty: "m l P", tile: firstTile},
	"softmax-race": {base: "stage3b", shape: "small", finding: "race", variable: "m_smem",
		missing: "exclusive"},
	"merge-double": {base: "flashcore_fused_wmma", shape: "validation", guilty: "U", fingerprint: "term",
		tile: firstTile},
	"merge-race": {base: "flashcore_fused_wmma", shape: "small", finding: "race", variable: "U_smem",
		missing: "exclusive"},
	"sync-s": {base: "stage2", shape: "small", finding: "race", variable: "sS",
		missing: "__syncthreads"},
	"sync-p": {base: "stage2", shape: "small", finding: "race", variable: "sP",
		missing: "__syncthreads"},
	"sync-kv": {base: "stage2", shape: "validation", finding: "race", variable: "sKT|sV",
		missing: "__syncthreads"},
	"sync-frag": {base: "stage2", shape: "small", finding: "race", variable: "sPV_frag",
		missing: "__syncwarp"},
	"cp-async-wait": {base: "stage2", shape: "validation", finding: "cp-async", variable: "_u8"},

	"barrier-divergent": {base: "stage2", shape: "partial", finding: "barrier"},
	"nan-first-tile":    {base: "stage2", shape: "validation", finding: "nan-origin"},

	"b-colmajor": {base: "gemm_wmma", shape: "validation", guilty: "acc", fingerprint: "operand-transposed",
		tile: firstTile},
	"k-half": {base: "gemm_wmma", shape: "validation", guilty: "acc", fingerprint: "half-missing",
		tile: firstTile},
	"k-tail":       {base: "gemm_wmma", shape: "ragged", finding: "loop-ended"},
	"n-edge":       {base: "gemm_wmma", shape: "ragged", finding: "unwritten", variable: "C"},
	"bias-missing": {base: "gemm_wmma", shape: "validation", guilty: "pre", fingerprint: "term"},
	"bias-row":     {base: "gemm_wmma", shape: "validation", guilty: "pre"},
	"gelu-half":    {base: "gemm_wmma", shape: "validation", guilty: "C", fingerprint: "factor"},
	"sync-tile": {base: "gemm_wmma", shape: "small", finding: "race", variable: "sA|sB",
		missing: "__syncthreads"},

	"x-tail": {base: "softmax_row", shape: "ragged", guilty: "l",
		tile: func(t int) bool { return t == 3 }},
	"x-half": {base: "softmax_row", shape: "validation", guilty: "l", fingerprint: "half-missing",
		tile: firstTile},
	"sum-no-rescale": {base: "softmax_row", shape: "validation", guilty: "l", fingerprint: "term",
		tile: laterTile},
	"max-neighbour": {base: "softmax_row", shape: "validation", guilty: "Y", fingerprint: "factor"},
	"sync-stats": {base: "softmax_row", shape: "small", finding: "race", variable: "m_smem|l_smem",
		missing: "__syncthreads"},

	"divisor":   {base: "layernorm", shape: "validation", guilty: "var", fingerprint: "factor"},
	"mean-tail": {base: "layernorm", shape: "ragged", guilty: "mean"},
	"neighbour": {base: "layernorm", shape: "validation", guilty: "xhat", fingerprint: "offset"},
	"eps":       {base: "layernorm", shape: "column", guilty: "xhat", finding: "nan-origin"},
	"sync-rows": {base: "layernorm", shape: "small", finding: "race", variable: "mean_smem|var_smem",
		missing: "__syncthreads"},

	"mask-late": {base: "attention_causal", shape: "partial49", guilty: "m", fingerprint: "mask",
		tile: firstTile},
	"loop-short": {base: "attention_causal", shape: "partial49", finding: "loop-ended"},
	"carry-lost": {base: "attention_causal", shape: "validation", guilty: "U", fingerprint: "term",
		tile: laterTile},
	"window-key": {base: "attention_window", shape: "validation", guilty: "K", tile: firstTile},
	"sync-u": {base: "attention_causal", shape: "partial49", finding: "race", variable: "sV",
		missing: "__syncthreads"},

	"k-not-awaited": {base: "stage5_hopper", shape: "validation", finding: "race", variable: "sK",
		missing: "a wait at the mbarrier"},
	"v-parity":          {base: "stage5_hopper", shape: "validation", finding: "race", variable: "sV"},
	"empty-parity":      {base: "stage5_hopper", shape: "validation", finding: "race", variable: "sK"},
	"empty-not-awaited": {base: "stage5_hopper", shape: "validation", finding: "race", variable: "sV"},
	"released-early": {base: "stage5_hopper", shape: "validation", finding: "race", variable: "sK",
		missing: "wgmma.wait_group"},
	"product-not-awaited": {base: "stage5_hopper", shape: "validation", guilty: "S", finding: "wgmma",
		missing: "wgmma.wait_group"},
	"fence-missing": {base: "stage5_hopper", shape: "validation", finding: "wgmma", missing: "wgmma.fence"},
	"commit-missing": {base: "stage5_hopper", shape: "validation", guilty: "U", finding: "wgmma",
		missing: "wgmma.commit_group"},
	"init-unfenced": {base: "stage5_hopper", shape: "validation", finding: "proxy-fence",
		variable: "q_full|k_full|v_full", missing: "fence.mbarrier_init"},
	"q-unfenced": {base: "stage5_hopper", shape: "validation", finding: "proxy-fence", variable: "sQ",
		missing: "fence.proxy.async"},
	"expect-less": {base: "stage5_hopper", shape: "validation", finding: "hang", variable: "q_full",
		missing: "expect 16384 bytes in place of 15360"},
	"expect-more": {base: "stage5_hopper", shape: "validation", finding: "hang", variable: "q_full",
		missing: "expect 16384 bytes in place of 17408"},
	"count-of-threads": {base: "stage5_hopper", shape: "validation", finding: "hang", variable: "k_empty",
		missing: "a count of 8 in place of 256"},
	"every-lane-arrives": {base: "stage5_hopper", shape: "validation", finding: "mbarrier",
		variable: "v_empty"},
	"every-lane-loads": {base: "stage5_hopper", shape: "validation", finding: "mbarrier", variable: "q_full"},
	"wrong-stage": {base: "stage5_hopper", shape: "validation", guilty: "V", finding: "race",
		variable: "sV"},
	"swizzle-mismatch": {base: "stage5_hopper", shape: "validation", guilty: "S", finding: "layout",
		variable: "sQ|sK|sV", missing: "swizzle 128B in the matrix descriptor"},
	"stride-halved": {base: "stage5_hopper", shape: "validation", guilty: "S", finding: "layout",
		variable: "sQ|sK", missing: "a stride offset of 1024 bytes in place of 512", tile: firstTile},
	"k-not-advanced": {base: "stage5_hopper", shape: "validation", guilty: "S", finding: "layout",
		variable: "sK", missing: "32 bytes within a line of 128", tile: firstTile},
	"v-not-advanced": {base: "stage5_hopper", shape: "validation", guilty: "U", finding: "layout",
		variable: "sV", missing: "2048 bytes, which is 16 lines of 128", tile: firstTile},
	"turn-count":     {base: "stage5_hopper", shape: "validation", finding: "barrier"},
	"turn-not-given": {base: "stage5_hopper", shape: "validation", finding: "barrier"},
	"l-not-rescaled": {base: "stage5_hopper", shape: "validation", guilty: "l", fingerprint: "term",
		tile: laterTile},

	"kv-head":  {base: "attention_gqa", shape: "validation", guilty: "K", tile: firstTile},
	"key-end":  {base: "attention_gqa", shape: "partial", guilty: "m l P"},
	"top-left": {base: "attention_gqa_causal", shape: "partial", guilty: "m", fingerprint: "mask"},
	"carry-reset": {base: "attention_gqa", shape: "validation", guilty: "U", fingerprint: "term",
		tile: laterTile},
	"sync-scores": {base: "attention_gqa", shape: "small", finding: "race", variable: "sS",
		missing: "__syncthreads"},

	"ds-scale": {base: "attention_backward", shape: "validation", guilty: "dS", fingerprint: "factor",
		tile: firstTile},
	"delta-outside": {base: "attention_backward", shape: "partial", guilty: "dS", tile: firstTile},
	"pt-rowmajor": {base: "attention_backward", shape: "validation", guilty: "dV",
		fingerprint: "operand-transposed", tile: firstTile},
	"grad-mask": {base: "attention_backward_causal", shape: "partial", guilty: "P", fingerprint: "mask",
		tile: firstTile},
	"dq-plain": {base: "attention_backward", shape: "partial", finding: "race", variable: "dQ",
		missing: "exclusive"},
	"sync-ds": {base: "attention_backward", shape: "small", finding: "race", variable: "sP|sdS",
		missing: "__syncthreads"},

	"pv-gap": {base: "flashcore_fused_wmma", shape: "validation", guilty: "U", fingerprint: "half-missing",
		tile: firstTile},
}

// fewer is what takes the place of the shape validation on seed 0: two heads where there are several, two
// turns of the loop (four where the kernel has as many buffers), and no block that shows the same once more.
var fewer = map[string]string{
	"stage2":               "1,2,64,64",
	"kvlut":                "1,2,64,64",
	"stage3b":              "1,2,64,64",
	"flashcore_fused_wmma": "1,2,64,64",
	"attention_causal":     "1,1,64,64",
	"attention_window":     "1,1,96,64",
	"attention_gqa":        "B=1,Hq=4,Hkv=2,Sq=32,Sk=64,D=64",
	"attention_backward":   "B=1,H=1,S=64,D=64",
	"gemm_wmma":            "M=48,N=64,K=64",
	"stage5_hopper":        "1,1,256,64",
}

// faultSample: of so many planted faults one is tried without TILESCOPE_LONG and TILESCOPE_FAULT_SEEDS.
const faultSample = 3

// TestFaultTable runs planted faults through the command line and holds the document against the table: one
// in faultSample by run --check on seed 0 and small shapes, or, with TILESCOPE_FAULT_SEEDS or TILESCOPE_LONG
// set (make faults), every one by diagnose on seeds 0 to 9 and the table's shapes. Where a NaN comes from,
// diagnose alone says.
func TestFaultTable(t *testing.T) {
	long := os.Getenv("TILESCOPE_FAULT_SEEDS") != "" || os.Getenv("TILESCOPE_LONG") != ""
	names := make([]string, 0, len(faultTable))
	for name := range faultTable {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range sampled(names) {
		if i%faultSample != 0 && !long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want, seeds, command := faultTable[name], 10, []string{"diagnose"}
			if !long {
				if want.finding != "nan-origin" {
					command = []string{"run", "--check"}
				}
				if small := fewer[want.base]; want.shape == "validation" && small != "" {
					want.shape = small
				}
				seeds = 1
			}
			t.Parallel()
			for seed := range seeds {
				checkFault(t, command, name, want, seed)
			}
		})
	}
}

func checkFault(t *testing.T, command []string, name string, want expectation, seed int) {
	t.Helper()
	args := []string{want.base, "--shape", want.shape, "--fault", name, "--seed", fmt.Sprint(seed)}
	rep, code, errText := runJSON(t, slices.Concat(command, args, []string{
		"--backend", "emu", "--timeout", "20m",
	})...)
	if code != 1 {
		t.Fatalf("seed %d: exit %d, want 1: %s", seed, code, errText)
	}
	got := summary(rep)
	t.Logf("seed %d: guilty %q | %s", seed, want.guilty, got)
	if want.guilty != "" {
		checkGuilty(t, rep, want)
	} else if name == "quant-127.5" && (rep.Verdict != report.Agree || len(rep.Guilty) > 0) {
		t.Errorf("a fault of the host must leave every stage in agreement: %s", got)
	}
	if want.finding == "" {
		return
	}
	hit := slices.ContainsFunc(rep.Findings, func(f report.Finding) bool {
		return f.Kind == want.finding && f.Severity == "error" && containsAny(f.Variable, want.variable) &&
			(f.Kind == "quantiser" || f.Kind == "unwritten" || f.Source != nil && f.Source.Line > 0) &&
			(f.Kind != "race" || f.Other != nil && f.Other.Line > 0) &&
			(want.missing == "" || f.Missing != nil && strings.Contains(*f.Missing, want.missing))
	})
	if !hit {
		t.Errorf("no finding %s on %q with its lines and what is missing (%q): %s", want.finding,
			want.variable, want.missing, got)
	}
}

func containsAny(s, parts string) bool {
	return slices.ContainsFunc(strings.Split(parts, "|"), func(p string) bool {
		return strings.Contains(s, p)
	})
}

func checkGuilty(t *testing.T, rep *report.Run, want expectation) {
	t.Helper()
	if len(rep.Guilty) == 0 || !slices.Contains(strings.Fields(want.guilty), rep.Guilty[0].Stage) {
		t.Fatalf("first guilty: want one of %q: %s", want.guilty, summary(rep))
	}
	st := rep.Stage(rep.Guilty[0].Stage)
	b := st.FirstBad
	if b == nil || b.Source == nil || b.Source.Line == 0 || b.Warp == nil || b.Lane == nil {
		t.Fatalf("stage %s: first bad cell has no writer: %+v", st.Name, b)
	}
	if want.tile != nil && !want.tile(b.KVTile) {
		t.Errorf("stage %s first bad at kv tile %d", st.Name, b.KVTile)
	}
	var fits []string
	for _, f := range st.Fingerprints {
		if f.Explains >= 0.9 && !slices.Contains(fits, f.Name) {
			fits = append(fits, f.Name)
		}
	}
	if want.fingerprint != "" && (len(fits) == 0 || fits[0] != want.fingerprint || len(fits) > 2) {
		t.Errorf("fingerprints that explain 0.9: %v, want %s first and at most one beside it", fits,
			want.fingerprint)
	}
}

// summary is one line of a document: the stages guilty, the best fingerprint, the findings.
func summary(rep *report.Run) string {
	s := rep.Verdict
	for _, g := range rep.Guilty {
		s += fmt.Sprintf(" %s@%d", g.Stage, g.KVTile)
	}
	if len(rep.Guilty) > 0 {
		for _, f := range rep.Stage(rep.Guilty[0].Stage).Fingerprints {
			s += fmt.Sprintf(" [%s %s %.2f]", f.Name, f.Value, float64(f.Explains))
		}
	}
	for _, f := range rep.Findings {
		s += fmt.Sprintf(" {%s %s→%s ×%d}", f.Kind, f.Variable, f.Neighbour, f.Count)
	}
	return s
}

// runJSON runs a command with --json and decodes its document.
func runJSON(t *testing.T, args ...string) (*report.Run, int, string) {
	t.Helper()
	out, errText, code := call(t, append(args, "--json")...)
	rep := &report.Run{}
	if out != "" {
		if err := json.Unmarshal([]byte(out), rep); err != nil {
			t.Fatalf("%v: standard output is not one document: %v\n%s", args, err, out)
		}
	}
	return rep, code, errText
}
