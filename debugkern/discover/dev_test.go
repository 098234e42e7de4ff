package discover

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

func f16buf(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, 0, 2*n)
	for range n {
		v := float32(rng.NormFloat64())
		bits := math.Float32bits(v)
		s, e, m := bits>>31, int(bits>>23&255)-127+15, bits>>13&0x3ff
		if e <= 0 {
			e, m = 0, 0
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(s<<15|uint32(e)<<10|m))
	}
	return b
}

func TestDev(t *testing.T) {
	name := os.Getenv("DEV")
	if name == "" {
		t.Skip("dev")
	}
	text, err := os.ReadFile("/tmp/w/clients/" + name + ".ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(name+".ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	f := m.Entries()[0]
	k, err := emu.New(chip.SM90()).Load(context.Background(), m, f.Name)
	if err != nil {
		t.Fatal(err)
	}
	l := &target.Launch{}
	u32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	u64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	if name[:3] == "tri" {
		l.Grid, l.Block, l.DynShared = probes.Dim3{2, 4, 1}, probes.Dim3{128, 1, 1}, 12288
		if s := os.Getenv("SHARED"); s != "" {
			l.DynShared = 65536
		}
		for i, n := range []string{"Q", "K", "V", "O"} {
			b := &target.Buffer{DType: probes.F16, Dims: []int{4, 128, 64}, Bytes: 2 * 4 * 128 * 64, Output: i == 3}
			if i < 3 {
				b.Init = f16buf(uint64(i), 4*128*64)
			}
			l.Args = append(l.Args, target.Arg{Name: n, Buffer: b})
		}
		l.Args = append(l.Args, target.Arg{Name: "scale", Scalar: u32(math.Float32bits(0.125))}, target.Arg{Name: "S", Scalar: u32(128)},
			target.Arg{Name: "s0", Scalar: u64(0)}, target.Arg{Name: "s1", Scalar: u64(0)})
	} else {
		l.Grid, l.Block, l.DynShared = probes.Dim3{1, 4, 1}, probes.Dim3{128, 1, 1}, 65536
		for range 4 {
			b := make([]byte, 48)
			binary.LittleEndian.PutUint32(b[8:], 128)
			binary.LittleEndian.PutUint32(b[12:], 64)
			binary.LittleEndian.PutUint32(b[16:], 4)
			binary.LittleEndian.PutUint32(b[20:], 1)
			binary.LittleEndian.PutUint64(b[24:], 256)
			binary.LittleEndian.PutUint64(b[32:], 64)
			binary.LittleEndian.PutUint64(b[40:], 32768)
			l.Args = append(l.Args, target.Arg{Name: "t", Scalar: b})
		}
		l.Args = append(l.Args, target.Arg{Name: "scale", Scalar: u32(math.Float32bits(0.125 * math.Log2E))}, target.Arg{Name: "a", Scalar: u32(0)},
			target.Arg{Name: "b", Scalar: u32(0)}, target.Arg{Name: "c", Scalar: u32(0)}, target.Arg{Name: "d", Scalar: make([]byte, 12)}, target.Arg{Name: "e", Scalar: u32(0)})
		for i, n := range []string{"Q", "K", "V", "O"} {
			b := &target.Buffer{DType: probes.F16, Dims: []int{1, 128, 4, 64}, Bytes: 2 * 4 * 128 * 64, Output: i == 3}
			if i < 3 {
				b.Init = f16buf(uint64(i), 4*128*64)
			}
			l.Args = append(l.Args, target.Arg{Name: n, Buffer: b, Into: []target.Place{{Arg: i}}})
		}
	}
	t0 := time.Now()
	res, err := Find(context.Background(), k, f, l, "")
	t.Log(time.Since(t0), err)
	j, _ := json.MarshalIndent(res, "", " ")
	t.Log(string(j))
}
