package check_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// litmus is one entry of a file in testdata/litmus: the launch that stands in front of it, and the
// findings that its lines want: "// want KIND ELEMENT PART-OF-MISSING", with "same value" where the
// message has to say that.
type litmus struct {
	entry       string
	grid, block int
	maps        bool // behind out and in are tensor maps of them
	want        []wanted
}

type wanted struct {
	line                   int
	kind, element, missing string
	same                   bool
}

// readLitmus reads the cases of a file.
func readLitmus(t *testing.T, text string) []litmus {
	var out []litmus
	var next litmus
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "// launch ") {
			next = litmus{}
			if _, err := fmt.Sscanf(line, "// launch %d %d", &next.grid, &next.block); err != nil {
				t.Fatal(line, err)
			}
		}
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			next.entry, _, _ = strings.Cut(rest, "(")
			next.maps = strings.HasPrefix(next.entry, "tile")
			out = append(out, next)
		}
		if _, rest, ok := strings.Cut(line, "// want "); ok {
			w := wanted{line: i + 1}
			rest, w.same = strings.CutSuffix(rest, " same value")
			parts := strings.SplitN(rest, " ", 3)
			w.kind, w.element, w.missing = parts[0], strings.Trim(parts[1], "-"), strings.Trim(parts[2], "-")
			out[len(out)-1].want = append(out[len(out)-1].want, w)
		}
	}
	return out
}

// is reports whether a finding is the one wanted.
func (w wanted) is(f target.Finding) bool {
	element := f.Variable
	for _, i := range f.Index {
		element += fmt.Sprintf("[%d]", i)
	}
	at := f.Source != nil && f.Source.Line == w.line || f.Other != nil && f.Other.Line == w.line
	name, _, _ := strings.Cut(w.element, "[")
	return string(f.Kind) == w.kind && f.Variable == name && strings.HasPrefix(element, w.element) && at &&
		strings.Contains(f.Missing, w.missing) && strings.Contains(f.Message, "same value") == w.same
}

// run executes a case under a schedule and returns its findings.
func (l litmus) run(t *testing.T, k target.Kernel, s target.Schedule, parallel int) []target.Finding {
	if detector {
		parallel = 1
	}
	zeros := make([]byte, 4096)
	c := check.New(check.Options{Set: check.Races | check.Async | check.Barriers})
	args := []target.Arg{
		{
			Name: "out",
			Buffer: &target.Buffer{
				DType: probes.I32, Dims: []int{1024}, Init: zeros, Bytes: len(zeros), Output: true,
			},
		},
		{
			Name: "in", Buffer: &target.Buffer{
				DType: probes.I32, Dims: []int{1024}, Init: zeros, Bytes: len(zeros),
			},
		},
	}
	if l.maps { // of 32 rows of 32 numbers, of which 8 by 8 are copied
		for i, name := range []string{"outmap", "inmap"} {
			args = append(args, target.Arg{
				Name: name, Scalar: make([]byte, tensormap.Bytes),
				Map: &target.TensorMap{Of: i, Map: tensormap.Map{
					DType: tensormap.I32, Dims: []uint64{32, 32}, Strides: []uint64{128}, Box: []uint32{8, 8},
					Steps: []uint32{1, 1},
				}},
			})
		}
	}
	r, err := k.Launch(context.Background(), &target.Launch{
		Grid: probes.Dim3{l.grid, 1, 1}, Block: probes.Dim3{l.block, 1, 1}, Schedule: s, Parallel: parallel,
		Observe: c.Observer, Discard: c.Discard, Cooperative: true, Args: args,
	})
	if err != nil {
		t.Errorf("%s: %v", l.entry, err)
		return nil
	}
	return append(emulators(r.Findings), c.Findings()...)
}

// emulators are what the emulator itself has to say about synchronisation.
func emulators(fs []target.Finding) []target.Finding {
	var out []target.Finding
	for _, f := range fs {
		if f.Kind == target.Barrier { // a deadlock is what comes of one
			out = append(out, f)
		}
	}
	return out
}

var schedules = []target.Schedule{
	{}, {Policy: "reverse"}, {Policy: "random", Seed: 1, Async: "random"}, {Policy: "random", Seed: 2},
	{Policy: "priority", Seed: 3, Async: "earliest"}, {Policy: "ahead", Seed: 4},
}

// TestLitmus: every case has the findings that stand on its lines and no others, under every schedule.
func TestLitmus(t *testing.T) {
	for _, file := range kernelFiles(t, "testdata/litmus/*.ptx") {
		m, text := readModule(t, file)
		for _, l := range readLitmus(t, text) {
			t.Run(l.entry, func(t *testing.T) {
				if strings.HasSuffix(l.entry, "_bad") != (len(l.want) > 0) {
					t.Fatalf("%d findings wanted", len(l.want))
				}
				k, err := emu.New(chip.SM90()).Load(context.Background(), m, l.entry)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range schedules {
					l.check(t, s, l.run(t, k, s, 1))
				}
				if a, b := l.run(t, k, target.Schedule{}, 1),
					l.run(t, k, target.Schedule{}, 4); !reflect.DeepEqual(a, b) {
					t.Errorf("one core: %+v; four: %+v", a, b)
				}
			})
		}
	}
}

// check compares findings with what is wanted.
func (l litmus) check(t *testing.T, s target.Schedule, fs []target.Finding) {
	t.Helper()
	left := append([]target.Finding(nil), fs...)
	for _, w := range l.want {
		found := false
		for i, f := range left {
			if w.is(f) {
				left, found = append(left[:i:i], left[i+1:]...), true
				break
			}
		}
		if !found {
			t.Errorf("%+v: no %+v", s, w)
		}
	}
	for _, f := range left {
		t.Errorf("%+v: %s on %s%v: %s; missing %s", s, f.Kind, f.Variable, f.Index, f.Message, f.Missing)
	}
}
