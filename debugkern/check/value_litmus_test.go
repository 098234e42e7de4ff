package check_test

import (
	"context"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// valueLitmus is a kernel t(in, out) of testdata/value. Its comments say how it is launched and, on the line
// that is to be blamed, what is to be found: "// want: KIND VARIABLE | part of the message | part of the
// consequence". A file without one is to be silent.
type valueLitmus struct {
	set    check.Set
	block  int
	grid   int
	in     []byte
	out    int
	shared []probes.SharedArray
	want   []valueWant
	losses []valueLoss
}

type valueLoss struct {
	line      int
	cause     string
	bits, out float64
}

type valueWant struct {
	line                 int
	kind, variable       string
	message, consequence string
}

var checkers = map[string]check.Set{
	"registers": check.Registers, "overlap": check.Overlap, "banks": check.Banks, "sectors": check.Sectors,
	"origins": check.Origins, "precision": check.Precision,
}

func parseValueLitmus(t *testing.T, text string) *valueLitmus {
	t.Helper()
	k := &valueLitmus{block: 32, grid: 1, out: 32}
	for i, line := range strings.Split(text, "\n") {
		if _, want, ok := strings.Cut(line, "// want: "); ok {
			parts := append(strings.Split(want, " | "), "", "")
			kind, variable, _ := strings.Cut(parts[0], " ")
			k.want = append(k.want, valueWant{i + 1, kind, variable, parts[1], parts[2]})
		}
		if _, loss, ok := strings.Cut(line, "// loss: "); ok {
			f := strings.Fields(loss)
			l := valueLoss{line: i + 1, cause: f[0]}
			l.bits, _ = strconv.ParseFloat(f[1], 64)
			l.out, _ = strconv.ParseFloat(f[2], 64)
			k.losses = append(k.losses, l)
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "// "), ": ")
		if !ok || !strings.HasPrefix(line, "// ") {
			continue
		}
		switch key {
		case "check":
			for _, s := range strings.Fields(value) {
				k.set |= checkers[s]
			}
		case "block":
			k.block, _ = strconv.Atoi(value)
		case "grid":
			k.grid, _ = strconv.Atoi(value)
		case "out":
			k.out, _ = strconv.Atoi(value)
		case "in":
			for _, s := range strings.Fields(value) {
				v, err := strconv.ParseFloat(s, 32)
				if err != nil {
					t.Fatal(err)
				}
				k.in = binary.LittleEndian.AppendUint32(k.in, math.Float32bits(float32(v)))
			}
		case "shared":
			k.shared = append(k.shared, parseShared(t, value))
		}
	}
	return k
}

// parseShared reads "NAME DTYPE D0xD1 [WITHIN OFFSET]".
func parseShared(t *testing.T, s string) probes.SharedArray {
	t.Helper()
	f := strings.Fields(s)
	a := probes.SharedArray{
		Name: f[0], DType: map[string]probes.DType{"f16": probes.F16, "f32": probes.F32,
			"u8": probes.U8}[f[1]],
	}
	a.Bytes = a.DType.Size()
	for _, d := range strings.Split(f[2], "x") {
		n, err := strconv.Atoi(d)
		if err != nil {
			t.Fatal(err)
		}
		a.Dims = append(a.Dims, n)
		a.Bytes *= n
	}
	if len(f) > 4 {
		a.Within = f[3]
		a.Offset, _ = strconv.Atoi(f[4])
	}
	return a
}

func (k *valueLitmus) launch(c *check.Checker) *target.Launch {
	in := k.in
	if len(in) == 0 {
		in = make([]byte, 4*k.block*k.grid)
	}
	buffer := func(name string, init []byte, n int) target.Arg {
		return target.Arg{
			Name: name, Buffer: &target.Buffer{
				DType: probes.F32, Dims: []int{n}, Bytes: 4 * n, Init: init, Output: init == nil,
			},
		}
	}
	return &target.Launch{
		Grid: probes.Dim3{k.grid, 1, 1}, Block: probes.Dim3{k.block, 1, 1}, Shared: k.shared, Budget: 100_000,
		Observe: c.Observer, Discard: c.Discard,
		Args: []target.Arg{buffer("in", in, len(in)/4), buffer("out", nil, k.out)},
	}
}

// TestValueLitmus runs every kernel of testdata/value under its checkers and holds findings to the
// lines that want them.
func TestValueLitmus(t *testing.T) {
	for _, file := range kernelFiles(t, "testdata/value/*.ptx") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".ptx"), func(t *testing.T) {
			k, c := runLitmus(t, file)
			k.compare(t, c.Findings())
		})
	}
}

// runLitmus launches a kernel under its checkers.
func runLitmus(t *testing.T, file string) (*valueLitmus, *check.Checker) {
	t.Helper()
	m, text := readModule(t, file)
	k := parseValueLitmus(t, text)
	if k.set == 0 {
		t.Fatal("no checker is named")
	}
	kern, err := emu.New(chip.SM90()).Load(context.Background(), m, "t")
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(check.Options{Set: k.set})
	r, err := kern.Launch(context.Background(), k.launch(c))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 {
		t.Errorf("the emulator itself found %+v", r.Findings)
	}
	return k, c
}

func (k *valueLitmus) compare(t *testing.T, got []target.Finding) {
	t.Helper()
	for _, f := range got {
		i := slices.IndexFunc(k.want, func(w valueWant) bool {
			return w.line == f.Source.Line && w.kind == string(f.Kind) && w.variable == f.Variable
		})
		if i < 0 {
			t.Errorf("line %d: not expected: %s %s: %s; %s", f.Source.Line, f.Kind, f.Variable, f.Message,
				f.Consequence)
			continue
		}
		w := k.want[i]
		if !strings.Contains(f.Message, w.message) || !strings.Contains(f.Consequence, w.consequence) {
			t.Errorf("line %d: %q; %q does not say %q and %q", w.line, f.Message, f.Consequence, w.message,
				w.consequence)
		}
		k.want = slices.Delete(slices.Clone(k.want), i, i+1)
	}
	for _, w := range k.want {
		t.Errorf("line %d: no finding %s %s", w.line, w.kind, w.variable)
	}
}

// TestPrecisionLitmus: "// loss: CAUSE BITS OUT" marks the line that loses at least so many bits, and spoils
// at least so many of the output. In a file without one nothing that reaches the output is lost.
func TestPrecisionLitmus(t *testing.T) {
	for _, file := range kernelFiles(t, "testdata/value/precision_*.ptx") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".ptx"), func(t *testing.T) {
			k, c := runLitmus(t, file)
			losses := c.Losses()
			if len(k.losses) == 0 {
				for _, l := range losses {
					if l.Out >= 1 {
						t.Errorf("not expected: %+v at %v", l, l.Source)
					}
				}
				return
			}
			if len(losses) == 0 {
				t.Fatal("no loss")
			}
			got, want := losses[0], k.losses[0] // the worst
			if got.Source.Line != want.line || got.Cause != want.cause || got.Bits < want.bits ||
				got.Out < want.out || got.Variable != "out" {
				t.Errorf("%+v at %v, want %+v", got, got.Source, want)
			}
		})
	}
}
