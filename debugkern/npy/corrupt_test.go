package npy

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// refusedAs reads all arrays, and requires an *Error that names the file and says want.
func refusedAs(t *testing.T, name string, b []byte, want string) {
	t.Helper()
	_, err := readAll(b)
	var located *Error
	if !errors.As(err, &located) || located.File != "t.npz" || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, expected %q", name, err, want)
	}
}

// TestArrayRefused: what is wrong with an array is named, with its member.
func TestArrayRefused(t *testing.T) {
	data := make([]byte, 24)
	good := npyBytes("'<f4'", "False", "(2, 3)", data)
	replace := func(old, new string) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"no bytes", good[:len(good)-24], "f4[2,3] has 0 bytes of elements (expected 24 bytes)"},
		{"a byte short", good[:len(good)-1], "f4[2,3] has 23 bytes of elements (expected 24 bytes)"},
		{"a byte more", append(slices.Clone(good), 0),
			"f4[2,3] has 25 bytes of elements (expected 24 bytes)"},
		{"another type", replace("<f4", "<f8"), "f8[2,3] has 24 bytes of elements (expected 48 bytes)"},
		{"big endian", replace("<f4", ">f4"), `big endian, ">f4" (expected little endian, <f4)`},
		{"native order", replace("<f4", "=f4"), `the type is "=f4" (expected one of <f2 <f4`},
		{"no order", replace("<f4", "|f4"), `the type is "|f4"`},
		{"objects", replace("<f4", "|O8"), `Python objects, "|O8"`},
		{"complex", replace("<f4", "<c8"), `the type is "<c8"`},
		{"text", replace("<f4", "<U3"), `the type is "<U3"`},
		{"an escape", replace("<f4", "\x1b[m"), `the type is "\x1b[m"`},
		{"records", npyBytes("[('a', '<f4')]", "False", "(2, 3)", data), "the elements are records"},
		{"Fortran order", replace("False", "True "), "Fortran order (expected C order, as numpy.ascontiguousarray makes it)"},
		{"order 0", replace("False", "0    "), "the header is"},
		{"magic", replace("\x93NUMPY", "\x93NUMPI"), `begins with "\x93NUMPI" (expected "\x93NUMPY")`},
		{"version 4", replace("\x01\x00", "\x04\x00"),
			"version of the format is 4.0 (expected 1.0, 2.0 or 3.0)"},
		{"version 1.1", replace("\x01\x00", "\x01\x01"), "version of the format is 1.1"},
		{"version 0", replace("\x01\x00", "\x00\x00"), "version of the format is 0.0"},
		{"header length", slices.Concat(good[:8], []byte{0xff, 0xff}, good[10:]),
			"the header has 65535 bytes, and"},
		{"header shorter", slices.Concat(good[:8], []byte{40, 0}, good[10:]), "the header is"},
		{"header of nothing", npyHeader("", data), "the header is"},
		{"key twice", npyBytes("'<f4', 'descr': '<f4'", "False", "(2, 3)", data),
			`the header has "descr" twice`},
		{"another key", npyBytes("'<f4', 'x': 1", "False", "(2, 3)", data), `the header has a key "x"`},
		{"no shape", npyHeader("{'descr': '<f4', 'fortran_order': False}", data), `no "shape"`},
		{"no descr", npyHeader("{'shape': (2, 3), 'fortran_order': False}", data), `no "descr"`},
		{"after the dictionary", npyBytes("'<f4'", "False", "(2, 3), } x {", data), "the header is"},
		{"a number", npyBytes("'<f4'", "False", "(6)", data), "the header is"},
		{"a list", npyBytes("'<f4'", "False", "[2, 3]", data), "the header is"},
		{"negative", npyBytes("'<f4'", "False", "(-2, 3)", data), "the header is"},
		{"a comma alone", npyBytes("'<f4'", "False", "(,)", data), "the header is"},
		{"two commas", npyBytes("'<f4'", "False", "(2,,3)", data), "the header is"},
		{"no comma", npyBytes("'<f4'", "False", "(2 3)", data), "the header is"},
		{"a name", npyBytes("'<f4'", "False", "(a, 3)", data), "the header is"},
		{"2^63", npyBytes("'<f4'", "False", "(9223372036854775808,)", data), "dimension of"},
		{"2^40", npyBytes("'<f4'", "False", "(1, 1, 1099511627776, 64)", data),
			"has 24 bytes of elements (expected"},
		{"product of 2^64", npyBytes("'<f4'", "False", "(4294967296, 4294967296)", nil),
			"more than an archive can hold"},
		{"product of 2^64 + 24", npyBytes("'|u1'", "False", "(8, 2305843009213693955)", data),
			"more than an archive can hold"},
		{"bytes of 2^64", npyBytes("'<f8'", "False", "(2305843009213693952,)", nil),
			"more than an archive can hold"},
		{"65 dimensions", npyBytes("'<f4'", "False", "("+strings.Repeat("1,", 65)+")", data[:4]),
			"65 dimensions, more than 64"},
		{"a truth value of 2", npyBytes("'|b1'", "False", "(3,)", []byte{0, 1, 2}),
			"element 2 of type bool is 0x02"},
		{"empty", nil, "ends after 0 bytes (expected an array in NumPy's format)"},
		{"seven bytes", good[:7], "ends after 7 bytes"},
		{"nine bytes", good[:9], "ends after 9 bytes (expected the length of the header)"},
		{"over the budget", npyBytes("'|u1'", "False", "(1048577,)", make([]byte, 1<<20+1)),
			"takes 1048577 bytes, and 1048576"},
	} {
		for _, l := range []layout{{}, {method: deflated, descriptor: 16}} {
			b, _ := l.archive(part{"Qx.npy", c.content})
			refusedAs(t, c.name, b, c.want)
			refusedAs(t, c.name, b, `member "Qx.npy"`)
		}
		_, err := ReadArray(context.Background(), bytes.NewReader(c.content), int64(len(c.content)),
			"t.npz", budget)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s alone: %v", c.name, err)
		}
	}
}

