package emu

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// readRegisters is a kernel with static bytes of shared memory whose first thread stores special registers.
func readRegisters(static int, names []string) string {
	var b strings.Builder
	b.WriteString(
		".version 8.4\n.target sm_90\n.address_size 64\n.extern .shared .align 4 .b8 more[];\n.visible .entry t(.param .u64 out)\n{\n")
	b.WriteString("\t.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n")
	fmt.Fprintf(&b, "\t.shared .align 4 .b8 own[%d];\n", static)
	b.WriteString(
		"\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %tid.x;\n\tst.shared.u8 [own], %r1;\n\tmov.u32 %r2, more;\n\tsetp.ne.u32 %p, %r1, 0;\n\t@%p ret;\n")
	for i, name := range names {
		switch {
		case strings.HasSuffix(name, "_64") || name == "%current_graph_exec":
			fmt.Fprintf(&b, "\tmov.u64 %%rd2, %s; cvt.u32.u64 %%r2, %%rd2;\n", name)
		case name == "%clock64":
			b.WriteString("\tcvt.u32.u64 %r2, %clock64;\n")
		default:
			fmt.Fprintf(&b, "\tmov.u32 %%r2, %s;\n", name)
		}
		fmt.Fprintf(&b, "\tst.global.u32 [%%rd1+%d], %%r2;\n", 4*i)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

func launchRegisters(t *testing.T, on target.Backend, static, dynamic int, names []string) []uint32 {
	t.Helper()
	return registersOf(t, on, static, names, target.Launch{DynShared: dynamic})
}

// registersOf is launchRegisters with more of the launch given.
func registersOf(t *testing.T, on target.Backend, static int, names []string, l target.Launch) []uint32 {
	t.Helper()
	k := loadOn(t, on, "t.ptx", readRegisters(static, names))
	l.Grid, l.Block = probes.Dim3{1, 1, 1}, probes.Dim3{32, 1, 1}
	l.Args = []target.Arg{
		{
			Name: "out",
			Buffer: &target.Buffer{
				DType: probes.U32, Dims: []int{len(names)}, Bytes: 4 * len(names), Output: true,
			},
		},
	}
	r, err := k.Launch(t.Context(), &l)
	if err != nil || len(r.Findings) > 0 {
		t.Fatal(err, r)
	}
	var out []uint32
	for i := range names {
		out = append(out, binary.LittleEndian.Uint32(r.Outputs["out"][4*i:]))
	}
	return out
}

// TestVariant: a launch says which of the kernels in one build is executed.
func TestVariant(t *testing.T) {
	names := []string{"%envreg30", "%envreg31"}
	got := registersOf(t, New(chip.SM90()), 16, names, target.Launch{Variant: 7})
	if want := []uint32{0, 7}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

var sharedRegisters = []string{
	"%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap",
	"%reserved_smem_offset_0", "%reserved_smem_offset_1", "%total_smem_size", "%dynamic_smem_size",
	"%aggr_smem_size",
}

// TestSharedRegisters: the reserved shared memory lies behind the block's own, which is given out in units of
// 128 bytes. The sizes are those that an H200 reports.
func TestSharedRegisters(t *testing.T) {
	for _, c := range []struct {
		static, dynamic int
		begin, all      uint32
	}{
		{16, 0, 128, 1040}, {16, 256, 384, 1296}, {1000, 0, 1024, 2032}, {1000, 4096, 5120, 6128},
		{8192, 100, 8320, 9316},
	} {
		got := launchRegisters(t, New(chip.SM90()), c.static, c.dynamic, sharedRegisters)
		want := []uint32{
			c.begin, c.begin + 288, c.begin + 1024, c.begin, c.begin, c.begin, uint32(c.dynamic), c.all,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("static %d, dynamic %d: %v, want %v", c.static, c.dynamic, got, want)
		}
	}
}

// TestFixedRegisters: what a program may not depend on has one value, and the clocks agree.
func TestFixedRegisters(t *testing.T) {
	names := []string{
		"%smid", "%nsmid", "%gridid", "%current_graph_exec", "%nwarpid", "%envreg0", "%envreg31",
	}
	for i := range 8 {
		names = append(names, fmt.Sprintf("%%pm%d", i), fmt.Sprintf("%%pm%d_64", i))
	}
	want := make([]uint32, len(names))
	want[1], want[4] = 1, 1
	for range 2 {
		if got := launchRegisters(t, New(chip.SM90()), 16, 0, names); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	got := launchRegisters(t, New(chip.SM90()), 16, 0, []string{
		"%clock", "%clock64", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi",
	})
	if got[0] == 0 || got[1] <= got[0] || got[3] <= got[1] || got[2]|got[4] != 0 {
		t.Errorf("clocks %v", got)
	}
}

// TestGPUSharedRegisters logs what a GPU has in the registers of shared memory: what the ISA
// defines has to agree.
func TestGPUSharedRegisters(t *testing.T) {
	gpu := openGPU(t)
	for _, c := range [][2]int{{16, 0}, {16, 256}, {1000, 0}, {1000, 4096}, {8192, 100}} {
		g, e := launchRegisters(t, gpu, c[0], c[1], sharedRegisters),
			launchRegisters(t, New(chip.SM90()), c[0], c[1], sharedRegisters)
		t.Logf("static %d, dynamic %d: GPU %v, emulator %v", c[0], c[1], g, e)
		for i := 5; i < len(g); i++ {
			if g[i] != e[i] {
				t.Errorf("%s: GPU %d, emulator %d", sharedRegisters[i], g[i], e[i])
			}
		}
		if g[1]-g[0] != e[1]-e[0] || g[2]-g[0] != e[2]-e[0] || g[4]-g[0] != e[4]-e[0] {
			t.Errorf("the reserved memory has another size: GPU %v, emulator %v", g, e)
		}
	}
}
