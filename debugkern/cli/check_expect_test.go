package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
)

// TestCheckExpect: an expectation in the options or in the kernel's text decides the exit code, and what is
// found is in every output.
func TestCheckExpect(t *testing.T) {
	launch := []string{
		"--grid", "4", "--block", "256", "--arg", "0=ones:f32[1024]", "--arg", "1=zeros:f32[4]", "--arg",
		"2=1024",
	}
	check := func(file string, more ...string) (string, string, int) {
		return call(t, append(append([]string{"check", file}, launch...), more...)...)
	}
	file := kernelFile(t, "reduce.ptx")
	out, errText, code := check(file, "--expect", "arg1[i] <- arg0[256*i .. 256*i+255]")
	if code != 0 || !strings.Contains(out, "clean") ||
		!strings.Contains(out, "expected: 4 of 4 elements of arg1[i] <- arg0[256*i .. 256*i+255]: as expected") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	dir := t.TempDir()
	sarif, html := filepath.Join(dir, "o.sarif"), filepath.Join(dir, "o.html")
	const wrong = "arg1[i] <- arg0[256*i .. 256*i+254]"
	out, errText, code = check(file, "--expect", wrong, "--sarif", sarif, "--html", html)
	if code != 1 || !strings.Contains(out, "expectation (error): arg1[0] is made of arg0[255], which is not "+
		"expected: arg0[255] is read at reduce.cu:5") || !strings.Contains(out, "id expectation-") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	for path, want := range map[string][]string{
		sarif: {`"ruleId": "expectation"`, "not made of the elements that are stated", `"startLine": 5`},
		html:  {"<h2 class=\"bad\">expectation: arg1</h2>", "Expected: 4 of 4 elements", "4 of them differ"},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s has no %q", filepath.Base(path), w)
			}
		}
	}
	doc, _, code := check(kernelFile(t, "reduce.ptx", "// tilescope: --expect '"+wrong+"'"), "--json")
	var d report.Check
	if err := json.Unmarshal([]byte(doc), &d); err != nil || code != 1 {
		t.Fatalf("exit %d: %v", code, err)
	}
	e := d.Coverage.Expectations
	if len(e) != 1 || e[0] != (report.Expectation{Expect: wrong, Elements: 4, Checked: 4, Differing: 4}) {
		t.Errorf("%+v", e)
	}
	known := filepath.Join(dir, "known.txt")
	if err := os.WriteFile(known, []byte(d.Findings[0].ID+" one is left out\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, errText, code = check(file, "--expect", wrong, "--suppress", known); code != 0 {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
}

// TestCheckExpectUsage: a mistake is exit code 2, with its column and a mark below it.
func TestCheckExpectUsage(t *testing.T) {
	launch := []string{
		"--grid", "4", "--block", "256", "--arg", "0=ones:f32[1024]", "--arg", "1=zeros:f32[4]", "--arg",
		"2=1024",
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--expect", "arg1[i] <- arg0[i"}, "--expect: column 18: expected \"]\" after an index of arg0, " +
			"found the end\narg1[i] <- arg0[i\n                 ^"},
		{[]string{"--expect", "arg1[i] <- arg9[i]"}, "column 12: the kernel has no argument arg9"},
		{[]string{"--expect", "arg1[i] <- arg0[i]", "--backend", "cuda"}, "use emu or both"},
	} {
		args := append(append([]string{"check", kernelFile(t, "reduce.ptx")}, launch...), c.args...)
		out, errText, code := call(t, args...)
		if code != 2 || out != "" || !strings.Contains(errText, c.want) {
			t.Errorf("%v: exit %d: %s%s", c.args, code, out, errText)
		}
	}
	file := kernelFile(t, "reduce.ptx", "// tilescope: --expect 'out[i]")
	if _, errText, code := call(t, "check", file); code != 2 ||
		!strings.Contains(errText, "a quote has no end") {
		t.Errorf("exit %d: %s", code, errText)
	}
	sequence := filepath.Join("..", "..", "docs", "check", "split.yaml")
	if _, errText, code := call(t, "check", sequence, "--expect", "sum[0] <- x[*]"); code != 2 ||
		!strings.Contains(errText, "is a sequence") {
		t.Errorf("exit %d: %s", code, errText)
	}
}

// TestCheckExpectTarget: the launch of a manifest, whose elements are too many to follow them all: a sample,
// which is stated. What it is made of depends on the kernel alone.
func TestCheckExpectTarget(t *testing.T) {
	t.Parallel()
	args := []string{
		"check", "gemm_wmma", "--json", "--expect",
		"C[m][n] <- A[m][*], B[*][n], bias[n]", "--expect", "C[m][n] <- A[m][*], ... for m < 2, n < 2",
	}
	var runs [2]report.Check
	var both join.Group
	for i := range runs {
		both.Go(func() {
			out, errText, code := call(t, args...)
			if err := json.Unmarshal([]byte(out), &runs[i]); err != nil || code != 0 {
				t.Errorf("exit %d: %v %s", code, err, errText)
			}
		})
	}
	both.Wait()
	if t.Failed() {
		return
	}
	e := runs[0].Coverage.Expectations
	if !slices.Equal(e, runs[1].Coverage.Expectations) {
		t.Errorf("%+v, then %+v", e, runs[1].Coverage.Expectations)
	}
	if len(e) != 2 || e[0].Elements != 96*192 || e[0].Checked < 100 || e[0].Checked >= e[0].Elements ||
		!strings.Contains(e[0].Text(), "a sample") || e[1].Elements != 4 || e[1].Checked != 4 {
		t.Errorf("%+v", e)
	}
}

// TestLineageElements: which elements an element is made of, in words and for programs.
func TestLineageElements(t *testing.T) {
	args := []string{
		"lineage", kernelFile(t, "last_block.ptx"), "arg3[0]", "--elements", "--grid", "4", "--block", "32",
		"--arg", "0=randn:f32[8]", "--arg", "1=unwritten:f32[4]", "--arg", "2=zeros:u32[1]", "--arg",
		"3=unwritten:f32[1]",
	}
	out, errText, code := call(t, args...)
	if code != 0 || !strings.Contains(out, "arg0[6..7]: 2 elements, once each") ||
		!strings.Contains(out, "arg1[0..2]: 3 elements, once each, as other blocks left them (--across)") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	out, errText, code = call(t, append(args, "--across", "--json")...)
	var doc report.Lineage
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.MadeOf) != 1 {
		t.Fatalf("exit %d: %v %s %+v", code, err, errText, doc.MadeOf)
	}
	if m := doc.MadeOf[0]; m.Name != "arg0" || len(m.Indices) != 8 || m.Kind != "value" || m.Least != 1 {
		t.Errorf("%+v", m)
	}
	out, errText, code = call(t, "lineage", "layernorm", "Y[7]", "--elements")
	if code != 0 || !strings.Contains(out, "gamma[7]: 1 element, once") || strings.Contains(out, "└") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
}