// TestArchiveRefused changes one thing of a good archive.
func TestArchiveRefused(t *testing.T) {
	put := func(name string, v ...byte) func([]byte, []span) []byte {
		return func(b []byte, spans []span) []byte {
			i := slices.IndexFunc(spans, func(s span) bool { return s.name == name })
			copy(b[spans[i].lo:], v)
			return b
		}
	}
	for _, c := range []struct {
		name   string
		l      layout
		change func([]byte, []span) []byte
		want   string
	}{
		{"no archive", layout{}, func(b []byte, _ []span) []byte { return []byte("this is no archive") },
			"a NumPy archive"},
		{"nothing", layout{}, func(b []byte, _ []span) []byte { return nil }, "a NumPy archive"},
		{"bytes before", layout{}, func(b []byte, _ []span) []byte { return append([]byte("x"), b...) },
			"the directory has"},
		{"bytes after", layout{}, func(b []byte, _ []span) []byte { return append(b, 'x') },
			"does not end as a zip archive does"},
		{"several disks", layout{}, put("end disks", 1), "in several parts"},
		{"fewer members", layout{}, put("end counts", 1, 0, 1, 0), "bytes after its 1 members"},
		{"more members", layout{}, put("end counts", 3, 0, 3, 0), "fewer members than it says"},
		{"encrypted", layout{}, put("central flags", 1), "is encrypted"},
		{"unknown flags", layout{}, put("central flags", 32), "flags 0x0020"},
		{"bzip2", layout{}, put("central method", 12), "compressed by method 12"},
		{"methods differ", layout{}, put("local method", 8), "method 8 and flags 0x0000 in its header"},
		{"another name", layout{}, put("local name", 'X'), `is called "X.npy" in its header`},
		{"sizes differ", layout{}, put("local sizes", 1), "that are not the directory's"},
		{"stored larger", layout{}, put("central sizes", 1), "is stored, and has"},
		{"no local header", layout{}, put("local signature", 'x'), "has no header at byte 0"},
		{"checksum", layout{}, func(b []byte, s []span) []byte {
			return put("central crc",
				1)(put("local crc", 1)(b, s), s)
		},
			"the content's checksum is"},
		{"checksum of 0", layout{descriptor: 16}, put("central crc", 0, 0, 0, 0),
			"after its data that are not the directory's"},
		{"descriptor", layout{descriptor: 16}, put("descriptor", 'x'),
			"a descriptor after its data that is not one"},
		{"no deflated data", layout{method: deflated}, put("data", 7), "deflated data is corrupt at byte"},
		{"an escape in a name", layout{}, put("central name", 27), `name of a member is "\x1b.npy"`},
		{"a second end", layout{end64: true}, put("end counts", 1, 0, 1, 0), "zip64 directory differ"},
		{"a zip64 end elsewhere", layout{end64: true}, put("locator", 'x'), "no zip64 directory"},
		{"no zip64 end", layout{end64: true}, put("end64", 'x'), "is not one"},
	} {
		b, spans := c.l.archive(small()...)
		refusedAs(t, c.name, c.change(b, spans), c.want)
	}
	q := small()[0]
	for _, twice := range [][]part{{q, q}, {q, {"Q", q.content}}} {
		b, _ := layout{}.archive(twice...)
		refusedAs(t, "twice", b, `there are two arrays "Q"`)
	}
	b, _ := layout{}.archive(part{strings.Repeat("x", 256), q.content})
	refusedAs(t, "a long name", b, "at most 255 bytes")
}

// TestTruncatedAnywhere: an archive that ends early is refused, wherever it ends; so is an array on its own.
func TestTruncatedAnywhere(t *testing.T) {
	for name, l := range layouts {
		b, _ := l.archive(small()...)
		for n := range b {
			if _, err := readAll(b[:n]); err == nil {
				t.Errorf("%s: %d bytes of %d are taken", name, n, len(b))
			}
		}
	}
	array := small()[1].content
	for n := range array {
		if _, err := ReadArray(t.Context(), bytes.NewReader(array[:n]), int64(n), "t", budget); err == nil {
			t.Errorf("%d bytes of %d are taken", n, len(array))
		}
	}
}

