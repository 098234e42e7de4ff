package checkrun

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// request is a request for a kernel of testdata.
func request(file string, grid, block int, args ...string) Request {
	req := Request{
		File: filepath.Join("testdata", file), Grid: probes.Dim3{grid, 1, 1}, Block: probes.Dim3{block, 1, 1},
		Cluster: probes.Dim3{1, 1, 1},
	}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		req.Args = append(req.Args, Argument{Name: name, Value: value})
	}
	return req
}

func run(t *testing.T, req Request) *Result {
	t.Helper()
	c, err := Kernel(t.Context(), debugtest.Open(t), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dumpOf are the elements of a dump's arrays, by name.
func dumpOf(t *testing.T, c *Result) map[string][]byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return arrays(t, b.Bytes())
}

// arrays are the elements of an archive's arrays, by name.
func arrays(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := npy.Open(bytes.NewReader(archive), int64(len(archive)), "dump.npz", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range z.Names() {
		a, err := z.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = a.Data
	}
	return out
}

// TestLaunch: a right kernel is clean, its results are right, and the document says what was
// executed and written.
func TestLaunch(t *testing.T) {
	c := run(t, request("reduce.ptx", 4, 256, "0=iota:f32[1000]", "1=unwritten:f32[5]", "2=1000"))
	d := c.Doc
	if d.Verdict != report.Clean || d.ExitCode() != 0 || d.Coverage.Sampled != 4 ||
		d.Coverage.Executed < d.Coverage.Instructions/2 || d.Coverage.Executed > d.Coverage.Instructions {
		t.Errorf("%+v", d)
	}
	if *d.Outputs[0].Written != 0 || *d.Outputs[1].Written != 4 ||
		d.Args[2].DType != "i32" && d.Args[2].DType != "u32" {
		t.Errorf("outputs %+v args %+v", d.Outputs, d.Args)
	}
	raw := dumpOf(t, c)
	for i := range 4 {
		want := float32(0)
		for k := i * 256; k < min(1000, (i+1)*256); k++ {
			want += float32(k)
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(raw["arg1"][4*i:])); got != want {
			t.Errorf("sum %d is %g, want %g", i, got, want)
		}
	}
	if len(raw["in_arg0"]) != 4000 || !bytes.Equal(raw["in_arg0"], raw["arg0"]) {
		t.Error("what the kernel only read has changed")
	}
	if again := run(t, request("reduce.ptx", 4, 256, "0=iota:f32[1000]", "1=unwritten:f32[5]",
		"2=1000")); again.Doc.Digest != d.Digest {
		t.Error("another digest of the same launch")
	}
}

// TestDefects: one defect in each kernel is found at its line, with an id that another launch of the
// same source shares.
func TestDefects(t *testing.T) {
	for _, c := range []struct {
		req  Request
		kind string
		line int
	}{
		{request("reduce-race.ptx", 2, 256, "0=ones:f32[512]", "1=zeros:f32[2]", "2=512"), "race", 10},
		{request("reduce.ptx", 2, 256, "0=unwritten:f32[512]", "1=zeros:f32[2]", "2=512"),
			"uninitialised", 5},
		{request("reduce.ptx", 3, 256, "0=ones:f32[512]", "1=zeros:f32[2]", "2=512"), "out-of-bounds", 12},
	} {
		ids := [2][]string{}
		for i, seed := range []uint64{0, 7} {
			c.req.Seed = seed
			d := run(t, c.req).Doc
			at := slices.IndexFunc(d.Findings, func(f report.Finding) bool {
				return f.Kind == c.kind && f.Severity == "error" && f.Source != nil &&
					(f.Source.Line == c.line || f.Other != nil && f.Other.Line == c.line)
			})
			if d.Verdict != report.Findings || d.ExitCode() != 1 || at < 0 {
				t.Errorf("%s: no %s at line %d: %+v", c.req.File, c.kind, c.line, d.Findings)
			}
			for _, f := range d.Findings {
				ids[i] = append(ids[i], f.ID)
			}
		}
		if !slices.Equal(ids[0], ids[1]) || slices.Contains(ids[0], "") {
			t.Errorf("%s: ids %v and %v", c.req.File, ids[0], ids[1])
		}
	}
}

// TestArguments: structs, files, names and refusals; nothing is executed where an argument is wrong.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	npy := filepath.Join(dir, "x.npy")
	head := "{'descr': '<f2', 'fortran_order': False, 'shape': (100,), }"
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	file = append(append(file, head...), bytes.Repeat([]byte{0, 0x3c}, 100)...)
	if err := os.WriteFile(npy, file, 0o644); err != nil {
		t.Fatal(err)
	}
	blend := func(entry string, args ...string) Request {
		req := request("blend.ptx", 2, 64, args...)
		req.Entry = entry
		return req
	}
	c := run(t, blend("blend_by", "0="+npy, "1=zeros:f16[100]", "2={0: 0.5:f32, 4: 99:i32}"))
	if c.Doc.Verdict != report.Clean || *c.Doc.Outputs[1].Written != 99 || dumpOf(t, c)["arg1"][1] != 0x38 {
		t.Errorf("%+v", c.Doc)
	}
	s := debugtest.Open(t)
	long := blend("blend_by", "0="+npy, "1=zeros:f16[100]", "2={0: 0.5:f32}")
	long.Block = probes.Dim3{256, 1, 1}
	clustered := blend("blend", "0="+npy, "1=zeros:f16[100]", "2=0.5", "3=100")
	clustered.Cluster = probes.Dim3{1, 2, 1}
	for says, req := range map[string]Request{
		"choose one with --entry (blend, blend_by)": blend("", "0="+npy),
		"has no such kernel":                        blend("nosuch", "0="+npy),
		"no --arg for 1, 2, 3":                      blend("blend", "0="+npy),
		"is given twice":                            blend("blend", "0="+npy, "blend_param_0="+npy),
		"no such parameter":                         blend("blend", "7=1"),
		"uses this parameter as an address": blend("blend", "0=1", "1=zeros:f16[100]",
			"2=0.5", "3=100"),
		"give a number": blend("blend", "0="+npy, "1=zeros:f16[100]",
			"2=ones:f32[4]", "3=100"),
		"null is an address": blend("blend", "0="+npy, "1=zeros:f16[100]",
			"2=null", "3=100"),
		"needs its type": blend("blend_by", "0="+npy, "1=zeros:f16[100]",
			"2={0: 0.5}"),
		"and the parameter has 16 bytes": blend("blend_by", "0="+npy, "1=zeros:f16[100]",
			"2={12: 1:i64}"),
		"give its fields": blend("blend_by", "0="+npy,
			"1=zeros:f16[100]", "2=5"),
		"cannot be read as e4m3": blend("blend", "0="+npy+":e4m3",
			"1=zeros:f16[100]", "2=0.5", "3=100"),
		"at most 128 (.maxntid)":                          long,
		"--cluster 1,2,1: y is 2; expected 1 to 1":        clustered,
		"expected a .ptx, a .cu or a .tsl file":           request("../checkrun_test.go", 1, 1),
		"--grid 0,1,1: x is 0":                            request("reduce.ptx", 0, 1),
		"--block 2048,1,1: x is 2048; expected 1 to 1024": request("reduce.ptx", 1, 2048),
		"memory.max": request("reduce.ptx", 1, 256,
			"0=zeros:f32[4000000000000]", "1=zeros:f32[4]", "2=1"),
	} {
		if c, err := Kernel(t.Context(), s, req, nil); err == nil ||
			!strings.Contains(err.Error(), says) || c != nil {
			t.Errorf("want %q: %v", says, err)
		} else if code := err.(*report.Error).Code; code != report.CodeUsage {
			t.Errorf("%v: code %d", err, code)
		}
	}
}

// TestKnownFindings: findings of a suppression file, each with its reason, and of a baseline do not count.
func TestKnownFindings(t *testing.T) {
	d := run(t, request("reduce-race.ptx", 2, 256, "0=ones:f32[512]", "1=zeros:f32[2]", "2=512")).Doc
	var text string
	for _, f := range d.Findings {
		text += f.ID + " known since the first version\n"
	}
	path := filepath.Join(t.TempDir(), "known.txt")
	if err := os.WriteFile(path, []byte("# of reduce\n\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	known, err := ReadKnownFindings(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	d.Apply(known)
	if d.Verdict != report.Clean || d.ExitCode() != 0 ||
		d.Findings[0].Suppressed != "known since the first version" {
		t.Errorf("%+v", d)
	}
	d.Apply(report.KnownFindings{})
	if d.Verdict != report.Findings {
		t.Error("nothing is known, and nothing counts")
	}
	if err := os.WriteFile(path, []byte("race-0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKnownFindings(t.Context(), path, ""); err == nil ||
		!strings.Contains(err.Error(), "known.txt:1: race-0 has no reason") {
		t.Errorf("%v", err)
	}
	if _, err := ReadKnownFindings(t.Context(), "", path); err == nil ||
		!strings.Contains(err.Error(), "tilescope.check/1") {
		t.Errorf("%v", err)
	}
}
