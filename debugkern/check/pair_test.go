package check_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A file of testdata/pair is one fault and its clean twin: the entries NAME_bad and NAME_ok. Comments at the
// start of a line say how the entries after them are launched:
//
//	// launch GRID BLOCK [DYNAMIC-SHARED]    the grid and the block, X or XxY or XxYxZ
//	// check CHECKER...                      instead of every checker of errors
//	// shared NAME DTYPE DIMS [WITHIN OFFSET] a name for a part of shared memory
//	// arg NAME DTYPE COUNT zero|unwritten|VALUE...
//
// and every parameter without an arg line is a buffer of 1024 words of zero. A comment behind an instruction
// says what is found there:
//
//	// want KIND ELEMENT [other=±LINES] [missing=FIRST-WORD] [severity=advice] [says=PART OF THE MESSAGE]
//
// ELEMENT is "-" for none, and a variable without an index stands for any element of it. What a want does not
// mention must be absent: the other line (a finding whose two lines are one has none), and what is missing.
type twin struct {
	file, entry string
	grid, block probes.Dim3
	dynamic     int
	set         check.Set
	shared      []probes.SharedArray
	args        map[string]target.Arg
	wants       []pairWant
	silent      bool
}

type pairWant struct {
	line                         int
	kind, element, missing, says string
	severity                     string // "": the kind's own
	other                        int
}

const pairErrors = check.Races | check.Async | check.Barriers | check.Registers | check.Overlap

var pairCheckers = map[string]check.Set{
	"errors": pairErrors, "banks": check.Banks, "sectors": check.Sectors,
	"redundant": check.Redundant | check.Races | check.Async,
	"origins":   check.Origins,
}

// pairSchedules are the ways in which each entry runs: what is found must not depend on them.
var pairSchedules = []target.Schedule{
	{}, {Policy: "reverse"}, {Policy: "random", Seed: 1}, {Policy: "random", Seed: 2, Async: "random"},
	{Policy: "random", Seed: 3, Async: "earliest"},
}

// readTwins reads the entries of a file.
func readTwins(t *testing.T, file, text string) []*twin {
	t.Helper()
	var out []*twin
	next := twin{
		file: file, grid: probes.Dim3{1, 1, 1}, block: probes.Dim3{32, 1, 1}, set: pairErrors,
		args: map[string]target.Arg{},
	}
	for i, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			c := next
			c.entry, _, _ = strings.Cut(rest, "(")
			out = append(out, &c)
		}
		if directive, ok := strings.CutPrefix(line, "// "); ok {
			next.directive(t, strings.Fields(directive))
			continue
		}
		for _, want := range strings.Split(line, "// want ")[1:] {
			c := out[len(out)-1]
			if want == "nothing" {
				c.silent = true
				continue
			}
			c.wants = append(c.wants, readWant(t, i+1, want))
		}
	}
	for _, c := range out {
		bad := strings.HasSuffix(c.entry, "_bad")
		if bad != (len(c.wants) > 0) || bad == c.silent || !bad && !strings.HasSuffix(c.entry, "_ok") {
			t.Errorf("%s: %s wants %d findings", file, c.entry, len(c.wants))
		}
	}
	return out
}

func readWant(t *testing.T, line int, text string) pairWant {
	t.Helper()
	w := pairWant{line: line}
	text, w.says, _ = strings.Cut(strings.TrimSpace(text), " says=")
	for i, f := range strings.Fields(text) {
		key, value, _ := strings.Cut(f, "=")
		switch {
		case i == 0:
			w.kind = f
		case i == 1:
			w.element = strings.TrimPrefix(f, "-")
		case key == "other":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(line, err)
			}
			w.other = line + n
		case key == "missing":
			w.missing = value
		case key == "severity":
			w.severity = value
		default:
			t.Fatalf("line %d: %q is no part of a want", line, f)
		}
	}
	return w
}

