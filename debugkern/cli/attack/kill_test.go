//go:build unix

package attack

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/creack/pty"
)

// victim is a command that writes files, and how to see that they are whole.
type victim struct {
	name     string
	args     []string
	file     string                                      // what it writes, for the comparison with a run that was not killed; "" where that differs each time
	whole    func(path string, last time.Duration) error // nil where the file is whole, or not there yet
	terminal bool
	keys     string // typed into the terminal after it has started
}

var allVictims = []victim{
	{name: "dump", args: []string{"run", "flashcore_vec", "--shape", "partial", "--dump", "d.npz"}, file: "d.npz", whole: wholeArchive},
	{name: "gates", args: []string{"gates", "flashcore_vec", "--shapes", "small", "--seeds", "0", "--backend", "emu", "--out", "g"}, whole: wholeDirectory},
	{name: "page", args: []string{"diagnose", "flashcore_vec", "--shape", "small", "--html", "d.html"}, file: "d.html", whole: wholePage},
	{name: "terminal", args: []string{"flashcore_vec", "--shape", "small"}, terminal: true, keys: "q"},
}

// kills is how often the first victim alone is killed without TILESCOPE_KILLS.
const kills = 8

// TestKill ends the program with SIGKILL at random moments. No file is torn, the next start removes what was left, and the next
// run is right. TILESCOPE_KILLS says how often (`make kill`: 300).
func TestKill(t *testing.T) {
	n, victims := kills, allVictims[:1]
	if s := os.Getenv("TILESCOPE_KILLS"); s != "" {
		var err error
		victims = allVictims
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for i, v := range victims {
		each := n / len(victims)
		if i == 0 {
			each += n % len(victims)
		}
		total += each
		t.Run(v.name, func(t *testing.T) { v.kill(t, each) })
	}
	fmt.Printf("kill: %d kills of %d commands\n", total, len(victims))
}

func (v victim) kill(t *testing.T, n int) {
	b, err := newBox(filepath.Join(t.TempDir(), "box"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	want := v.finish(t, b)
	took := time.Since(start)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	left := 0
	for range n {
		moment := time.Duration(rng.Int64N(int64(took) * 11 / 10))
		if err := v.start(b, moment, true); err != nil {
			t.Fatal(err)
		}
		left += len(leftovers(b))
		if v.whole != nil {
			if err := v.whole(b.work, moment); err != nil {
				t.Errorf("killed after %s: %v", moment, err)
			}
		}
		if got := v.finish(t, b); !bytes.Equal(got, want) {
			t.Errorf("the run after a kill at %s wrote other bytes", moment)
		}
		if more := leftovers(b); len(more) > 0 {
			t.Errorf("after a kill at %s and the next run there still is %q", moment, more)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills within %s; %d temporary files were left by them and removed", n, took.Round(time.Millisecond), left)
}

// finish runs the command to its end, and returns what it wrote.
func (v victim) finish(t *testing.T, b *box) []byte {
	t.Helper()
	if err := v.start(b, 0, false); err != nil {
		t.Fatal(err)
	}
	if v.whole != nil {
		if err := v.whole(b.work, -1); err != nil {
			t.Errorf("a run that was not killed: %v", err)
		}
	}
	if v.file == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(b.work, v.file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// patience is the most that a run that is not killed may take.
const patience = 60 * time.Second

// start runs the command in the box, and kills it at a moment, or waits for its end and wants exit code 0.
func (v victim) start(b *box, moment time.Duration, kill bool) error {
	cmd := b.command(context.Background(), []string{"TERM=xterm-256color"}, v.args...)
	var tty *os.File
	var err error
	read := make(chan struct{})
	if v.terminal {
		if tty, err = pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
			return err
		}
		defer tty.Close()
		go func() { defer close(read); _, _ = io.Copy(io.Discard, tty) }()
	} else {
		close(read)
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	end := time.After(patience)
	if kill {
		end = time.After(moment)
	}
	quit := time.NewTicker(100 * time.Millisecond)
	defer quit.Stop()
	if v.keys == "" {
		quit.Stop()
	}
	for {
		select {
		case err = <-ended:
			<-read
			if kill {
				return nil // it was quicker
			}
			if err != nil {
				err = fmt.Errorf("a run that was not killed: %w", err)
			}
			return err
		case <-quit.C:
			_, _ = io.WriteString(tty, v.keys)
		case <-end:
			_ = cmd.Process.Kill()
			<-ended
			if !kill {
				return errors.New("a run that was not killed does not end")
			}
			return nil
		}
	}
}

// leftovers are the temporary files in a box.
func leftovers(b *box) (all []string) {
	for path := range b.listing() {
		if temporary.MatchString(path) {
			all = append(all, path)
		}
	}
	return all
}

func wholeArchive(dir string, last time.Duration) error {
	z, err := zip.OpenReader(filepath.Join(dir, "d.npz"))
	if err != nil {
		return absent(err, last)
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			_, err = io.Copy(io.Discard, r) // compares the checksum at the end
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func wholePage(dir string, last time.Duration) error {
	text, err := os.ReadFile(filepath.Join(dir, "d.html"))
	if err != nil {
		return absent(err, last)
	}
	if !bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>")) {
		return errors.New("d.html is torn")
	}
	return nil
}

func wholeDirectory(dir string, last time.Duration) error {
	files, err := filepath.Glob(filepath.Join(dir, "g", "*.json"))
	for _, f := range files {
		text, rerr := os.ReadFile(f)
		if err = errors.Join(err, rerr); rerr == nil && !json.Valid(text) {
			err = errors.Join(err, fmt.Errorf("%s is torn", filepath.Base(f)))
		}
	}
	if last < 0 && len(files) < 3 {
		err = errors.Join(err, fmt.Errorf("%d artefacts", len(files)))
	}
	return err
}

// absent forgives a file that is not there where the program was killed.
func absent(err error, last time.Duration) error {
	if last >= 0 && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
