//go:build unix

package tui

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// patience is how long a test waits for a condition on the screen before it fails. Nothing is ever slept.
const patience = 15 * time.Second

// terminal is the built program in a pseudo-terminal, its screen kept by a virtual terminal.
type terminal struct {
	t    testing.TB
	cmd  *exec.Cmd
	tty  *os.File
	born time.Time

	typing sync.Mutex  // the input: sequences are sent whole
	torn   atomic.Bool // trickles has paused for tornAfter within a sequence, or for longer

	mu      sync.Mutex
	screen  *vt.Emulator
	raw     []byte        // everything the program wrote
	written chan<- []byte // to whoever answers it; nil: the virtual terminal does
	changed chan struct{} // closed and replaced at every write
	ended   chan struct{}
	exit    error
}

// buildProgram makes the program and returns its path. The package under test is part of it, so this is the
// program of this checkout.
func buildProgram(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tilescope")
	out, err := exec.Command("go", "build", "-o", path, "tilescope").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// open starts the program in a terminal of w×h, away from the files of whoever runs the tests. Variables in
// env go over the usual ones; HOME is a directory of its own in which a test may put a configuration.
func open(t testing.TB, program string, w, h int, env []string, args ...string) *terminal {
	t.Helper()
	return openAt(t, program, t.TempDir(), w, h, env, args...)
}

// openAt is open with a directory that is HOME and the working directory.
func openAt(t testing.TB, program, home string, w, h int, env []string, args ...string) *terminal {
	t.Helper()
	return openWith(t, program, home, w, h, nil, env, args...)
}

// openWith is openAt in a terminal that answers what is written to it by a function, called for one piece of
// output after the other; nil: as the virtual terminal does.
func openWith(t testing.TB, program, home string, w, h int, answer func(x *terminal, written []byte),
	env []string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = home
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"XDG_CACHE_HOME=" + home, "LANG=C.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor",
	}, env...)
	x := &terminal{
		t: t, cmd: cmd, screen: vt.NewEmulator(w, h), changed: make(chan struct{}),
		ended: make(chan struct{}), born: time.Now(),
	}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	x.tty = tty
	replies := make(chan struct{})
	go func() { // the terminal's answers to queries; its writes block until they are read
		defer close(replies)
		buf := make([]byte, 256)
		for {
			n, err := x.screen.Read(buf)
			if err != nil {
				return
			}
			if answer != nil {
				continue
			}
			if _, err := tty.Write(buf[:n]); err != nil {
				continue // the program has gone; keep reading, so that nothing blocks
			}
		}
	}()
	written := make(chan []byte, 1024)
	if answer != nil {
		x.written = written
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for piece := range written {
			answer(x, piece)
		}
	}()
	go x.listen()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-x.ended
		close(written)
		<-answered
		_ = tty.Close()
		// ends the goroutine's read; Close itself would race with it
		_ = x.screen.InputPipe().(io.Closer).Close()
		<-replies
	})
	return x
}

// agrees starts the program and waits until the clean kernel has agreed.
func agrees(t testing.TB, program string, w, h int, env ...string) *terminal {
	t.Helper()
	x := open(t, program, w, h, env)
	x.shows("✓ AGREE")
	return x
}

// diverges starts the program with a planted fault and waits until it is found.
func diverges(t testing.TB, program string, w, h int, env ...string) *terminal {
	t.Helper()
	x := open(t, program, w, h, env, "--fault", "p-stale-m")
	x.shows("✗ DIVERGE")
	return x
}

// listen feeds the virtual terminal until the program has ended and everything it wrote is read.
func (x *terminal) listen() {
	buf := make([]byte, 1<<16)
	for {
		n, err := x.tty.Read(buf)
		x.mu.Lock()
		x.raw = append(x.raw, buf[:n]...)
		if x.written != nil {
			x.written <- slices.Clone(buf[:n])
		}
		_, _ = x.screen.Write(buf[:n])
		close(x.changed)
		x.changed = make(chan struct{})
		x.mu.Unlock()
		if err != nil {
			x.exit = x.cmd.Wait()
			close(x.ended)
			return
		}
	}
}

