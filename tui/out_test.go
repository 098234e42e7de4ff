package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// TestDumpWritesATile: :dump FILE.csv and FILE.npy write the tile under the cursor, whole, or what it is
// compared with; a file of another type, or one that exists, stays.
func TestDumpWritesATile(t *testing.T) {
	dir := t.TempDir()
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	d.command("stage P").command("kv 1").command("yank tile csv")
	at := d.m.PlaceOf(d.m.Cursor)
	v, err := d.m.Run.Viewer.View(at.Place)
	if err != nil {
		t.Fatal(err)
	}
	csv, array := filepath.Join(dir, "p of kv.csv"), filepath.Join(dir, "p.npy")
	d.command("dump " + csv).hasStatus(": P block ")
	text, _ := os.ReadFile(csv)
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); len(lines) != v.ValidRows ||
		len(strings.Split(lines[0], ",")) != v.ValidCols || lines[0] == lines[1] {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
	d.command("dump " + csv).hasStatus(" exists: :dump! ")
	d.command("dump! " + csv + " reference").hasStatus(": the reference of P block ")
	if again, _ := os.ReadFile(csv); string(again) == string(text) {
		t.Error("the reference is the kernel's tile")
	}
	d.command("dump " + array).hasStatus("wrote " + array)
	own, _ := os.ReadFile(array)
	d.command("dump! " + array + " reference").hasStatus("wrote " + array)
	if ref, _ := os.ReadFile(array); !bytes.Contains(own, []byte("'<f2'")) ||
		!bytes.Contains(ref, []byte("'<f8'")) {
		t.Errorf("the kernel's array is %.80q, the reference's %.80q", own, ref)
	}
	other := filepath.Join(dir, "k.cu")
	if err := os.WriteFile(other, []byte("int x;"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.command("dump! " + other).hasStatus("a tile as .csv or .npy")
	d.command("yank tile csv " + csv).hasStatus(":dump FILE.csv")
	if b, _ := os.ReadFile(other); string(b) != "int x;" {
		t.Errorf("another file was replaced: %q", b)
	}
}

func TestDumpWritesTheRun(t *testing.T) {
	dir := t.TempDir()
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	path := filepath.Join(dir, "run.npz")
	d.command("dump " + path).hasStatus("wrote " + path + ", 4 bytes: stage2 p-stale-m")
	d.command("dump " + path).hasStatus(path + " exists: :dump! " + path + " replaces it")
	d.command("dump! " + path).hasStatus("wrote ")
	doc := filepath.Join(dir, "run.json")
	d.command("dump " + doc).hasStatus("wrote " + doc)
	text, err := os.ReadFile(doc)
	var r report.Run
	if err != nil || json.Unmarshal(text, &r) != nil || r.Verdict != report.Diverge {
		t.Errorf("the document: %v, %s", err, text)
	}
	for arg, want := range map[string]string{
		"run.txt": "as .npz (captures) or .json", filepath.Join(dir, "none", "a.npz"): "cannot write in",
		"/dev/null.npz": "permission denied",
	} {
		if arg == "/dev/null.npz" && os.Getuid() == 0 {
			continue
		}
		d.command("dump " + arg).hasStatus(want)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.npz"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.command("dump " + filepath.Join(dir, "folder.npz")).hasStatus("is a directory; name a file")
	if list, _ := os.ReadDir(dir); len(list) != 3 {
		t.Errorf("%d files are left: %v", len(list), list)
	}
}

// TestDumpsWaitForTheirTurn: a file asked for during other work is written after it, as the run was then.
func TestDumpsWaitForTheirTurn(t *testing.T) {
	dir := t.TempDir()
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	if !d.m.Begin("the bisection") {
		t.Fatal("something runs")
	}
	var paths []string
	for _, name := range []string{"a.json", "b.json"} {
		paths = append(paths, filepath.Join(dir, name))
		d.command("dump " + paths[len(paths)-1])
		d.hasStatus("writing " + name + " begins when the bisection has ended, or is cancelled by Esc")
		if s := d.text(); !strings.Contains(s, "the bisection · Esc cancels") {
			t.Errorf("nothing says what runs:\n%s", s)
		}
	}
	d.command("fault none")
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Fatalf("written during other work: %v", list)
	}
	d.press("esc").hasStatus("wrote " + paths[1])
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "p-stale-m") {
			t.Errorf("%s: %v, %.200s", path, err, text)
		}
	}
}

