package emu

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// tensorModule is a kernel t(in, out, map) that copies one box to or from shared memory, which lies unchanged
// in out or in.
func tensorModule(m *tensormap.Map, at []int32, store bool) string {
	var coords []string
	for _, c := range at {
		coords = append(coords, fmt.Sprint(c))
	}
	place := fmt.Sprintf("[%%d3, {%s}]", strings.Join(coords, ", "))
	n := dumped(m)
	body := fmt.Sprintf(`	@%%p1 mbarrier.init.shared::cta.b64 [bar], 1;
	@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %d;
	@%%p1 cp.async.bulk.tensor.%dd.shared::cta.global.tile.mbarrier::complete_tx::bytes [buf], %s, [bar];
	bar.sync 0;
W:
	mbarrier.try_wait.parity.shared::cta.b64 %%p3, [bar], 0;
	@!%%p3 bra W;
L:
	cvt.u32.u64 %%r5, %%d5; add.u32 %%r6, %%r5, %%r3; ld.shared.u8 %%h1, [%%r6];
	add.u64 %%d6, %%d2, %%d5; st.global.u8 [%%d6], %%h1;
	add.u64 %%d5, %%d5, 32; setp.lt.u64 %%p2, %%d5, %d; @%%p2 bra L;
`, m.BoxBytes(), m.Rank(), place, n)
	if store {
		body = fmt.Sprintf(`L:
	cvt.u32.u64 %%r5, %%d5; add.u32 %%r6, %%r5, %%r3;
	add.u64 %%d6, %%d1, %%d5; ld.global.u8 %%h1, [%%d6]; st.shared.u8 [%%r6], %%h1;
	add.u64 %%d5, %%d5, 32; setp.lt.u64 %%p2, %%d5, %d; @%%p2 bra L;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	@%%p1 cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group %s, [buf];
	@%%p1 cp.async.bulk.commit_group;
	@%%p1 cp.async.bulk.wait_group 0;
`, n, m.Rank(), place)
	}
	return fmt.Sprintf(`.version 8.6
.target sm_90
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])
{
	.reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<8>; .reg .b64 %%d<8>;
	.shared .align 1024 .b8 buf[%d]; .shared .align 8 .b64 bar;
	ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.b64 %%d3, map; cvta.param.u64 %%d3, %%d3;
	mov.u32 %%r1, %%tid.x; setp.eq.u32 %%p1, %%r1, 0; mov.u32 %%r3, buf; cvt.u64.u32 %%d5, %%r1;
%s	ret;
}
`, n, body)
}

// dumped is the bytes of shared memory that the kernel looks at: the box, in whole rounds of a warp.
func dumped(m *tensormap.Map) int { return (m.SharedBytes() + 31) &^ 31 }

// randomMap is a valid map of a tensor whose dimensions may lie in any order, with gaps, and coordinates near
// it.
func randomMap(r *rand.Rand) (*tensormap.Map, []int32) {
	types := []tensormap.DType{tensormap.U8, tensormap.U16, tensormap.F16, tensormap.F32, tensormap.U64}
	m := &tensormap.Map{DType: types[r.IntN(len(types))], Swizzle: tensormap.Swizzle(r.IntN(4))}
	size := m.DType.Size()
	rank := 1 + r.IntN(5)
	most := 128
	if s := m.Swizzle.Span(); s > 0 {
		most = s
	}
	at := make([]int32, rank)
	for i := range rank {
		n, box, step := 1+r.IntN(6), 1+r.IntN(4), 1
		if i == 0 {
			box = 16 * (1 + r.IntN(most/16)) / size
			n = 1 + r.IntN(2*box)
		} else if r.IntN(3) == 0 {
			step = 1 + r.IntN(3)
		}
		m.Dims = append(m.Dims, uint64(n))
		m.Box, m.Steps = append(m.Box, uint32(box)), append(m.Steps, uint32(step))
		at[i] = int32(r.IntN(n+box) - box/2 - 1)
	}
	at[0] &^= int32(16/size - 1) // a GPU takes no others
	m.Strides = make([]uint64, rank-1)
	span := uint64(int(m.Dims[0])*size+15) &^ 15
	for _, i := range r.Perm(rank - 1) {
		m.Strides[i] = span + 16*uint64(r.IntN(2))
		span = m.Strides[i] * m.Dims[i+1]
	}
	return m, at
}

