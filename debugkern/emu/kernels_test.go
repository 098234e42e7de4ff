package emu

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// testKernel is a file of testdata/kernels: a kernel t(in, out) with what is expected of it in its comments.
type testKernel struct {
	name     string
	text     string
	block    int
	grid     int
	cluster  int // the launch's attribute, 0: none
	in       []byte
	out      []byte // expected
	known    []bool // by word: whether out says something
	findings []string
	fault    string
	print    string
	maps     []testMap // the parameters behind in and out
}

// testMap is a tensor map of in or out, as a comment gives it.
type testMap struct {
	tensormap.Map
	Of   string
	Skip int64
}

func readKernels(tb testing.TB) []*testKernel {
	tb.Helper()
	files, err := filepath.Glob("testdata/kernels/*.ptx")
	if err != nil || len(files) == 0 {
		tb.Fatal("no kernels", err)
	}
	var ks []*testKernel
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		k := &testKernel{name: filepath.Base(f), text: string(text), block: 32, grid: 1}
		for _, line := range strings.Split(k.text, "\n") {
			key, value, ok := strings.Cut(strings.TrimPrefix(line, "// "), ": ")
			if ok && strings.HasPrefix(line, "// ") {
				k.expect(tb, key, value)
			}
		}
		ks = append(ks, k)
	}
	return ks
}

func (k *testKernel) expect(tb testing.TB, key, value string) {
	word := func(to *[]byte, s string) {
		v, err := strconv.ParseUint(s, 16, 32)
		if err != nil {
			tb.Fatalf("%s: %v", k.name, err)
		}
		*to = binary.LittleEndian.AppendUint32(*to, uint32(v))
	}
	switch key {
	case "block":
		k.block, _ = strconv.Atoi(value)
	case "grid":
		k.grid, _ = strconv.Atoi(value)
	case "cluster":
		k.cluster, _ = strconv.Atoi(value)
	case "in":
		for _, s := range strings.Fields(value) {
			word(&k.in, s)
		}
	case "out":
		for _, s := range strings.Fields(value) {
			k.known = append(k.known, s != "-")
			word(&k.out, strings.ReplaceAll(s, "-", "0"))
		}
	case "size":
		n, _ := strconv.Atoi(value)
		k.out, k.known = make([]byte, 4*n), make([]bool, n)
	case "finding":
		k.findings = append(k.findings, value)
	case "fault":
		k.fault = value
	case "map":
		var m testMap
		if err := json.Unmarshal([]byte(value), &m); err != nil {
			tb.Fatalf("%s: %v", k.name, err)
		}
		for len(m.Steps) < len(m.Dims) {
			m.Steps = append(m.Steps, 1)
		}
		k.maps = append(k.maps, m)
	case "print":
		k.print += value + "\n"
	}
}

func (k *testKernel) launch() *target.Launch {
	args := inOut(k.in, len(k.out))
	for i := range args {
		args[i].Buffer.DType = probes.U32
		args[i].Buffer.Dims = []int{args[i].Buffer.Bytes / 4}
	}
	for i, m := range k.maps {
		of := slices.IndexFunc(args, func(a target.Arg) bool { return a.Name == m.Of })
		args = append(args, target.Arg{
			Name: fmt.Sprintf("map%d", i), Scalar: make([]byte, tensormap.Bytes),
			Map: &target.TensorMap{Map: m.Map, Of: of, Skip: m.Skip},
		})
	}
	l := &target.Launch{
		Grid: probes.Dim3{k.grid, 1, 1}, Block: probes.Dim3{k.block, 1, 1}, Args: args, Budget: 100_000,
	}
	if k.cluster > 0 {
		l.Cluster = probes.Dim3{k.cluster, 1, 1}
	}
	return l
}

// check launches and compares everything that the comments say.
func (k *testKernel) check(t *testing.T, kern target.Kernel, l *target.Launch) {
	t.Helper()
	r, err := kern.Launch(context.Background(), l)
	var fault *target.Fault
	if errors.As(err, &fault) {
		if fault.Kind != k.fault || fault.Source == nil || fault.Source.Line == 0 {
			t.Fatalf("fault %+v, want kind %q with its place", fault, k.fault)
		}
		return
	}
	if err != nil || k.fault != "" {
		t.Fatalf("error %v, want fault %q", err, k.fault)
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, strings.TrimSpace(string(f.Kind)+" "+f.Variable+" "+f.Neighbour))
	}
	if strings.Join(got, "\n") != strings.Join(k.findings, "\n") {
		t.Fatalf("findings %q, want %q: %+v", got, k.findings, r.Findings)
	}
	for i, known := range k.known {
		g, w := binary.LittleEndian.Uint32(r.Outputs["out"][4*i:]), binary.LittleEndian.Uint32(k.out[4*i:])
		if known && g != w {
			t.Fatalf("out[%d] = %x, want %x", i, g, w)
		}
	}
	if string(r.Printed) != k.print {
		t.Fatalf("printed %q, want %q", r.Printed, k.print)
	}
}

