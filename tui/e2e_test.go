//go:build unix

package tui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProgram drives the built program through a pseudo-terminal: a real kernel, executed, judged and drawn.
func TestProgram(t *testing.T) {
	program := buildProgram(t)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			firstLight(t, program, size[0], size[1])
		})
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, string)
	}{ // of keys and answers that come apart in time, or not
		{"escape", escapeThenCommand}, {"answers", answersOfTerminals}, {"superseded", superseded},
		{"suspended", suspended}, {"signals", signalled},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, program) })
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, string)
	}{
		{"small", tooSmall}, {"resized", resized}, {"no colour", noColour}, {"ascii", asciiOnly},
		{"cancelled", cancelled}, {"mouse", mouseMoves},
		{"remembered", remembers}, {"editor", editorReturns}, {"watched", watched}, {"saved", savedAndRun},
		{"interrupted", interrupted}, {"fragment", fragmentJudged}, {"versus", bisectedAndCompared},
		{"gates", gatesCancelled}, {"stepped", stepped}, {"toured", toured},
		{"hung up", hungUp}, {"closing", closesWhatIsOpen},
		{"out of range", outOfRange}, {"not built", cannotBeBuilt}, {"under way", anotherUnderWay},
		{"replayed", replayedOnce}, {"consent", consentAsked}, {"stageless", opensFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of a case is waiting for the program
			c.run(t, program)
		})
	}
}

// firstLight is what a stranger sees: a first frame, the verdict, a fault's effect, its first bad cell.
func firstLight(t *testing.T, program string, w, h int) {
	x := open(t, program, w, h, nil)
	x.shows("ts▸stage2", "1", "Pipe", "? help")
	x.shows("✓ AGREE", "output ok", "16 blocks", "4 kv tiles")
	x.press("4/p-stale-m\r ")
	x.shows("[x] p-stale-m", "✗ diverge P")
	x.opens("1")
	x.shows("✗ DIVERGE  guilty P 0,0,0 kv 1 · output fail · tainted U O")
	x.line("P  f16", "✗544", "✗48/64")
	x.line("U  f32", "~", "~48/64")
	x.line("O  f16", "~16/16")
	x.opens("2")
	x.shows("KERNEL f16")
	x.press("n")
	x.shows("P block 0,0,0 kv 1 cell 1,0")
	x.line("q1,k0", "k ", "0.4883 0x37D0", "✗ >")
	x.line("warp 0 lane", "smem 0x", "stored at ")
	x.press("?")
	x.shows("HELP")
	x.press("?")
	x.shows("KERNEL f16")
	x.leaves()
}