// TestEveryWriteFails: whatever step of writing fails, the reason and the path are said, and nothing is left.
func TestEveryWriteFails(t *testing.T) {
	for _, step := range []file.Step{file.StepCreate, file.StepWrite, file.StepSync, file.StepRename} {
		dir := t.TempDir()
		path := filepath.Join(dir, "run.npz")
		d := started(t, 120, 40, plainLook, func(o *Options) {
			o.Files = file.Failing(func(s file.Step, _ string) error {
				if s == step {
					return errors.New("the disk says no")
				}
				return nil
			})
		})
		d.command("dump " + path)
		d.hasStatus("the disk says no")
		d.hasStatus(path)
		if list, _ := os.ReadDir(dir); len(list) != 0 {
			t.Errorf("%s: left behind: %v", step, list)
		}
	}
}

func TestReportDiagnosesWhereNothingIsKnown(t *testing.T) {
	dir := t.TempDir()
	races := &tuitest.Races{Bare: true}
	d := started(t, 120, 40, plainLook, withRequest(faulty), withRaces(races))
	path := filepath.Join(dir, "a.html")
	d.command("report " + path).hasStatus("wrote " + path)
	if races.Diagnosed != 1 {
		t.Errorf("%d diagnoses", races.Diagnosed)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "<html") {
		t.Errorf("the page: %v, %.80s", err, text)
	}
	d.command("report " + path).hasStatus("exists: :report! ")
	if races.Diagnosed != 1 {
		t.Error("diagnosed for a file that cannot be written")
	}
	d.open(view.Races).press("d")
	again := filepath.Join(dir, "b.html")
	d.command("report " + again).hasStatus("the diagnosis in Races")
	if races.Diagnosed != 2 {
		t.Errorf("%d diagnoses after one in Races was reported", races.Diagnosed)
	}
	d = started(t, 120, 40, plainLook, withRequest(faulty), withRaces(races))
	d.command("report " + filepath.Join(dir, "c.html")).open(view.Races)
	if n := races.Diagnosed; able[diagnosing](d.m.views)[0].Diagnosis() == nil {
		t.Error("Races does not have the diagnosis that the page is of")
	} else if d.command("diagnose"); races.Diagnosed != n {
		t.Error("it is made a second time")
	}
	d.command("report a.pdf").hasStatus("a report is a page, FILE.html")
}

// TestReportWaitsForTheDiagnosisUnderWay: it is not made a second time; what else is written meanwhile does
// not wait for it, and a diagnosis that is cancelled writes nothing and says so.
func TestReportWaitsForTheDiagnosisUnderWay(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a.html")
	for _, cancelled := range []bool{false, true} {
		races := &tuitest.Races{Bare: true, Hold: make(chan struct{})}
		d := started(t, 120, 40, plainLook, withRequest(faulty), withRaces(races)).open(view.Races)
		d.Manual = true
		d.press("d")
		diagnosis := d.Kept[len(d.Kept)-1]().(tea.BatchMsg)
		ended := make(chan tea.Msg)
		go func() { ended <- diagnosis[0]() }()
		d.Manual = false
		if d.press("d").hasStatus("this diagnosis is running: Esc cancels it"); races.Diagnosed > 1 {
			t.Error("a second d begins it anew")
		}
		d.command("report " + page).hasStatus("is written when the diagnosis in Races has ended")
		d.command("dump " + filepath.Join(dir, fmt.Sprintf("%t.json", cancelled))).hasStatus("wrote ")
		if _, err := os.Stat(page); err == nil {
			t.Fatal("written before the diagnosis has ended")
		}
		says, pages := "wrote "+page, 1
		if cancelled {
			d.press("esc")
			says, pages = page+" was not written: the diagnosis in Races was cancelled", 0
		} else {
			close(races.Hold)
		}
		_, cmd := d.m.Update(<-ended)
		d.Do(cmd)
		d.hasStatus(says)
		if _, err := os.Stat(page); races.Diagnosed != 1 || (err == nil) != (pages == 1) {
			t.Errorf("cancelled %t: %d diagnoses, the page: %v", cancelled, races.Diagnosed, err)
		}
		os.Remove(page)
	}
}

