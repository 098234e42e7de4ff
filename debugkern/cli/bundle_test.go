package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// rowsumBundle copies the committed bundle into a folder of its own: nothing of its sources lies there.
func rowsumBundle(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "bundle", "testdata", "rowsum.tsl"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rowsum.tsl")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// changedBundle is that bundle with its description and parts changed.
func changedBundle(t *testing.T, change func(m *bundle.Manifest, p *bundle.Parts)) string {
	t.Helper()
	path := rowsumBundle(t)
	b, err := bundle.Open(t.Context(), path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	p := bundle.Parts{Before: map[string][]byte{}, After: map[string][]byte{}, Sources: map[string][]byte{}}
	if p.PTX, err = b.PTX(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := b.Before(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	after, err := b.After(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Before["packed"], p.After["out"] = before.Data, after.Data[4:]
	text, _, err := b.Text(t.Context(), "rowsum.cu")
	if err != nil {
		t.Fatal(err)
	}
	p.Sources["rowsum.cu"] = text
	m := b.Manifest
	b.Close()
	change(&m, &p)
	var out bytes.Buffer
	if err := bundle.Write(&out, m, p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// withoutBarrier takes the kernel's first barrier out.
func withoutBarrier(_ *bundle.Manifest, p *bundle.Parts) {
	p.PTX = bytes.Replace(p.PTX, []byte("bar.sync 	0;"), nil, 1)
}

// TestCheckBundle: a bundle is checked by its own launch, its struct's pointer and its offsets included, and
// compared with what was recorded of its output.
func TestCheckBundle(t *testing.T) {
	var d report.Check
	code, errText := documentOf(t, &d, "check", rowsumBundle(t))
	if code != 0 || d.Verdict != report.Clean || d.Launch.Grid != (probes.Dim3{2, 1, 1}) ||
		d.Launch.Shared != 256 || len(d.Args) != 4 {
		t.Fatalf("exit %d: %+v: %s", code, d, errText)
	}
	if a := d.Args[0]; a.Name != "x" || a.DType != "struct" || a.Dims[0] != 16 {
		t.Errorf("argument %+v", a)
	}
	if a := d.Args[2]; a.DType != "f32" || a.Dims[0] != 2 {
		t.Errorf("argument %+v", a)
	}
	out := d.Outputs[1]
	if out.Name != "out" || *out.Written != 2 || out.Recorded == nil ||
		*out.Recorded != (report.Recorded{Elements: 1}) {
		t.Errorf("output %+v", out)
	}
}

// TestUnlikeRecorded: an output that is not as it was recorded is an error, of check and of run; where the
// kernel races it is advice.
func TestUnlikeRecorded(t *testing.T) {
	other := func(_ *bundle.Manifest, p *bundle.Parts) { p.After["out"] = []byte{0, 0, 0, 0} }
	for _, command := range []string{"check", "run"} {
		out, errText, code := call(t, command, changedBundle(t, other))
		if code != 1 || !strings.Contains(out, "1 of 1 recorded elements of out differ") ||
			!strings.Contains(out, "backend-difference (error)") {
			t.Errorf("%s: exit %d: %s%s", command, code, out, errText)
		}
	}
	out, _, code := call(t, "check", changedBundle(t, func(m *bundle.Manifest, p *bundle.Parts) {
		other(m, p)
		withoutBarrier(m, p)
	}))
	if code != 1 || !strings.Contains(out, "backend-difference (advice)") ||
		!strings.Contains(out, "race (error)") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestBundleSources: findings are at the lines of the bundle's own sources, which are shown although they
// are not on the disk.
func TestBundleSources(t *testing.T) {
	path := changedBundle(t, withoutBarrier)
	page := filepath.Join(t.TempDir(), "p.html")
	out, errText, code := call(t, "check", path, "--html", page)
	if code != 1 || !strings.Contains(out, "at rowsum.cu:12 and rowsum.cu:15") ||
		!strings.Contains(out, "missing: __syncthreads() between rowsum.cu:12 and rowsum.cu:15") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "if (t &lt; s) part[t] ") {
		t.Errorf("the page does not show the source (%v)", err)
	}
}

// TestRunBundle: run, diagnose and the terminal take a bundle as a kernel without stages,
// under every checker.
func TestRunBundle(t *testing.T) {
	path := rowsumBundle(t)
	rep, code, errText := runJSON(t, "run", path)
	if code != 0 || rep.Verdict != report.Agree || len(rep.Outputs) != 2 || rep.Outputs[1].Recorded == nil ||
		rep.Outputs[1].Recorded.Elements != 1 {
		t.Errorf("exit %d: %+v: %s", code, rep.Outputs, errText)
	}
	if out, errText, code := call(t, "diagnose", path); code != 0 ||
		!strings.Contains(out, "no reference to judge values by; ") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	if out, _, code := call(t, "diagnose", changedBundle(t, withoutBarrier), "--schedules", "4"); code != 1 ||
		!strings.Contains(out, "race on part") {
		t.Errorf("exit %d: %s", code, out)
	}
	var out, errOut bytes.Buffer
	var run *debugkern.Run
	var source []string
	code = Main(context.Background(), Program{
		Version: "test", Args: []string{path}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
		OpenTerminal: func(ctx context.Context, o Terminal) (err error) {
			if run, err = o.Session.Run(ctx, o.Request, nil); err == nil {
				source = run.Source("rowsum.cu")
			}
			return err
		},
	})
	if code != 0 || run == nil || run.Request.Check != debugkern.EveryChecker ||
		*run.Report.Outputs[1].Written != 2 || len(source) < 19 {
		t.Errorf("exit %d: %s, %d lines of source", code, errOut.String(), len(source))
	}
}

// TestShow lists what a bundle holds, for people and as a document.
func TestShow(t *testing.T) {
	path := rowsumBundle(t)
	out, errText, code := call(t, "show", path)
	for _, want := range []string{
		"a launch of rowsum, made by ptx (tilescope test)", "grid 2,1,1, block 64,1,1, 256 bytes",
		"address of at 0: packed, seen as [2 64] with strides [64 1]", "address of packed+512", "0.5:f32",
		"before: nothing, after: 4 bytes in 1 ranges", "before: all", "sources/rowsum.cu",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q:\n%s%s", code, want, out, errText)
		}
	}
	out, _, code = call(t, "show", path, "--json")
	var d showDoc
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Schema != "tilescope.show/1" ||
		len(d.Members) != 5 || d.Bundle.Entry != "rowsum" {
		t.Errorf("exit %d, %v: %+v", code, err, d)
	}
}

// TestBundleBadInput: what does not fit together is a usage error that names the file, and options that the
// bundle answers are refused.
func TestBundleBadInput(t *testing.T) {
	good := rowsumBundle(t)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	written := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"grid": {[]string{"check", good, "--grid", "2"}, 2,
			"is a bundle, which has its launch and arguments in it"},
		"argument":     {[]string{"check", good, "--arg", "0=1"}, 2, "is a bundle"},
		"architecture": {[]string{"check", good, "--arch", "sm_90"}, 2, "is a bundle"},
		"shape":        {[]string{"run", good, "--shape", "small"}, 2, "--shape"},
		"missing":      {[]string{"check", filepath.Join(t.TempDir(), "none.tsl")}, 2, "none.tsl"},
		"no archive": {
			[]string{"check", written("x.tsl", []byte("not a zip archive at all"))}, 2, "x.tsl",
		},
		"cut off":         {[]string{"show", written("x.tsl", whole[:len(whole)-30])}, 2, "x.tsl"},
		"damaged":         {[]string{"show", written("x.tsl", flipped(whole, len(whole)/2))}, 2, "x.tsl"},
		"show of a text":  {[]string{"show", written("x.ptx", []byte("x"))}, 2, "expected a bundle"},
		"show of nothing": {[]string{"show"}, 2, "one FILE.tsl"},
		"show of no file": {[]string{"show", filepath.Join(t.TempDir(), "x.ptx")}, 2, "no such file"},
		"another entry": {
			[]string{
				"check", changedBundle(t, func(m *bundle.Manifest, _ *bundle.Parts) { m.Entry = "colsum" }),
			}, 2, "colsum",
		},
		"parameters": {
			[]string{
				"check", changedBundle(t, func(m *bundle.Manifest, _ *bundle.Parts) {
					m.Parameters = m.Parameters[:3]
				}),
			}, 2, "it has 3 parameters, and rowsum takes 4",
		},
		"parameter's size": {
			[]string{
				"check", changedBundle(t, func(m *bundle.Manifest, _ *bundle.Parts) {
					m.Parameters[3].Value = "00"
				}),
			}, 2, "parameters[3]: scale has 1 bytes, and the kernel's parameter 4",
		},
		"block": {
			[]string{
				"check", changedBundle(t, func(m *bundle.Manifest, _ *bundle.Parts) {
					m.Launch.Block[0] = 5000
				}),
			}, 2, "5000",
		},
		"too much memory": {[]string{"check", changedBundle(t, func(m *bundle.Manifest, p *bundle.Parts) {
			m.Memory[1].Dims, m.Memory[1].After, p.After = []int{1 << 38}, nil, nil
		}), "--memory-max", "64MiB"}, 2, "memory out"},
		"malformed PTX": {
			[]string{
				"check", changedBundle(t, func(_ *bundle.Manifest, p *bundle.Parts) {
					p.PTX = []byte("not ptx")
				}),
			}, 4, "rowsum.tsl:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, errText, code := call(t, c.args...)
			if code != c.code || out != "" || !strings.Contains(errText, c.want) {
				t.Errorf("exit %d, want %d naming %q: %s%s", code, c.code, c.want, out, errText)
			}
		})
	}
}

// flipped is a text with one bit changed.
func flipped(b []byte, at int) []byte {
	out := bytes.Clone(b)
	out[at] ^= 0x10
	return out
}
