package check_test

import (
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// expected is a finding that must be there.
type expected struct {
	kind     target.Kind
	variable string
	missing  string // a part of Finding.Missing
}

// TestFaults: each planted fault is one finding a variable, with what is missing, on one core
// and on several alike.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault, target, shape string
		want                 []expected
	}{
		{"sync-s", "stage2", "small", []expected{{target.Race, "sS", "__syncthreads() between"}}},
		{
			"sync-p", "stage2", "small", []expected{
				{target.Race, "sP", "__syncthreads() between"},
				{target.Race, "U_smem", "__syncthreads() between"},
			},
		},
		{"sync-kv", "stage2", "validation", []expected{{target.Race, "sV", "__syncthreads() between"}}},
		{"sync-frag", "stage2", "small", []expected{{target.Race, "sPV_frag", "__syncwarp() between"}}},
		{"cp-async-wait", "stage2", "validation", []expected{
			{target.CpAsync, "sK_u8", "cp.async.wait_group between"},
			{target.CpAsync, "sV_u8", "cp.async.wait_group between"}}},
		{"softmax-race", "stage3b", "small", []expected{
			{target.Race, "m_smem", "exclusive access at "}, {target.Race, "l_smem", "exclusive access at "},
			{target.Race, "rescale_smem", "exclusive access at "},
			{target.Race, "U_smem", "exclusive access at "}}},
		{"merge-race", "flashcore_fused_wmma", "small",
			[]expected{{target.Race, "U_smem", "exclusive access at "}}},
		{"barrier-divergent", "stage2", "partial", nil},
	} {
		t.Run(c.fault, func(t *testing.T) {
			a := prepare(t, c.target, c.shape, []string{c.fault}, probes.GateNone, false)
			fs := a.checked(t, check.Options{Set: check.Races | check.Async}, 1)
			if again := a.checked(t, check.Options{Set: check.Races | check.Async},
				4); !reflect.DeepEqual(fs, again) {
				t.Errorf("on 4 cores: %+v; on one: %+v", again, fs)
			}
			a.launch.Schedule = target.Schedule{Policy: "random", Seed: 1, Async: "random"}
			for i, f := range a.checked(t, check.Options{Set: check.Races | check.Async}, 2) {
				if i >= len(fs) || f.Kind != fs[i].Kind || f.Variable != fs[i].Variable ||
					!strings.HasPrefix(f.Missing, c.want[i].missing) {
					t.Errorf("another schedule finds %s on %s, missing %s", f.Kind, f.Variable, f.Missing)
				}
			}
			if len(fs) != len(c.want) {
				t.Errorf("%d findings, want %d", len(fs), len(c.want))
			}
			for i, f := range fs {
				t.Logf("%s %s: %s; missing %s (%d)", f.Kind, f.Variable, f.Message, f.Missing, f.Count)
				if i >= len(c.want) {
					continue
				}
				w := c.want[i]
				if f.Kind != w.kind || f.Variable != w.variable || !strings.HasPrefix(f.Missing, w.missing) ||
					f.Severity != target.SeverityError {
					t.Errorf("finding %d is %s on %s, missing %q; want %+v", i, f.Kind, f.Variable,
						f.Missing, w)
				}
				if f.Source == nil || f.Source.Line == 0 || f.Source.Function == "" || f.Other == nil ||
					f.Other.Line == 0 || f.Count == 0 || len(f.Index) == 0 {
					t.Errorf("finding %d lacks a part: %+v", i, f)
				}
			}
		})
	}
}

var variants = []string{
	"scalar", "stage1", "stage2", "stage3a", "swizzle", "swizzle3a", "stage3b", "pipe3", "kvlut",
	"flashcore_vec", "flashcore_fused_wmma",
}

