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

// TestGoldenTiles compares Dot and MMA16x8 with what the hardware computed.
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
			var d [128]uint32
			m.MMA16x8(g.t, g.k, &d, &c, a, b)
			for i := range d {
				want := binary.LittleEndian.Uint32(out[n*512+4*i:])
				row, col := i/8, i%8
				slow := m.Dot(g.t, a[row*g.k:][:g.k], b[col*g.k:][:g.k], c[i])
				if d[i] != want || slow != want {
					t.Fatalf("%s tile %d row %d col %d: MMA %#x, Dot %#x, hardware %#x", g.name, n, row, col, d[i], slow, want)
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

func BenchmarkMMA(b *testing.B) {
	for _, form := range []struct {
		name string
		t    MMA
	}{{"f32.f16", MMAF32F16}, {"f16.f16", MMAF16F16}, {"f32.bf16", MMAF32BF16}} {
		b.Run(form.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var x, y [256]uint16
			var c, d [256]uint32
			for i := range x {
				x[i] = uint16(narrow(rng.NormFloat64(), form.t.AB, RN, false))
				y[i] = uint16(narrow(rng.NormFloat64(), form.t.AB, RN, false))
				c[i] = uint32(narrow(rng.NormFloat64(), form.t.C, RN, false))
			}
			m := SM90()
			for b.Loop() {
				m.MMA16x16x16(form.t, &d, &c, &x, &y)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/output")
		})
	}
}
