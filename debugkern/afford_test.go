package debugkern

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// limitedSession is a session that may use limit bytes.
func limitedSession(t *testing.T, limit int64) *Session {
	t.Helper()
	s, err := Open(t.Context(), Options{Config: &configs.Config{CaptureMax: 1 << 50, MemoryMax: limit}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRunsAreRefusedByWhatTheyNeed: before inputs are made, with the sum, its parts and what would fit;
// nothing stays reserved.
func TestRunsAreRefusedByWhatTheyNeed(t *testing.T) {
	for _, c := range []struct {
		req   Request
		limit int64
		says  string // "": it runs
	}{
		{Request{Target: "stage2", Shape: "small"}, 256 << 20, ""},
		{Request{Target: "stage2", Shape: "small", Check: check.All}, 512 << 20, ""},
		{Request{Target: "stage2", Shape: "1,8,200000,64"}, 6 << 30,
			`needs [0-9.]+ TiB of memory: inputs 1.43 GiB, arguments [0-9.]+ MiB, captures [0-9.]+ TiB \(--blocks 0,0,0 would make it [0-9.]+ MiB\), reference and judging .* GiB; memory.max is 6 GiB`},
		{
			Request{
				Target: "stage2", Shape: "1,8,200000,64", Blocks: Region{{0, 1}, {0, 1}, {0, 1}},
				Tiles: Span{0, 1}, Stages: []probes.Stage{"O"},
			}, 1 << 30, `needs .* inputs [0-9.]+ GiB, arguments .*; memory.max is 1 GiB`,
		},
		{Request{Target: "stage2", Shape: "mission", Check: check.All}, 1 << 20,
			`checkers [0-9.]+ MiB \(without diagnose`},
		{Request{Target: "stage2", Shape: "1,1,1000000000,64"}, 1 << 30, `its arguments would take 298 GiB`},
	} {
		s := limitedSession(t, c.limit)
		c.req.Backend = "emu"
		_, err := s.Run(context.Background(), c.req, nil)
		if c.says == "" {
			if err != nil {
				t.Errorf("%v: %v", c.req, err)
			}
		} else {
			var coded *report.Error
			if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
				!regexp.MustCompile(c.says).MatchString(err.Error()) {
				t.Errorf("%s: %v\nwant %s", c.req.Shape, err, c.says)
			}
		}
		s.forgetInputs() // the inputs of the last run
		if s.mem.Collect(); s.mem.Used() != 0 {
			t.Errorf("%s: %d bytes are still reserved", c.req.Shape, s.mem.Used())
		}
	}
}

// ownKernel writes a kernel with variables of its own, and a manifest for it; it returns the manifest's path.
func ownKernel(t *testing.T, local string) string {
	t.Helper()
	dir := t.TempDir()
	ptx := ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 Q, .param .u64 K, .param .u64 V, .param .u64 O)\n{\n" +
		".reg .b64 %rd<3>;\n" + local + "\nret;\n}\n"
	manifest := `schema: tilescope.kernel/1
name: mine
ptx: k.ptx
entry: k
constants: {BR: 32, BC: 16}
launch: {grid: [ceil_div(S, BR), H, B], block: [128, 1, 1]}
args:
  - {name: Q, type: "f16*", dims: [B, H, S, D], role: input, tensor: Q}
  - {name: K, type: "f16*", dims: [B, H, S, D], role: input, tensor: K}
  - {name: V, type: "f16*", dims: [B, H, S, D], role: input, tensor: V}
  - {name: O, type: "f16*", dims: [B, H, S, D], role: output, tensor: O}
work: {batch: bz, head: by, query: bx * BR, key: kv * BC, tiles: ceil_div(S, BC)}
stages:
  - {name: S, dtype: f32, dims: [BR, BC], valid: [BR, BC], per: tile, capture: none}
  - {name: O, dtype: f16, dims: [BR, D], valid: [BR, D], per: block, capture: {output: O}}
shapes: {validation: [1, 2, 64, 64]}
`
	for name, text := range map[string]string{"k.ptx": ptx, "m.yaml": manifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "m.yaml")
}

// TestKernelsAreRefusedByWhatTheyDeclare: variables of the kernel are added up once it is loaded,
// before it is executed.
func TestKernelsAreRefusedByWhatTheyDeclare(t *testing.T) {
	s := limitedSession(t, 1<<30)
	for local, c := range map[string]struct {
		code report.Code
		says string
	}{
		".local .b8 l[1073741824];": {report.CodeUsage, "local memory "},
		".shared .b8 s[300000]; mov.u64 %rd1, s;": {report.CodeFailed,
			"k.ptx:7:13: launch k: 293 KiB of shared memory a block, at most 227 KiB"},
		".shared .b32 big[4294967296][4294967296]; mov.u64 %rd1, big;": {report.CodeFailed,
			"k.ptx:7:14: variable big is too large"},
	} {
		_, err := s.Run(context.Background(), Request{Target: ownKernel(t, local), Backend: "emu"}, nil)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", local, err)
		}
	}
}

// TestMemoryUsedUpWhileRunning: what is over what is left, though under the limit, fails the run
// and names what asked.
func TestMemoryUsedUpWhileRunning(t *testing.T) {
	s := limitedSession(t, 256<<20)
	req := Request{Target: "stage2", Shape: "small", Backend: "emu"}
	if _, err := s.Run(context.Background(), req, nil); err != nil { // from now on its inputs are there
		t.Fatal(err)
	}
	s.mem.Collect()
	release, err := s.mem.Reserve("something else", s.mem.Limit()-s.mem.Used()-1<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	_, err = s.Run(context.Background(), req, nil)
	var coded *report.Error
	var full *budget.Exhausted
	if !errors.As(err, &coded) || coded.Code != report.CodeFailed || !errors.As(err, &full) ||
		!strings.Contains(err.Error(), "the launch of ") || coded.Report == nil {
		t.Errorf("%v", err)
	}
}
