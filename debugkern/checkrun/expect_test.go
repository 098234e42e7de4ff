package checkrun_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

var update = flag.Bool("update", false, "compile testdata/expect anew")

// statedKernel is a kernel of testdata/expect/expect.cu with its launch and what is expected of it.
type statedKernel struct {
	name        string
	grid, block probes.Dim3
	args        []string
	expect      []string // right: silent without a fault
	faults      []statedFault
}

// statedFault is what must be found of a fault: the message of the first error has the words, and is at the
// fault's line; line false: the fault has none, as what is not done is nowhere.
type statedFault struct {
	number int
	words  []string
	count  int // elements of the output
	line   bool
}

var statedKernels = []statedKernel{
	{
		"tree", probes.Dim3{4, 1, 1}, probes.Dim3{256, 1, 1},
		[]string{"randn:f32[1024]", "zeros:f32[4]", "1024"},
		[]string{
			"arg1[i] <- arg0[256*i .. 256*i+255]", "arg1[i] <- arg0[256*i .. min(256*i+255, arg2-1)] once",
		},
		[]statedFault{
			{1, []string{
				"arg1[0] is made of arg0[0..254], not of arg0[255]",
				"is missing where the others are read",
			}, 4, true},
			{2, []string{"arg1[0] takes arg0[5] twice, where once is expected"}, 4, true},
			{3, []string{
				"arg1[0] is made of arg0[0..127], not of arg0[128..255]", "read like the others and then lost",
			}, 4, true},
			{4, []string{"no block writes arg1[2]"}, 1, false},
		},
	},
	{
		"rows", probes.Dim3{2, 1, 1}, probes.Dim3{128, 1, 1},
		[]string{"randn:f32[8,64]", "unwritten:f32[8]", "64"},
		[]string{"arg1[r] <- arg0[r][*]", "arg1[r] <- arg0[r*arg2 + c] once for c in 0 ..< arg2"},
		[]statedFault{
			{1, []string{
				"arg1[0] is made of arg0[0][0..15,32..47], not of arg0[0][16..31,48..63]",
				"then lost", "in across called from expect.cu",
			}, 8, true},
			{2, []string{
				"arg1[1] is made of arg0[1][0..62], not of arg0[1][63]", "made of arg0[0][63]",
				"expected in arg1[0]",
			}, 7, true},
			{3, []string{
				"arg1[0] is not made of arg0[0][0..63]",
				"made of arg0[1][0..63], which is not expected",
			}, 8, true},
			{4, []string{"arg1[0] is made of arg0[0][0..31], not of arg0[0][32..63]"}, 8, true},
			{5, []string{
				"arg1[0] is made of arg0[1][0], which is not expected (arg0[1][0] is expected in arg1[1])",
			}, 7, true},
		},
	},
	{
		"quads", probes.Dim3{2, 1, 1}, probes.Dim3{32, 1, 1}, []string{"randn:f32[512]", "unwritten:f32[64]"},
		[]string{"arg1[i] <- arg0[8*i .. 8*i+7] once", "arg1[i] <- arg0[8*i+a+4*b] for a in 0..3, b in 0..1"},
		[]statedFault{{1, []string{
			"arg1[0] is made of arg0[0..4,6,7], not of arg0[5]", "takes arg0[4] twice",
		}, 64, true}},
	},
	{
		"turn", probes.Dim3{2, 2, 1}, probes.Dim3{32, 8, 1},
		[]string{"randn:f32[64,64]", "unwritten:f32[64,64]", "64"},
		[]string{"arg1[c][r] <- arg0[r][c]", "arg1[c][r] <- arg0[64*r + c] once"},
		[]statedFault{
			// the diagonal of each tile is right
			{1, []string{
				"arg1[0][1] is not made of arg0[1][0], and is made of arg0[0][1]",
			}, 4096 - 128, true},
			{2, []string{"arg1[0][0] is not made of arg0[0][0], and is made of arg0[1][0]"}, 4096, true},
		},
	},
	{
		"product", probes.Dim3{2, 2, 1}, probes.Dim3{16, 16, 1},
		[]string{"randn:f32[32,48]", "randn:f32[48,32]", "unwritten:f32[32,32]", "32", "48"},
		[]string{
			"arg2[m][n] <- arg0[m][*], arg1[*][n]", "arg2[m,n] <- arg0[m,0..47] once, arg1[0..47,n] once",
		},
		[]statedFault{
			{1, []string{
				"arg2[0][0] is made of arg0[0][0..31], not of arg0[0][32..47], and is made of arg1[0..31][0], not of arg1[32..47][0]",
			}, 1024, true},
			{2, []string{
				"arg2[0][0] is made of arg1[0..32 by 16][0], not of arg1[1..15,17..31,33..47][0]",
			}, 1024, true},
			{3, []string{"not of arg0[0][0..32 by 16]", "not of arg1[0..32 by 16][0]"}, 1024, true},
		},
	},
	{
		"total", probes.Dim3{4, 1, 1}, probes.Dim3{64, 1, 1},
		[]string{"randn:f32[256]", "zeros:f32[1]", "256"},
		[]string{"arg1[0] <- arg0[*], arg1[0]", "arg1[*] <- arg0[*] once, arg1[*] once"},
		[]statedFault{
			{1, []string{"arg1[0] is made of arg0[0..127,192..255], not of arg0[128..191]"}, 1, false},
			{2, []string{"arg1[0] takes arg0[3] twice"}, 1, true},
		},
	},
}

