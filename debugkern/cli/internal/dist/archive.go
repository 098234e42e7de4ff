package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"slices"
	"time"
)

// pack makes the archive of a platform, a folder base: a .zip for Windows, else a .tar.gz.
func pack(base string, p platform, built *program, b *builder) (name string, content []byte, err error) {
	members, err := b.members(p, built)
	if err != nil {
		return "", nil, err
	}
	for i := range members {
		members[i].name = base + "/" + members[i].name
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	if p.os == "windows" {
		content, err = zipped(members, b.time)
		return base + ".zip", content, err
	}
	content, err = tarred(members, b.time)
	return base + ".tar.gz", content, err
}

func (m *member) mode() fs.FileMode {
	if m.executable {
		return 0o755
	}
	return 0o644
}

// tarred is a compressed tar of members, in their order.
func tarred(members []member, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	gz, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(gz)
	for i := range members {
		m := &members[i]
		if err := w.WriteHeader(&tar.Header{
			Name: m.name, Mode: int64(m.mode()), Size: int64(len(m.content)), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := gz.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped is a zip of members, in their order.
func zipped(members []member, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range members {
		m := &members[i]
		h := zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at}
		h.SetMode(m.mode())
		f, err := w.CreateHeader(&h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(m.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
