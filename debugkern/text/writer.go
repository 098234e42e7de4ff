package text

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer passes text on as Terminal does. A character may be split over two writes: its first part waits for
// the second, or for Flush. A Writer is safe for concurrent use.
type Writer struct {
	w      io.Writer
	styles bool

	mu   sync.Mutex
	rest []byte // what the last write ended with: an unfinished character
	buf  []byte
}

// NewWriter returns a Writer onto w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// NewStyledWriter returns a Writer that leaves SGR sequences (colours and the like) as they are. It is for
// text of our own that a library styles.
func NewStyledWriter(w io.Writer) *Writer { return &Writer{w: w, styles: true} }

// Write implements io.Writer. It returns len(p) or, where the underlying write fails, 0 and that error.
func (t *Writer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rest) == 0 && plain(p) {
		return t.w.Write(p)
	}
	s := p
	if len(t.rest) > 0 {
		s = append(append([]byte{}, t.rest...), p...)
	}
	whole := len(s) - t.unfinished(s)
	t.buf = appendShown(t.buf[:0], s[:whole], t.styles)
	t.rest = append(t.rest[:0], s[whole:]...)
	if len(t.buf) == 0 {
		return len(p), nil
	}
	if _, err := t.w.Write(t.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what waits for its second part as it stands.
func (t *Writer) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rest) == 0 {
		return nil
	}
	t.buf = appendShown(t.buf[:0], t.rest, t.styles)
	t.rest = t.rest[:0]
	_, err := t.w.Write(t.buf)
	return err
}

// longestSGR is how much of an SGR sequence is waited for, in bytes.
const longestSGR = 64

// unfinished is how many bytes s ends with that may be the beginning of a character, of a line's end or of a
// style.
func (t *Writer) unfinished(s []byte) int {
	for n := 1; n <= min(len(s), utf8.UTFMax-1); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if c == '\r' && n == 1 || !utf8.FullRune(s[len(s)-n:]) {
				return n
			}
			break
		}
	}
	if !t.styles {
		return 0
	}
	for n := 1; n <= min(len(s), longestSGR); n++ {
		switch c := s[len(s)-n]; {
		case c == '\x1b':
			return n
		case (c < '0' || c > '9') && c != ';' && c != ':' && c != '[':
			return 0
		}
	}
	return 0
}
