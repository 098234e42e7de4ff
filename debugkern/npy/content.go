package npy

import (
	"bufio"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
)

// chunk is how many bytes are read between two looks at the context.
const chunk = 1 << 20

// maxRatio is the most bytes that deflate makes of one: a match of 258 bytes takes at least two bits (RFC
// 1951, 3.2.5).
const maxRatio = 1032

// content is a member's uncompressed bytes, read once from their beginning to their end.
type content struct {
	m     *member
	ctx   context.Context
	raw   *counter  // the member's bytes in the archive
	r     io.Reader // uncompressed
	sum   hash.Hash32
	taken int64 // of r
}

// open starts reading a member.
func (m *member) open(ctx context.Context, r io.ReaderAt) *content {
	raw := &counter{r: bufio.NewReaderSize(io.NewSectionReader(r, m.data, m.compressed), 1<<16)}
	c := &content{m: m, ctx: ctx, raw: raw, r: raw, sum: crc32.NewIEEE()}
	if m.method == deflated {
		c.r = flate.NewReader(raw)
	}
	return c
}

// counter counts what is taken of the member's bytes. flate takes them one at a time, so that it takes none
// past its end.
type counter struct {
	r *bufio.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// ended is the error of a context that is over, nil before that.
func (c *content) ended() error {
	if err := c.ctx.Err(); err != nil {
		return &Error{Reason: "not read: " + context.Cause(c.ctx).Error(), Err: err}
	}
	return nil
}

// take fills b; what names it in the error of a member that ends early.
func (c *content) take(b []byte, what string) error {
	for len(b) > 0 {
		if err := c.ended(); err != nil {
			return err
		}
		n, err := io.ReadFull(c.r, b[:min(chunk, len(b))])
		c.taken += int64(n)
		c.sum.Write(b[:n])
		b = b[n:]
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return wrong(what, "ends after %d bytes", c.taken)
		}
		return c.broken(err)
	}
	return nil
}

// broken words an error of the decompressor or of reading.
func (c *content) broken(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return wrong("", "the deflated data is corrupt at byte %d of %d", int64(corrupt), c.m.compressed)
	}
	return &Error{Reason: "cannot be read: " + err.Error(), Err: err}
}

// header reads the array's header and compares what it describes with the member's size.
func (c *content) header() (Header, error) {
	front := make([]byte, 8)
	if err := c.take(front, "an array in NumPy's format"); err != nil {
		return Header{}, err
	}
	if string(front[:6]) != magic {
		return Header{}, wrong(quoteShort(magic), "begins with %s", quoteShort(string(front[:6])))
	}
	major, minor, field := front[6], front[7], 4
	if major == 1 {
		field = 2
	}
	if major < 1 || major > 3 || minor != 0 {
		return Header{}, wrong("1.0, 2.0 or 3.0", "the version of the format is %d.%d", major, minor)
	}
	length := make([]byte, 4)
	if err := c.take(length[:field], "the length of the header"); err != nil {
		return Header{}, err
	}
	n := int64(binary.LittleEndian.Uint32(length))
	if n > maxHeader || n > c.m.size-c.taken {
		return Header{}, wrong("", "the header has %d bytes, and %d follow its length", n, c.m.size-c.taken)
	}
	text := make([]byte, n)
	if err := c.take(text, "the header"); err != nil {
		return Header{}, err
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return Header{}, err
	}
	bytes, ok := h.bytes()
	if rest := c.m.size - c.taken; !ok || bytes != rest {
		want := "more than an archive can hold"
		if ok {
			want = sizeText(bytes)
		}
		return Header{}, wrong(want, "%s has %s of elements", h, sizeText(rest))
	}
	return h, nil
}

// elements reads the n bytes that follow the header, and checks that the member ends there as it says.
func (c *content) elements(n int64) ([]byte, error) {
	if c.m.method == deflated && c.m.size/maxRatio > c.m.compressed {
		return nil, wrong("", "%s cannot be made of %s", sizeText(c.m.size), sizeText(c.m.compressed))
	}
	if err := c.ended(); err != nil {
		return nil, err
	}
	data := make([]byte, n)
	if err := c.take(data, sizeText(c.m.size)); err != nil {
		return nil, err
	}
	switch extra, err := io.ReadFull(c.r, make([]byte, 1)); {
	case extra > 0:
		return nil, wrong(sizeText(c.m.size), "goes on after %d bytes", c.taken)
	case err != io.EOF:
		return nil, c.broken(err)
	case c.raw.n != c.m.compressed:
		return nil, wrong("", "the deflated data ends after %d bytes of %d", c.raw.n, c.m.compressed)
	case c.sum.Sum32() != c.m.crc && !c.m.unsummed:
		return nil, wrong("", "the content's checksum is %08x, the archive's %08x", c.sum.Sum32(), c.m.crc)
	}
	return data, nil
}