// directive takes a comment that says how the entries after it are launched; other comments are prose.
func (c *twin) directive(t *testing.T, f []string) {
	t.Helper()
	switch {
	case len(f) < 2:
	case f[0] == "launch" && f[1][0] >= '0' && f[1][0] <= '9':
		c.grid, c.block, c.dynamic = dim3(t, f[1]), dim3(t, f[2]), 0
		if len(f) > 3 {
			c.dynamic, _ = strconv.Atoi(f[3])
		}
	case f[0] == "check" && pairCheckers[f[1]] != 0:
		c.set = 0
		for _, s := range f[1:] {
			c.set |= pairCheckers[s]
		}
	case f[0] == "shared" && len(f) > 3:
		c.shared = append(c.shared[:len(c.shared):len(c.shared)], parseShared(t, strings.Join(f[1:], " ")))
	case f[0] == "arg" && len(f) > 3:
		c.arg(t, f[1:])
	}
}

func (c *twin) arg(t *testing.T, f []string) {
	t.Helper()
	n, err := strconv.Atoi(f[2])
	if err != nil {
		t.Fatal(f, err)
	}
	d := map[string]probes.DType{"f32": probes.F32, "i32": probes.I32, "f16": probes.F16,
		"u8": probes.U8}[f[1]]
	b := &target.Buffer{DType: d, Dims: []int{n}, Bytes: n * d.Size(), Output: f[0] == "out"}
	switch f[3] {
	case "unwritten":
	case "zero":
		b.Init = make([]byte, b.Bytes)
	default:
		for _, s := range f[3:] {
			v, err := strconv.ParseFloat(s, 32)
			if err != nil {
				t.Fatal(f, err)
			}
			b.Init = binary.LittleEndian.AppendUint32(b.Init, math.Float32bits(float32(v)))
		}
	}
	args := map[string]target.Arg{f[0]: {Name: f[0], Buffer: b}}
	for k, v := range c.args {
		if k != f[0] {
			args[k] = v
		}
	}
	c.args = args
}

func dim3(t *testing.T, s string) probes.Dim3 {
	t.Helper()
	d := probes.Dim3{1, 1, 1}
	for i, p := range strings.Split(s, "x") {
		n, err := strconv.Atoi(p)
		if err != nil || i > 2 {
			t.Fatal(s, err)
		}
		d[i] = n
	}
	return d
}

// launch is how an entry is launched under a checker.
func (c *twin) launch(f *ptx.Func, s target.Schedule, ch *check.Checker) *target.Launch {
	l := &target.Launch{
		Grid: c.grid, Block: c.block, DynShared: c.dynamic, Shared: c.shared, Schedule: s,
		Observe: ch.Observer, Discard: ch.Discard, Cooperative: true, Budget: 200_000,
	}
	if detector {
		l.Parallel = 1
	}
	for _, p := range f.Params {
		a, ok := c.args[p.Name]
		if !ok {
			a = target.Arg{
				Name: p.Name,
				Buffer: &target.Buffer{
					DType: probes.I32, Dims: []int{1024}, Bytes: 4096, Init: make([]byte, 4096),
					Output: p.Name == "out",
				},
			}
		}
		l.Args = append(l.Args, a)
	}
	return l
}

// run executes an entry and returns all that was found, by the emulator and by the checkers.
func (c *twin) run(k target.Kernel, f *ptx.Func, s target.Schedule) ([]target.Finding, error) {
	ch := check.New(check.Options{Set: c.set})
	r, err := k.Launch(context.Background(), c.launch(f, s, ch))
	if err != nil {
		return nil, err
	}
	return append(r.Findings, ch.Findings()...), nil
}

// is reports whether a finding is the one wanted.
func (w pairWant) is(f *target.Finding) bool {
	element := f.Variable
	if strings.Contains(w.element, "[") {
		for _, i := range f.Index {
			element += fmt.Sprintf("[%d]", i)
		}
	}
	line, other := 0, 0
	if f.Source != nil {
		line = f.Source.Line
	}
	if f.Other != nil && f.Other.Line != line {
		other = f.Other.Line
	}
	missing, _, _ := strings.Cut(f.Missing, " ")
	severity := f.Kind.Severity()
	if w.severity != "" {
		severity = target.Severity(w.severity)
	}
	if f.Severity != severity {
		return false
	}
	return string(f.Kind) == w.kind && element == w.element && line == w.line && other == w.other &&
		missing == w.missing &&
		strings.Contains(f.Message+"; "+f.Consequence, w.says)
}

