package check_test

import (
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// expected is a finding that must be there.
type expected struct {
	kind     target.Kind
	variable string
	missing  string // a part of Finding.Missing
}

// TestFaults: each planted fault is one finding a variable, with what is missing, on one core and on several alike.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault, target, shape string
		want                 []expected
	}{
		{"sync-s", "stage2", "small", []expected{{target.Race, "sS", "__syncthreads() between"}}},
		{"sync-p", "stage2", "small", []expected{{target.Race, "sP", "__syncthreads() between"}, {target.Race, "U_smem", "__syncthreads() between"}}},
		{"sync-kv", "stage2", "validation", []expected{{target.Race, "sV", "__syncthreads() between"}}},
		{"sync-frag", "stage2", "small", []expected{{target.Race, "sPV_frag", "__syncwarp() between"}}},
		{"cp-async-wait", "stage2", "validation", []expected{
			{target.CpAsync, "sK_u8", "cp.async.wait_group between"}, {target.CpAsync, "sV_u8", "cp.async.wait_group between"}}},
		{"softmax-race", "stage3b", "small", []expected{
			{target.Race, "m_smem", "exclusive: "}, {target.Race, "l_smem", "exclusive: "}, {target.Race, "rescale_smem", "exclusive: "},
			{target.Race, "U_smem", "exclusive: "}}},
		{"merge-race", "flashcore_fused_wmma", "small", []expected{{target.Race, "U_smem", "exclusive: "}}},
		{"barrier-divergent", "stage2", "partial", nil},
	} {
		t.Run(c.fault, func(t *testing.T) {
			a := prepare(t, c.target, c.shape, []string{c.fault}, probes.GateNone, false)
			fs := a.checked(t, check.Options{Set: check.Races | check.Async}, 1)
			if again := a.checked(t, check.Options{Set: check.Races | check.Async}, 4); !reflect.DeepEqual(fs, again) {
				t.Errorf("on 4 cores: %+v; on one: %+v", again, fs)
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
				if f.Kind != w.kind || f.Variable != w.variable || !strings.HasPrefix(f.Missing, w.missing) || f.Severity != target.SeverityError {
					t.Errorf("finding %d is %s on %s, missing %q; want %+v", i, f.Kind, f.Variable, f.Missing, w)
				}
				if f.Source == nil || f.Source.Line == 0 || f.Source.Function == "" || f.Other == nil || f.Other.Line == 0 || f.Count == 0 || len(f.Index) == 0 {
					t.Errorf("finding %d lacks a part: %+v", i, f)
				}
			}
		})
	}
}

var variants = []string{"scalar", "stage1", "stage2", "stage3a", "swizzle", "swizzle3a", "stage3b", "pipe3", "kvlut", "flashcore_vec", "flashcore_fused_wmma"}

// TestClean: no error on any kernel that is right, whatever the shape and the gate.
func TestClean(t *testing.T) {
	for _, name := range variants {
		for _, gate := range []probes.Gate{probes.GateNone, probes.GateQK, probes.GateSoftmax, probes.GatePV} {
			shapes := []string{"small", "partial49", "single16", "single32", "partial"}
			if gate == probes.GateNone {
				shapes = append(shapes, "validation")
			}
			for _, shape := range shapes {
				a := prepare(t, name, shape, nil, gate, gate != probes.GateNone)
				for _, f := range a.checked(t, check.Options{Set: check.Races | check.Async | check.Redundant}, 2) {
					if f.Severity == target.SeverityError {
						t.Errorf("%s %s %v: %s %s: %s; %s", name, shape, gate, f.Kind, f.Variable, f.Message, f.Missing)
					}
				}
			}
		}
	}
}

// TestNeeds says what every barrier of Stage 2 is for; taking one away (Ignore) makes the race that it is said to prevent.
func TestNeeds(t *testing.T) {
	a := prepare(t, "stage2", "partial49", nil, probes.GateNone, false)
	c := check.New(check.Options{Set: check.Races | check.Redundant})
	a.watch(t, c, 2)
	for _, n := range c.Needs() {
		t.Logf("%d %s %s needed %v: %s%v %v %v", n.PC, n.Instr, n.Source, n.Needed, n.Variable, n.Element, n.First, n.Second)
		races := a.checked(t, check.Options{Set: check.Races, Ignore: []int{n.PC}}, 2)
		found := false
		for _, f := range races {
			found = found || f.Kind == target.Race && f.Variable == n.Variable
			t.Logf("   without: %s %s; %s", f.Variable, f.Message, f.Missing)
		}
		if found != n.Needed || !n.Needed && len(races) > 0 {
			t.Errorf("%s at %s: needed %v for %s; without it: %+v", n.Instr, n.Source, n.Needed, n.Variable, races)
		}
	}
	if fs := c.Findings(); len(fs) > 0 {
		t.Logf("%+v", fs)
	}
}
