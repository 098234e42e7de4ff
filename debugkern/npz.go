package debugkern

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"tilescope/probes"
)

// npzWriter writes NumPy archives with arrays of any rank.
type npzWriter struct {
	zip *zip.Writer
	err error
}

// newNPZWriter starts an archive.
func newNPZWriter(w io.Writer) *npzWriter { return &npzWriter{zip: zip.NewWriter(w)} }

// descr is NumPy's type string.
func descr(t probes.DType) string {
	switch t {
	case probes.U8:
		return "|u1"
	case probes.I8:
		return "|i1"
	case probes.U16:
		return "<u2"
	case probes.I16:
		return "<i2"
	case probes.I32:
		return "<i4"
	case probes.U32:
		return "<u4"
	case probes.I64:
		return "<i8"
	case probes.U64:
		return "<u8"
	case probes.F16:
		return "<f2"
	case probes.F32:
		return "<f4"
	case probes.F64:
		return "<f8"
	}
	return ""
}

// array starts one array of the archive; the caller writes its elements, little endian, C order.
func (w *npzWriter) array(name string, t probes.DType, dims ...int) io.Writer {
	if w.err != nil {
		return io.Discard
	}
	if descr(t) == "" {
		w.err = fmt.Errorf("%s: type %s has no NumPy equivalent", name, t)
		return io.Discard
	}
	return w.of(name, descr(t), dims...)
}

// bools starts an array of truth values, a byte each.
func (w *npzWriter) bools(name string, dims ...int) io.Writer { return w.of(name, "|b1", dims...) }

// of starts an array of a NumPy type.
func (w *npzWriter) of(name, descr string, dims ...int) io.Writer {
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
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }", descr, strings.Join(shape, ", "), tail)
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
	return &errWriter{f, &w.err}
}

// errWriter stores the first error, so that the many small writes of a dump need no check each.
type errWriter struct {
	w   io.Writer
	err *error
}

func (w *errWriter) Write(b []byte) (int, error) {
	if *w.err == nil {
		_, *w.err = w.w.Write(b)
	}
	return len(b), nil
}

func f64Bytes(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
