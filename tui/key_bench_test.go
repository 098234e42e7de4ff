//go:build linux

package tui

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkKeypress is how long after a key the last byte of what it changes has been written, at 200×60 in
// the Tile view: 20 moves of the cursor each time. Then what the program writes and computes while nobody
// types.
func BenchmarkKeypress(b *testing.B) {
	program := buildProgram(b)
	x := diverges(b, program, 200, 60)
	x.press("2")
	x.shows("[2 Tile]")
	x.quiet(time.Second) // else the digit is a count of the next key
	x.press("n")
	x.shows("P block 0,0,0 kv 1 cell 1,0")
	var all []float64
	for range b.N {
		for i := range 20 {
			x.quiet(300 * time.Millisecond)
			start := time.Now()
			x.press(string("jjllkkhhjl"[i%10]))
			// the cell's writer is looked up when the cursor has stood still, and drawn by a frame of its own
			all = append(all, x.quiet(40*time.Millisecond).Sub(start).Seconds()*1e3)
		}
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "p50-ms")
	b.ReportMetric(all[(len(all)*99-1)/100], "p99-ms")
	x.quiet(2 * time.Second) // until state is saved
	bytes, ticks := len(x.output()), cpuTicks(b, x.cmd.Process.Pid)
	const idle = 20 * time.Second
	time.Sleep(idle)
	b.ReportMetric(float64(len(x.output())-bytes), "idle-bytes")
	b.ReportMetric(float64(cpuTicks(b, x.cmd.Process.Pid)-ticks)/(100*idle.Seconds())*100, "idle-%core")
	x.leaves()
}

// quiet waits until nothing has been written for a time, and returns when the last byte came.
func (x *terminal) quiet(d time.Duration) time.Time {
	last := time.Now()
	for {
		x.mu.Lock()
		changed := x.changed
		x.mu.Unlock()
		select {
		case <-changed:
			last = time.Now()
		case <-time.After(d):
			return last
		}
	}
}

// cpuTicks is the time that a process has computed, in hundredths of a second.
func cpuTicks(b *testing.B, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}