// TestLeavingAsksForFilesOnTheirWay: q and :quit leave at once, but where a file that was asked for is not
// written yet they say so, and leave the second time.
func TestLeavingAsksForFilesOnTheirWay(t *testing.T) {
	for _, leave := range []func(d *driver) *driver{
		func(d *driver) *driver { return d.press("q") },
		func(d *driver) *driver { return d.command("quit") },
	} {
		races := &tuitest.Races{Bare: true, Hold: make(chan struct{})}
		d := started(t, 120, 40, plainLook, withRequest(faulty), withRaces(races)).open(view.Races)
		d.Manual = true
		d.press("d")
		d.Manual = false
		d.command("report " + filepath.Join(t.TempDir(), "a.html"))
		if leave(d); d.Quit {
			t.Fatal("it leaves, and the page is never written")
		}
		d.hasStatus("writing a.html has not ended: q again leaves without it")
		if d.press("j"); d.Quit {
			t.Fatal("j leaves")
		}
		if leave(d); d.Quit {
			t.Error("it leaves the first time after another key")
		}
		if leave(d); !d.Quit {
			t.Error("it does not leave the second time")
		}
		close(races.Hold)
	}
	d := started(t, 120, 40, plainLook, withRequest(faulty), withRaces(&tuitest.Races{Bare: true}))
	d.Manual = true
	d.press("d")
	d.Manual = false
	if d.press("q"); !d.Quit {
		t.Error("a diagnosis that no file waits for keeps q from leaving")
	}
}

func TestOwnCopiesAnEmbeddedKernel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	d.command("own " + dir).hasStatus("opens it, with a compiler")
	for _, name := range []string{"sdpa_fp8_stage_c_wmma.yaml", "sdpa_fp8_stage_c_wmma.cu", "cp_async.cuh"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	d.command("own " + dir).hasStatus("exists; name another directory")
	// a variant that is not the file's default is opened with its flags
	other := started(t, 160, 40, plainLook, withRequest(debugkern.Request{Target: "stage1"}))
	other.command("own " + filepath.Join(t.TempDir(), "1")).
		hasStatus("sdpa_fp8_stage_c_wmma.yaml --set USE_WMMA_PV=0 opens it")
	d = started(t, 120, 40, plainLook, withRequest(debugkern.Request{
		Target: filepath.Join(dir, "sdpa_fp8_stage_c_wmma.yaml")}))
	d.command("own " + dir).hasStatus("is a file of your own already")
}

// :own asks for a directory, and offers no file.
func TestOwnOffersFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kernel.cu", "run.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "kernels"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := started(t, 200, 60, plainLook)
	for range 50 { // the directory is read in the background
		d.press("esc", ":").Type("own " + dir + "/")
		if strings.Contains(d.Text(), "kernels/") {
			break
		}
	}
	if s := d.Text(); !strings.Contains(s, "kernels/") || strings.Contains(s, "kernel.cu") ||
		strings.Contains(s, "run.json") {
		t.Errorf("offered:\n%s", s)
	}
}

