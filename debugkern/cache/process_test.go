package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hammerArg makes the test binary a process that works on a cache: __hammer DIR SEED ROUNDS.
const hammerArg = "__hammer"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == hammerArg {
		os.Exit(hammerMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// hammered is how much the tests' shared cache may take: less than all the values, so that eviction
// is always under way.
const hammered = 150 << 10

func hammerMain(args []string) int {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return 2
	}
	rounds, err := strconv.Atoi(args[2])
	if err != nil {
		return 2
	}
	fmt.Println("ready")
	if err := hammer(at(args[0], hammered), seed, rounds); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// hammer puts and gets entries in a random order, and complains of any that is not what was put.
func hammer(c *Cache, seed uint64, rounds int) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range rounds {
		name := fmt.Sprint(rng.IntN(40))
		if got, ok := c.Get(key(name)); ok && !bytes.Equal(got, value(name)) {
			return fmt.Errorf("entry %s: %d wrong bytes", name, len(got))
		} else if !ok || rng.IntN(4) == 0 {
			c.Put(key(name), value(name))
		}
	}
	return c.Trouble()
}

func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(exe, append([]string{hammerArg}, args...)...)
}

// Two processes with two goroutines each work on one directory: nobody ever sees another value than was put.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	other := process(t, dir, "7", "150")
	var said bytes.Buffer
	other.Stdout, other.Stderr = &said, &said
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	c := at(dir, hammered)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := hammer(c, uint64(i), 150); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if err := other.Wait(); err != nil {
		t.Errorf("the other process: %v: %s", err, said.String())
	}
	c.Put(key("last"), value("last"))
	if u, err := c.Usage(); err != nil || u.Bytes > hammered || u.Entries == 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

// A process is killed in the middle of its writes, again and again: what it leaves is whole
// entries and files that go.
func TestKilledWhileWriting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGKILL")
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	left := 0
	for i := range 12 {
		p := process(t, dir, fmt.Sprint(i), "100000")
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		word := make([]byte, 6)
		if _, err := out.Read(word); err != nil || !strings.HasPrefix(string(word), "ready") {
			t.Fatalf("it says %q, %v", word, err)
		}
		for at := time.Now().Add(time.Duration(rng.IntN(20_000)) * time.Microsecond); time.Now().Before(at); {
			runtime.Gosched()
		}
		p.Process.Kill()
		if err := p.Wait(); err == nil {
			t.Fatal("it ended by itself")
		}
		if files, _ := filepath.Glob(filepath.Join(dir, ".tilescope-"+"*")); len(files) > left {
			left = len(files)
		}
		c := at(dir, hammered)
		for n := range 40 {
			if got, ok := c.Get(key(fmt.Sprint(n))); ok && !bytes.Equal(got, value(fmt.Sprint(n))) {
				t.Fatalf("round %d: entry %d is torn", i, n)
			}
		}
		if err := hammer(c, uint64(i), 20); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("up to %d files abandoned in the middle of a write", left)
	c := at(dir, hammered)
	c.Put(key("after"), value("after"))
	if files, _ := filepath.Glob(filepath.Join(dir, ".tilescope-"+"*")); len(files) != 0 {
		t.Errorf("%d abandoned files stay", len(files))
	}
}