// compare holds findings to what is wanted: none too few, none too many.
func (c *twin) compare(t *testing.T, how string, fs []target.Finding) {
	t.Helper()
	left := append([]target.Finding(nil), fs...)
next:
	for _, w := range c.wants {
		for i := range left {
			if w.is(&left[i]) {
				left = append(left[:i], left[i+1:]...)
				continue next
			}
		}
		t.Errorf("%s: line %d: no %+v", how, w.line, w)
	}
	for _, f := range left {
		t.Errorf("%s: %s on %s%v at %s, other %s: %s; missing %q; %s", how, f.Kind, f.Variable, f.Index,
			f.Source, f.Other, f.Message, f.Missing, f.Consequence)
	}
}

// TestPairs: every entry has the findings that stand on its lines and no others, under every schedule, on
// one core and on two.
func TestPairs(t *testing.T) {
	for _, file := range kernelFiles(t, "testdata/pair/*.ptx") {
		name := strings.TrimSuffix(filepath.Base(file), ".ptx")
		t.Run(name, func(t *testing.T) {
			m, text := readModule(t, file)
			entries := readTwins(t, name, text)
			if len(entries) != 2 || entries[0].entry != name+"_bad" || entries[1].entry != name+"_ok" {
				t.Fatalf("not a pair: %d entries", len(entries))
			}
			for _, c := range entries {
				k, err := emu.New(chip.SM90()).Load(context.Background(), m, c.entry)
				if err != nil {
					t.Fatal(err)
				}
				c.try(t, k, m.Func(c.entry))
			}
		})
	}
}

// try runs an entry in every way.
func (c *twin) try(t *testing.T, k target.Kernel, f *ptx.Func) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for cores := 1; cores <= 2; cores++ {
		runtime.GOMAXPROCS(cores)
		for _, s := range pairSchedules {
			how := fmt.Sprintf("%s, %s:%d %s, %d cores", c.entry, s.Policy, s.Seed, s.Async, cores)
			fs, err := c.run(k, f, s)
			if err != nil {
				t.Errorf("%s: %v", how, err)
				return
			}
			if c.compare(t, how, fs); t.Failed() {
				return
			}
		}
	}
}

// TestPairsAssemble: ptxas takes every pair, as one module: entries have their own names and
// declare their own memory.
func TestPairsAssemble(t *testing.T) {
	ptxas := filepath.Join("..", "..", ".toolchain", "nvidia", "cuda_nvcc", "bin", "ptxas")
	if _, err := os.Stat(ptxas); err != nil {
		if ptxas, err = exec.LookPath("ptxas"); err != nil {
			t.Skip("no ptxas in .toolchain or on the path")
		}
	}
	module := []byte(".version 8.0\n.target sm_80\n.address_size 64\n")
	for _, file := range kernelFiles(t, "testdata/pair/*.ptx") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, ok := bytes.Cut(text, []byte("\n.address_size 64\n"))
		if !ok {
			t.Errorf("%s: no header", file)
		}
		module = append(append(module, body...), '\n')
	}
	in := filepath.Join(t.TempDir(), "pairs.ptx")
	if err := os.WriteFile(in, module, 0o644); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(ptxas, "-arch=sm_80", "-O0", "-o", filepath.Join(t.TempDir(), "pairs.cubin"),
		in).CombinedOutput(); err != nil {
		t.Errorf("ptxas: %v\n%s", err, msg)
	}
}

// TestPairsKinds: there is a pair for every kind of finding that an execution by itself can show: a kind that
// no pair plants is one whose checker could fall silent unseen.
func TestPairsKinds(t *testing.T) {
	planted := map[string]int{}
	for _, file := range kernelFiles(t, "testdata/pair/*.ptx") {
		_, text := readModule(t, file)
		for _, c := range readTwins(t, file, text) {
			for _, w := range c.wants {
				planted[w.kind]++
			}
		}
	}
	for _, k := range []target.Kind{
		target.Race, target.CpAsync, target.Barrier, target.Deadlock, target.Uninitialised,
		target.OutOfBounds, target.Misaligned,
		target.Overlap, target.NaNOrigin, target.BankConflict, target.Uncoalesced, target.RedundantBarrier,
		target.Shuffle,
	} {
		if planted[string(k)] == 0 {
			t.Errorf("no pair plants %s", k)
		}
	}
}
