package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/diagnose"
)

// The document is run's and more; standard output has nothing else, and the exit code is run's.
func TestDiagnoseDocument(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := call(t, "diagnose", "stage2", "--fault", "sync-frag", "--shape", "small",
		"--backend", "emu", "--schedules", "5", "--json")
	if code != exitDiverged || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stdout), &fields); err != nil {
		t.Fatalf("%v:\n%s", err, stdout)
	}
	for _, name := range []string{
		"schema", "target", "verdict", "guilty", "stages", "output", "findings", "causes", "story",
		"schedules", "barriers", "losses", "digest",
	} {
		if fields[name] == nil {
			t.Errorf("the document has no %s", name)
		}
	}
	var d diagnose.Diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != diagnose.Schema || len(d.Causes) != 1 || len(d.Schedules) != 1 ||
		d.Schedules[0].Tried != 5 {
		t.Errorf("schema %s, %d causes, schedules %+v", d.Schema, len(d.Causes), d.Schedules)
	}
}

// What a person reads ends with the story; findings come first, as they come.
func TestDiagnoseText(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := call(t, "diagnose", "stage2", "--fault", "sync-s", "--shape", "small",
		"--backend", "emu", "--schedules", "5")
	if code != exitDiverged || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.HasPrefix(stdout, "found race: ") {
		t.Errorf("begins with %q, want the first finding", strings.SplitN(stdout, "\n", 2)[0])
	}
	lines := strings.Split(strings.TrimRight(stdout, "\n"), "\n")
	if last := lines[len(lines)-1]; last !=
		"again: tilescope diagnose stage2 --fault sync-s --shape small --backend emu" {
		t.Errorf("ends with %q, want the command that shows it again", last)
	}
	for _, want := range []string{
		"cause 1: race on sS", "share of the error: 100 %", "what each synchronisation is for:",
		"change: put __syncthreads()", "O wrong in 1024 of 2048 cells, 1024 NaN",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	run, _, _ := call(t, "run", "stage2", "--fault", "sync-s", "--shape", "small", "--backend", "emu")
	if want := "fail: 1024 of 2048 cells NaN, over the tolerance 50.00 %\n"; !strings.Contains(run, want) {
		t.Errorf("no %q in:\n%s", want, run)
	}
	if want := "stage S is wrong first\n"; !strings.Contains(run, want) { // the race is on its own array
		t.Errorf("no %q in:\n%s", want, run)
	}
	for _, odd := range []string{"+Inf", "NaN/Inf", "cosine NaN"} {
		if strings.Contains(stdout+run, odd) {
			t.Errorf("%s, and all cells without a size are NaN:\n%s%s", odd, stdout, run)
		}
	}
}

// TestRunNamesWhatMayHaveSpoiltAStage: m of this kernel is right, and captured before its warp has written
// it.
func TestRunNamesWhatMayHaveSpoiltAStage(t *testing.T) {
	run, _, _ := call(t, "run", "stage2", "--fault", "sync-p", "--shape", "small", "--backend", "emu")
	const want = "stage m is wrong first, unless what is found below (uninitialised on sP) changed its inputs or what was captured " +
		"of it\n"
	if !strings.Contains(run, want) {
		t.Errorf("no %q in:\n%s", want, run)
	}
}

// Files are written beside the document, whole or not at all.
func TestDiagnoseFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := map[string]string{
		"--sarif": filepath.Join(dir, "r.sarif"), "--html": filepath.Join(dir, "r.html"),
		"--dump": filepath.Join(dir, "r.npz"),
	}
	args := []string{"diagnose", "stage2", "--fault", "p-normalised", "--shape", "small", "--backend", "emu"}
	for option, path := range paths {
		args = append(args, option, path)
	}
	if _, stderr, code := call(t, args...); code != exitDiverged {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for option, begins := range map[string]string{
		"--sarif": "{", "--html": "<!doctype html>", "--dump": "PK",
	} {
		if b, err := os.ReadFile(paths[option]); err != nil || !strings.HasPrefix(string(b), begins) {
			t.Errorf("%s: %v, %d bytes", option, err, len(b))
		}
	}
	if _, _, code := call(t, "diagnose", "stage2", "--shape", "nowhere", "--html",
		filepath.Join(dir, "no.html")); code != exitUsage {
		t.Errorf("a shape that does not exist: exit %d", code)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"r.html", "r.npz", "r.sarif"}) {
		t.Errorf("left behind: %v", names)
	}
}

