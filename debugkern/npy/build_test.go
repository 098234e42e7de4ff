package npy

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// layout is how an archive of a test is written.
type layout struct {
	method     int
	descriptor int  // bytes after the data: 0 (none), 12, 16, 20 or 24
	wide       bool // local headers with a zip64 field, as NumPy writes them
	end64      bool // a zip64 end record
}

// part is a member of a test's archive.
type part struct {
	name    string
	content []byte
}

// npyBytes is an array in NumPy's format.
func npyBytes(descr, order, shape string, data []byte) []byte {
	h := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	return npyHeader(h, data)
}

func npyHeader(h string, data []byte) []byte {
	h += strings.Repeat(" ", 63-(10+len(h))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(h)), byte(len(h)>>8))
	return append(append(b, h...), data...)
}

// span is a named stretch of an archive's bytes.
type span struct {
	name   string
	lo, hi int
}

// archive writes members as l says, and names what every byte is.
func (l layout) archive(parts ...part) ([]byte, []span) {
	raws := make([][]byte, len(parts))
	for i, p := range parts {
		raws[i] = p.content
		if l.method == deflated {
			raws[i] = deflate(p.content)
		}
	}
	return l.archiveOf(parts, raws)
}

// entry is a member that was written.
type entry struct {
	part
	raw []byte
	at  int
}

// archiveOf writes members with their data in the archive given.
func (l layout) archiveOf(parts []part, raws [][]byte) ([]byte, []span) {
	w := &writer{}
	var entries []entry
	for i, p := range parts {
		raw := raws[i]
		entries = append(entries, entry{p, raw, w.Len()})
		crc, packed, size := crc32.ChecksumIEEE(p.content), len(raw), len(p.content)
		if l.descriptor > 0 {
			crc, packed, size = 0, 0, 0
		}
		w.u32("local signature", localSig)
		w.u16("local version", 20)
		w.u16("local flags", l.flags())
		w.u16("local method", l.method)
		w.u32("local time", 0x00210000)
		w.u32("local crc", int(crc))
		if l.wide {
			w.u32("local sizes", none32)
			w.u32("local sizes", none32)
		} else {
			w.u32("local sizes", packed)
			w.u32("local sizes", size)
		}
		w.u16("local lengths", len(p.name))
		if l.wide {
			w.u16("local lengths", 20)
		} else {
			w.u16("local lengths", 0)
		}
		w.text("local name", []byte(p.name))
		if l.wide {
			w.u16("local extra", zip64Extra)
			w.u16("local extra", 16)
			w.u64("local extra", size)
			w.u64("local extra", packed)
		}
		w.text("data", raw)
		crc, packed, size = crc32.ChecksumIEEE(p.content), len(raw), len(p.content)
		if l.descriptor == 16 || l.descriptor == 24 {
			w.u32("descriptor", descriptorSig)
		}
		switch l.descriptor {
		case 12, 16:
			w.u32("descriptor", int(crc))
			w.u32("descriptor", packed)
			w.u32("descriptor", size)
		case 20, 24:
			w.u32("descriptor", int(crc))
			w.u64("descriptor", packed)
			w.u64("descriptor", size)
		}
	}
	start := w.Len()
	for _, e := range entries {
		w.u32("central signature", centralSig)
		w.u16("central versions", 0x031e)
		w.u16("central versions", 20)
		w.u16("central flags", l.flags())
		w.u16("central method", l.method)
		w.u32("central time", 0x00210000)
		w.u32("central crc", int(crc32.ChecksumIEEE(e.content)))
		w.u32("central sizes", len(e.raw))
		w.u32("central sizes", len(e.content))
		w.u16("central lengths", len(e.name))
		w.u32("central lengths", 0) // no extra field, no comment
		w.u16("central disk", 0)
		w.u16("central attributes", 0)
		w.u32("central attributes", 0x01800000)
		w.u32("central offset", e.at)
		w.text("central name", []byte(e.name))
	}
	w.end(l, start, len(parts))
	return w.Bytes(), w.spans
}

func (l layout) flags() int {
	if l.descriptor > 0 {
		return flagDescriptor
	}
	return 0
}

// writer writes little-endian numbers and remembers what they are.
type writer struct {
	bytes.Buffer
	spans []span
}

func (w *writer) text(name string, b []byte) {
	w.spans = append(w.spans, span{name, w.Len(), w.Len() + len(b)})
	w.Write(b)
}

func (w *writer) u16(name string, v int) {
	w.text(name, binary.LittleEndian.AppendUint16(nil, uint16(v)))
}
func (w *writer) u32(name string, v int) {
	w.text(name, binary.LittleEndian.AppendUint32(nil, uint32(v)))
}
func (w *writer) u64(name string, v int) {
	w.text(name, binary.LittleEndian.AppendUint64(nil, uint64(v)))
}

func (w *writer) end(l layout, start, count int) {
	size, at := w.Len()-start, w.Len()
	if l.end64 {
		w.u32("end64", end64Sig)
		w.u64("end64", end64Size-12)
		w.u32("end64 versions", 45)
		w.u64("end64", 0)
		w.u64("end64", count)
		w.u64("end64", count)
		w.u64("end64", size)
		w.u64("end64", start)
		w.u32("locator", locatorSig)
		w.u32("locator", 0)
		w.u64("locator", at)
		w.u32("locator disks", 1)
		size, start, count = none32, none32, none16
	}
	w.u32("end signature", endSig)
	w.u32("end disks", 0)
	w.u16("end counts", count)
	w.u16("end counts", count)
	w.u32("end size", size)
	w.u32("end offset", start)
	w.u16("end comment", 0)
}

func deflate(b []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}
