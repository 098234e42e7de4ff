package budget

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

func TestMulAdd(t *testing.T) {
	for _, c := range []struct {
		factors []int64
		want    int64
	}{
		{nil, 1}, {[]int64{3, 4, 5}, 60}, {[]int64{1 << 32, 1 << 32}, Huge},
		{[]int64{1 << 31, 1 << 31}, 1 << 62}, {[]int64{1 << 32, 1 << 31}, Huge},
		{[]int64{1 << 40, 1 << 40, 0}, 0}, {[]int64{-1, 2}, Huge}, {[]int64{-1, -1}, Huge},
		{[]int64{math.MaxInt64, 1}, math.MaxInt64},
	} {
		if got := Mul(c.factors...); got != c.want {
			t.Errorf("Mul(%d) = %d, want %d", c.factors, got, c.want)
		}
	}
	if got := Mul(uint64(math.MaxUint64), 2); got != Huge {
		t.Errorf("%d", got)
	}
	for _, c := range []struct {
		sizes []int64
		want  int64
	}{
		{nil, 0}, {[]int64{1, 2, 3}, 6}, {[]int64{Huge, 1}, Huge}, {[]int64{1 << 62, 1 << 62}, Huge},
		{[]int64{5, -1}, Huge},
	} {
		if got := Add(c.sizes...); got != c.want {
			t.Errorf("Add(%d) = %d, want %d", c.sizes, got, c.want)
		}
	}
}

func TestSumNamesItsParts(t *testing.T) {
	var s Sum
	s.Add("arguments", 8<<30, "")
	s.Add("captures", 3<<30, "--blocks 0,0,0 would make it 1 GiB")
	s.Add("captures", 1<<30, "")
	s.Add("nothing", 0, "")
	if err := s.Within(12 << 30); err != nil {
		t.Error(err)
	}
	if err := s.Within(0); err != nil {
		t.Error(err)
	}
	err := s.Within(6 << 30)
	var refused *Refused
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if want := "needs 12 GiB of memory: arguments 8 GiB, captures 4 GiB (--blocks 0,0,0 would make it 1 GiB); memory.max is 6 GiB (--memory-max 12288MiB would be enough)"; err.Error() != want {
		t.Errorf("%s\nwant %s", err, want)
	}
	s.Add("shared memory", Mul(1<<32, 1<<32), "")
	if got := s.Within(6 << 30); got == nil || s.Total() != Huge {
		t.Errorf("%v", got)
	}
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	b := New(100)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 200 {
				release, err := b.Reserve("part", 30)
				if b.Used() > 100 || b.Used() < 0 {
					t.Errorf("%d in use", b.Used())
				}
				var full *Exhausted
				if err != nil && (!errors.As(err, &full) || full.Part != "part" || full.Bytes != 30) {
					t.Error(err)
				}
				release()
				release()
			}
		})
	}
	wg.Wait()
	if b.Used() != 0 {
		t.Errorf("%d in use at the end", b.Used())
	}
	if _, err := b.Reserve("one", 101); err == nil {
		t.Error("101 of 100")
	}
	if _, err := b.Reserve("one", -1); err == nil {
		t.Error("-1 of 100")
	}
	if _, err := (*Budget)(nil).Reserve("any", Huge); err != nil || New(0) != nil {
		t.Error("no limit")
	}
}

// TestKeptUntilCollected: what a value holds stays reserved while somebody has the value, and is given back
// before another reservation fails for want of it.
func TestKeptUntilCollected(t *testing.T) {
	b := New(100)
	value := new([64]byte)
	release, err := b.Reserve("kept", 80)
	if err != nil {
		t.Fatal(err)
	}
	Until(b, value, release)
	if _, err := b.Reserve("more", 40); err == nil {
		t.Error("120 of 100")
	}
	if b.Used() != 80 {
		t.Errorf("%d in use while somebody has the value", b.Used())
	}
	runtime.KeepAlive(value)
	value = nil
	release, err = b.Reserve("more", 40)
	if err != nil || b.Used() != 40 {
		t.Fatalf("%v, %d in use once nobody has it", err, b.Used())
	}
	release()
	Until((*Budget)(nil), new([64]byte), func() { t.Error("released without a budget") })
}

// TestFailing: each reservation can be made to fail, with the error of a budget that is used
// up, and takes nothing.
func TestFailing(t *testing.T) {
	var asked []string
	b := Failing(1<<20, func(part string, bytes int64) bool {
		asked = append(asked, fmt.Sprint(part, " ", bytes))
		return len(asked) == 2
	})
	for i := 1; i <= 3; i++ {
		release, err := b.Reserve("part", 8)
		var full *Exhausted
		if (err != nil) != (i == 2) || err != nil && !errors.As(err, &full) {
			t.Errorf("reservation %d: %v", i, err)
		}
		release()
	}
	if b.Used() != 0 || len(asked) != 3 || asked[0] != "part 8" {
		t.Errorf("%d in use, asked %q", b.Used(), asked)
	}
}

func TestHalfOfWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, unknown / 2},
		"the machine": {
			map[string]string{"proc/meminfo": "MemFree: 1 kB\nMemTotal:       16777216 kB\n"}, 8 << 30,
		},
		"no limit": {
			map[string]string{
				"proc/meminfo": "MemTotal: 16777216 kB\n", "cgroup/memory.max": "max\n",
			}, 8 << 30,
		},
		"a group": {
			map[string]string{
				"proc/meminfo": "MemTotal: 16777216 kB\n", "cgroup/memory.max": "2147483648\n",
			}, 1 << 30,
		},
		"a group in a group": {
			map[string]string{
				"proc/meminfo": "MemTotal: 16777216 kB\n", "proc/self/cgroup": "0::/a/b\n",
				"cgroup/a/b/memory.max": "max\n",
				"cgroup/a/memory.max":   "4294967296\n",
			}, 2 << 30,
		},
		"the first version": {
			map[string]string{
				"proc/meminfo": "MemTotal: 16777216 kB\n", "proc/self/cgroup": "5:cpu:/x\n4:memory:/job\n",
				"cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
				"cgroup/memory/job/memory.limit_in_bytes": "1073741824\n",
			}, 512 << 20,
		},
		"text": {map[string]string{"proc/meminfo": "MemTotal: much kB\n", "cgroup/memory.max": "-5\n"},
			unknown / 2},
	} {
		dir := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := half(filepath.Join(dir, "proc"), filepath.Join(dir, "cgroup")); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if Default() <= 0 {
		t.Error(Default())
	}
}