// racy kernels give other words under other schedules: what an atomic finds there, which lane comes first,
// which copies are under way when the block ends.
var racy = map[string]bool{"atom.ptx": true, "vote.ptx": true, "bulk_left.ptx": true,
	"cluster_exited.ptx": true, // another block may be slower
}

// TestKernels runs every kernel; those that are free of races under every schedule, and with
// copies that land early.
func TestKernels(t *testing.T) {
	for _, k := range readKernels(t) {
		t.Run(k.name, func(t *testing.T) {
			kern := load8(t, k.name, k.text)
			k.check(t, kern, k.launch())
			if racy[k.name] {
				return
			}
			for _, policy := range []string{"reverse", "random", "ahead", "priority"} {
				for seed := range uint64(4) {
					l := k.launch()
					l.Schedule = target.Schedule{Policy: policy, Seed: seed}
					if k.name != "async_late.ptx" {
						l.Schedule.Async = []string{"latest", "earliest", "random"}[seed%3]
					}
					k.check(t, kern, l)
				}
			}
		})
	}
}

// TestStepEqualsLaunch steps every kernel through, restores a snapshot from the middle, and compares memory
// and findings with a launch.
func TestStepEqualsLaunch(t *testing.T) {
	for _, k := range readKernels(t) {
		if k.fault != "" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			kern := load8(t, k.name, k.text)
			want := launchTB(t, kern, k.launch())
			s, err := kern.open(k.launch(), probes.Dim3{})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			var mid target.Snapshot
			half := want.Counts.WarpInstructions / 2 / uint64(k.grid)
			for i := 0; ; i++ {
				if mid == nil && s.Steps() >= half {
					mid = s.Snapshot()
				}
				stop, err := s.Step(ctx, target.StepInstruction)
				if err != nil {
					t.Fatal(err)
				}
				if stop.Reason == "end" || stop.Reason == "deadlock" || stop.Reason == "trap" {
					break
				}
				if i > 100_000 {
					t.Fatal("does not end")
				}
			}
			first := s.state()
			if c := s.b.cluster; c != nil { // the other blocks, to their ends
				c.run(nil)
				first = s.state()
			} else if s.Steps() != want.Counts.WarpInstructions {
				t.Errorf("%d steps, %d in a launch", s.Steps(), want.Counts.WarpInstructions)
			}
			// of several clusters one is stepped
			if c := s.b.cluster; (c == nil || c.only) && !bytes.Equal(first.out, want.Outputs["out"]) {
				t.Error("stepping leaves another output than launching")
			}
			s.Restore(mid)
			if s.Steps() != mid.Steps() {
				t.Errorf("restored to step %d of %d", s.Steps(), mid.Steps())
			}
			if _, err := s.Step(ctx, target.StepEnd); err != nil {
				t.Fatal(err)
			}
			if c := s.b.cluster; c != nil {
				c.run(nil)
			}
			second := s.state()
			if !bytes.Equal(first.out, second.out) || !bytes.Equal(first.shared, second.shared) ||
				first.findings != second.findings {
				t.Errorf("after restoring: findings %s, before: %s", second.findings, first.findings)
			}
		})
	}
}

type blockState struct {
	out, shared []byte
	findings    string
}

func (s *stepper) state() blockState {
	var st blockState
	for _, a := range s.b.mem.allocs {
		if a.name == "out" {
			st.out = bytes.Clone(a.data)
		}
	}
	st.shared = bytes.Clone(s.b.shared)
	for _, f := range s.Findings() {
		st.findings += f.Message + ";" + strconv.Itoa(f.Count) + "\n"
	}
	return st
}

// TestUnmodelledIsNamed: what the emulator does not model is refused at load, with its place.
func TestUnmodelledIsNamed(t *testing.T) {
	for _, instr := range []string{
		"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%rd1], [%rd1, {%r1, %r1, %r1}], [%rd1], {%rs1}",
		"cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd1, {%r1, %r1, %r1}], {%rs1}",
		"tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 1",
		"vset.u32.u32.lt %r1, %r1, %r1, %r1",
		"tex.1d.v4.f32.s32 {%r1,%r1,%r1,%r1}, [%rd1, {%r1}]",
	} {
		text := header +
			".visible .entry t()\n{\n\t.reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n\tmov.u32 %r1, 0;\n\t" + instr +
			";\n\tret;\n}\n"
		m, err := ptx.Parse("t.ptx", []byte(text))
		if err != nil {
			continue // the parser does not take it either
		}
		_, err = New(chip.SM90()).Load(context.Background(), m, "t")
		var located *ptx.Error
		if !errors.As(err, &located) || located.Pos.Line != 8 || !strings.Contains(err.Error(), "modelled") {
			t.Errorf("%s: error %v, want one at line 8 that says what is not modelled", instr, err)
		}
	}
}
