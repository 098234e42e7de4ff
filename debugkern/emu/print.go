package emu

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"tilescope/debugkern/target"
)

// provided returns what the emulator does for a function that CUDA's runtime library would
// define, nil for others.
func provided(name string) func(w *warp, in *inst, m uint32) {
	switch name {
	case "vprintf":
		return vprintf
	case "__assertfail":
		return assertion
	case "malloc":
		return mallocCall
	case "free":
		return freeCall
	}
	return nil
}

// printLimit bounds what a block may print.
const printLimit = 1 << 20

// vprintf(format, arguments) formats each lane's line. A result, where the call takes it, is the
// number of arguments.
func vprintf(w *warp, in *inst, m uint32) {
	b := w.blk
	c := in.call
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		frame, written := w.argFrame(c, lane)
		n := 0
		if len(c.copies) >= 2 {
			format := b.cString(w, lane, le.Uint64(frame[c.copies[0].from:]))
			var s string
			s, n = b.format(w, lane, format, le.Uint64(frame[c.copies[1].from:]))
			if len(b.printed) < printLimit {
				b.printed = append(b.printed, s...)
			}
		}
		if len(c.results) > 0 && c.results[0].size == 4 {
			le.PutUint32(frame[c.results[0].to:], uint32(n))
			fill(written[c.results[0].to:c.results[0].to+4], 0xff)
		}
	}
}

// bytesAt is the memory at a generic address, as far as it goes.
func (b *block) bytesAt(w *warp, lane int, addr uint64) []byte {
	space, at := ungeneric(addr)
	switch space {
	case target.SpaceLocal:
		if data, _ := b.frame(w.id*32 + lane); at < uint64(len(data)) {
			return data[at:]
		}
	case target.SpaceShared:
		if at < uint64(len(b.shared)) {
			return b.shared[at:]
		}
	case target.SpaceGlobal:
		if a, off := b.at(at); a != nil && off < uint64(len(a.data)) {
			return a.data[off:]
		}
	}
	return nil
}

func (b *block) cString(w *warp, lane int, addr uint64) string {
	p := b.bytesAt(w, lane, addr)
	if i := strings.IndexByte(string(p), 0); i >= 0 {
		p = p[:i]
	}
	return string(p)
}

// conversion reads what stands behind a %: flags with width and precision, the bytes that an integer of its
// length takes, the letter and where that is, the string's end where there is none.
func conversion(f string, at int) (flags string, long int, verb byte, next int) {
	next, long = at, 4
	for next < len(f) && strings.IndexByte("-+ #0123456789.", f[next]) >= 0 {
		next++
	}
	flags = f[at:next]
	for next < len(f) && strings.IndexByte("hlLzjt", f[next]) >= 0 {
		if f[next] != 'h' {
			long = 8
		}
		next++
	}
	if next < len(f) {
		verb = f[next]
	}
	return flags, long, verb, next
}

// format is C's printf for the conversions that device code may use; arguments lie at addr, each
// at its own alignment.
func (b *block) format(w *warp, lane int, f string, addr uint64) (string, int) {
	args := b.bytesAt(w, lane, addr)
	var out strings.Builder
	at, n := 0, 0
	take := func(size int) uint64 {
		at = (at + size - 1) &^ (size - 1)
		if at+size > len(args) {
			return 0
		}
		v := scalarAt(args[at:], size)
		at += size
		n++
		return v
	}
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			out.WriteByte(f[i])
			continue
		}
		flags, long, verb, next := conversion(f, i+1)
		if next == len(f) {
			break
		}
		i = next
		switch verb {
		case '%':
			out.WriteByte('%')
		case 'd', 'i':
			v := take(long)
			if long == 4 {
				v = uint64(int64(int32(v)))
			}
			fmt.Fprintf(&out, "%"+flags+"d", int64(v))
		case 'u':
			fmt.Fprintf(&out, "%"+flags+"d", take(long))
		case 'x', 'X', 'o':
			fmt.Fprintf(&out, "%"+flags+string(verb), take(long))
		case 'c':
			fmt.Fprintf(&out, "%"+flags+"c", rune(byte(take(4))))
		case 'e', 'E', 'f', 'F', 'g', 'G':
			fmt.Fprintf(&out, "%"+flags+string(verb), math.Float64frombits(take(8)))
		case 'p':
			fmt.Fprintf(&out, "%#x", take(8))
		case 's':
			fmt.Fprintf(&out, "%"+flags+"s", b.cString(w, lane, take(8)))
		default:
			out.WriteString("%" + flags + string(verb))
		}
	}
	return out.String(), n
}
