//go:build unix

package attack

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// program is the built program, of this checkout unless TILESCOPE_BIN names one.
var program string

// rssUnit is the unit of a process's largest resident set: bytes on Darwin, KiB elsewhere.
var rssUnit = map[bool]int64{true: 1, false: 1 << 10}[runtime.GOOS == "darwin"]

func TestMain(m *testing.M) { os.Exit(built(m)) }

func built(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tilescope-attack-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if program, err = filepath.Abs(os.Getenv("TILESCOPE_BIN")); os.Getenv("TILESCOPE_BIN") == "" {
		program = filepath.Join(dir, "tilescope")
		out, berr := exec.Command("go", "build", "-o", program, "tilescope").CombinedOutput()
		if err = berr; err != nil {
			fmt.Fprintf(os.Stderr, "%s\n", out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// groups are the cases by what is attacked.
func groups(t testing.TB) map[string][]attack {
	g := material(t)
	return map[string][]attack{
		"npz": npzCases(g), "path": pathCases(g), "manifest": manifestCases(g), "expression": expressionCases(g), "size": sizeCases(g),
		"ptx": ptxCases(g), "source": sourceCases(), "lut": lutCases(), "option": optionCases(), "environment": environmentCases(),
		"config": configCases(), "cache": cacheCases(g), "gates": gatesCases(), "output": outputCases(), "pipe": pipeCases(),
		"signal": signalCases(), "text": textCases(g), "trust": trustCases(g),
	}
}

// least is how many cases `make attack` has at least.
const least = 1200

// sampled is one case of how many that `make test` runs; sampleSeed chooses which.
const (
	sampled    = 20
	sampleSeed = 29520
)

// TestAttack runs every case with TILESCOPE_ATTACK=1, and a fixed sample of them without.
func TestAttack(t *testing.T) {
	all := os.Getenv("TILESCOPE_ATTACK") != ""
	var n tally
	total, start := 0, time.Now()
	t.Cleanup(func() {
		fmt.Printf("attack: %d passed, %d failed, %d skipped in %s\n", n.passed.Load(), n.failed.Load(), n.skipped.Load(), time.Since(start).Round(time.Second))
	})
	for group, cases := range groups(t) {
		names := map[string]int{}
		for _, a := range cases {
			total++
			if names[a.name]++; names[a.name] > 1 {
				t.Fatalf("two cases are named %s/%s", group, a.name)
			}
			if len(a.codes) == 0 {
				t.Fatalf("%s/%s states no exit code", group, a.name)
			}
			if !all && !inSample(group, a) {
				continue
			}
			t.Run(group+"/"+a.name, func(t *testing.T) {
				t.Parallel()
				n.perform(t, a)
			})
		}
	}
	if total < least {
		t.Errorf("%d cases, want at least %d", total, least)
	}
	if !all {
		t.Logf("%d cases in all; TILESCOPE_ATTACK=1 runs them", total)
	}
}

// inSample chooses cases by their name, so that a new case does not move the others. Cases that take long are left to
// `make attack`.
func inSample(group string, a attack) bool {
	if group == "gates" || group == "trust" {
		return false // sweeps and builds
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%d/%s/%s", sampleSeed, group, a.name)
	return h.Sum32()%sampled == 0 && a.within == 0 && a.drive == nil
}

// missing says why a case cannot be run here; "" where it can.
func missing(needs string) string {
	switch needs {
	case "":
		return ""
	case "root":
		if os.Geteuid() != 0 {
			return "only root can give files to another user"
		}
		return ""
	case "user":
		if os.Geteuid() == 0 {
			return "permissions do not stop root"
		}
		return ""
	case "nvrtc":
		return noCompiler()
	case "linux":
		if runtime.GOOS != "linux" {
			return "no such device on " + runtime.GOOS
		}
		return ""
	}
	panic("BUG: unknown requirement " + needs)
}

// noCompiler says why nothing can be compiled here.
var noCompiler = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "tilescope-attack-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	b, err := newBox(dir)
	if err != nil {
		return err.Error()
	}
	out, _ := b.command(context.Background(), compiler(), "doctor").Output()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "NVRTC") && strings.HasPrefix(line, "yes") && !strings.Contains(line, "embedded") {
			return ""
		}
	}
	return "no NVRTC: make toolchain fetches one"
})

// compiler is the environment in which the pinned compiler is found, if it was fetched.
func compiler() []string {
	dir, _ := filepath.Abs(filepath.Join("..", "..", "..", ".toolchain"))
	if named := os.Getenv("TILESCOPE_TOOLCHAIN"); named != "" {
		dir = named
	}
	return []string{"TILESCOPE_TOOLCHAIN=" + dir}
}
