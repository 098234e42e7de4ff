//go:build unix

package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// attack is one case: what is done to the program, and what has to come of it.
type attack struct {
	name   string
	args   []string
	files  map[string]string           // made in the working directory before the program starts
	set    func(b *box) error          // prepares what files cannot: pipes, links, permissions
	env    []string                    // NAME=VALUE over the usual ones; NAME alone removes it
	stdout string                      // a device that standard output goes to; "": it is collected
	drive  func(b *box, p *os.Process) // acts while the program runs, in a goroutine of its own
	// signal: it may end the process itself where that has not come to listen for signals yet
	signal syscall.Signal
	// codes: exit codes that are right: one, but where chance or the place decides
	codes []int
	// says: must occur in what is printed, whatever its case; alternatives between |
	says string
	// makes: files of the working directory that may appear or change: path patterns
	makes  []string
	after  func(b *box, got outcome) error // checks what no other field can express
	within time.Duration                   // 0: 10 s
	// needs: what must be there: nvrtc, root; where it is not, the case is skipped and counted
	needs string
	raw   bool // a terminal's output: escape sequences are its purpose
}

// outcome is how the program ended.
type outcome struct {
	code        int
	out, errors string
	took        time.Duration
	late        bool           // it was killed because its time was over
	memory      int64          // the largest resident set, in bytes
	killed      syscall.Signal // the signal that ended it, 0 where it ended by itself
	computed    time.Duration  // processor time
}

// box is the place of one case: nothing outside of it may change.
type box struct{ root, work, home, temp string }

const (
	memoryCap   = 2 << 30 // bytes that no case may exceed
	defaultTime = 10 * time.Second
	// startTime: of processor time, which a process may use before it listens for signals
	startTime = 100 * time.Millisecond
)

