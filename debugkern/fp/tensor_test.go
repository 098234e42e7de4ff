package fp

import (
	"archive/tar"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// golden reads the archive of tiles that an H200 computed.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/mma_golden.tgz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

var goldenForms = []struct {
	name string
	t    MMA
	k    int
}{
	{"f16", MMAF32F16, 16}, {"f16k8", MMAF32F16, 8},
	{"bf16", MMAF32BF16, 16}, {"bf16k8", MMAF32BF16, 8},
	{"h16", MMAF16F16, 16}, {"h16k8", MMAF16F16, 8},
}

// TestGoldenTiles compares Dot and MultiplyWarp with what the hardware computed.
func TestGoldenTiles(t *testing.T) {
	const tiles = 200
	files := golden(t)
	m := SM90()
	for _, g := range goldenForms {
		in, out := files[g.name+".in"], files[g.name+".out"]
		if len(in) != tiles*(512+256+512) || len(out) != tiles*512 {
			t.Fatalf("%s: %d and %d bytes", g.name, len(in), len(out))
		}
		for n := range tiles {
			a, b, c := goldenTile(in, n, tiles, g.k)
			x := inRegisters(g.t, 8, g.k, a, b, c[:])
			m.MultiplyWarp(g.t, 8, g.k, x)
			for i := range c {
				want := binary.LittleEndian.Uint32(out[n*512+4*i:])
				row, col := i/8, i%8
				slow := m.Dot(g.t, a[row*g.k:][:g.k], b[col*g.k:][:g.k], c[i])
				if d := x.result(g.t, row, col); d != want || slow != want {
					t.Fatalf("%s tile %d row %d col %d: MMA %#x, Dot %#x, hardware %#x", g.name, n, row, col,
						d, slow, want)
				}
			}
		}
	}
}

// goldenTile extracts tile n: a as [16][k], b transposed to [8][k], c.
func goldenTile(in []byte, n, tiles, k int) (a, b []uint16, c [128]uint32) {
	pa, pb, pc := in[n*512:], in[tiles*512+n*256:], in[tiles*768+n*512:]
	for row := range 16 {
		for i := range k {
			a = append(a, binary.LittleEndian.Uint16(pa[2*(row*16+i):]))
		}
	}
	for col := range 8 {
		for i := range k {
			b = append(b, binary.LittleEndian.Uint16(pb[2*(i*8+col):]))
		}
	}
	for i := range c {
		c[i] = binary.LittleEndian.Uint32(pc[4*i:])
	}
	return a, b, c
}

// BenchmarkMMA measures multiplications of a warp: ns/output, of 16 products each.
func BenchmarkMMA(b *testing.B) {
	m := SM90()
	for _, form := range []struct {
		name string
		t    MMA
		n    int
		run  func(t MMA, n, k int, x *WarpMMA)
	}{
		{"f32.f16", MMAF32F16, 16, m.MultiplyWarp}, {"f16.f16", MMAF16F16, 16, m.MultiplyWarp},
		{"f32.bf16", MMAF32BF16, 16, m.MultiplyWarp}, {"f32.f16.n8", MMAF32F16, 8, m.MultiplyWarp},
		{"f32.f16.portable", MMAF32F16, 16, m.multiplyWarp},
	} {
		b.Run(form.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			normal := func(f Format) uint32 { return uint32(narrow(rng.NormFloat64(), f, RN, false)) }
			var x, y [256]uint16
			var c [256]uint32
			for i := range c {
				x[i], y[i], c[i] = uint16(normal(form.t.AB)), uint16(normal(form.t.AB)), normal(form.t.C)
			}
			w := inRegisters(form.t, form.n, 16, x[:], y[:], c[:])
			for b.Loop() {
				form.run(form.t, form.n, 16, w)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(16*form.n), "ns/output")
		})
	}
}