// A kernel that brings its own PTX, probes in it, has no other build: what that one shows has to do. What
// cannot be loaded is exit 4, with a document.
func TestDiagnoseOwnPTX(t *testing.T) {
	t.Parallel()
	path := ownManifest(t, faultyPTX(t, []string{"sync-p"}, "TS_PROBES=1"), nil)
	var d diagnose.Diagnosis
	if code, errText := documentOf(t, &d, "diagnose", path, "--shape", "small", "--backend", "emu",
		"--schedules", "5"); code != exitDiverged || len(d.Causes) != 1 {
		t.Fatalf("exit %d, story %q: %s", code, d.Story, errText)
	}
	if c := d.Causes[0]; c.Place.Variable != "sP" ||
		!strings.Contains(c.Alone, "nothing is wrong") || d.Schedules[0].Varied == 0 ||
		len(d.Barriers) == 0 {
		t.Errorf("%s: %s; schedules %+v, %d barriers", c.Title, c.Alone, d.Schedules, len(d.Barriers))
	}
	d = diagnose.Diagnosis{}
	if code, _ := documentOf(t, &d, "diagnose", ownManifest(t, []byte("not ptx"), nil)); code != 4 ||
		d.Schema != diagnose.Schema || d.Error == nil || len(d.Story) != 1 {
		t.Errorf("malformed PTX: exit %d, schema %q, story %q", code, d.Schema, d.Story)
	}
}

// What is wrong in the rows of one warp alone is looked for there: the advice names them, beside the factor
// that explains them.
func TestDiagnoseNamesTheRows(t *testing.T) {
	t.Parallel()
	// the value that is stored to sP, ahead of the __syncwarp that follows, made larger by warp 1
	stored := regexp.MustCompile(
		`(\{  cvt\.rn\.f16\.f32 %rs\d+, )(%f\d+)(;\}\s+// end inline asm\s+\.loc[^\n]*\n\tst\.shared\.u16[^\n]*\n\t\.loc[^\n]*\n\tbar\.warp\.sync)`)
	text := stored.ReplaceAll(stage2PTX(t, "TS_PROBES=1"), []byte(
		`{ .reg .u32 mine; .reg .pred one; .reg .f32 p;
	mov.u32 mine, %tid.x; shr.u32 mine, mine, 5; setp.eq.u32 one, mine, 1; mov.f32 p, $2; @one mul.rn.f32 p, p, 0f3FC00000;
	${1}p$3`))
	text = regexp.MustCompile(`(, p;\})`).ReplaceAll(text, []byte("$1 }"))
	path := ownManifest(t, text, nil)
	var d diagnose.Diagnosis
	if code, errText := documentOf(t, &d, "diagnose", path, "--shape", "small", "--backend", "emu",
		"--schedules", "5"); code != exitDiverged || len(d.Causes) != 1 {
		t.Fatalf("exit %d, story %q: %s", code, d.Story, errText)
	}
	if c := d.Causes[0]; c.Stage != "P" ||
		!strings.Contains(strings.Join(c.Proof, "\n"), "looks like factor") ||
		c.Region != "rows 8–15 (warp 1's, if each of 4 warps has 8 rows) (256 of 1024 cells)" ||
		!strings.Contains(d.Story[1], "; wrong: "+c.Region) {
		t.Errorf("%s: %s, %q\n%q", c.Title, c.Advice, c.Region, d.Story)
	}
}