// archived is the PTX of a kernel with a fault; -update compiles it, where there is an NVRTC. It names the
// digest of the source, so that one is not changed without the other.
func archived(t *testing.T, k *statedKernel, fault int) string {
	t.Helper()
	source := filepath.Join("testdata", "expect", "expect.cu")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	mark := "// expect.cu " + hex.EncodeToString(sum[:8]) + "\n"
	path := filepath.Join("testdata", "expect", fmt.Sprintf("%s-%d.ptx", k.name, fault))
	if *update {
		cfg, _, err := configs.Load(t.Context(), configs.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := debugkern.Open(t.Context(), debugkern.Options{Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		b, err := s.Builder().File(t.Context(), build.File{
			Path: source, Define: []string{fmt.Sprintf("FAULT=%d", fault)},
		})
		if err != nil {
			t.Fatal(err)
		}
		ptx := only(string(b.Text), k.name)
		if err := os.WriteFile(path, []byte(mark+ptx), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ptx, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(ptx, []byte(mark)) {
		t.Fatalf("%s is not of expect.cu as it is: go test ./debugkern/checkrun -run Expect -update (%v)",
			path, err)
	}
	return path
}

// only is a module with one of its entries.
func only(ptx, entry string) string {
	parts := regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`).FindAllStringSubmatchIndex(ptx, -1)
	out := ptx[:parts[0][0]]
	for i, m := range parts {
		end := len(ptx)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		body := ptx[m[0]:end]
		closing := strings.Index(body, "\n}\n") + len("\n}\n")
		if ptx[m[2]:m[3]] == entry {
			out += body[:closing]
		}
		if i == len(parts)-1 {
			out += body[closing:]
		}
	}
	return out
}

// request is a check of the kernel's PTX; arguments are by index, as are names: PTX has none of the source.
func (k *statedKernel) request(path string, expect []string) checkrun.Request {
	req := checkrun.Request{
		File: path, Grid: k.grid, Block: k.block, Cluster: probes.Dim3{1, 1, 1}, Backend: "emu",
		Expect: expect,
	}
	for i, v := range k.args {
		req.Args = append(req.Args, checkrun.Argument{Name: strconv.Itoa(i), Value: v})
	}
	return req
}

// foundAt is the line of a kernel at which a fault must be found.
func foundAt(t *testing.T, kernel string, fault int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "expect", "expect.cu"))
	if err != nil {
		t.Fatal(err)
	}
	current := ""
	for i, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "// "); ok {
			if name, _, ok := strings.Cut(rest, ": "); ok {
				current = name
			}
		}
		_, numbers, marked := strings.Cut(line, "// found: ")
		if marked && current == kernel && slices.Contains(strings.Fields(numbers), strconv.Itoa(fault)) {
			return i + 1
		}
	}
	t.Fatalf("%s has no line of fault %d", kernel, fault)
	return 0
}

func stated(t *testing.T, k *statedKernel, fault int, expect []string) *report.Check {
	t.Helper()
	res, err := checkrun.Kernel(t.Context(), debugtest.Open(t), k.request(archived(t, k, fault), expect), nil)
	if err != nil {
		t.Fatalf("%s, fault %d: %v", k.name, fault, err)
	}
	return res.Doc
}

// TestExpect: every kernel is silent where it is right, and every fault of it is found at its line.
func TestExpect(t *testing.T) {
	for i := range statedKernels {
		k := &statedKernels[i]
		t.Run(k.name, func(t *testing.T) {
			d := stated(t, k, 0, k.expect)
			for _, f := range d.Findings {
				if f.Severity == "error" {
					t.Errorf("found in what is right: %s", f.Message)
				}
			}
			for _, e := range d.Coverage.Expectations {
				if e.Checked != e.Elements || e.Elements == 0 || e.Differing != 0 {
					t.Errorf("covered: %s", e.Text())
				}
			}
			for _, c := range k.faults {
				k.found(t, &c)
			}
		})
	}
}

// found checks what is found of a fault.
func (k *statedKernel) found(t *testing.T, c *statedFault) {
	t.Helper()
	for _, expect := range k.expect {
		d := stated(t, k, c.number, []string{expect})
		var errs []report.Finding
		for _, f := range d.Findings {
			if f.Kind == "expectation" {
				errs = append(errs, f)
			}
		}
		if len(errs) != 1 || d.Verdict != report.Findings || d.ExitCode() != 1 {
			t.Errorf("%s, fault %d, %s: %d findings, want one: %+v", k.name, c.number, expect, len(errs),
				errs)
			continue
		}
		f := errs[0]
		for _, w := range c.words {
			if !strings.Contains(f.Message, w) {
				t.Errorf("%s, fault %d, %s: %q has no %q", k.name, c.number, expect, f.Message, w)
			}
		}
		if f.Count != c.count || f.Severity != "error" || f.ID == "" || f.Source == nil ||
			c.line && f.Source.Line != foundAt(t, k.name, c.number) {
			t.Errorf("%s, fault %d, %s: %d times at %v, want %d: %s", k.name, c.number, expect, f.Count,
				f.Source.At(), c.count, f.Message)
		}
	}
}

// TestExpectRefusals: what cannot be an expectation is a usage error before anything is executed.
func TestExpectRefusals(t *testing.T) {
	k := &statedKernels[0]
	path := archived(t, k, 0)
	for text, want := range map[string]string{
		"arg1[i] <- arg0[256*i .. ":        "column 26: expected a number",
		"arg1[i] <- z[i]":                  "column 12: the kernel has no argument z",
		"arg1[i] <- arg0[257*i+254]":       "column 17: arg0[1025] does not exist",
		"arg1[i] <- arg2[i]":               "arg2 is a scalar",
		"arg1[i] <- arg0[0] for i in 3..1": "no element of the output is named",
		"arg1[i] <- arg0[i]\nthing":        "or the end",
	} {
		_, err := checkrun.Kernel(t.Context(), debugtest.Open(t), k.request(path, []string{text}), nil)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != report.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	req := k.request(path, k.expect)
	req.Backend = "cuda"
	if _, err := checkrun.Kernel(t.Context(), debugtest.Open(t), req, nil); err == nil ||
		!strings.Contains(err.Error(), "use emu or both") {
		t.Errorf("cuda: %v", err)
	}
}

// TestExpectOfNothing: a kernel that traps before any block writes keeps its finding, and lacks all elements
// that are expected.
func TestExpectOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trap.ptx")
	err := os.WriteFile(path, []byte(".version 8.0\n.target sm_80\n.address_size 64\n"+
		".visible .entry k(.param .u64 x, .param .u64 y)\n{\ntrap;\nret;\n}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	k := &statedKernel{
		grid: probes.Dim3{1, 1, 1}, block: probes.Dim3{32, 1, 1},
		args: []string{"randn:f32[32]", "unwritten:f32[32]"},
	}
	req := k.request(path, []string{"y[i] <- x[i]"})
	res, err := checkrun.Kernel(t.Context(), debugtest.Open(t), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for i := range res.Doc.Findings {
		kinds = append(kinds, res.Doc.Findings[i].Kind)
	}
	if !slices.Contains(kinds, "trap") || !slices.Contains(kinds, "expectation") {
		t.Errorf("found %v, want a trap, and the expectation too", kinds)
	}
}

// TestExpectPart: of a part of the grid, what other blocks write is neither checked nor missing.
func TestExpectPart(t *testing.T) {
	k := &statedKernels[0]
	req := k.request(archived(t, k, 0), k.expect)
	var err error
	if req.Blocks, err = debugkern.ParseBlocks("1-2,0,0"); err != nil {
		t.Fatal(err)
	}
	res, err := checkrun.Kernel(t.Context(), debugtest.Open(t), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := res.Doc.Coverage.Expectations; len(e) != 2 || e[0].Checked != 2 || e[0].Elements != 2 ||
		res.Doc.Verdict != report.Clean {
		t.Errorf("%+v, %s", e, res.Doc.Verdict)
	}
	b, err := json.Marshal(res.Doc)
	if err != nil || !bytes.Contains(b, []byte(`"expectations":[{"expect":"arg1[i] \u003c- arg0[256*i`)) {
		t.Errorf("%v: %s", err, b)
	}
}