// plainly calls f for every element of a box: its first byte in shared memory, and that of the tensor, -1
// where it lies outside. It follows the words of the ISA, element by element.
func plainly(m *tensormap.Map, at []int32, f func(shared, global int)) {
	size, rank := m.DType.Size(), len(at)
	index := make([]int, rank)
	for {
		outside, global, row, rows := false, 0, 0, 1
		for d := range rank {
			c := int(at[d]) + index[d]*int(m.Steps[d])
			if d == 0 {
				c = int(at[0]) + index[0]
			}
			outside = outside || c < 0 || c >= int(m.Dims[d])
			if d == 0 {
				global += c * size
				continue
			}
			global += c * int(m.Strides[d-1])
			row += rows * index[d]
			rows *= (int(m.Box[d])-1)/int(m.Steps[d]) + 1
		}
		pitch := int(m.Box[0]) * size
		chunks := 1 // of 16 bytes, that trade places
		switch m.Swizzle {
		case tensormap.Swizzle32B:
			chunks = 2
		case tensormap.Swizzle64B:
			chunks = 4
		case tensormap.Swizzle128B:
			chunks = 8
		}
		if chunks > 1 {
			pitch = 16 * chunks
		}
		byteOf := row*pitch + index[0]*size
		line, chunk := byteOf/128, byteOf/16%8
		chunk = chunk/chunks*chunks + (chunk % chunks) ^ (line % chunks)
		if outside {
			global = -1
		}
		f(line*128+chunk*16+byteOf%16, global)
		d := 0
		for ; d < rank; d++ {
			n := (int(m.Box[d])-1)/int(m.Steps[d]) + 1
			if d == 0 {
				n = int(m.Box[0])
			}
			if index[d]++; index[d] < n {
				break
			}
			index[d] = 0
		}
		if d == rank {
			return
		}
	}
}

func tensorLaunch(m *tensormap.Map, in []byte, out *target.Buffer, of int) *target.Launch {
	return &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Budget: 1 << 20,
		Args: []target.Arg{
			{Name: "in", Buffer: &target.Buffer{DType: probes.U8, Dims: []int{len(in)}, Init: in}},
			{Name: "out", Buffer: out},
			{
				Name: "map", Scalar: make([]byte, tensormap.Bytes),
				Map: &target.TensorMap{Map: *m, Of: of},
			},
		},
	}
}

func fourBytes() *target.Buffer {
	return &target.Buffer{DType: probes.U8, Dims: []int{4}, Bytes: 4}
}

// TestTensorCopies compares tensor copies by random maps with a model that moves one element after the other.
func TestTensorCopies(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, at := randomMap(r)
		if err := m.Validate(0); err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, m, err)
		}
		size, tensor, shared := m.DType.Size(), make([]byte, m.GlobalBytes()), make([]byte, dumped(m))
		for i := range tensor {
			tensor[i] = byte(r.Uint32())
		}
		for i := range shared {
			shared[i] = byte(r.Uint32())
		}
		want := bytes.Repeat([]byte{0xff}, len(shared)) // memory that nobody has written
		plainly(m, at, func(to, from int) {
			for i := range size {
				if want[to+i] = 0; from >= 0 {
					want[to+i] = tensor[from+i]
				}
			}
		})
		out := &target.Buffer{DType: probes.U8, Dims: []int{len(shared)}, Bytes: len(shared), Output: true}
		k := load8(t, "t.ptx", tensorModule(m, at, false))
		res := launchTB(t, k, tensorLaunch(m, tensor, out, 0))
		if !bytes.Equal(res.Outputs["out"], want) {
			t.Fatalf("seed %d: a load at %v of %+v leaves\n% x, want\n% x", seed, at, m, res.Outputs["out"],
				want)
		}
		want = bytes.Clone(tensor)
		for i := range at { // what a GPU writes does not begin before the tensor
			at[i] = max(at[i], 0)
		}
		plainly(m, at, func(from, to int) {
			if to >= 0 {
				copy(want[to:to+size], shared[from:])
			}
		})
		out = &target.Buffer{DType: probes.U8, Dims: []int{len(tensor)}, Init: tensor, Output: true}
		k = load8(t, "t.ptx", tensorModule(m, at, true))
		res = launchTB(t, k, tensorLaunch(m, shared, out, 1))
		if !bytes.Equal(res.Outputs["out"], want) || len(res.Findings) > 0 {
			t.Fatalf("seed %d: a store at %v of %+v leaves\n% x, want\n% x: %v", seed, at, m,
				res.Outputs["out"], want, res.Findings)
		}
	}
}

