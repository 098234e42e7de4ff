package npy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The records of a zip archive (APPNOTE 6.3.10, section 4.3): signatures and sizes without what varies in
// length.
const (
	localSig, localSize     = 0x04034b50, 30
	centralSig, centralSize = 0x02014b50, 46
	endSig, endSize         = 0x06054b50, 22
	end64Sig, end64Size     = 0x06064b50, 56
	locatorSig, locatorSize = 0x07064b50, 20
	descriptorSig           = 0x08074b50
	none32, none16          = 1<<32 - 1, 1<<16 - 1 // the value is in the zip64 record
	zip64Extra              = 1
	stored, deflated        = 0, 8
	flagDescriptor          = 1 << 3                        // checksum and sizes follow the data
	knownFlags              = flagDescriptor | 1<<11 | 3<<1 // names in UTF-8; how hard deflate tried
	maxDirectory            = 64 << 20                      // bytes
	maxName                 = 255
)

// member is one member of an archive.
type member struct {
	name             string
	method, flags    int
	crc              uint32
	compressed, size int64
	header           int64 // offset of the local header
	data             int64 // offset of the data
	unsummed         bool  // there is no checksum: an array on its own
}

// array is the name of the array that the member is.
func (m *member) array() string { return strings.TrimSuffix(m.name, ".npy") }

// fields reads little-endian numbers off the front of a record.
type fields []byte

func (f *fields) u16() int64 { v := binary.LittleEndian.Uint16(*f); *f = (*f)[2:]; return int64(v) }
func (f *fields) u32() int64 { v := binary.LittleEndian.Uint32(*f); *f = (*f)[4:]; return int64(v) }

// u64 is at most 2⁶³-1: a size or an offset beyond it is beyond the end of any file.
func (f *fields) u64() int64 {
	v := binary.LittleEndian.Uint64(*f)
	*f = (*f)[8:]
	return int64(min(v, 1<<63-1))
}

// within reads n bytes at an offset, all of them before limit.
func within(r io.ReaderAt, off, n, limit int64, what string) (fields, error) {
	if off < 0 || n < 0 || off > limit || n > limit-off {
		return nil, wrong("", "%s at byte %d lies outside the archive", what, off)
	}
	b := make([]byte, n)
	if k, err := r.ReadAt(b, off); int64(k) < n {
		return nil, &Error{Reason: fmt.Sprintf("%s at byte %d cannot be read: %v", what, off, err), Err: err}
	}
	return b, nil
}

// directory is where an archive's central directory lies.
type directory struct{ off, size, count int64 }

// readDirectory reads what the archive says of its members, and checks that each local header agrees and that
// headers, data and directory fill the archive from its first byte to its last.
func readDirectory(r io.ReaderAt, size int64) ([]member, error) {
	d, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	if d.size > maxDirectory {
		return nil, wrong("", "the directory has %d bytes, more than %d", d.size, maxDirectory)
	}
	f, err := within(r, d.off, d.size, size, "the directory")
	if err != nil {
		return nil, err
	}
	var members []member
	for range d.count {
		m, err := centralEntry(&f)
		if err != nil {
			return nil, err
		}
		members = append(members, *m)
	}
	if len(f) > 0 {
		return nil, wrong("", "the directory has %d bytes after its %d members", len(f), d.count)
	}
	if err := checkNames(members); err != nil {
		return nil, err
	}
	return members, place(r, members, d.off)
}

// agrees reports whether the values that fit the record at the end of the archive are those of its zip64
// record.
func (d directory) agrees(wide directory) bool {
	return (d.off == none32 || d.off == wide.off) && (d.size == none32 || d.size == wide.size) &&
		(d.count == none16 || d.count == wide.count)
}

// findDirectory reads the record at the end of the archive.
func findDirectory(r io.ReaderAt, size int64) (directory, error) {
	tail := min(size, endSize+none16) // the longest comment
	b, err := within(r, size-tail, tail, size, "the end")
	if err != nil {
		return directory{}, err
	}
	for i := tail - endSize; i >= 0; i-- {
		f := b[i:]
		if f.u32() != endSig {
			continue
		}
		disk, start, here, count, length, off := f.u16(), f.u16(), f.u16(), f.u16(), f.u32(), f.u32()
		if comment := f.u16(); comment != int64(len(f)) {
			continue
		}
		at := size - tail + i
		d := directory{off, length, count}
		short := d
		if disk != 0 || start != 0 || here != count {
			return d, wrong("", "the archive is in several parts")
		}
		if count == none16 || length == none32 || off == none32 {
			if d, at, err = findDirectory64(r, at); err != nil {
				return d, err
			}
			if !short.agrees(d) {
				return d, wrong("", "the end of the archive and its zip64 directory differ")
			}
		}
		if d.off > at || d.size != at-d.off {
			end := fmt.Sprintf("its end at byte %d", at)
			return d, wrong(end, "the directory has %d bytes at byte %d", d.size, d.off)
		}
		return d, nil
	}
	return directory{}, wrong("a NumPy archive (.npz)", "the file does not end as a zip archive does")
}