// opensFile opens a racy reduction that no manifest describes with the options of check: the race, its
// array's cells, an element of the result, who wrote it in another block, and back from there.
func opensFile(t *testing.T, program string) {
	home := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "debugkern", "checkrun", "testdata", "reduce-race.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "red.ptx"),
		append([]byte("// tilescope: --grid 4 --arg 0=iota:f32[1024]\n"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	x := openAt(t, program, home, 120, 40, nil, "red.ptx", "--block", "256", "--arg", "1=unwritten:f32[4]",
		"--arg", "2=1024")
	x.shows("ARGUMENTS", "errors", "race part", "missing: __syncthreads()", "4 of 4", "▸arg1")
	x.opens("2")
	x.press("ll")
	x.shows("arg1 after the launch f32[4]", "arg1[2]", "not written before the launch")
	x.press("w")
	x.shows("opens it · step", "stored at reduce.cu:12")
	x.press("w")
	x.shows("block 2,0,0", "before arg1[2] is written by warp 0 lane 0", "SHARED part f32")
	x.press("<")
	x.press("s")
	x.press("5")
	x.shows("race part[", "Every checker watched this run")
	x.leaves()
}

// stepped opens the block of the first bad cell at the write, steps there and back, asks who wrote the cell
// before, and runs to a breakpoint.
func stepped(t *testing.T, program string) {
	x := diverges(t, program, 120, 40)
	x.opens("8")
	x.shows("before P block 0,0,0 kv 1 cell 1,0 is written by warp 0 lane 0", "st.shared.u16",
		"REGISTERS warp 0", "SHARED sP f16")
	x.line("▸487", "sP[row][lane]")
	x.press("s")
	x.line("▸488", "__syncwarp")
	x.press("<")
	x.line("▸487", "sP[row][lane]")
	x.press("\t\t\tw")
	x.shows("write 1 of sP[1][0]", "kv 0", "not written yet")
	x.press("bU\x1b[Z\x1b[Z\x1b[Zr")
	x.shows("sP[1][0] changed", "breakpoint", "by instruction", "written at line 487")
	x.line("Δ487", "sP[row][lane]")
	x.press("R")
	x.shows("back at the block's start")
	x.leaves()
}

// toured goes through the first steps of `tilescope tour`, counts a motion in between, and leaves.
func toured(t *testing.T, program string) {
	x := open(t, program, 80, 24, nil, "tour")
	x.shows("TOUR 1/8", "✗ DIVERGE  guilty P")
	x.press("j")
	x.shows("TOUR 2/8", "▸U  f32")
	x.press("k\r")
	x.shows("TOUR 3/8", "KERNEL f16")
	x.press("n")
	x.shows("TOUR 4/8")
	x.press("gg0#5j")
	x.shows("q5,k0")
	x.press("\x1b")
	x.shows("the tour is left: :tour starts it again")
	x.leaves()
}

func tooSmall(t *testing.T, program string) {
	x := open(t, program, 20, 5, nil)
	x.shows("20×5 is too small", "80×24", "q quits")
	x.leaves()
}

func resized(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.resize(200, 60)
	x.until("frame of 200×60", func(l []string) bool {
		return len(l) == 60 && strings.Contains(l[59], "q quit")
	})
	x.resize(60, 20)
	x.shows("60×20 is too small")
	x.resize(120, 40)
	x.shows("✓ AGREE", "ALL BLOCKS")
	x.leaves()
}

// coloured matches an SGR sequence with a foreground or background.
var coloured = regexp.MustCompile(`\x1b\[([0-9;:]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;:m]`)

func noColour(t *testing.T, program string) {
	for _, c := range []struct {
		env     string
		colours bool
	}{{"NO_COLOR=1", false}, {"NO_COLOR=yes", false}, {"NO_COLOR=", true}} {
		x := diverges(t, program, 80, 24, c.env)
		x.press("2z")
		x.shows("heat: map")
		x.leaves()
		if got := coloured.FindString(x.output()); (got != "") != c.colours {
			t.Errorf("%s: colour sequence %q, expected any: %t", c.env, got, c.colours)
		}
	}
}

func asciiOnly(t *testing.T, program string) {
	for _, env := range []string{"TERM=dumb", "LANG=C"} {
		x := open(t, program, 80, 24, []string{env}, "--fault", "p-stale-m")
		x.shows("DIVERGE", "guilty P 0,0,0 kv 1")
		x.opens("2")
		x.press("n")
		x.shows("KERNEL f16", "q1,k0")
		x.leaves()
		if i := strings.IndexFunc(x.output(), func(r rune) bool { return r > 0x7e }); i >= 0 {
			t.Errorf("%s: wrote %q", env, x.output()[i:min(len(x.output()), i+12)])
		}
	}
}

// superseded toggles two faults without waiting: the verdict is that of what is on in the end,
// whatever ran in between.
func superseded(t *testing.T, program string) {
	x := open(t, program, 120, 40, nil)
	x.shows("? help")
	x.press("4/u-no-rescale\r ")
	x.shows("[x] u-no-rescale")
	x.press(" /p-stale-m\r ")
	x.shows("[ ] u-no-rescale", "[x] p-stale-m", "✗ diverge P")
	x.press("1")
	x.shows("guilty P 0,0,0 kv 1")
	x.leaves()
}

func cancelled(t *testing.T, program string) {
	x := agrees(t, program, 120, 40)
	x.press(":shape long\r")
	x.shows("long", "Esc cancels")
	x.press("\x1b")
	x.shows("cancelled; x runs again", "long seed 0  not run")
	x.leaves()
}

// mouseMoves clicks a tab and a cell, and turns the wheel.
func mouseMoves(t *testing.T, program string) {
	x := diverges(t, program, 80, 24)
	x.press("\x1b[<0;10;2M\x1b[<0;10;2m") // on 2Tile
	x.shows("KERNEL f16", "q1,k0")
	x.press("\x1b[<0;13;9M\x1b[<0;13;9m") // on row 4, column 1
	x.line("q4,k1")
	x.press("\x1b[<65;13;9M") // the wheel, downwards
	x.line("q7,k1")
	x.leaves()
}

// remembers leaves in the Tile view on a cell and comes back there.
func remembers(t *testing.T, program string) {
	state := "XDG_STATE_HOME=" + t.TempDir()
	x := agrees(t, program, 80, 24, state)
	x.press(":fault p-stale-m\r")
	x.shows("✗ DIVERGE")
	x.press("2:goto 5,3\r")
	x.line("q5,k3")
	x.leaves()
	x = open(t, program, 80, 24, []string{state})
	x.shows("KERNEL f16", "✗ diverge P")
	x.line("q5,k3")
	x.leaves()
}

// editorReturns hands the terminal to an editor and takes it back.
func editorReturns(t *testing.T, program string) {
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"editing $*\"\nread line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := agrees(t, program, 120, 40, "EDITOR="+script, "VISUAL="+script)
	x.press("e")
	x.shows("e again opens a read-only copy")
	x.press("e")
	x.shows("editing ", "tilescope-read-only-copy-")
	x.press("\r")
	x.shows("✓ AGREE", "ALL BLOCKS", "was a read-only copy")
	x.press("2")
	x.shows("KERNEL f16")
	x.leaves()
}

// watched changes the configuration under the running program, which runs again as if a key had been pressed.
func watched(t *testing.T, program string) {
	x := agrees(t, program, 120, 40)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(x.cmd.Dir, "tilescope.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("faults: [p-stale-m]\n")
	x.shows("✗ DIVERGE  guilty P 0,0,0 kv 1")
	write("faults: [p-stale-m\n")
	x.shows("tilescope.yaml:")
	write("shape: small\n")
	x.shows("small", "✓ AGREE", "1 block ·")
	x.leaves()
}

// interrupted ends by Ctrl-C when nothing runs.
func interrupted(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.press("\x03")
	x.quits()
}

// suspended stops under a shell with job control and comes back; without one, as a session's
// leader, it refuses.
func suspended(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.press("\x1a")
	x.shows("cannot be suspended")
	x.leaves()

	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here: job control is not tried")
	}
	x = open(t, shell, 80, 24, []string{"PS1=shell> "}, "--norc", "--noprofile", "-i")
	x.shows("shell>")
	x.press(program + "\r")
	x.shows("✓ AGREE")
	x.press("\x1a")
	x.shows("Stopped")
	x.press("fg\r")
	x.shows("✓ AGREE", "resumed")
	x.press("2")
	x.shows("KERNEL f16")
	x.press("q")
	x.shows("shell>")
	x.press("exit\r")
	x.quits()
}
