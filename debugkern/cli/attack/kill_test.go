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
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/creack/pty"
)

// victim is a command that writes files, and how to see that they are whole. What it writes is
// the same each time.
type victim struct {
	name     string
	args     []string
	files    []string // what a whole run writes in the box; a run after a kill has to write the same bytes
	torn     func(path string) error
	terminal bool
	keys     string // typed into the terminal every half second
}

// allVictims take a second or less each, so that hundreds of kills, each followed by a whole run, take
// minutes. The sweep is of 24 runs and all gates; its speed is counted on a small shape, which takes most of
// a sweep's time otherwise.
var allVictims = []victim{
	{name: "dump", args: []string{"run", "flashcore_vec", "--shape", "validation", "--dump", "d.npz"},
		files: []string{"work/d.npz"}, torn: tornArchive},
	{
		name: "gates",
		args: []string{
			"gates", "flashcore_vec", "--shape", "small", "--shapes", "small,single16,single32,partial",
			"--seeds", "0-5", "--backend", "emu", "--out", "g",
		},
		files: []string{
			"work/g/COMPARE.md", "work/g/build_meta.json", "work/g/correctness_summary.json",
			"work/g/perf_baseline.json",
		}, torn: tornArtefact,
	},
	{name: "page", args: []string{"diagnose", "flashcore_vec", "--shape", "small", "--html", "d.html"},
		files: []string{"work/d.html"}, torn: tornPage},
	{name: "terminal", args: []string{"flashcore_vec", "--shape", "small"},
		files: []string{"state/tilescope/state.json"}, torn: tornArtefact, terminal: true, keys: "q"},
}

// kills is how often the first victim alone is killed without TILESCOPE_KILLS.
const kills = 4

// TestKill ends the program with SIGKILL at random moments. No file is torn, the next start removes what was
// left, and the next run is right. TILESCOPE_KILLS says how often (`make kill`: 300).
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
	left, hit := 0, 0
	for _, i := range rng.Perm(n) {
		// one in each n-th of the run
		moment := time.Duration((float64(i) + rng.Float64()) / float64(n) * 1.1 * float64(took))
		killed, err := v.start(b, moment, true)
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			hit++
		}
		left += len(leftovers(b))
		if err := v.whole(b, true); err != nil {
			t.Errorf("killed after %s: %v", moment, err)
		}
		if got := v.finish(t, b); !slices.Equal(got, want) {
			t.Errorf("the run after a kill at %s wrote other bytes", moment)
		}
		if more := leftovers(b); len(more) > 0 {
			t.Errorf("after a kill at %s and the next run there still is %q", moment, more)
		}
		if t.Failed() {
			return
		}
	}
	if hit < n/4 {
		t.Errorf("only %d of %d kills came before the command's own end: the test shows too little", hit, n)
	}
	t.Logf("%d kills within %s, %d of them before its end; %d temporary files were left by them and removed",
		n, took.Round(time.Millisecond), hit, left)
}

// finish runs the command to its end, and returns the files that it wrote.
func (v victim) finish(t *testing.T, b *box) (texts []string) {
	t.Helper()
	if _, err := v.start(b, 0, false); err != nil {
		t.Fatal(err)
	}
	if err := v.whole(b, false); err != nil {
		t.Errorf("a run that was not killed: %v", err)
	}
	for _, name := range v.files {
		text, err := os.ReadFile(filepath.Join(b.root, name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// whole returns what is wrong with the command's files. Where it was killed, a file may be absent, and files
// next to the command's, such as a sweep's unfinished entries, are whole too.
func (v victim) whole(b *box, killed bool) (wrong error) {
	for _, name := range v.files {
		if err := v.torn(filepath.Join(b.root, name)); err != nil &&
			!(killed && errors.Is(err, os.ErrNotExist)) {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(wrong, filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" || temporary.MatchString(path) {
			return err
		}
		return tornArtefact(path)
	}))
}

// patience is the most that a run that is not killed may take.
const patience = 60 * time.Second

// start runs the command in the box, and kills it at a moment, or waits for its end and wants exit code 0. It
// returns whether the command was killed, and did not end by itself before.
func (v victim) start(b *box, moment time.Duration, kill bool) (killed bool, err error) {
	cmd := b.command(context.Background(), []string{
		"TERM=xterm-256color", "XDG_STATE_HOME=BOX/state",
	}, v.args...)
	var tty *os.File
	read := make(chan struct{})
	if v.terminal {
		if tty, err = pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
			return false, err
		}
		defer tty.Close()
		go func() { defer close(read); _, _ = io.Copy(io.Discard, tty) }()
	} else {
		close(read)
		if err := cmd.Start(); err != nil {
			return false, err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	end := time.After(patience)
	if kill {
		end = time.After(moment)
	}
	quit := time.NewTicker(500 * time.Millisecond) // after the kernel was executed and drawn
	defer quit.Stop()
	if v.keys == "" {
		quit.Stop()
	}
	for {
		select {
		case err = <-ended:
			<-read
			if kill {
				return false, nil // it was quicker
			}
			if err != nil {
				err = fmt.Errorf("a run that was not killed: %w", err)
			}
			return false, err
		case <-quit.C:
			_, _ = io.WriteString(tty, v.keys)
		case <-end:
			_ = cmd.Process.Kill()
			<-ended
			if !kill {
				return false, errors.New("a run that was not killed does not end")
			}
			return true, nil
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

// tornArchive returns what is wrong with an .npz: the checksum of every member is compared.
func tornArchive(path string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
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

// tornPage returns what is wrong with an HTML page that is written to its end.
func tornPage(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>")) {
		err = errors.New("the page is torn")
	}
	return err
}

// tornArtefact returns what is wrong with a JSON document; a text of another kind is whole
// where it is not empty.
func tornArtefact(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && (len(text) == 0 || filepath.Ext(path) == ".json" && !json.Valid(text)) {
		err = fmt.Errorf("%s is torn", filepath.Base(path))
	}
	return err
}
