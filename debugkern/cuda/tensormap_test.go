package cuda

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// mappedLaunch is a launch of mapped(out, map) with a tensor map of a buffer that is no parameter.
func mappedLaunch() *target.Launch {
	in := bytes.Repeat([]byte("tensor map data "), 64)
	return &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Repeat: 1,
		Args: []target.Arg{
			{
				Name:   "out",
				Buffer: &target.Buffer{DType: probes.U8, Dims: []int{144}, Bytes: 144, Output: true},
			},
			{
				Name: "map", Scalar: make([]byte, tensormap.Bytes),
				Map: &target.TensorMap{Of: 2, Skip: 64, Map: tensormap.Map{
					DType: tensormap.BF16, Dims: []uint64{24, 5, 2}, Strides: []uint64{48, 256},
					Box: []uint32{16, 4, 2}, Steps: []uint32{1, 2, 1}, Swizzle: tensormap.Swizzle32B,
					Promotion: 2, Fill: tensormap.FillNaN,
				}},
			},
			{
				Name: "in", Into: []target.Place{},
				Buffer: &target.Buffer{DType: probes.U8, Dims: []int{len(in)}, Init: in},
			},
		},
	}
}

const mappedModule = `.version 8.0
.target sm_90
.address_size 64
.visible .entry mapped(.param .u64 out, .param .align 64 .b8 map[128])
{
	ret;
}
`

func loadMapped(t *testing.T, b *Backend) target.Kernel {
	t.Helper()
	m, err := ptx.Parse("mapped.ptx", []byte(mappedModule))
	if err != nil {
		t.Fatal(err)
	}
	k, err := b.Load(t.Context(), m, "mapped")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestTensorMap: the driver is handed a map's description with the address of its buffer, and the kernel what
// the driver made of it.
func TestTensorMap(t *testing.T) {
	b := openFake(t, "")
	l := mappedLaunch()
	res, err := loadMapped(t, b).Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	out := res.Outputs["out"]
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(out[8*i:]) }
	if want := "tensor map data "; string(out[128:144]) != want {
		t.Errorf("the map's address leads to %q, want %q", out[128:144], want)
	}
	for i, want := range map[int]uint64{
		1: 9 | 3<<8 | 1<<24, 2: 2 | 1<<8, 3: 24, 4: 5, 5: 2, 8: 48, 9: 256, 12: 16 | 4<<8 | 2<<16,
		13: 1 | 2<<8 | 1<<16,
	} {
		if word(i) != want {
			t.Errorf("word %d of the map: %#x, want %#x", i, word(i), want)
		}
	}
}

// TestTensorMapRefused: what no map can be is refused before the driver is asked, and what the driver refuses
// is its error.
func TestTensorMapRefused(t *testing.T) {
	k := loadMapped(t, openFake(t, ""))
	for says, change := range map[string]func(m *target.TensorMap){
		"a tensor map of no buffer":         func(m *target.TensorMap) { m.Of = 1 },
		"multiple of 16":                    func(m *target.TensorMap) { m.Skip = 8 },
		"the tensor ends at byte 1440":      func(m *target.TensorMap) { m.Strides[1] = 1136 },
		"1 to 256":                          func(m *target.TensorMap) { m.Box[1] = 257 },
		"at most 32 with swizzle 32B":       func(m *target.TensorMap) { m.Box[0] = 24 },
		"2 strides for 2 dimensions: each ": func(m *target.TensorMap) { m.Dims = m.Dims[:2] },
	} {
		l := mappedLaunch()
		change(l.Args[1].Map)
		if _, err := k.Launch(t.Context(), l); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	k = loadMapped(t, openFake(t, "cuTensorMapEncodeTiled=1"))
	if _, err := k.Launch(t.Context(), mappedLaunch()); err == nil ||
		!strings.Contains(err.Error(), "argument map: tensor map: cuTensorMapEncodeTiled") {
		t.Errorf("a refusal by the driver: %v", err)
	}
}