func TestYank(t *testing.T) {
	d := started(t, 120, 40, plainLook,
		withRequest(faulty)).command("stage P").command("goto 1,2").open(view.Tile)
	copied := func() string {
		for i := len(d.Msgs) - 1; i >= 0; i-- {
			if m, ok := d.Msgs[i].(copiedMsg); ok {
				return m.text
			}
		}
		return ""
	}
	d.command("yank row csv").hasStatus("row 1 of P, 32 cells, as CSV")
	row := copied()
	if n := strings.Count(row, ","); n != 31 {
		t.Errorf("%d commas in %q", n, row)
	}
	d.command("yank tile").hasStatus("P, 32×32, as CSV")
	if lines := strings.SplitAfter(copied(), "\n"); len(lines) != 33 || lines[1] != row {
		t.Errorf("%d lines, the second %q", len(lines), lines[1])
	}
	d.command("yank cell").hasStatus("q1,k2 as CSV")
	if got, want := copied(), strings.Split(row, ",")[2]+"\n"; got != want {
		t.Errorf("the cell is %q, expected %q", got, want)
	}
	d.command("yank numpy tile").hasStatus("as NumPy")
	if got := copied(); !strings.HasPrefix(got, "np.array([[") || !strings.HasSuffix(got,
		"dtype=np.float16)\n") {
		t.Errorf("%.40q … %.40q", got, got[max(0, len(got)-40):])
	}
	d.command("yank tile reference").hasStatus("P of the reference")
	if copied() == "" || strings.HasPrefix(copied(), row) {
		t.Error("the reference is the kernel's")
	}
	d.command("yank").hasStatus("copied by OSC 52")
	d.command("yank column").hasStatus("expected cell, row or tile")
	d.command("yank csv numpy").hasStatus("expected cell, row or tile")
}

// TestLargeCopiesSaySo: above what every terminal takes, and above what is copied at all.
func TestLargeCopiesSaySo(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	d.m.copyOut(strings.Repeat("x", safeYank), "it")
	if contains(d.m.Status.Text, "cut it") {
		t.Errorf("warned of %q", d.m.Status.Text)
	}
	d.m.copyOut(strings.Repeat("x", safeYank+1), "it")
	d.hasStatus("many terminals cut it above 74.0 kB")
}

func TestCommandIsShownAndCopied(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(debugkern.Request{Target: "stage2", Shape: "small",
		Faults: []string{"p-stale-m"}, Schedule: "random:7", Seed: 12345}))
	d.command("command")
	want := "tilescope run stage2 --fault p-stale-m --shape small --seed 12345 --schedule random:7"
	if got := d.Msgs[len(d.Msgs)-1]; got != (copiedMsg{want}) {
		t.Errorf("copied %v", got)
	}
	flat := strings.Join(strings.Fields(strings.ReplaceAll(d.text(), "│", " ")), " ")
	if !contains(flat, want) {
		t.Errorf("not shown in full:\n%s", d.text())
	}
}

func TestFileNamesAreCompleted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"alpha.h", "alps.h", ".hidden.h"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "alto"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := started(t, 120, 40, plainLook)
	for command, want := range map[string][]string{
		"header " + dir + "/al": {"alpha.h", "alps.h", "alto/"}, "dump " + dir + "/al": {"alto/"},
		"header " + dir + "/.": {".hidden.h"}, "header " + dir + "/x": nil,
	} {
		name, _, _ := strings.Cut(command, " ")
		var got []string
		offered, _ := d.m.palette().complete(command)
		for _, c := range offered {
			got = append(got, strings.TrimPrefix(c.Line, name+" "+dir+"/"))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, expected %v", command, got, want)
		}
	}
}

// TestWrittenFilesAreOfTheirType: a command that writes a file offers folders and files that it could
// replace, and where there is none says what it takes.
func TestWrittenFilesAreOfTheirType(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"k.cu", "a.npz", "a.json"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := started(t, 120, 40, plainLook)
	d.press(":").typed("report").press("enter")
	if s := d.text(); !strings.Contains(s, "FILE.html: write the page") ||
		strings.Contains(s, "report k.cu") {
		t.Errorf("of a page:\n%s", s)
	}
	d.press("esc", ":").typed("dump ")
	if s := d.text(); !strings.Contains(s, "dump a.npz") || !strings.Contains(s, "dump a.json") {
		t.Errorf("of a run:\n%s", s)
	}
}
