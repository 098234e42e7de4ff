package cuda

import (
	"encoding/binary"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Bands are compared to the byte, aligned or not, and nothing next to them.
func TestBands(t *testing.T) {
	const size, room = 16 << 10, 16<<10 + 64
	text := string(examinePTX)
	at := strings.Index(text, ".visible .entry tilescope_bands")
	head := text[at : at+strings.Index(text[at:], "{")]
	where := ".version 7.0\n.target sm_80\n.address_size 64\n" + head +
		"{\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [count];\ncvta.to.global.u64 %rd2, %rd1;\nst.global.u64 [%rd2], %rd1;\nret;\n}\n"
	be := emu.New(chip.SM90())
	run := func(text string, bands []uint64, blocks int, n uint32, pattern, data []byte) []byte {
		m, err := ptx.Parse("x.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		k, err := be.Load(t.Context(), m, "tilescope_bands")
		if err != nil {
			t.Fatal(err)
		}
		list := make([]byte, 512)
		for i, b := range bands {
			binary.LittleEndian.PutUint64(list[8*i:], b)
		}
		r, err := k.Launch(t.Context(), &target.Launch{
			Grid: probes.Dim3{blocks, 1, 1}, Block: probes.Dim3{256, 1, 1}, Args: []target.Arg{
				{Name: "bands", Scalar: list},
				{Name: "pattern", Buffer: &target.Buffer{DType: probes.F32, Init: pattern, Bytes: size}},
				{Name: "bytes", Scalar: binary.LittleEndian.AppendUint32(nil, n)},
				{
					Name:   "count",
					Buffer: &target.Buffer{DType: probes.F32, Init: data, Bytes: len(data), Output: true},
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Outputs["count"]
	}
	data := make([]byte, 8+64*room)
	base := binary.LittleEndian.Uint64(run(where, nil, 1, size, guardPattern, data))
	var bands []uint64
	for i := range 64 {
		off := 8 + i*room + 8 + i%8 // aligned and not
		copy(data[off:], guardPattern)
		bands = append(bands, base+uint64(off))
	}
	if n := binary.LittleEndian.Uint64(run(text, bands, 64, size, guardPattern, data)); n != 0 {
		t.Errorf("whole bands: %d", n)
	}
	for _, i := range []int{0, 1, 3, 4, 63} {
		for _, j := range []int{0, 1, 1023, 1024, 5000, size - 1} {
			d := append([]byte(nil), data...)
			d[8+i*room+8+i%8+j] ^= 1
			if n := binary.LittleEndian.Uint64(run(text, bands[i:i+1], 1, size, guardPattern, d)); n != 1 {
				t.Errorf("band %d byte %d: %d", i, j, n)
			}
		}
		for _, j := range []int{-1, size} {
			d := append([]byte(nil), data...)
			d[8+i*room+8+i%8+j] ^= 1
			if n := binary.LittleEndian.Uint64(run(text, bands[i:i+1], 1, size, guardPattern, d)); n != 0 {
				t.Errorf("band %d beside it %d: %d", i, j, n)
			}
		}
	}
	d := append([]byte(nil), data...)
	d[8+63*room+8+63%8+7]++
	if n := binary.LittleEndian.Uint64(run(text, bands, 64, size, guardPattern, d)); n != 1 {
		t.Errorf("the last of 64: %d", n)
	}
}
