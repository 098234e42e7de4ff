//go:build unix

package tui

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/join"
	"tilescope/tui/tuitest"
)

// brokenEngine panics in the place that its name says.
type brokenEngine struct {
	*tuitest.Engine
	where string
}

func (e brokenEngine) Run(
	ctx context.Context, req debugkern.Request, progress func(debugkern.Progress),
) (*debugkern.Run, error) {
	switch e.where {
	case "run":
		panic("BUG: planted")
	case "goroutine":
		join.Run(func() { panic("BUG: planted") }).Wait()
	}
	return e.Engine.Run(ctx, req, progress)
}

// console is a pseudo-terminal in this process, and what was written to it.
type console struct {
	tty *os.File
	mu  sync.Mutex
	out bytes.Buffer
}

func newConsole(t *testing.T) *console {
	t.Helper()
	ptm, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	if err := pty.Setsize(ptm, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	c := &console{tty: tty}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 1<<12)
		for {
			n, err := ptm.Read(buf)
			c.mu.Lock()
			c.out.Write(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { tty.Close(); ptm.Close(); <-read })
	return c
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

func (c *console) settings(t *testing.T) unix.Termios {
	t.Helper()
	out, err := unix.IoctlGetTermios(int(c.tty.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return *out
}

// TestPanicGivesTheTerminalBack panics in a command's engine, and in a goroutine below it: the panic leaves
// Run as one, with nothing printed, after the terminal was given back and the state saved.
func TestPanicGivesTheTerminalBack(t *testing.T) {
	for _, where := range []string{"run", "goroutine"} {
		t.Run(where, func(t *testing.T) {
			c, dir := newConsole(t), t.TempDir()
			found := c.settings(t)
			o := Options{
				Engine: brokenEngine{tuitest.NewEngine(t), where}, Input: c.tty, Output: c.tty, StateDir: dir,
				Files:   file.New(),
				Environ: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
			}
			var bug *join.Panic
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				bug = join.Catch(func() { t.Errorf("Run returned %v", Run(context.Background(), o)) })
			}()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatalf("the terminal is still open:\n%s", c.text())
			}
			if bug == nil || bug.Error() != "BUG: planted" {
				t.Fatalf("panic %v, want the planted one", bug)
			}
			if now := c.settings(t); now != found {
				t.Errorf("terminal settings %+v, found %+v", now, found)
			}
			until := time.Now().Add(patience) // what was written reaches the other end a moment later
			for !strings.HasSuffix(c.text(), "\x1b[?1049l") && time.Now().Before(until) {
				time.Sleep(time.Millisecond)
			}
			if out := c.text(); !strings.HasSuffix(out, "\x1b[?1049l") || strings.Contains(out, "goroutine") {
				t.Errorf("the screen was not given back, or shows a trace: %q", out)
			}
			if _, err := os.Stat(filepath.Join(dir, "state.json")); err != nil {
				t.Errorf("the state was not saved: %v", err)
			}
		})
	}
}

// TestGuardReachesBatches catches the panic of a command within batches of batches.
func TestGuardReachesBatches(t *testing.T) {
	ended := false
	g := &guard{end: func() { ended = true }}
	fine := func() tea.Msg { return nil }
	broken := func() tea.Msg { panic("BUG: planted") }
	var run func(tea.Cmd)
	run = func(c tea.Cmd) {
		if batch, ok := c().(tea.BatchMsg); ok {
			for _, c := range batch {
				run(c)
			}
		}
	}
	run(g.command(tea.Batch(fine, tea.Batch(fine, broken))))
	if bug := join.Catch(g.raise); bug == nil || !ended {
		t.Errorf("raised %v, program ended: %v", bug, ended)
	}
}

// TestEndsWhileTheDiskIsBusy interrupts the terminal while the disk does not answer: it ends, and
// leaves no temporary file.
func TestEndsWhileTheDiskIsBusy(t *testing.T) {
	c, dir := newConsole(t), t.TempDir()
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{
		Engine: tuitest.NewEngine(t), Input: c.tty, Output: c.tty, StateDir: dir,
		Environ:  []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
		LastSave: 50 * time.Millisecond,
		Files: file.Failing(func(step file.Step, _ string) error {
			if step == file.StepSync {
				<-release
			}
			return nil
		}),
	}
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the terminal waits for the disk")
	}
	if names := entries(t, dir); !slices.Equal(names, []string{stateLock}) {
		t.Errorf("%v left", names)
	}
}

// TestGuardReachesTheModel catches the panics of a model that is not there in each of its methods.
func TestGuardReachesTheModel(t *testing.T) {
	for name, do := range map[string]func(painted){
		"Init": func(p painted) { p.Init() }, "Update": func(p painted) { p.Update(tea.WindowSizeMsg{}) },
		"View": func(p painted) { p.View() },
	} {
		ended := false
		g := &guard{end: func() { ended = true }}
		do(painted{guard: g, painter: newPainter(&bytes.Buffer{})})
		if bug := join.Catch(g.raise); bug == nil || !ended {
			t.Errorf("%s: raised %v, program ended: %v", name, bug, ended)
		}
	}
}
