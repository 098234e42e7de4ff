package tui_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/npy/npytest"
	"tilescope/debugkern/trust"
	"tilescope/tui"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// compared is a terminal on the reduction of debugkern/checkrun/testdata, of ones, whose output is compared
// as a manifest's keys say. Its folder has ref.npz, in which the third of four sums is wrong.
func compared(t *testing.T, w, h int, keys string) (*tuitest.Driver, *tui.Model, string) {
	t.Helper()
	dir := t.TempDir()
	ptx, err := os.ReadFile(filepath.Join("..", "debugkern", "checkrun", "testdata", "reduce.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := `schema: tilescope.kernel/1
name: k
ptx: k.ptx
entry: reduce
launch: {grid: [4, 1, 1], block: [256, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [1024], role: input, fill: ones}
  - {name: out, type: "f32*", dims: [4], role: output, ` + keys + `}
  - {name: n, type: i32, value: 1024}
`
	for name, content := range map[string][]byte{
		"k.ptx": ptx, "k.yaml": []byte(manifest), "ref.npz": npytest.Archive(npytest.Floats("out", npy.F64,
			[]int{4}, 256, 256, 257, 256)),
		"good.npz": npytest.Archive(npytest.Floats("out", npy.F64, []int{4}, 256, 256, 256, 256)),
		"ref.sh":   []byte("cp good.npz $2\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	policy := &trust.Policy{Record: &trust.Record{Path: filepath.Join(t.TempDir(), "trust.json")}}
	s, err := debugkern.Open(t.Context(), debugkern.Options{Config: &configs.Config{CaptureMax: 1 << 30},
		Trust: policy})
	if err != nil {
		t.Fatal(err)
	}
	req := debugkern.Request{Target: filepath.Join(dir, "k.yaml"), Backend: "emu"}
	m := tui.New(context.Background(), tui.Options{Engine: s, Request: req, Explicit: true,
		Pace: view.Pace{Quiet: 1, Pulse: -1}, Settle: 1}, tui.Look{Profile: colorprofile.ASCII})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	d := &tuitest.Driver{T: t, Screen: m}
	d.Do(m.Init())
	return d, m, dir
}

// TestReferenceOfArgument: an output that is compared has a verdict in Pipe, its reference and error in Tile,
// and a bad element that n goes to and w finds the writer of.
func TestReferenceOfArgument(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d, m, _ := compared(t, size[0], size[1], "reference: {npz: ref.npz}")
		says(t, m, "ARGUMENTS", "DIVERGE", "guilty out", "wrong 1", "verdict", "before  ones")
		lacks(t, m, "no reference", "NO ERROR", "kv")
		d.Press("2")
		says(t, m, "REFERENCE", "ERROR", "out[2]", "256.00", "257.00")
		lacks(t, m, "BEFORE", "no reference")
		d.Press("0", "n")
		says(t, m, "out[2]")
		d.Press("w")
		says(t, m, "warp 0 lane ")
		d.Press("1")
		if size[1] >= 40 {
			for range 3 {
				d.Press("K")
			}
			d.Press("J")
		}
		d.Type(":stage out")
		d.Press("enter")
		if size[1] >= 40 {
			says(t, m, "compared with ref.npz, rtol 1.3e-06, atol 1e-05", "first bad",
				"got 256.0000, want 257.0000")
		}
	}
	_, m, _ := compared(t, 120, 40, "reference: {npz: good.npz}")
	says(t, m, "AGREE", "✓ ok")
	lacks(t, m, "no reference")
}

// TestReferenceConsent: a command of a folder that is not trusted is asked about, and executed after a yes.
func TestReferenceConsent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of this test is a shell script")
	}
	d, m, dir := compared(t, 120, 40, "reference: {command: [sh, ref.sh]}")
	says(t, m, "TRUST ", "Commands that manifests in this directory", "it is not trusted")
	if !strings.Contains(screen(m), filepath.Base(dir)) {
		t.Errorf("the folder is not named:\n%s", screen(m))
	}
	d.Press("y")
	says(t, m, "AGREE", "✓ ok")
	if m.Run == nil || m.Run.Report.Stage("out").Reference.Command[1] != "ref.sh" {
		t.Errorf("%+v", m.Run)
	}
}
