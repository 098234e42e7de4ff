//go:build unix

package attack

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// program is the built program, of this checkout unless TILESCOPE_BIN names one.
var program string

// rssUnit is the unit of a process's largest resident set: bytes on Darwin, KiB elsewhere.
var rssUnit = map[bool]int64{true: 1, false: 1 << 10}[runtime.GOOS == "darwin"]

func TestMain(m *testing.M) { os.Exit(built(m)) }

func built(m *testing.M) int {
	if signal.Ignored(syscall.SIGHUP) { // under nohup, where the program would leave it ignored too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	dir, err := os.MkdirTemp("", "tilescope-attack-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if program, err = filepath.Abs(os.Getenv("TILESCOPE_BIN")); os.Getenv("TILESCOPE_BIN") == "" {
		program = filepath.Join(dir, "tilescope")
		out, berr := exec.Command("go", "build", "-ldflags=-w", "-o", program, "tilescope").CombinedOutput()
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
		"npz": npzCases(g), "path": pathCases(g), "manifest": manifestCases(g),
		"expression": expressionCases(g), "size": sizeCases(g), "ptx": ptxCases(g), "source": sourceCases(),
		"lut": lutCases(), "option": optionCases(), "environment": environmentCases(),
		"config": configCases(), "cache": cacheCases(g), "gates": gatesCases(), "output": outputCases(),
		"pipe": pipeCases(), "signal": signalCases(), "text": textCases(g), "trust": trustCases(g),
		"reference": referenceCases(g),
	}
}

// least is how many cases `make attack` has at least.
const least = 1200

// sampled is one case of how many that `make test` runs besides one of each class; sampleSeed chooses which.
const (
	sampled    = 200
	sampleSeed = 1
)

// TestAttack runs every case with TILESCOPE_ATTACK=1, and a fixed sample of them without.
func TestAttack(t *testing.T) {
	all := os.Getenv("TILESCOPE_ATTACK") != ""
	var n tally
	total, start := 0, time.Now()
	t.Cleanup(func() {
		fmt.Printf("attack: %d passed, %d failed, %d skipped in %s\n", n.passed.Load(), n.failed.Load(),
			n.skipped.Load(), time.Since(start).Round(time.Second))
		n.reasons.Range(func(why, count any) bool {
			fmt.Printf("attack: skipped %d: %s\n", count.(*atomic.Int64).Load(), why)
			return true
		})
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
		}
		if !all {
			cases = sample(group, cases)
		}
		for _, a := range cases {
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

// class is what cases of a group have in common where one change of the program makes the expectations of all
// of them stale: the command and how it has to end.
func (a attack) class() string {
	command := ""
	if len(a.args) > 0 {
		command = a.args[0]
	}
	return fmt.Sprintf("%s %v", command, a.codes)
}

// sample chooses cases of a group by their names, so that a new case moves at most the one of its class: of
// each class the first by its number, and one of sampled.
func sample(group string, cases []attack) (chosen []attack) {
	number := func(a attack) uint32 {
		h := fnv.New32a()
		fmt.Fprintf(h, "%d/%s/%s", sampleSeed, group, a.name)
		return h.Sum32()
	}
	classes := map[string]bool{}
	for _, a := range slices.SortedFunc(slices.Values(cases), func(a, b attack) int {
		return cmp.Compare(number(a), number(b))
	}) {
		if !classes[a.class()] || number(a)%sampled == 0 {
			chosen = append(chosen, a)
		}
		classes[a.class()] = true
	}
	return chosen
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
	if !has("NVRTC", compiler()) {
		return "no NVRTC: make toolchain fetches one"
	}
	return ""
})

// systemHas reports whether the machine brings a tool of its own, outside of the box.
func systemHas(tool string) bool { return has(tool, nil) }

// has reports whether doctor finds a tool in an environment.
func has(tool string, env []string) bool {
	dir, err := os.MkdirTemp("", "tilescope-attack-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	b, err := newBox(dir)
	if err != nil {
		return false
	}
	out, _ := b.command(context.Background(), env, "doctor").Output()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "yes") && slices.Contains(strings.Fields(line), tool) &&
			!strings.Contains(line, "embedded") {
			return true
		}
	}
	return false
}

// compiler is the environment in which the pinned compiler is found, if it was fetched.
func compiler() []string {
	dir, _ := filepath.Abs(filepath.Join("..", "..", "..", ".toolchain"))
	if named := os.Getenv("TILESCOPE_TOOLCHAIN"); named != "" {
		dir = named
	}
	return []string{"TILESCOPE_TOOLCHAIN=" + dir}
}