// findDirectory64 reads the records that an archive of more than 4 GiB or 65,534 members has before the one
// at byte end.
func findDirectory64(r io.ReaderAt, end int64) (d directory, at int64, err error) {
	f, err := within(r, end-locatorSize, locatorSize, end, "the zip64 locator")
	if err != nil {
		return d, 0, err
	}
	sig, disk, off, disks := f.u32(), f.u32(), f.u64(), f.u32()
	if sig != locatorSig || disk != 0 || disks != 1 || off != end-locatorSize-end64Size {
		return d, 0, wrong("", "there is no zip64 directory before byte %d", end)
	}
	if f, err = within(r, off, end64Size, end, "the zip64 directory"); err != nil {
		return d, 0, err
	}
	sig, length := f.u32(), f.u64()
	f.u32() // versions
	disk, start, here := f.u32(), f.u32(), f.u64()
	d = directory{count: f.u64(), size: f.u64(), off: f.u64()}
	right := sig == end64Sig && length == end64Size-12 && disk == 0 && start == 0 && here == d.count
	if !right || d.count > maxDirectory {
		return d, 0, wrong("", "the zip64 directory at byte %d is not one", off)
	}
	return d, off, nil
}

// centralEntry takes one member off the directory.
func centralEntry(f *fields) (*member, error) {
	if len(*f) < centralSize || f.u32() != centralSig {
		return nil, wrong("", "the directory has fewer members than it says")
	}
	f.u32() // versions
	m := &member{flags: int(f.u16()), method: int(f.u16())}
	f.u32() // time
	m.crc, m.compressed, m.size = uint32(f.u32()), f.u32(), f.u32()
	name, extra, comment := f.u16(), f.u16(), f.u16()
	disk := f.u16()
	f.u16() // attributes
	f.u32()
	m.header = f.u32()
	if name+extra+comment > int64(len(*f)) {
		return nil, wrong("", "the directory ends within a member")
	}
	m.name = string((*f)[:name])
	more := (*f)[name : name+extra]
	*f = (*f)[name+extra+comment:]
	if err := checkName(m.name); err != nil {
		return nil, err
	}
	if disk != 0 {
		return nil, m.wrong("is in another part of the archive")
	}
	if err := m.wide(more, &m.size, &m.compressed, &m.header); err != nil {
		return nil, err
	}
	return m, m.checkMethod()
}

func (m *member) wrong(format string, args ...any) error {
	e := wrong("", format, args...)
	e.Member = m.name
	return e
}

// checkMethod refuses what is not read.
func (m *member) checkMethod() error {
	switch {
	case m.flags&1 != 0:
		return m.wrong("is encrypted")
	case m.flags&^knownFlags != 0:
		return m.wrong("has flags 0x%04x, which are not known", m.flags)
	case m.method != stored && m.method != deflated:
		return m.wrong("is compressed by method %d; stored (0) and deflated (8) are read", m.method)
	case m.method == stored && m.size != m.compressed:
		return m.wrong("is stored, and has %s of %s", sizeText(m.compressed), sizeText(m.size))
	}
	return nil
}

// wide replaces those of the values that do not fit 32 bits by the zip64 record's, in its order.
func (m *member) wide(extra fields, values ...*int64) error {
	found := false
	for len(extra) > 0 {
		if len(extra) < 4 {
			return m.wrong("has an extra field cut off")
		}
		id, n := extra.u16(), extra.u16()
		if n > int64(len(extra)) {
			return m.wrong("has an extra field cut off")
		}
		field := extra[:n]
		extra = extra[n:]
		if id != zip64Extra {
			continue
		}
		if found {
			return m.wrong("has two zip64 fields")
		}
		found = true
		for _, v := range values {
			if *v != none32 {
				continue
			}
			if len(field) < 8 {
				return m.wrong("has a zip64 field that is too short")
			}
			*v = field.u64()
		}
		if len(field) > 0 {
			return m.wrong("has a zip64 field that is too long")
		}
	}
	for _, v := range values {
		if *v == none32 && !found {
			return m.wrong("has no zip64 field")
		}
	}
	return nil
}

