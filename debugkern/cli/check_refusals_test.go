package cli

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// npyText is a NumPy array file of float32 zeros with a header of one's own.
func npyText(header string, data int) []byte {
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// TestCheckBadInput: whatever is wrong with arguments, geometry, files or options of check is refused before
// anything runs, with one line that names what, where, and what was expected.
func TestCheckBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
	short, object := file("short.npy", npyText(good, 8)),
		file("object.npy", npyText(strings.Replace(good, "<f4", "|O8", 1), 32))
	fortran := file("fortran.npy",
		npyText(strings.Replace(good, "(4,)", "(2, 2)", 1)[:20]+
			"'fortran_order': True, 'shape': (2, 2), }", 16))
	huge, empty := file("huge.npy", npyText(strings.Replace(good, "(4,)", "(1099511627776,)", 1), 16)),
		file("empty.npy", npyText(strings.Replace(good, "(4,)", "(0,)", 1), 0))
	text, list := file("text.npy", []byte("hello")), file("list.txt", []byte("race-12345678\n"))
	document := file("document.json", []byte(`{"schema": "tilescope.run/1"}`))
	none, two := file("none.ptx", []byte(".version 8.0\n.target sm_80\n.address_size 64\n")),
		file("two.ptx", []byte(oneAndTwo))
	reqntid := file("reqntid.ptx",
		[]byte(strings.Replace(oneAndTwo, ".entry one()", ".entry one() .reqntid 64, 1, 1", 1)))
	maxntid := file("maxntid.ptx",
		[]byte(strings.Replace(oneAndTwo, ".entry one()", ".entry one() .maxntid 64", 1)))
	kernel := kernelFile(t, "reduce.ptx")
	arguments := []string{"0=ones:f32[512]", "1=zeros:f32[2]", "2=512"}
	with := func(i int, value string) []string { // the right arguments, with another in the place of one
		out := []string{kernel, "--grid", "2", "--block", "256"}
		for j, a := range arguments {
			if j == i {
				a = value
			}
			if a != "" {
				out = append(out, "--arg", a)
			}
		}
		return out
	}
	right := with(-1, "")
	geometry := func(more ...string) []string { return append(append([]string{}, right...), more...) }
	for _, c := range []struct {
		args []string
		says string
	}{
		// arguments
		{with(0, ""), "no --arg for 0"},
		{with(2, ""), "no --arg for 2"},
		{append(geometry(), "--arg", "2=5"), "parameter 2 is given twice"},
		{append(geometry(), "--arg", "nosuch=5"), "no such parameter"},
		{append(geometry(), "--arg", "9=5"), "no such parameter"},
		{append(geometry(), "--arg", "-1=5"), "no such parameter"},
		{append(geometry(), "--arg", "=5"), "expected NAME=VALUE"},
		{append(geometry(), "--arg", "5"), "expected NAME=VALUE"},
		{with(2, "2="), "--arg 2"},
		{with(2, "2=abc"), "--arg 2"},
		{with(2, "2=1.5"), "1.5"},
		{with(2, "2=5:f99"), "f99"},
		{with(2, "2=99999999999"), "99999999999"},
		{with(2, "2=ones:f32[4]"), "give a number"},
		{with(2, "2=null"), "null is an address"},
		{with(0, "0=5"), "the kernel uses this parameter as an address"},
		{with(0, "0=ones"), "--arg 0"},
		{with(0, "0=ones:f32"), "--arg 0"},
		{with(0, "0=ones:f32[]"), "--arg 0"},
		{with(0, "0=ones:f32[-4]"), "-4"},
		{with(0, "0=ones:f32[0]"), "0"},
		{with(0, "0=ones:f32[x]"), "x"},
		{with(0, "0=ones:f32[4"), "--arg 0"},
		{with(0, "0=ones:nosuch[4]"), "nosuch"},
		{with(0, "0=twos:f32[4]"), "twos"},
		{with(0, "0=ones:f32[99999999999999]"), "99999999999999"},
		{with(0, "0=ones:f32[4000000000,4000000000]"), "4000000000"},
		{with(0, "0=randint(5,1):i32[4]"), "randint"},
		{with(0, "0=randint(5):i32[4]"), "randint"},
		{with(0, "0=randint(0,1000):i8[4]"), "randint"},
		{with(0, "0=nan:i32[4]"), "nan"},
		{with(0, "0={0: 1:i32, 6: 1:i32}"), "ends at byte 10"},
		{with(2, "2={8: 1:i32}"), "ends at byte 12"},
		{with(2, "2={0: 1}"), "needs its type"},
		{with(2, "2={0 1:i32}"), "--arg 2"},
		{with(2, "2={-4: 1:i32}"), "--arg 2"},
		// files
		{with(0, "0="+dir+"/nosuch.npy"), "nosuch.npy"},
		{with(0, "0="+dir+"/nosuch.npz:x"), "nosuch.npz"},
		{with(0, "0="+dir), "--arg 0"},
		{with(0, "0="+short), "short.npy"},
		{with(0, "0="+object), "object.npy"},
		{with(0, "0="+fortran), "fortran.npy"},
		{with(0, "0="+huge), "huge.npy"},
		{with(0, "0="+empty), "no elements"},
		{with(0, "0="+text), "text.npy"},
		{with(0, "0="+text+":bf16"), "text.npy"},
		{[]string{dir + "/nosuch.ptx", "--grid", "1", "--block", "1"}, "nosuch.ptx"},
		{[]string{dir + "/nosuch.yaml"}, "nosuch.yaml"},
		{[]string{dir, "--grid", "1", "--block", "1"}, "directory"},
		{[]string{list, "--grid", "1", "--block", "1"}, "expected a .ptx, a .cu or a .tsl file"},
		{[]string{none, "--grid", "1", "--block", "1"}, "has no kernel"},
		{[]string{two, "--grid", "1", "--block", "1"}, "choose one with --entry (one, two)"},
		{[]string{two, "--grid", "1", "--block", "1", "--entry", "three"}, "it has one, two"},
		{geometry("--suppress", dir+"/nosuch"), "--suppress"},
		{geometry("--suppress", list), "has no reason"},
		{geometry("--baseline", document), "expected a document tilescope.check/1"},
		{geometry("--baseline", list), "expected a document"},
		{geometry("--dump", dir+"/no/such/place.npz"), "--dump"},
		{geometry("--sarif", "x", "--html", "x"), "different files"},
		// geometry
		{right[:1], "--grid is missing"},
		{right[:3], "--block is missing"},
		{geometry("--grid", "0"), "expected 1 to"},
		{geometry("--grid", "1,2,3,4"), "found 4 numbers"},
		{geometry("--grid", "1,,1"), "not a whole number"},
		{geometry("--grid", "1,70000"), "y is 70000"},
		{geometry("--grid", "99999999999"), "--grid"},
		{geometry("--block", "2048"), "expected 1 to 1024"},
		{geometry("--block", "32,64"), "2048 threads"},
		{geometry("--block", "8,8,128"), "z is 128"},
		{geometry("--cluster", "3"), "--cluster 3,1,1: x is 3; expected 1 to 2"},
		{geometry("--shared", "-1"), "--shared -1"},
		{geometry("--shared", "232448"), "shared memory"},
		{[]string{reqntid, "--entry", "one", "--grid", "1", "--block", "32"}, ".reqntid"},
		{[]string{maxntid, "--entry", "one", "--grid", "1", "--block", "128"}, ".maxntid"},
		{geometry("--blocks", "5"), "outside 0-1"},
		{geometry("--blocks", "1-0"), "backwards"},
		{geometry("--blocks", "0", "--backend", "cuda"), "--blocks 0"},
		// options
		{geometry("--resident", "-1"), "--resident"},
		{geometry("--timeout", "-5s"), "--timeout"},
		{geometry("--timeout", "x"), "--timeout"},
		{geometry("--seed", "-1"), "--seed"},
		{geometry("--device", "-1"), "--device"},
		{geometry("--schedule", "sideways"), "sideways"},
		{geometry("--backend", "tpu"), "tpu"},
		{geometry("--shape", "small"), "is no TARGET"},
		{[]string{"stage2", "--grid", "1"}, "its manifest's"},
		{[]string{"stage2", "--shape", "nosuch"}, "nosuch"},
		{[]string{"stage2", "--fault", "nosuch"}, "nosuch"},
		{[]string{"stage2", "--set", "NOSUCH=1"}, "NOSUCH"},
	} {
		out, errText, code := call(t, append([]string{"check"}, c.args...)...)
		switch {
		case code != 2 || !strings.Contains(errText, c.says):
			t.Errorf("%q: exit %d, want 2 and %q\n%s", c.args, code, c.says, errText)
		case out != "" || strings.Count(strings.TrimSpace(errText), "\n") > 2:
			t.Errorf("%q: one line on standard error is expected\n%s%s", c.args, out, errText)
		}
	}
}

