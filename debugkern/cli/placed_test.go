package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/bundle"
)

// pythonRows is a source in Python for the kernel of rowsum.tsl, whose lines the PTX names; barrier is what
// it has of barriers.
func pythonRows(barrier string) func(m *bundle.Manifest, p *bundle.Parts) {
	return func(m *bundle.Manifest, p *bundle.Parts) {
		p.PTX = bytes.Replace(p.PTX, []byte(`"rowsum.cu"`), []byte(`"rows.py"`), 1)
		m.Sources = []bundle.Source{{Path: "rows.py"}}
		p.Sources = map[string][]byte{
			"rows.py": []byte(strings.Repeat("x = x\n", 11) + "part = load(x)" + barrier + "\n" +
				strings.Repeat("x = x\n", 8)),
		}
	}
}

// TestPlacedBarriers: where no line of a source in Python is a barrier, barriers are called the compiler's;
// where one is, and where the source is not available, they are not.
func TestPlacedBarriers(t *testing.T) {
	race := func(barrier string, more func(m *bundle.Manifest, p *bundle.Parts)) (string, string) {
		path := changedBundle(t, func(m *bundle.Manifest, p *bundle.Parts) {
			pythonRows(barrier)(m, p)
			withoutBarrier(m, p)
			if more != nil {
				more(m, p)
			}
		})
		out, _, code := call(t, "check", path)
		if code != 1 || !strings.Contains(out, "race (error)") {
			t.Fatalf("exit %d: %s", code, out)
		}
		return out, path
	}
	const placed = "missing: a barrier of the block that the compiler should have placed between rows.py:12 and rows.py:15"
	const own = "missing: __syncthreads() between rows.py:12 and rows.py:15"
	out, path := race("", nil)
	if !strings.Contains(out, placed) {
		t.Errorf("no %q in:\n%s", placed, out)
	}
	if out, _, _ := call(t, "run", path, "--check"); !strings.Contains(out, placed) {
		t.Errorf("run: no %q in:\n%s", placed, out)
	}
	if out, _, _ := call(t, "diagnose", path, "--schedules",
		"4"); !strings.Contains(out, "the compiler should have placed a barrier of the block") ||
		strings.Contains(out, "put __syncthreads()") {
		t.Errorf("diagnose:\n%s", out)
	}
	for _, barrier := range []string{
		"; cute.arch.sync_threads()", "; tl.debug_barrier()", "; cuda.syncthreads()",
	} {
		if out, _ := race(barrier, nil); !strings.Contains(out, own) {
			t.Errorf("%s: no %q in:\n%s", barrier, own, out)
		}
	}
	if out, _ := race("", func(m *bundle.Manifest, p *bundle.Parts) {
		m.Sources, p.Sources = nil, nil
	}); !strings.Contains(out, own) {
		t.Errorf("without its source: no %q in:\n%s", own, out)
	}
}

// TestPlacedBarrierIsNamed: a barrier that is there, and wrong, is called the compiler's too.
func TestPlacedBarrierIsNamed(t *testing.T) {
	path := changedBundle(t, func(m *bundle.Manifest, p *bundle.Parts) {
		pythonRows("")(m, p)
		p.PTX = bytes.Replace(p.PTX, []byte("bar.sync 	0;"),
			[]byte("setp.lt.u32 	%p1, %r1, 7;\n	@%p1 bar.sync 	0;"), 1)
	})
	if out, _, code := call(t, "check", path); code != 1 ||
		!strings.Contains(out, "barrier 0, which the compiler placed, is reached at different places") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// TestSourcesOfPTX: debug lines of a .ptx are followed to the source that they name, wherever it lies,
// and to no other file.
func TestSourcesOfPTX(t *testing.T) {
	elsewhere := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "bundle", "testdata", "rowsum.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("bar.sync 	0;"), nil, 1)
	for name, shown := range map[string]bool{
		"rows.py": true, "rows.cu": true, "secret.txt": false, "id_rsa": false,
	} {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(elsewhere, name)
			if err := os.WriteFile(source,
				[]byte(strings.Repeat("x = x\n", 11)+"the line of the finding\n"+
					strings.Repeat("x = x\n", 8)), 0o644); err != nil {
				t.Fatal(err)
			}
			ptx := writeKernel(t, "k.ptx", bytes.Replace(text, []byte(`"rowsum.cu"`),
				[]byte(`"`+filepath.ToSlash(source)+`"`), 1))
			page := filepath.Join(t.TempDir(), "p.html")
			_, errText, code := call(t, "check", ptx, "--grid", "2", "--block", "64", "--shared", "256",
				"--arg", "0={0: ones:f32[128], 8: 2:i32, 12: 64:i32}",
				"--arg", "1=ones:f32[2]", "--arg", "2=unwritten:f32[2]", "--arg", "3=1.0", "--html", page)
			html, err := os.ReadFile(page)
			if code != 1 || err != nil || strings.Contains(string(html), "the line of the finding") != shown {
				t.Errorf("exit %d, %v: the source is shown: %v, want %v: %s", code, err, !shown,
					shown, errText)
			}
		})
	}
}