// lines are the screen's, without styles and trailing blanks. The caller holds the lock.
func (x *terminal) lines() []string {
	out := make([]string, x.screen.Height())
	for y := range out {
		var b strings.Builder
		for i := range x.screen.Width() {
			if c := x.screen.CellAt(i, y); c != nil && c.Content != "" {
				b.WriteString(c.Content)
			} else {
				b.WriteByte(' ')
			}
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.lines(), "\n")
}

// until waits for a condition on the screen and returns how long after the start it held.
func (x *terminal) until(what string, holds func(lines []string) bool) time.Duration {
	x.t.Helper()
	late := time.After(patience)
	for {
		x.mu.Lock()
		lines, changed := x.lines(), x.changed
		x.mu.Unlock()
		if holds(lines) {
			return time.Since(x.born)
		}
		select {
		case <-changed:
		case <-x.ended:
			if lines = strings.Split(x.text(), "\n"); holds(lines) {
				return time.Since(x.born)
			}
			x.t.Fatalf("the program ended (%v) before %s:\n%s", x.exit, what, x.text())
		case <-late:
			x.t.Fatalf("no %s:\n%s", what, x.text())
		}
	}
}

// shows waits for texts that all stand on the screen.
func (x *terminal) shows(texts ...string) time.Duration {
	x.t.Helper()
	return x.until(fmt.Sprintf("%q", texts), func(lines []string) bool {
		screen := strings.Join(lines, "\n")
		return !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(screen, s) })
	})
}

// line waits for one line on which all parts stand.
func (x *terminal) line(parts ...string) {
	x.t.Helper()
	x.until(fmt.Sprintf("line with %q", parts), func(lines []string) bool {
		return slices.ContainsFunc(lines, func(l string) bool {
			return !slices.ContainsFunc(parts, func(s string) bool { return !strings.Contains(l, s) })
		})
	})
}

// press types keys as a terminal sends them.
func (x *terminal) press(keys string) {
	x.t.Helper()
	x.typing.Lock()
	defer x.typing.Unlock()
	if _, err := x.tty.WriteString(keys); err != nil {
		x.t.Fatalf("typing %q: %v", keys, err)
	}
}

// tornAfter is a pause within a sequence after which the program may take it as keys: the library waits for
// 50 ms, and either side may be late.
const tornAfter = 30 * time.Millisecond

// trickles sends one sequence byte by byte, with no key in it. Where the program has ended nobody reads it.
func (x *terminal) trickles(sequence string, pause time.Duration) {
	x.typing.Lock()
	defer x.typing.Unlock()
	last := time.Now()
	for i, b := range []byte(sequence) {
		_, _ = x.tty.Write([]byte{b})
		now := time.Now()
		if i > 0 && now.Sub(last) >= tornAfter {
			x.torn.Store(true)
		}
		last = now
		time.Sleep(pause)
	}
}

// opens presses a view's number key, and waits until the view is shown, and so long that a motion after it is
// not taken for somebody's count, which would be explained to them.
func (x *terminal) opens(key string) {
	x.t.Helper()
	x.press(key)
	x.until("view "+key, func(l []string) bool { return len(l) > 1 && strings.Contains(l[1], "["+key) })
	time.Sleep(hurry + 50*time.Millisecond)
}

// resize changes the terminal's size.
func (x *terminal) resize(w, h int) {
	x.mu.Lock()
	x.screen.Resize(w, h)
	x.mu.Unlock()
	if err := pty.Setsize(x.tty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		x.t.Fatalf("resize: %v", err)
	}
}

// leaves presses the key that quits.
func (x *terminal) leaves() {
	x.t.Helper()
	x.press("q")
	x.quits()
}

// quits waits for the program's end and fails unless it left with a code of 0 and gave the screen back.
func (x *terminal) quits() {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.t.Fatalf("the program did not end:\n%s", x.text())
	}
	if x.exit != nil {
		x.t.Errorf("the program left with %v", x.exit)
	}
	if x.screen.IsAltScreen() {
		x.t.Error("the alternate screen was not given back")
	}
}

// output is everything the program wrote so far.
func (x *terminal) output() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.raw)
}