func checkName(name string) error {
	strange := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, strange) {
		return wrong("printable text of at most 255 bytes", "the name of a member is %s", quoteShort(name))
	}
	return nil
}

// checkNames refuses two members that are the same array.
func checkNames(members []member) error {
	seen := map[string]bool{}
	for i := range members {
		name := members[i].array()
		if seen[name] {
			return wrong("", "there are two arrays %s", strconv.Quote(name))
		}
		seen[name] = true
	}
	return nil
}

// place finds each member's data, and checks that the members fill the archive up to its directory.
func place(r io.ReaderAt, members []member, end int64) error {
	order := make([]*member, len(members))
	for i := range members {
		order[i] = &members[i]
	}
	slices.SortStableFunc(order, func(a, b *member) int { return cmp.Compare(a.header, b.header) })
	at := int64(0)
	for i, m := range order {
		next := end
		if i+1 < len(order) {
			next = order[i+1].header
		}
		if m.header != at {
			return m.wrong("begins at byte %d, and what is before it ends at byte %d", m.header, at)
		}
		if err := m.local(r, next); err != nil {
			return err
		}
		at = next
	}
	if at != end {
		return wrong("", "the members end at byte %d, and the directory begins at byte %d", at, end)
	}
	return nil
}

// local reads a member's local header and what follows its data, up to byte next, and compares both with the
// directory.
func (m *member) local(r io.ReaderAt, next int64) error {
	f, err := within(r, m.header, localSize, next, "a member's header")
	if err != nil {
		return m.in(err)
	}
	sig := f.u32()
	f.u16() // version
	flags, method := f.u16(), f.u16()
	f.u32() // time
	crc, compressed, size := f.u32(), f.u32(), f.u32()
	nameLen, extraLen := f.u16(), f.u16()
	if sig != localSig {
		return m.wrong("has no header at byte %d", m.header)
	}
	if f, err = within(r, m.header+localSize, nameLen+extraLen, next, "a member's name"); err != nil {
		return m.in(err)
	}
	if name := string(f[:nameLen]); name != m.name {
		return m.wrong("is called %s in its header", quoteShort(name))
	}
	if err := m.wide(f[nameLen:], &size, &compressed); err != nil {
		return err
	}
	m.data = m.header + localSize + nameLen + extraLen
	if int(flags) != m.flags || int(method) != m.method {
		return m.wrong("has method %d and flags 0x%04x in its header, %d and 0x%04x in the directory",
			method, flags, m.method, m.flags)
	}
	same := crc == int64(m.crc) && compressed == m.compressed && size == m.size
	later := m.flags&flagDescriptor != 0 && crc == 0 && compressed == 0 && size == 0
	if !same && !later {
		return m.wrong("has checksum or sizes in its header that are not the directory's")
	}
	after := next - m.data - m.compressed
	if m.compressed > next-m.data || after > 0 && m.flags&flagDescriptor == 0 {
		return m.wrong("has %s of data, and room for %s", sizeText(m.compressed), sizeText(next-m.data))
	}
	if m.flags&flagDescriptor != 0 {
		return m.descriptor(r, after)
	}
	return nil
}

// in makes an error one of the member.
func (m *member) in(err error) error {
	if e, ok := err.(*Error); ok {
		e.Member = m.name
	}
	return err
}

// descriptor compares what follows a member's data, n bytes, with the directory: checksum and sizes, of 32 or
// 64 bits, with or without a signature before them.
func (m *member) descriptor(r io.ReaderAt, n int64) error {
	if n != 12 && n != 16 && n != 20 && n != 24 {
		return m.wrong("has %d bytes after its data where its checksum and sizes are", n)
	}
	f, err := within(r, m.data+m.compressed, n, m.data+m.compressed+n, "a member's descriptor")
	if err != nil {
		return m.in(err)
	}
	long := n >= 20
	if n%8 == 0 && f.u32() != descriptorSig {
		return m.wrong("has a descriptor after its data that is not one")
	}
	crc := f.u32()
	number := f.u32
	if long {
		number = f.u64
	}
	compressed, size := number(), number()
	if crc != int64(m.crc) || compressed != m.compressed || size != m.size {
		return m.wrong("has checksum or sizes after its data that are not the directory's")
	}
	return nil
}

func sizeText(n int64) string { return fmt.Sprintf("%d bytes", n) }