const oneAndTwo = `.version 8.0
.target sm_80
.address_size 64
.visible .entry one()
{
	ret;
}
.visible .entry two()
{
	ret;
}
`

// TestCheckTarget: of a manifest's launch the checkers find what a planted fault breaks, with nothing said of
// a reference; the page shows the lines, and the log has the same findings.
func TestCheckTarget(t *testing.T) {
	dir := t.TempDir()
	page, log := filepath.Join(dir, "c.html"), filepath.Join(dir, "c.sarif")
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"softmax_row", "--shape", "small"}, 0, []string{"clean", "1 of 1 blocks"}},
		{[]string{"stage2", "--shape", "single32", "--fault", "sync-p", "--html", page, "--sarif", log}, 1,
			[]string{"race", "missing: __syncthreads"}},
		{[]string{"stage2", "--shape", "validation", "--blocks", "0,1,0"}, 0, []string{"1 of 16 blocks"}},
	} {
		out, errText, code := call(t, append([]string{"check"}, c.args...)...)
		if code != c.code {
			t.Errorf("%q: exit %d\n%s%s", c.args, code, out, errText)
		}
		for _, s := range append(c.says, "covered: ") {
			if !strings.Contains(out, s) {
				t.Errorf("%q: no %q in\n%s", c.args, s, out)
			}
		}
		if strings.Contains(out, "reference") || strings.Contains(out, "agree") {
			t.Errorf("%q: a reference is spoken of\n%s", c.args, out)
		}
	}
	for path, says := range map[string][]string{
		page: {"<!doctype html>", `class="guilty"`, "m_smem", "tilescope check stage2"},
		log:  {`"race"`, `"2.1.0"`, "--fault sync-p"},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range says {
			if !bytes.Contains(text, []byte(s)) {
				t.Errorf("%s has no %q", filepath.Base(path), s)
			}
		}
	}
}

// TestCheckOfWhatIsNotModelled: a kernel that the emulator refuses did not load, at the places of all
// instructions that it does not model; nothing is wrong with how it compiles.
func TestCheckOfWhatIsNotModelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.ptx")
	text := strings.Replace(oneAndTwo, "ret;", "tcgen05.fence::before_thread_sync;\n\ttcgen05.wait::ld.sync.aligned;\n\tret;", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errText, code := call(t, "check", path, "--entry", "one", "--grid", "1", "--block", "32")
	if code != 4 || !strings.Contains(errText, "the kernel does not load: 2 errors") ||
		!strings.Contains(errText, "k.ptx:6:") || !strings.Contains(errText, "k.ptx:7:") ||
		strings.Count(errText, "is not modelled") < 2 {
		t.Errorf("exit %d: %s", code, errText)
	}
}