// TestTensorFaults: what cannot be executed ends the launch, with its line and why.
func TestTensorFaults(t *testing.T) {
	load := "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes " +
		"[buf], [%d3, {0, 0}], [bar]"
	for _, c := range []struct {
		instr, says string
		change      func(m *tensormap.Map)
	}{
		{load, "", nil},
		{"add.u64 %d3, %d3, 64; " + load, "byte 64 of parameter map, which is no tensor map", nil},
		{
			"mov.b64 %d3, out; cvta.param.u64 %d3, %d3; " + load, "parameter out, which is no tensor map",
			nil,
		},
		{
			strings.Replace(strings.Replace(load, "2d", "1d", 1), "{0, 0}", "{0}", 1),
			"parameter map, which has 2 dimensions", nil,
		},
		{load, "how copies round these is not modelled", func(m *tensormap.Map) { m.DType = tensormap.TF32 }},
		{
			strings.Replace(strings.Replace(load, "2d", "3d", 1), "0}", "0, 0}", 1), "which is interleaved",
			func(m *tensormap.Map) {
				m.Dims, m.Strides, m.Box = []uint64{4, 8, 1}, []uint64{16, 128}, []uint32{4, 8, 1}
				m.Steps, m.Interleave = []uint32{1, 1, 1}, tensormap.Interleave16B
			},
		},
		{
			"cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group [%d3, {0, 0}], [buf]",
			"whose elements are f32: none of that type are combined by .min",
			func(m *tensormap.Map) { m.DType = tensormap.F32 },
		},
	} {
		text := `.version 8.6
.target sm_90
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])
{
	.reg .b16 %h<4>; .reg .b64 %d<8>;
	.shared .align 128 .b8 buf[512]; .shared .align 8 .b64 bar;
	ld.param.u64 %d1, [in]; mov.b64 %d3, map; cvta.param.u64 %d3, %d3;
	mbarrier.init.shared::cta.b64 [bar], 1;
	` + c.instr + `;
	ret;
}
`
		m := &tensormap.Map{
			DType: tensormap.U32, Dims: []uint64{4, 8}, Strides: []uint64{16}, Box: []uint32{4, 8},
			Steps: []uint32{1, 1},
		}
		if c.change != nil {
			c.change(m)
		}
		l := tensorLaunch(m, make([]byte, 128), fourBytes(), 0)
		l.Block[0] = 1
		_, err := load8(t, "t.ptx", text).Launch(t.Context(), l)
		var f *target.Fault
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.instr, err)
		case c.says != "" && (!errors.As(err, &f) || f.Kind != "unmodelled" ||
			!strings.Contains(f.Msg, c.says) || !strings.HasPrefix(f.Pos, "t.ptx:10:")):
			t.Errorf("%s: %v, want a fault at line 10 that says %q", c.instr, err, c.says)
		}
	}
}

// TestTensorParameters: a tensor map is a parameter of 128 bytes aligned to 64, and valid.
func TestTensorParameters(t *testing.T) {
	m := &tensormap.Map{DType: tensormap.U32, Dims: []uint64{8}, Box: []uint32{4}, Steps: []uint32{1}}
	launch := func() *target.Launch {
		return tensorLaunch(m, make([]byte, 64), fourBytes(), 0)
	}
	for param, says := range map[string]string{
		".align 64 .b8 map[128]": "", ".align 32 .b8 map[128]": "aligned to 32",
		".align 64 .b8 map[64]": "parameter of 64",
	} {
		text := ".version 8.6\n.target sm_90\n.address_size 64\n" +
			".visible .entry t(.param .u64 in, .param .u64 out, .param " + param + ")\n{\n\tret;\n}\n"
		p, err := ptx.Parse("t.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		k, err := New(chip.SM90()).Load(t.Context(), p, "t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = k.Launch(t.Context(), launch()); (err == nil) != (says == "") ||
			err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", param, err, says)
		}
	}
	for says, change := range map[string]func(a *target.Arg){
		"no buffer of the launch": func(a *target.Arg) { a.Map.Of = 2 },
		"1 to 256":                func(a *target.Arg) { a.Map.Box = []uint32{300} },
		"ends at byte 80":         func(a *target.Arg) { a.Map.Dims = []uint64{20} },
	} {
		l := launch()
		change(&l.Args[2])
		k := load8(t, "t.ptx", tensorModule(m, []int32{0}, false))
		if _, err := k.Launch(t.Context(), l); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
