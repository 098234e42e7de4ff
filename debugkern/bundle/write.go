package bundle

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// Parts is what a bundle is written of, in addition to its description: texts, and the contents of memory,
// those of the ranges that the description gives, one after the other.
type Parts struct {
	PTX           []byte
	Before, After map[string][]byte // by the memory's name
	Sources       map[string][]byte // by path
}

// Write writes a bundle. Digests are worked out. The same description and parts give the same bytes. What
// does not conform is an *Error without File, and nothing is written then.
func Write(w io.Writer, m Manifest, parts Parts) error {
	m.Schema, m.Module = Schema, sum(parts.PTX)
	for i := range m.Sources {
		m.Sources[i].SHA256 = sum(parts.Sources[m.Sources[i].Path])
	}
	if err := m.Check(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(&m, "", " ")
	if err != nil {
		return err
	}
	content := map[string][]byte{manifestMember: append(text, '\n'), moduleMember: parts.PTX}
	for i := range m.Memory {
		x := &m.Memory[i]
		for _, c := range []struct {
			folder string
			ranges []Range
			data   []byte
		}{{beforeFolder, x.Before, parts.Before[x.Name]}, {afterFolder, x.After, parts.After[x.Name]}} {
			if n := covered(c.ranges); int64(len(c.data)) != n {
				return &Error{
					Field:  fmt.Sprintf("memory[%d]", i),
					Reason: fmt.Sprintf("%s%s has %d bytes; expected %d", c.folder, x.Name, len(c.data), n),
				}
			}
			content[c.folder+x.Name+arrayExt] = array(x, c.ranges, c.data)
		}
	}
	for _, s := range m.Sources {
		content[sourceFolder+s.Path] = parts.Sources[s.Path]
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.DefaultCompression)
	})
	for _, name := range m.members() {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(content[name]); err != nil {
			return err
		}
	}
	return z.Close()
}

func sum(text []byte) string {
	d := sha256.Sum256(text)
	return hex.EncodeToString(d[:])
}

// array is a memory's bytes as a .npy: of its own type and extents where all of it is there,
// else a list of bytes.
func array(m *Memory, ranges []Range, data []byte) []byte {
	descr, dims := npy.U8, []int{len(data)}
	if m.whole(ranges) {
		descr, dims = npyType(m.dtype), m.Dims
	}
	return append(npy.AppendHeader(nil, descr, dims), data...)
}

// npyType is the type of a .npy that holds elements: their own, or for a type that NumPy does not have an
// integer of their size.
func npyType(t probes.DType) npy.DType {
	names := map[probes.DType]npy.DType{
		probes.U8: npy.U8, probes.I8: npy.I8, probes.U16: npy.U16, probes.I16: npy.I16, probes.U32: npy.U32,
		probes.I32: npy.I32, probes.U64: npy.U64, probes.I64: npy.I64, probes.F16: npy.F16,
		probes.F32: npy.F32, probes.F64: npy.F64, probes.BF16: npy.U16, probes.E4M3: npy.U8,
		probes.E5M2: npy.U8,
	}
	return names[t]
}
