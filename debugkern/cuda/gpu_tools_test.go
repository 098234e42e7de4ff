package cuda

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// racy is a kernel that reads its neighbour's word of shared memory without waiting for it.
const racy = `.version 7.0
.target sm_80
.address_size 64
.shared .align 4 .b8 room[1024];
.visible .entry racy(.param .u64 in, .param .u64 out, .param .u32 n)
{
	.reg .b32 %r<12>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.u32 %r2, room;
	shl.b32 %r3, %r1, 2;
	add.s32 %r4, %r2, %r3;
	ld.global.u32 %r7, [%rd4];
	st.shared.u32 [%r4], %r7;
	xor.b32 %r5, %r3, 512;
	add.s32 %r6, %r2, %r5;
	ld.shared.u32 %r8, [%r6];
	st.global.u32 [%rd5], %r8;
	ret;
}
`

// compute-sanitizer watches one launch each of a kernel that is right, one that writes past a buffer,
// and one that races.
func TestGPUSanitize(t *testing.T) {
	openGPU(t, 0)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := SanitizerConfig{
		Tools: Config{Path: os.Getenv("TILESCOPE_TOOLCHAIN"), Root: "."}, Command: []string{exe, launchArg},
	}
	good, err := ptx.Parse("gpu.ptx", gpuPTX)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := ptx.Parse("racy.ptx", []byte(racy))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, entry, kind string
		module            *ptx.Module
	}{
		{"memcheck", "add", "", good}, {"memcheck", "overrun", "out-of-bounds", good},
		{"memcheck", "misaligned", "misaligned", good}, {"racecheck", "add", "", good},
		{"racecheck", "racy", "race", bad},
	} {
		l := words(1001)
		if c.entry == "racy" {
			l = words(256)
		}
		if c.kind != "" && c.entry != "racy" {
			l.Grid, l.Block = probes.Dim3{1, 1, 1}, probes.Dim3{1, 1, 1}
		}
		start := time.Now()
		got, err := Sanitize(t.Context(), cfg, c.tool, c.module, c.entry, l)
		if errors.Is(err, ErrNoSanitizer) {
			t.Skip(err)
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.entry, err)
			continue
		}
		t.Logf("%s %s, %s: %d complaints, %s; %.1f s", c.tool, c.entry, got.Version, len(got.Complaints),
			got.Summary, time.Since(start).Seconds())
		for _, x := range got.Complaints {
			t.Logf("  %+v", x)
		}
		switch {
		case c.kind == "" && len(got.Complaints) != 0,
			c.kind != "" && (len(got.Complaints) == 0 || got.Complaints[0].Kind != c.kind):
			t.Errorf("%s %s: want %q first", c.tool, c.entry, c.kind)
		case c.entry == "overrun" && (got.Complaints[0].Argument != "out" || got.Complaints[0].Distance != 1):
			t.Errorf("%s %s: argument %s, %d bytes behind it", c.tool, c.entry, got.Complaints[0].Argument,
				got.Complaints[0].Distance)
		}
	}
}

// What the driver's compiler says of a module is known in the process that compiles it and in the
// next, which does not.
func TestGPUCompilerLogIsKept(t *testing.T) {
	openGPU(t, 0) // skips without a GPU
	cfg := BackendConfig{
		Worker: workerCommand(t),
		Cache: cache.Open(cache.Options{
			Dir: t.TempDir(), Max: 1 << 24, KeyFile: filepath.Join(t.TempDir(), "key"),
		}),
	}
	m, err := ptx.Parse("gpu.ptx", bytes.Replace(gpuPTX, []byte("// Kernels"),
		[]byte("// "+newJITRecord().Salt+" kernels"), 1))
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for i := range 3 {
		b, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		loaded, err := b.Load(t.Context(), m, "prints")
		if err != nil {
			t.Fatal(err)
		}
		k := loaded.(*kernel)
		t.Logf("process %d: load %s, %+v, %d bytes of log", i+1, time.Since(start), *k.Resources(),
			len(k.jit.Log))
		if k.jit.Log == "" || k.Resources().SpillsUnknown || !strings.Contains(k.jit.Log, "prints") {
			t.Errorf("process %d knows nothing of spills: %q", i+1, k.jit.Log)
		}
		if i == 0 {
			first = k.jit.Salt
		} else if k.jit.Salt != first {
			t.Errorf("process %d had it compiled anew", i+1)
		}
		b.Close()
	}
}
