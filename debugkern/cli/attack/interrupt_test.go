//go:build unix

package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// traced makes Go's runtime print a line for every package that it has initialised. It is written before the
// next package starts.
const traced = "GODEBUG=inittrace=1"

// receiver is the package whose initialiser starts the delivery of signals.
const receiver = "tilescope/debugkern/interrupt"

// TestInterruptedAtStart sends an interrupt at every third millisecond of the first 60, with TILESCOPE_LONG
// (make test-long) at every one: the program ends with
// 130, and not by the raw signal, from the moment at which the receiver is initialised. What comes before
// cannot be changed: fork, exec, the start of Go's runtime and the packages that the receiver needs.
// TestOrder bounds it.
func TestInterruptedAtStart(t *testing.T) {
	b, err := newBox(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const last = 60 // ms
	caught, sent, early := 0, 0, []int{}
	for ms := range last + 1 {
		if ms%3 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
			continue
		}
		sent++
		started, err := interruptAfter(b, time.Duration(ms)*time.Millisecond)
		if err != nil {
			t.Errorf("interrupted after %d ms: %v", ms, err)
		}
		if started {
			caught++
		} else {
			early = append(early, ms)
		}
	}
	t.Logf("%d of %d interrupts received; the process had not begun to receive at %v ms", caught,
		sent, early)
	if caught == 0 {
		t.Error("no interrupt was received: the test shows nothing")
	}
}

// interruptAfter starts a command that takes seconds and interrupts it. It returns whether the receiver was
// initialised, and an error where the end is not the right one for that.
func interruptAfter(b *box, wait time.Duration) (started bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultTime)
	defer cancel()
	cmd := b.command(ctx, []string{traced}, "diagnose", "stage3b-reported", "--shape", "mission")
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		return false, err
	}
	time.Sleep(wait)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return false, err
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) {
		return true, fmt.Errorf("it was not interrupted: %w", err)
	}
	started = strings.Contains(text.String(), "init "+receiver+" ")
	status, _ := ended.Sys().(syscall.WaitStatus)
	switch {
	case ctx.Err() != nil:
		return started, fmt.Errorf("still running after %s", defaultTime)
	case ended.ExitCode() != 130 && (started || status.Signal() != syscall.SIGINT):
		return started, fmt.Errorf("ended with %v; signals received: %v", ended, started)
	}
	return started, nil
}

// initialised is a line of the runtime's trace.
type initialised struct {
	name  string
	begun float64 // ms after the start of the runtime
	took  float64 // ms
}

// TestOrder compares the start of the program with what it may cost: signals are received within 5 ms of the
// start of Go's runtime, and all packages are initialised within 15 ms, in the quickest of up to 300
// starts: what other programs take of the machine is not what the program costs. A library that computes a
// table in its initialiser is found here.
func TestOrder(t *testing.T) {
	b, err := newBox(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const starts, receiving, all = 300, 5.0, 15.0
	var first, end []initialised
	for range starts {
		packages, err := startTrace(b)
		if err != nil {
			t.Fatal(err)
		}
		before := packages
		for i, p := range packages {
			if p.name == receiver {
				before = packages[:i+1]
			}
		}
		if len(before) == len(packages) {
			t.Fatalf("%s is not initialised, or last of %d packages", receiver, len(packages))
		}
		first, end = quicker(first, before), quicker(end, packages)
		if done(first) <= receiving && done(end) <= all {
			break
		}
	}
	if took := done(first); took > receiving {
		t.Errorf("signals are received after %.1f ms, want %g: %+v", took, receiving, first)
	}
	if took := done(end); took > all {
		t.Errorf("packages are initialised after %.1f ms, want %g: %+v", took, all, end)
	}
	t.Logf("signals are received after %.2f ms and %d packages, all %d are initialised after %.2f ms",
		done(first), len(first), len(end), done(end))
}

// done is the moment at which the last of the packages was initialised.
func done(list []initialised) float64 { return list[len(list)-1].begun + list[len(list)-1].took }

func quicker(a, b []initialised) []initialised {
	if a == nil || done(b) < done(a) {
		return b
	}
	return a
}

// startTrace runs a command that does nothing, and returns the packages in the order in which
// they were initialised.
func startTrace(b *box) (list []initialised, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultTime)
	defer cancel()
	cmd := b.command(ctx, []string{traced}, "version")
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text.String()) {
		// init os/signal @0.69 ms, 0.01 ms clock, 0 bytes, 0 allocs
		f := strings.Fields(line)
		if len(f) < 6 || f[0] != "init" {
			continue
		}
		begun, err1 := strconv.ParseFloat(strings.TrimPrefix(f[2], "@"), 64)
		took, err2 := strconv.ParseFloat(f[4], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		list = append(list, initialised{f[1], begun, took})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no package in the trace: %q", text.String())
	}
	return list, nil
}
