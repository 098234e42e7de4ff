package cli

import (
	"bytes"
	"io"
	"text/tabwriter"
)

// newTable writes cells, each ended by a tab, in columns that are two spaces apart. Lines end with their last
// cell that is not empty.
func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(&unpadded{w: w}, 0, 0, 2, ' ', 0)
}

// unpadded leaves out the spaces at the end of lines.
type unpadded struct {
	w      io.Writer
	spaces int // of the line so far, behind what was written of it
}

// Write implements io.Writer.
func (u *unpadded) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		switch b {
		case ' ':
			u.spaces++
			continue
		case '\n':
			u.spaces = 0
		}
		out = append(append(out, bytes.Repeat([]byte{' '}, u.spaces)...), b)
		u.spaces = 0
	}
	if _, err := u.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