func newBox(dir string) (*box, error) {
	b := &box{dir, filepath.Join(dir, "work"), filepath.Join(dir, "home"), filepath.Join(dir, "temp")}
	for _, d := range []string{b.work, b.home, b.temp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// fill writes files into the working directory.
func (b *box) fill(files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(b.work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// environment is the program's: homes inside the box, and nothing of whoever runs the tests but the path.
func (b *box) environment(over []string) []string {
	env := map[string]string{
		"HOME": b.home, "TMPDIR": b.temp, "PATH": os.Getenv("PATH"), "LANG": "C.UTF-8", "NO_COLOR": "1",
	}
	for _, e := range over {
		name, value, ok := strings.Cut(e, "=")
		if delete(env, name); ok {
			env[name] = strings.ReplaceAll(value, "BOX", b.root)
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// command is the program with arguments, in the box.
func (b *box) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = b.work, b.environment(env)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run performs a case and returns how it ended.
func (a *attack) run(b *box) (outcome, error) {
	within := a.within
	if within == 0 {
		within = defaultTime
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := b.command(ctx, a.env, a.args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if a.stdout != "" {
		f, err := openStdout(a.stdout)
		if err != nil {
			return outcome{}, err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); watchMemory(cmd.Process, stop) }()
	driven := make(chan struct{})
	go func() {
		defer close(driven)
		if a.drive != nil {
			a.drive(b, cmd.Process)
		}
	}()
	_ = cmd.Wait() // the exit code is the outcome
	got := outcome{
		code: cmd.ProcessState.ExitCode(), out: out.String(), errors: errs.String(), took: time.Since(start),
		late: ctx.Err() != nil,
	}
	close(stop)
	<-stopped
	<-driven
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		got.memory = usage.Maxrss * rssUnit
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		got.killed = status.Signal()
	}
	got.computed = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return got, nil
}

// watchMemory ends a process that grows over the cap before the machine suffers. It reads Linux's statm;
// elsewhere the largest size is only looked at after the end.
func watchMemory(p *os.Process, stop <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid))
			fields := strings.Fields(string(text))
			if err != nil || len(fields) < 2 {
				continue
			}
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil &&
				pages*int64(os.Getpagesize()) > memoryCap+memoryCap/4 {
				_ = p.Kill()
			}
		}
	}
}

// judge compares an outcome with the case and with the rules for all of them, and returns what is wrong.
func (a *attack) judge(b *box, before map[string]string, got outcome) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if early := got.killed == a.signal && got.killed != 0 && got.computed < startTime; !early &&
		!slices.Contains(a.codes, got.code) {
		say("exit %d, want %v", got.code, a.codes)
	}
	text := got.out + got.errors
	for _, trace := range []string{"goroutine ", "panic:", "fatal error:", "BUG:", "runtime error"} {
		if strings.Contains(text, trace) {
			say("prints %q", trace)
		}
	}
	if !a.raw && strings.ContainsAny(text, "\x1b\x07\x08\x00\u202e\u200b\u2066\u009b") {
		say("prints a raw control character")
	}
	if got.late {
		say("still running after %s", got.took.Round(time.Millisecond))
	}
	if got.memory > memoryCap {
		say("takes %d MiB", got.memory>>20)
	}
	if a.says != "" && !contains(text, strings.Split(a.says, "|")) {
		say("does not say %q", a.says)
	}
	if slices.Contains([]int{2, 3, 4, 70}, got.code) && strings.TrimSpace(got.errors) == "" {
		say("ends with %d and prints no reason", got.code)
	}
	wrong = append(wrong, b.changes(before, a.makes)...)
	if a.after != nil {
		if err := a.after(b, got); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}

func contains(text string, any []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(text, strings.ToLower(s)) })
}

// changes lists temporary files that were left, and files outside the homes that appeared, vanished or
// changed though the case does not name them.
func (b *box) changes(before map[string]string, may []string) (wrong []string) {
	now := b.listing()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch was, there := before[path]; {
		case temporary.MatchString(path):
			wrong = append(wrong, "leaves "+strconv.Quote(path))
		case strings.HasPrefix(path, "home/") || permitted(may, path): // configuration, state and cache
		case !there:
			wrong = append(wrong, "creates "+strconv.Quote(path))
		case was != now[path]:
			wrong = append(wrong, "changes "+strconv.Quote(path))
		}
	}
	for path := range before {
		if _, there := now[path]; !there && !strings.HasPrefix(path, "home/") && !permitted(may, path) {
			wrong = append(wrong, "removes "+strconv.Quote(path))
		}
	}
	return wrong
}

var temporary = regexp.MustCompile(`\.tilescope-[^/]*\.tmp$`)

func permitted(may []string, path string) bool {
	return slices.ContainsFunc(may, func(pattern string) bool {
		base, below := strings.CutSuffix(pattern, "/*")
		ok, _ := filepath.Match("work/"+pattern, path)
		return ok || below && (strings.HasPrefix(path, "work/"+base+"/") || path == "work/"+base)
	})
}

// listing is every file below the box: its kind, and for a small regular one its content.
func (b *box) listing() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a directory that may not be read is part of some cases
		}
		name, _ := filepath.Rel(b.root, path)
		info, err := d.Info()
		if err != nil || name == "." {
			return nil
		}
		all[name] = info.Mode().Type().String()
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			text, _ := os.ReadFile(path)
			all[name] = string(text)
		}
		return nil
	})
	return all
}

// tally counts what became of the cases.
type tally struct {
	passed, failed, skipped atomic.Int64
	reasons                 sync.Map // why cases were skipped, with an *atomic.Int64 of how many
}

// perform runs one case as a test of its own.
func (n *tally) perform(t *testing.T, a attack) {
	if why := missing(a.needs); why != "" {
		n.skipped.Add(1)
		count, _ := n.reasons.LoadOrStore(why, new(atomic.Int64))
		count.(*atomic.Int64).Add(1)
		t.Skipf("%s: %s", a.name, why)
	}
	b, err := newBox(filepath.Join(t.TempDir(), "box"))
	if err == nil {
		err = b.fill(a.files)
	}
	if err == nil && a.set != nil {
		err = a.set(b)
	}
	if err != nil {
		n.failed.Add(1)
		t.Fatalf("prepare: %v", err)
	}
	before := b.listing()
	got, err := a.run(b)
	if err != nil {
		n.failed.Add(1)
		t.Fatal(err)
	}
	if wrong := a.judge(b, before, got); len(wrong) > 0 {
		n.failed.Add(1)
		t.Errorf("tilescope %q: %s\n%s", a.args, strings.Join(wrong, "; "), excerpt(got))
		return
	}
	t.Logf("exit %d %s", got.code, excerpt(got))
	n.passed.Add(1)
}

func excerpt(got outcome) string {
	text := got.errors
	if text == "" {
		text = got.out
	}
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return fmt.Sprintf("after %s, %d MiB: %q", got.took.Round(time.Millisecond), got.memory>>20, text)
}
