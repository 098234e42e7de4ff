//go:build unix

package attack

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tilescope/kernels"
)

// good is what attacks are made from: files that the program accepts.
type good struct {
	npz      map[string][]byte // the members Qx Kx Vx of a dump
	manifest string            // of a kernel that brings its PTX as k.ptx
	ptx      string
}

// material makes good files with the program itself, and fails the test where the program
// does not accept them.
func material(t testing.TB) *good {
	t.Helper()
	b, err := newBox(filepath.Join(t.TempDir(), "box"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := b.command(context.Background(), nil, "run", "flashcore_vec", "--shape", "small", "--dump",
		"d.npz").CombinedOutput(); err != nil {
		t.Fatalf("make a dump: %v\n%s", err, out)
	}
	z, err := zip.OpenReader(filepath.Join(b.work, "d.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	g := &good{npz: map[string][]byte{}}
	for _, name := range tensors {
		f, err := z.Open(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if g.npz[name], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "configs", "kernels", "flashcore_vec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g.manifest = regexp.MustCompile(`(?m)^source: .*$`).ReplaceAllString(string(text), "ptx: k.ptx")
	e, ok, err := kernels.Find(kernels.Key{Kernel: "flashcore_vec", Defines: []string{"TS_PROBES=1"}})
	if err != nil || !ok {
		t.Fatalf("the archive has no flashcore_vec: %v", err)
	}
	g.ptx = string(e.PTX)
	for _, args := range [][]string{
		{"run", "k.yaml", "--shape", "small"}, {"run", "flashcore_vec", "--inputs", "i.npz"},
	} {
		if err := b.fill(map[string]string{
			"k.yaml": g.manifest, "k.ptx": g.ptx, "i.npz": string(archive(g.members()...)),
		}); err != nil {
			t.Fatal(err)
		}
		if out, err := b.command(context.Background(), nil, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q is refused as it is: %v\n%s", args, err, out)
		}
	}
	return g
}

var tensors = []string{"Qx", "Kx", "Vx"}

// kernel are the files of a user's kernel, with one of them replaced.
func (g *good) kernel(manifest, ptx string) map[string]string {
	return map[string]string{"k.yaml": manifest, "k.ptx": ptx}
}

// member is a file of an archive; where lies is set, its header says what the function makes of the truth.
type member struct {
	name string
	data []byte
	pack bool
	lies func(*zip.FileHeader)
}

func (g *good) members() (all []member) {
	for _, name := range tensors {
		all = append(all, member{name: name + ".npy", data: g.npz[name]})
	}
	return all
}

// with are the good members, with that of one tensor replaced by others.
func (g *good) with(name string, others ...member) (all []member) {
	for _, m := range g.members() {
		if m.name != name+".npy" {
			all = append(all, m)
		}
	}
	return append(all, others...)
}

// archive writes members as a zip file.
func archive(members ...member) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Store}
		var (
			f   io.Writer
			err error
		)
		switch {
		case m.lies != nil:
			h.CRC32, h.CompressedSize64, h.UncompressedSize64 = crc32.ChecksumIEEE(m.data),
				uint64(len(m.data)), uint64(len(m.data))
			m.lies(h)
			f, err = w.CreateRaw(h)
		case m.pack:
			h.Method = zip.Deflate
			f, err = w.CreateHeader(h)
		default:
			f, err = w.CreateHeader(h)
		}
		if err == nil {
			_, err = f.Write(m.data)
		}
		if err != nil {
			panic(fmt.Sprintf("BUG: write an archive: %v", err))
		}
	}
	if err := w.Close(); err != nil {
		panic(fmt.Sprintf("BUG: write an archive: %v", err))
	}
	return out.Bytes()
}

// array is a .npy file with any header and any data.
func array(header string, data []byte) []byte {
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return append(append(b, header...), data...)
}

// split separates the header of a .npy file, as text, from its data.
func split(npy []byte) (header string, data []byte) {
	n := 10 + int(binary.LittleEndian.Uint16(npy[8:]))
	return strings.TrimSpace(string(npy[10:n])), npy[n:]
}
