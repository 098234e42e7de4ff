package emu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// copyToShared copies the parameter map to tm, four bytes a lane.
const copyToShared = `	mov.b64 %m1, map; cvta.param.u64 %m1, %m1; mul.wide.u32 %m2, %q1, 4; add.u64 %m1, %m1, %m2;
	ld.u32 %q2, [%m1]; cvt.u32.u64 %q3, %m2; add.u32 %q3, %q3, %q4; st.shared.u32 [%q3], %q2; bar.warp.sync 0xffffffff;
`

// clearShared fills tm with zeros.
const clearShared = `	mul.wide.u32 %m2, %q1, 4; cvt.u32.u64 %q3, %m2; add.u32 %q3, %q3, %q4; st.shared.u32 [%q3], 0; bar.warp.sync 0xffffffff;
`

// publish copies tm to ws and makes it visible there.
const publish = `	tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d3], [tm], 128;
	fence.proxy.tensormap::generic.acquire.gpu [%d3], 128;
`

// replaced is the instructions that set every field of a map of the tensor at the address in a register.
func replaced(m *tensormap.Map, space, at, tensor string) string {
	var out strings.Builder
	set := func(field, bits, value string) {
		fmt.Fprintf(&out, "\t@%%k1 tensormap.replace.tile.%s.%s.b1024.%s [%s], %s;\n", field, space, bits, at,
			value)
	}
	set("global_address", "b64", tensor)
	set("rank", "b32", fmt.Sprint(m.Rank()-1))
	for i := range m.Rank() {
		set("box_dim", "b32", fmt.Sprintf("%d, %d", i, m.Box[i]))
		set("global_dim", "b32", fmt.Sprintf("%d, %d", i, m.Dims[i]))
		set("element_stride", "b32", fmt.Sprintf("%d, %d", i, m.Steps[i]))
		if i > 0 {
			set("global_stride", "b64", fmt.Sprintf("%d, %d", i-1, m.Strides[i-1]))
		}
	}
	types := []tensormap.DType{
		tensormap.U8, tensormap.U16, tensormap.U32, tensormap.I32, tensormap.U64, tensormap.I64,
		tensormap.F16, tensormap.F32, tensormap.F32FTZ, tensormap.F64, tensormap.BF16, tensormap.TF32,
		tensormap.TF32FTZ,
	}
	for n, t := range types { // PTX ISA, table of tensormap.replace's new values
		if t == m.DType {
			set("elemtype", "b32", fmt.Sprint(n))
		}
	}
	set("interleave_layout", "b32", "0")
	set("swizzle_mode", "b32", fmt.Sprint(uint32(m.Swizzle)))
	set("fill_mode", "b32", fmt.Sprint(uint32(m.Fill)))
	return out.String()
}

// inMemory is tensorModule with a map in memory: make puts it into tm, or ws, whose generic address is in
// %d3.
func inMemory(m *tensormap.Map, at []int32, store bool, make string) string {
	const direct = "mov.b64 %d3, map; cvta.param.u64 %d3, %d3;"
	text := tensorModule(m, at, store)
	if !strings.Contains(text, direct) {
		panic("the kernel names its map in another way")
	}
	text = strings.Replace(text, direct, `mov.u64 %d3, ws; cvta.global.u64 %d3, %d3;
	.reg .pred %k<2>; .reg .b32 %q<8>; .reg .b64 %m<8>; .shared .align 128 .b8 tm[128];
	mov.u32 %q1, %tid.x; mov.u32 %q4, tm; setp.eq.u32 %k1, %q1, 0;
`+make, 1)
	text = strings.Replace(text, ".target sm_90\n", ".target sm_90a\n", 1)
	return strings.Replace(text, ".visible", ".global .align 128 .b8 ws[128];\n.visible", 1)
}

// TestMapsInMemory: copies by a map that was copied to memory, or made there field by field, are those by the
// parameter.
func TestMapsInMemory(t *testing.T) {
	for seed := range uint64(40) {
		m, at := randomMap(rand.New(rand.NewPCG(seed, 7)))
		tensor := make([]byte, m.GlobalBytes())
		for i := range tensor {
			tensor[i] = byte(i*7 + i>>8)
		}
		n := dumped(m)
		run := func(name, text string) []byte {
			out := &target.Buffer{DType: probes.U8, Dims: []int{n}, Bytes: n, Output: true}
			res := launchTB(t, load8(t, "t.ptx", text), tensorLaunch(m, tensor, out, 0))
			for _, f := range res.Findings { // of what lies between the rows of a box
				if f.Kind != target.Uninitialised || f.Variable != "buf" {
					t.Errorf("seed %d, %s: %+v", seed, name, f)
				}
			}
			return res.Outputs["out"]
		}
		want := run("parameter", tensorModule(m, at, false))
		for name, make := range map[string]string{
			"copied":    copyToShared + publish,
			"one field": copyToShared + "\t@%k1 tensormap.replace.tile.rank.b1024.b32 [%d0], 0;\n" + publish,
			"by fields": clearShared + replaced(m, "shared::cta", "tm", "%d1") + publish,
			"in global memory": "\tst.global.b64 [ws], 0;\n" + replaced(m, "global", "ws", "%d1") +
				"\tfence.proxy.tensormap::generic.release.gpu;\n\tfence.proxy.tensormap::generic.acquire.gpu [%d3], 128;\n",
		} {
			make = strings.Replace(make, "rank.b1024.b32 [%d0], 0",
				fmt.Sprintf("rank.shared::cta.b1024.b32 [tm], %d", m.Rank()-1), 1)
			if got := run(name, inMemory(m, at, false, make)); !bytes.Equal(got, want) {
				t.Errorf("seed %d, %s: %+v at %v leaves\n% x, want\n% x", seed, name, m, at, got, want)
			}
		}
	}
}

