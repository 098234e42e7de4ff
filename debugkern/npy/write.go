package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"
)

// Writer writes an archive (.npz), one array after the other. The first error ends the archive: what is
// written later is dropped, and Close returns that error. It may not be used concurrently.
type Writer struct {
	zip *zip.Writer
	err error
}

// NewWriter starts an archive on w.
func NewWriter(w io.Writer) *Writer { return &Writer{zip: zip.NewWriter(w)} }

// Array starts an array. The caller writes its elements, little endian and in C order, before the next array
// or Close; how many there are is not checked. Writing never fails: Close returns the error.
func (w *Writer) Array(name string, t DType, dims ...int) io.Writer {
	if w.err != nil {
		return io.Discard
	}
	shape := make([]string, len(dims))
	for i, d := range dims {
		shape[i] = fmt.Sprint(d)
	}
	tail := ""
	if len(dims) == 1 {
		tail = ","
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }", t.descr(),
		strings.Join(shape, ", "), tail)
	const prefix = 10 // magic, version, header length
	pad := 63 - (prefix+len(head))%64
	head += strings.Repeat(" ", pad) + "\n"
	f, err := w.zip.Create(name + ".npy")
	if err != nil {
		w.err = err
		return io.Discard
	}
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	if _, w.err = f.Write(append(b, head...)); w.err != nil {
		return io.Discard
	}
	return &elements{f, w}
}

// Fail ends the archive with an error, if it has none yet: one of its arrays cannot be written.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Err returns the first error so far.
func (w *Writer) Err() error { return w.err }

// Close ends the archive, and returns the first error of anything that was written.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.zip.Close()
}

// elements writes an array's elements, and stores the first error in the archive's writer.
type elements struct {
	to io.Writer
	of *Writer
}

func (e *elements) Write(b []byte) (int, error) {
	if e.of.err == nil {
		_, e.of.err = e.to.Write(b)
	}
	return len(b), nil
}

// descr is NumPy's type string: with the byte order, where elements have more than a byte.
func (t DType) descr() string {
	if t.Size() == 1 {
		return "|" + string(t)
	}
	return "<" + string(t)
}
