package checkrun

import (
	"bytes"
	"io"

	"tilescope/debugkern/input"
	"tilescope/debugkern/npy"
)

// Dump writes every pointer argument after the launch under its name, and before it as in_NAME,
// as a NumPy archive.
func (r *Result) Dump(w io.Writer) error {
	z := npy.NewWriter(w)
	for _, a := range r.args {
		if !a.isMemory() {
			continue
		}
		t := input.RawArrayType(a.dtype)
		z.Array(a.name, t, a.dims...).Write(r.outputs[a.name])
		before := a.init
		if before == nil {
			before = bytes.Repeat([]byte{0xff}, a.elems()*t.Size())
		}
		z.Array("in_"+a.name, t, a.dims...).Write(before)
	}
	return z.Close()
}
