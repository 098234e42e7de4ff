package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/fatbin"
	"tilescope/debugkern/record"
	"tilescope/debugkern/report"
)

// machine is a program with a driver and CUPTI that are testdata/fake.c.
type machine struct {
	t       *testing.T
	session *debugkern.Session
	dir     string
	program string
	fatbin  []byte
	out     bytes.Buffer
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("record works on Linux")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	m := &machine{t: t, session: debugtest.Open(t), dir: t.TempDir()}
	libs := filepath.Join(m.dir, "lib", "python3.12", "site-packages", "nvidia", "cu13", "lib")
	m.program = filepath.Join(m.dir, "bin", "fake")
	for _, dir := range []string{libs, filepath.Dir(m.program)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cupti := filepath.Join(libs, "libcupti.so.13")
	for _, argv := range [][]string{
		{"-shared", "-fPIC", "-DDRIVER", "-o", cupti}, {"-o", m.program},
	} {
		argv = append(argv, filepath.Join("testdata", "fake.c"), "-ldl", "-w")
		if text, err := exec.Command(cc, argv...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if err := os.Symlink(cupti, filepath.Join(libs, "libcuda.so.1")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", libs)
	t.Setenv("CUDA_INJECTION64_PATH", "")
	t.Setenv("TRITON_CACHE_DIR", filepath.Join(m.dir, "cache"))
	if m.fatbin, err = os.ReadFile(filepath.Join("..", "fatbin", "testdata", "zstd.fatbin")); err != nil {
		t.Fatal(err)
	}
	return m
}

// image writes a file for the program to load.
func (m *machine) image(name string, data []byte) string {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// ptx is the PTX of the fatbin, and cubin its machine code.
func (m *machine) images() (ptx, cubin []byte) {
	m.t.Helper()
	images, err := fatbin.Read(m.fatbin)
	if err != nil {
		m.t.Fatal(err)
	}
	return images[0].Data, images[1].Data
}

// record executes the program and returns the path of the bundle.
func (m *machine) record(req record.Request, argv ...string) (string, error) {
	m.t.Helper()
	req.Argv, req.Stdout, req.Stderr = append([]string{m.program}, argv...), &m.out, &m.out
	r, err := record.Program(m.t.Context(), m.session, req)
	if err != nil {
		return "", err
	}
	defer r.Close()
	var b bytes.Buffer
	if err := r.Write(m.t.Context(), m.session, &b, "test"); err != nil {
		return "", err
	}
	return m.image("out.tsl", b.Bytes()), nil
}

// check executes the bundle on the emulator under every checker.
func (m *machine) check(path string) *report.Check {
	m.t.Helper()
	res, err := checkrun.Kernel(m.t.Context(), m.session, checkrun.Request{File: path}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return res.Doc
}

// TestRecord: a module of PTX text, a library that is a fatbin, and a cubin whose PTX is in Triton's cache;
// the second launch of three. The bundle has what the launch touches, 400 of the allocation's 4096 bytes, and
// the emulator leaves the bits that were recorded.
func TestRecord(t *testing.T) {
	m := newMachine(t)
	ptx, cubin := m.images()
	m.image("cache/ABC/scale.cubin", cubin)
	m.image("cache/ABC/scale.ptx", ptx)
	m.image("cache/ABD/scale.cubin", append(cubin[:len(cubin)-1:len(cubin)-1], 1))
	for _, c := range []struct{ how, image, origin string }{
		{"module", m.image("scale.ptx", ptx), "record"},
		{"library", m.image("scale.fatbin", m.fatbin), "record"},
		{"module", m.image("scale.cubin", cubin), "triton"},
	} {
		m.out.Reset()
		path, err := m.record(record.Request{Kernel: `scale\(float`, Nth: 1}, c.how, c.image, "3")
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", c.how, filepath.Base(c.image), err, &m.out)
		}
		if m.out.String() != "the program's output\n" {
			t.Errorf("the program printed %q", &m.out)
		}
		m.contents(path, c.origin)
		d := m.check(path)
		if o := d.Outputs[0]; d.ExitCode() != 0 || o.Recorded == nil || o.Recorded.Elements != 100 ||
			o.Recorded.Differing != 0 {
			t.Errorf("%s: exit code %d, %+v %v", c.how, d.ExitCode(), o.Recorded, d.Findings)
		}
	}
}

// contents checks what a bundle of the second launch holds.
func (m *machine) contents(path, origin string) {
	m.t.Helper()
	b, err := bundle.Open(m.t.Context(), path, 64<<20)
	if err != nil {
		m.t.Fatal(err)
	}
	defer b.Close()
	if b.Origin != origin || b.Entry != "_Z5scalePffi" || b.Launch.Grid != [3]int{4, 1, 1} ||
		b.Launch.Block != [3]int{32, 1, 1} || len(b.Memory) != 1 || len(b.Parameters) != 3 {
		m.t.Fatalf("%+v", b.Manifest)
	}
	x := b.Memory[0]
	want := []bundle.Range{{0, 400}}
	if x.DType != "f32" || x.Bytes() != 4096 || !slices.Equal(x.Before, want) ||
		!slices.Equal(x.After, want) {
		m.t.Errorf("%+v", x)
	}
	before, err1 := b.Before(m.t.Context(), 0)
	after, err2 := b.After(m.t.Context(), 0)
	if err1 != nil || err2 != nil {
		m.t.Fatal(err1, err2)
	}
	at := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
	if at(before.Data, 99) != 49.5 || at(after.Data, 99) != 24.75 { // the first launch halved 99
		m.t.Errorf("element 99 is %v before, %v after", at(before.Data, 99), at(after.Data, 99))
	}
	if p := b.Parameters; p[0].Value != "0000000000000000" || p[1].Value != "0000003f" ||
		p[2].Value != "64000000" {
		m.t.Errorf("%+v", p)
	}
}

// TestDifference: a GPU that gives other values than the emulator is a finding.
func TestDifference(t *testing.T) {
	m := newMachine(t)
	ptx, _ := m.images()
	path, err := m.record(record.Request{}, "wrong", m.image("scale.ptx", ptx), "1")
	if err != nil {
		t.Fatal(err)
	}
	d := m.check(path)
	if o := d.Outputs[0]; d.ExitCode() != 1 || o.Recorded == nil || o.Recorded.Differing == 0 {
		t.Errorf("exit code %d, %+v", d.ExitCode(), o.Recorded)
	}
}

// TestNotRecorded: what keeps a launch from being recorded has its name, and its exit code.
func TestNotRecorded(t *testing.T) {
	m := newMachine(t)
	ptx, cubin := m.images()
	text, code := m.image("scale.ptx", ptx), m.image("scale.cubin", cubin)
	for _, c := range []struct {
		name string
		req  record.Request
		argv []string
		want string
		code report.Code
	}{
		{"no PTX", record.Request{}, []string{"module", code, "1"},
			"TORCH_CUDA_ARCH_LIST=9.0+PTX", report.CodeFailed},
		{"capture", record.Request{}, []string{"capture", text, "2"},
			"was launched during stream capture", report.CodeFailed},
		{"subscriber", record.Request{}, []string{"subscriber", text, "1"},
			"CUPTI has another subscriber", report.CodeUnavailable},
		{"no match", record.Request{Kernel: "softmax"}, []string{"module", text, "2"},
			"a kernel that matches softmax was recorded: the program made none", report.CodeFailed},
		{"too few", record.Request{Nth: 2}, []string{"module", text, "2"},
			"--nth 2: the program made 2 launches", report.CodeFailed},
		{"negative", record.Request{Nth: -1}, []string{"module", text, "1"}, "--nth -1", report.CodeUsage},
		{"pattern", record.Request{Kernel: "("}, []string{"module", text, "1"},
			"--kernel (", report.CodeUsage},
	} {
		_, err := m.record(c.req, c.argv...)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	t.Setenv("CUDA_INJECTION64_PATH", "/opt/nsight/libToolsInjection64.so")
	if _, err := m.record(record.Request{}, "module", text, "1"); err == nil ||
		!strings.Contains(err.Error(), "another tool is injected") {
		t.Errorf("a second injection: %v", err)
	}
}

// TestUnfinished: of a launch that fails, does not end or takes its program with it, the bundle has what it
// began with, and nothing to compare with.
func TestUnfinished(t *testing.T) {
	m := newMachine(t)
	ptx, _ := m.images()
	text := m.image("scale.ptx", ptx)
	for how, want := range map[string]string{
		"killed": "the program ended before the kernel did",
		"hangs":  "was ended after its time limit of 2s",
		"fails":  "it failed on the GPU with error 700 (illegal address)",
	} {
		req := record.Request{Argv: []string{m.program, how, text, "1"}, Stdout: &m.out, Stderr: &m.out}
		if how == "hangs" {
			req.Timeout = 2 * time.Second
		}
		r, err := record.Program(t.Context(), m.session, req)
		if err != nil {
			t.Errorf("%s: %v", how, err)
			continue
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, want) ||
			!strings.Contains(notes, "is recorded without its results") {
			t.Errorf("%s: notes %q", how, r.Notes)
		}
		var b bytes.Buffer
		err = r.Write(t.Context(), m.session, &b, "test")
		if err := errors.Join(err, r.Close()); err != nil {
			t.Errorf("%s: %v", how, err)
			continue
		}
		d := m.check(m.image(how+".tsl", b.Bytes()))
		o := d.Outputs[0]
		if d.ExitCode() != 0 || o.Recorded != nil || o.Written == nil || *o.Written != 100 {
			t.Errorf("%s: exit code %d, %+v", how, d.ExitCode(), o)
		}
	}
}

// TestNothingElse: neither the environment nor the command line of the program, nor a path of the machine, is
// in the file.
func TestNothingElse(t *testing.T) {
	m := newMachine(t)
	ptx, _ := m.images()
	t.Setenv("API_TOKEN", "hunter2hunter2")
	path, err := m.record(record.Request{}, "module", m.image("scale.ptx", ptx), "1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(t.Context(), path, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var names []string
	for _, member := range b.Members() {
		names = append(names, member.Name)
	}
	want := []string{"bundle.json", "module.ptx", "before/arg0.npy", "after/arg0.npy"}
	if !slices.Equal(names, want) {
		t.Errorf("members %v", names)
	}
	if len(b.Versions) != 1 || len(b.Sources) != 0 {
		t.Errorf("%v %v", b.Versions, b.Sources)
	}
}