// TestClean: no error on any kernel that is right, whatever the shape, the gate and the schedule.
func TestClean(t *testing.T) {
	for i, name := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := prepare(t, name, "small", nil, probes.GateNone, false)
			for _, shape := range []string{"small", "partial49", "single16", "single32", "partial"} {
				plain.reshape(t, name, shape).silent(t, shape)
			}
			plain.reshape(t, name, "partial49")
			plain.launch.Schedule = target.Schedule{Policy: "random", Seed: uint64(i), Async: "random"}
			plain.silent(t, "random schedule")
			for _, gate := range []probes.Gate{"qk", "softmax", "pv"} {
				prepare(t, name, "partial49", nil, gate, true).silent(t, gate.String())
			}
		})
	}
}

// silent fails where there is an error.
func (a attempt) silent(t *testing.T, what string) {
	t.Helper()
	for _, f := range a.checked(t, check.Options{
		Set: check.Races | check.Async | check.Barriers | check.Redundant,
	}, 2) {
		if f.Severity == target.SeverityError {
			t.Errorf("%s: %s %s: %s; %s", what, f.Kind, f.Variable, f.Message, f.Missing)
		}
	}
}

// TestNeeds says what every synchronisation is for: the finding on that variable appears when it is taken
// away (Ignore), and none does where it is said to order nothing.
func TestNeeds(t *testing.T) {
	for _, name := range []string{"stage2", "stage3b"} {
		a := prepare(t, name, "partial49", nil, probes.GateNone, false)
		c := check.New(check.Options{Set: check.Races | check.Redundant})
		a.watch(t, c, 2)
		needs := c.Needs()
		if len(needs) < 8 {
			t.Errorf("%s: only %d synchronisations", name, len(needs))
		}
		for _, n := range needs {
			races := a.checked(t, check.Options{Set: check.Races, Ignore: []int{n.PC}}, 2)
			found := false
			for _, f := range races {
				found = found || f.Kind == target.Race && f.Variable == n.Variable
			}
			if found != n.Needed || !n.Needed && len(races) > 0 || n.Unclear {
				t.Errorf("%s: %s at %s: needed %v for %s; without it: %+v", name, n.Instr, n.Source, n.Needed,
					n.Variable, races)
			}
		}
	}
}

// TestRemedies takes each synchronisation out of a kernel, virtually. What is found then goes when the
// finding's own remedy is applied, and nobody waits at a barrier that others do not reach; nothing is found
// only where Needs says that nothing is needed.
func TestRemedies(t *testing.T) {
	o := check.Options{Set: check.Races | check.Async | check.Barriers}
	a := prepare(t, "stage2", "partial49", nil, probes.GateNone, false)
	c := check.New(check.Options{Set: check.Redundant})
	a.watch(t, c, 2)
	needed := map[int]bool{}
	for _, n := range c.Needs() {
		needed[n.PC] = n.Needed
	}
	f := a.module.Func(a.plan.Entry)
	for _, at := range f.Syncs(nil) {
		mutant := a.edited(t, []ptx.Edit{{Kind: ptx.Remove, Func: f.Name, At: at}})
		fs := mutant.checked(t, o, 2)
		if barrier := f.Body[at].Op == "bar"; len(fs) == 0 && (!barrier || needed[at]) ||
			barrier && len(fs) > 0 != needed[at] {
			t.Errorf("without %s at %d: needed %v, found %+v", f.Body[at].Opcode(), at, needed[at], fs)
		}
		for _, g := range fs {
			if len(g.Remedy) == 0 {
				t.Errorf("without %s at %d: no remedy for %s", f.Body[at].Opcode(), at, g.Message)
				continue
			}
			mended := mutant.edited(t, g.Remedy)
			r := mended.watch(t, check.New(check.Options{}), 2)
			for _, h := range append(mended.checked(t, o, 2), emulators(r.Findings)...) {
				if h.Variable == g.Variable || h.Kind == target.Barrier {
					t.Errorf("without %s at %d, with %+v: %s", f.Body[at].Opcode(), at, g.Remedy, h.Message)
				}
			}
		}
	}
}