// TestMapStore: a store by a map in memory writes the tensor that the map was set to, and the host's bytes
// stay as they are.
func TestMapStore(t *testing.T) {
	m := &tensormap.Map{
		DType: tensormap.U32, Dims: []uint64{8, 4}, Strides: []uint64{32}, Box: []uint32{8, 4},
		Steps: []uint32{1, 1},
	}
	in := bytes.Repeat([]byte{1, 2, 3, 4}, 32)
	was := make([]byte, 256)
	out := &target.Buffer{DType: probes.U8, Dims: []int{256}, Init: was}
	make := copyToShared + "\tadd.u64 %m3, %d2, 128;\n" +
		"\t@%k1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [tm], %m3;\n" + publish
	l := tensorLaunch(m, in, out, 1)
	res := launchTB(t, load8(t, "t.ptx", inMemory(m, []int32{0, 0}, true, make)), l)
	if len(res.Findings) > 0 || !bytes.Equal(was, zeros(256)) {
		t.Errorf("%v, the host's bytes are % x", res.Findings, was)
	}
	out.Output = true
	res = launchTB(t, load8(t, "t.ptx", inMemory(m, []int32{0, 0}, true, make)), l)
	if got := res.Outputs["out"]; !bytes.Equal(got[:128], zeros(128)) || !bytes.Equal(got[128:], in) {
		t.Errorf("% x", got)
	}
}

func zeros(n int) []byte { return make([]byte, n) }

// TestMapFindings: what is wrong with a map in memory is found, and says why.
func TestMapFindings(t *testing.T) {
	m := &tensormap.Map{
		DType: tensormap.U32, Dims: []uint64{4, 8}, Strides: []uint64{16}, Box: []uint32{4, 8},
		Steps: []uint32{1, 1},
	}
	const local = `	.local .align 128 .b8 lm[128]; .reg .b64 %l<20>;
	ld.param.v2.b64 {%l0, %l1}, [map]; ld.param.v2.b64 {%l2, %l3}, [map+16]; ld.param.v2.b64 {%l4, %l5}, [map+32];
	ld.param.v2.b64 {%l6, %l7}, [map+48]; ld.param.v2.b64 {%l8, %l9}, [map+64]; ld.param.v2.b64 {%l10, %l11}, [map+80];
	ld.param.v2.b64 {%l12, %l13}, [map+96]; ld.param.v2.b64 {%l14, %l15}, [map+112];
	st.local.v2.b64 [lm], {%l0, %l1}; st.local.v2.b64 [lm+16], {%l2, %l3}; st.local.v2.b64 [lm+32], {%l4, %l5};
	st.local.v2.b64 [lm+48], {%l6, %l7}; st.local.v2.b64 [lm+64], {%l8, %l9}; st.local.v2.b64 [lm+80], {%l10, %l11};
	st.local.v2.b64 [lm+96], {%l12, %l13}; st.local.v2.b64 [lm+112], {%l14, %l15};
	mov.u64 %d3, lm; cvta.local.u64 %d3, %d3;
`
	for _, c := range []struct {
		name, make, says, missing string
		kind                      target.Kind
	}{
		{"parameter", "\tmov.b64 %d3, map; cvta.param.u64 %d3, %d3;\n", "", "", ""},
		{"no grid constant", local, "lies in local memory, and is read through the tensormap proxy",
			"const __grid_constant__ for parameter map", target.ProxyFence},
		{"in shared memory", copyToShared + "\tmov.u64 %d3, tm; cvta.shared.u64 %d3, %d3;\n",
			"lies in shared memory, and is read", "tensormap.cp_fenceproxy to global memory",
			target.ProxyFence},
		{"nothing", "", "its rank was never set", "", target.Layout},
		{"foreign bytes", "\tst.global.b32 [ws+4], 77;\n", "those of no tensor map", "", target.Layout},
		{"a stride", clearShared + replaced(m, "shared::cta", "tm", "%d1") +
			"\t@%k1 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [tm], 0, 8;\n" + publish,
			"a stride of 8 bytes", "", target.Layout},
		{"unwritten", publish, "tm[0] is read before it is written", "", target.Uninitialised},
		{"misaligned", copyToShared +
			"\t@%k1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [tm+64], 1;\n" + publish,
			"is no multiple of 128", "", target.Misaligned},
		{"beyond", copyToShared + "\t@%k1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [tm], 1, 80;\n" +
			"\t@%k1 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [tm], 0, 64;\n" + publish,
			"reaches up to byte 144 of in, which has 128", "", target.OutOfBounds},
		{"nowhere", copyToShared + "\t@%k1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [tm], 0;\n" + publish,
			"begins at global address 0x0, where nothing is", "", target.Layout},
	} {
		out := &target.Buffer{DType: probes.U8, Dims: []int{128}, Bytes: 128, Output: true}
		l := tensorLaunch(m, bytes.Repeat([]byte{9}, 128), out, 0)
		res := launchTB(t, load8(t, "t.ptx", inMemory(m, []int32{0, 0}, false, c.make)), l)
		if c.says == "" {
			if len(res.Findings) > 0 {
				t.Errorf("%s: %v", c.name, res.Findings)
			}
			continue
		}
		found := false
		for _, f := range res.Findings {
			found = found || f.Kind == c.kind && strings.Contains(f.Message, c.says) &&
				strings.Contains(f.Missing, c.missing)
		}
		if !found {
			t.Errorf("%s: %+v, want %s that says %q and %q", c.name, res.Findings, c.kind, c.says, c.missing)
		}
	}
}