// harmless are the bytes of an archive that say nothing about an array: what wrote it, when, with which
// rights, and what a reader has to be able to do at least.
var harmless = []string{
	"local version", "local time", "central versions", "central time", "central attributes", "end64 versions",
}

// TestEveryBit flips each bit of an archive: it is refused, unless the bit says nothing about an array, or is
// one of those that fill the byte before a stored block of deflated data (RFC 1951, 3.2.4; the test's writer
// ends with an empty one, of which four bytes follow). What is read then is what was written.
func TestEveryBit(t *testing.T) {
	for name, l := range layouts {
		b, spans := l.archive(small()...)
		want, err := readAll(b)
		if err != nil {
			t.Fatal(err)
		}
		flips, taken := 0, 0
		for _, s := range spans {
			for bit := 8 * s.lo; bit < 8*s.hi; bit++ {
				flips++
				b[bit/8] ^= 1 << (bit % 8)
				got, err := readAll(b)
				b[bit/8] ^= 1 << (bit % 8)
				if err != nil {
					continue
				}
				taken++
				padding := s.name == "data" && l.method == deflated && bit/8 == s.hi-5
				if !slices.Contains(harmless, s.name) && !padding {
					t.Errorf("%s: bit %d of byte %d of %q is not noticed", name, bit%8, bit/8-s.lo, s.name)
				}
				for k, a := range want {
					if g := got[k]; g == nil || !bytes.Equal(g.Data, a.Data) ||
						!slices.Equal(g.Shape, a.Shape) {
						t.Errorf("%s: bit %d of %q changes %s", name, bit, s.name, k)
					}
				}
			}
		}
		t.Logf("%s: %d flips, %d harmless", name, flips, taken)
		if flips != 8*len(b) {
			t.Errorf("%s: %d flips of %d bits", name, flips, 8*len(b))
		}
	}
}

// TestBomb: a member of 1 GB of zeros, a megabyte deflated, is refused by its size before anything is
// allocated for it, and so is one that claims more than its data can give.
func TestBomb(t *testing.T) {
	const size = 1 << 30
	head := npyBytes("'|u1'", "False", "(1073741824,)", nil)
	bomb := claiming(deflatedZeros(head, size), len(head)+size)
	claim := claiming(deflate(head), len(head)+size)
	for _, c := range []struct {
		name   string
		b      []byte
		budget int64
		want   string
	}{
		{"over the budget", bomb, size - 1, "takes 1073741824 bytes, and 1073741823 are left"},
		{"more than its data", claim, 2 * size, "cannot be made of"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a, err := Open(bytes.NewReader(c.b), int64(len(c.b)), "t.npz", c.budget)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Read(t.Context(), "a")
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
			t.Errorf("%s: %d bytes were allocated", c.name, grown)
		}
	}
}

// deflatedZeros is head and n zeros, deflated. All blocks of zeros but the first are the same bytes.
func deflatedZeros(head []byte, n int) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestSpeed)
	zeros := make([]byte, n>>8)
	_, _ = w.Write(head)
	block := 0
	for range 2 {
		block = out.Len()
		_, _ = w.Write(zeros)
		_ = w.Flush()
	}
	again := slices.Clone(out.Bytes()[block:])
	for range n/len(zeros) - 2 {
		out.Write(again)
	}
	_ = w.Close()
	return out.Bytes()
}

// claiming is an archive of one member, "a", that says it has n bytes.
func claiming(raw []byte, n int) []byte {
	b, spans := layout{method: deflated}.archiveOf([]part{{"a", nil}}, [][]byte{raw})
	for i, s := range spans {
		if i > 0 && strings.HasSuffix(s.name, "sizes") && spans[i-1].name == s.name { // the second
			binary.LittleEndian.PutUint32(b[s.lo:], uint32(n))
		}
	}
	return b
}

// TestDeflatedExactly: data after the end of a deflated stream, and a stream longer than its member, are
// refused.
func TestDeflatedExactly(t *testing.T) {
	content := npyBytes("'|u1'", "False", "(3,)", []byte{1, 2, 3})
	longer := part{"a.npy", append(slices.Clone(content), 9)}
	b, spans := layout{method: deflated}.archive(longer)
	crc := crc32.ChecksumIEEE(content)
	for _, s := range spans {
		switch s.name {
		case "local crc", "central crc":
			binary.LittleEndian.PutUint32(b[s.lo:], crc)
		case "local sizes", "central sizes": // the second is the size of the content
			if n := binary.LittleEndian.Uint32(b[s.lo:]); int(n) == len(longer.content) {
				binary.LittleEndian.PutUint32(b[s.lo:], n-1)
			}
		}
	}
	refusedAs(t, "longer", b, "goes on after 131 bytes")
	stuffed, _ := layout{method: deflated}.archiveOf([]part{{"a.npy", content}},
		[][]byte{append(deflate(content), 0)})
	refusedAs(t, "stuffed", stuffed, "the deflated data ends after")
}
