package fatbin

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRead: what nvcc 13.0 makes of testdata/scale.cu with -fatbin -gencode arch=compute_90,code=sm_90
// -gencode arch=compute_90,code=compute_90: by default (zstd), with -Xfatbin -compress-mode=speed (LZ4), and
// with --no-compress.
func TestRead(t *testing.T) {
	for _, name := range []string{"zstd", "lz4", "plain"} {
		data := container(t, name)
		images, err := Read(data)
		if err != nil || len(images) != 2 {
			t.Fatalf("%s: %d images (%v)", name, len(images), err)
		}
		p, c := images[0], images[1]
		if p.Kind != PTX || p.Arch != 90 || !strings.Contains(string(p.Data), ".entry _Z5scalePffi(") ||
			!strings.HasSuffix(strings.TrimSpace(string(p.Data)), "}") {
			t.Errorf("%s: PTX for %d: %.80q", name, p.Arch, p.Data)
		}
		if c.Kind != Cubin || c.Arch != 90 || string(c.Data[:4]) != "\x7fELF" {
			t.Errorf("%s: cubin for %d: %.4q", name, c.Arch, c.Data)
		}
		if Size(append(slices.Clone(data), 1, 2, 3)) != len(data) {
			t.Errorf("%s: size %d of %d bytes", name, Size(data), len(data))
		}
	}
}

// TestDamaged: a container that is cut off, or whose sizes lie, is an error.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"zstd", "lz4", "plain"} {
		whole := container(t, name)
		for n := 0; n < len(whole); n += 97 {
			if _, err := Read(whole[:n]); err == nil {
				t.Errorf("%s: %d bytes are read as a container", name, n)
			}
		}
	}
	for _, c := range []struct {
		name  string
		at    int
		value uint32
		want  string
	}{
		{"zstd", 16 + 4, 8, "ends past the container"},
		{"zstd", 16 + 8, 1 << 30, "ends past the container"},
		{"zstd", 16 + 0x10, 1 << 20, "compressed to"},
		{"zstd", 16 + 0x38, 1 << 30, "decompresses to 1073741824 bytes"},
		{"zstd", 16 + 0x38, 700, "instead of 700"},
		{"lz4", 16 + 0x38, 700, "lz4"},
		{"lz4", 16 + 0x38, 800, "instead of 800"},
	} {
		data := container(t, c.name)
		binary.LittleEndian.PutUint32(data[c.at:], c.value)
		if _, err := Read(data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %d at byte %d: %v, want %q", c.name, c.value, c.at, err, c.want)
		}
	}
}

// TestBound: what all images of a container decompress to is bounded.
func TestBound(t *testing.T) {
	for _, name := range []string{"zstd", "lz4"} {
		one := container(t, name)
		head, body := binary.LittleEndian.Uint32(one[16+4:]), binary.LittleEndian.Uint64(one[16+8:])
		first := one[16 : 16+uint64(head)+body]
		three := slices.Concat(one[:16], first, first, first)
		binary.LittleEndian.PutUint64(three[8:], uint64(3*len(first)))
		each := binary.LittleEndian.Uint64(first[0x38:])
		if images, err := read(three, 3*each); err != nil || len(images) != 3 {
			t.Errorf("%s: %d images (%v)", name, len(images), err)
		}
		if _, err := read(three, 3*each-1); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"zstd", "lz4", "plain"} {
		f.Add(container(f, name))
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Read(data) })
}

func container(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".fatbin"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
