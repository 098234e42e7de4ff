//go:build unix

package tui

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// receiveHangUps lets programs started from here get the hang-up signal. A process hands a signal that it
// ignores on to its children as ignored, and one that nohup started ignores this one.
func receiveHangUps(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(c) })
}

// endsWithin is the most that the end may take after a signal: 100 ms, and what a loaded machine adds.
const endsWithin = 100*time.Millisecond + time.Second

// signalled sends every signal that ends the program: the terminal is left as it was found.
func signalled(t *testing.T, program string) {
	receiveHangUps(t)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE} {
		t.Run(sig.String(), func(t *testing.T) {
			found := untouched(t) // a program may have changed its own terminal's before they could be read
			x := open(t, program, 80, 24, nil)
			x.shows("✓ AGREE")
			if x.termios() == found {
				t.Fatal("the terminal was never in raw mode: this test shows nothing")
			}
			if err := x.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			sent := time.Now()
			x.ends()
			if took := time.Since(sent); took > endsWithin {
				t.Errorf("it ended %s after the signal, want %s", took.Round(time.Millisecond), endsWithin)
			}
			if x.screen.IsAltScreen() {
				t.Error("the alternate screen was not given back")
			}
			out := x.output()
			for name, mode := range map[string]string{
				"mouse": "1002", "mouse in SGR": "1006", "bracketed paste": "2004",
				"alternate screen": "1049",
			} {
				if on, off := strings.LastIndex(out, "\x1b[?"+mode+"h"),
					strings.LastIndex(out, "\x1b[?"+mode+"l"); on < 0 || off < on {
					t.Errorf("%s was left on", name)
				}
			}
			if show, hide := strings.LastIndex(out, "\x1b[?25h"),
				strings.LastIndex(out, "\x1b[?25l"); show < hide {
				t.Error("the cursor was left hidden")
			}
			if now := x.termios(); now != found {
				t.Errorf("terminal settings %+v, found %+v", now, found)
			}
		})
	}
}

// hungUp ends the session under the program, as a closed terminal window does: it does not outlive it. It
// holds a pipe open as long as it lives.
func hungUp(t *testing.T, program string) {
	receiveHangUps(t)
	alive := filepath.Join(t.TempDir(), "alive")
	if err := unix.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		f, err := os.Open(alive)
		if err == nil {
			_, err = io.ReadAll(f)
		}
		ended <- err
	}()
	x := open(t, "/bin/sh", 80, 24, nil, "-c", program+" </dev/tty 3>"+alive+" & wait")
	x.shows("✓ AGREE")
	if err := x.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the program outlives its terminal")
	}
}

// termios are the terminal's settings.
func (x *terminal) termios() unix.Termios {
	x.t.Helper()
	return settings(x.t, x.tty)
}

func settings(t testing.TB, tty *os.File) unix.Termios {
	t.Helper()
	out, err := unix.IoctlGetTermios(int(tty.Fd()), getTermios)
	if err != nil {
		t.Fatalf("terminal settings: %v", err)
	}
	return *out
}

// untouched are the settings that every new pseudo-terminal has.
func untouched(t testing.TB) unix.Termios {
	t.Helper()
	tty, other, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer tty.Close()
	defer other.Close()
	return settings(t, tty)
}

// ends waits for the program's end, however it ends.
func (x *terminal) ends() {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.t.Fatalf("the program did not end:\n%s", x.text())
	}
}

// escapeThenCommand sends Esc, a colon and a command in one write, as fast typing arrives.
func escapeThenCommand(t *testing.T, program string) {
	x := diverges(t, program, 80, 24)
	x.press("2")
	x.shows("KERNEL f16")
	x.press("\x1b:stage U\r2")
	x.shows("▸U▸", "KERNEL f32")
	x.press(":goto 9\x1b:goto 5,3\r")
	x.line("q5,d3")
	x.leaves()
}

// closesWhatIsOpen presses q over the help and over a prompt: only the bare screen is left by it.
func closesWhatIsOpen(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.press("?")
	x.shows("HELP")
	x.press("q")
	x.shows("✓ AGREE", "q quit")
	x.press(":q")
	x.shows(":q")
	x.press("\x1b")
	x.shows("q quit")
	x.leaves()
}

// outOfRange asks for what is not there, and reads why.
func outOfRange(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.press("2")
	x.shows("KERNEL f16")
	x.press(":goto 9999,0\r")
	x.shows("has no cell 9999,0: its rows are 0 to 31")
	x.press(":kv 99\r")
	x.shows("kv tile")
	x.press(":schedule sideways\r")
	x.shows("expected POLICY")
	x.press(":backend abacus\r")
	x.shows("expected auto, emu, cuda, both")
	x.leaves()
}

// cannotBeBuilt switches, without a compiler, to what is not in the archive: the reason is read whole, and
// the earlier verdict never stands without its own request.
func cannotBeBuilt(t *testing.T, program string) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		x := open(t, program, size[0], size[1], []string{
			"PATH=/nonexistent", "CUDA_HOME=", "CUDA_PATH=", "LD_LIBRARY_PATH=",
		})
		x.shows("✓ AGREE")
		x.press(":builder nvrtc\r")
		x.shows("NOT RUN", "cannot be built", "requested: stage2", "previous run: stage2 validation seed 0",
			":undo goes back to it", "builder nvrtc", "✗ failed")
		if strings.Contains(x.text(), "✓ AGREE") {
			t.Errorf("the earlier verdict stands:\n%s", x.text())
		}
		x.press(":revert\r")
		x.shows("✓ AGREE", "✓ agree")
		x.until("no trace of the failure", func(l []string) bool {
			return !strings.Contains(strings.Join(l, "\n"), "previous run")
		})
		x.leaves()
	}
}

// anotherUnderWay switches to a large shape: while it runs, and once it is cancelled, the verdict on screen
// is headed by its own request.
func anotherUnderWay(t *testing.T, program string) {
	x := agrees(t, program, 80, 24)
	x.press(":shape long\r")
	x.shows("running", "long", "previous run: stage2 validation seed 0", "Esc cancels")
	x.press("\x1b")
	x.shows("not run", "long", "previous run: stage2 validation seed 0")
	x.press(":shape validation\r")
	x.until("current verdict", func(l []string) bool {
		s := strings.Join(l, "\n")
		return strings.Contains(s, "✓ AGREE") && strings.Contains(l[0], "✓ agree") &&
			!strings.Contains(s, "previous run")
	})
	x.leaves()
}

// replayedOnce diagnoses a race, replays its worst schedule, and runs again: under the schedule from before.
func replayedOnce(t *testing.T, program string) {
	x := open(t, program, 120, 40, nil, "stage3b", "--fault", "softmax-race", "--shape", "small")
	x.shows("✗ diverge")
	x.press("5d")
	x.shows("STORY")
	x.press("p")
	x.shows("▸replay ")
	x.until("end of the replay", func(l []string) bool {
		return strings.Contains(l[0], "replay") && !strings.Contains(l[0], "running")
	})
	usual := func(l []string) bool {
		return !strings.Contains(l[0], "replay") && !strings.Contains(l[0], "schedule") &&
			strings.Contains(l[0], "●emu")
	}
	x.shows("replayed once under ")
	x.press("x")
	x.until("run under the usual schedule", usual)
	x.press("p")
	x.shows("▸replay ")
	x.press(":revert\r")
	x.until("run under the usual schedule after :revert", usual)
	x.leaves()
}
