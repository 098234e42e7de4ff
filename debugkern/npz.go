package debugkern

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/file"
	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// npzWriter writes NumPy archives with arrays of any rank.
type npzWriter struct {
	zip *zip.Writer
	err error
}

// descr is NumPy's type string.
func descr(t probes.DType) string {
	switch t {
	case probes.U8:
		return "|u1"
	case probes.I32:
		return "<i4"
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

func u16Bytes(v []uint16) []byte {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

func f64Bytes(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// npzInputs are the arrays of an --inputs file.
type npzInputs struct {
	dims   [4]int
	x      [3][]float32 // Qx Kx Vx
	bytes  [3][]uint8   // or Q K V
	scales [3][]float32 // with Qs Ks Vs
	half   [3][]uint16  // Q K V as halves, in addition to Qx Kx Vx

	sum      budget.Sum // what they take
	releases []func()   // of what was reserved for them
}

// release gives back what was reserved for the arrays.
func (in *npzInputs) release() { releaseAll(in.releases) }

func releaseAll(releases []func()) {
	for _, f := range releases {
		f()
	}
}

// npzReader is an --inputs file being read.
type npzReader struct {
	ctx     context.Context
	path    string
	archive *npy.Archive
	memory  *budget.Budget
}

// madeBytes is what is made of an element of an array, at most, besides the element: a float32 and the half that it becomes.
const madeBytes = 4 + 2

// readInputs reads Qx Kx Vx, or Q K V Qs Ks Vs; of both, all that there is (see agrees). Every complaint names the file,
// the array, and what was expected.
//
// memory returns how large the file and its arrays may be, each tensor's array and the numbers made of it
// counted, and they are reserved there until release is called.
func readInputs(ctx context.Context, path string, memory *budget.Budget) (*npzInputs, error) {
	limit := memory.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	f, size, err := file.Open(ctx, path, limit, file.Want{What: "a NumPy archive (.npz)"})
	if err != nil {
		return nil, unread("--inputs", err)
	}
	defer f.Close()
	archive, err := npy.Open(f, size, path, limit/2)
	if err != nil {
		return nil, usage("--inputs %w", err)
	}
	r := &npzReader{ctx, path, archive, memory}
	in := &npzInputs{}
	if err := in.readAll(r); err != nil {
		in.release()
		return nil, err
	}
	return in, nil
}

// readAll reads the arrays that there are.
func (in *npzInputs) readAll(r *npzReader) (err error) {
	plain := false
	for _, n := range attn.Tensors {
		plain = plain || slices.Contains(r.archive.Names(), n+"x")
	}
	for i, n := range attn.Tensors {
		if plain {
			if err = in.readX(r, n+"x", &in.x[i]); err == nil {
				err = in.readEncoded(r, i)
			}
		} else if err = in.readTensor(r, n, &in.bytes[i]); err == nil {
			err = in.readScales(r, n+"s", &in.scales[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads an array of the file whose header is as expected.
func (in *npzInputs) read(r *npzReader, name string, rank int, types ...npy.DType) (*npy.Array, error) {
	h, ok, err := r.archive.Header(name)
	if err != nil {
		return nil, usage("--inputs %w", err)
	}
	if !ok {
		return nil, usage("--inputs %s: no array %q (expected Qx Kx Vx, or Q K V Qs Ks Vs; it has %q)", r.path, name, r.archive.Names())
	}
	if !slices.Contains(types, h.DType) || len(h.Shape) != rank {
		return nil, usage("--inputs %s: array %s is %s; expected %v of rank %d", r.path, name, h, types, rank)
	}
	if rank == 4 {
		d := [4]int(h.Shape)
		if in.dims == [4]int{} {
			in.dims = d
		}
		if in.dims != d {
			return nil, usage("--inputs %s: array %s has shape %v, the ones before it %v", r.path, name, d, in.dims)
		}
	} else if h.Shape[0] != in.dims[1] {
		return nil, usage("--inputs %s: array %s has %d scales for %d heads", r.path, name, h.Shape[0], in.dims[1])
	}
	n := int64(1)
	for _, d := range h.Shape {
		n = budget.Mul(n, int64(d))
	}
	part, bytes := "array "+name, budget.Mul(n, int64(h.DType.Size())+madeBytes)
	in.sum.Add(part, bytes, "")
	if err := in.sum.Within(r.memory.Limit()); err != nil {
		return nil, usage("--inputs %s %w", r.path, err)
	}
	release, err := r.memory.Reserve(part+" of --inputs", bytes)
	if err != nil {
		return nil, err
	}
	in.releases = append(in.releases, release)
	a, err := r.archive.Read(r.ctx, name)
	if err != nil {
		return nil, unread("--inputs", err)
	}
	return a, nil
}

// readEncoded reads what a file has of a tensor as the kernel takes it, in addition to its numbers before that.
func (in *npzInputs) readEncoded(r *npzReader, i int) error {
	name, has := attn.Tensors[i], r.archive.Names()
	if slices.Contains(has, name) {
		a, err := in.read(r, name, 4, npy.U8, npy.F16)
		if err != nil {
			return err
		}
		if a.DType == npy.U8 {
			in.bytes[i] = a.Data
		} else {
			in.half[i] = halves(a.Data)
		}
	}
	if slices.Contains(has, name+"s") {
		return in.readScales(r, name+"s", &in.scales[i])
	}
	return nil
}

// halves are the bits of little-endian halves.
func halves(raw []byte) []uint16 {
	out := make([]uint16, len(raw)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return out
}

// agrees refuses a file that has a tensor twice, before and after it was encoded, where encoding the one does
// not give the other: there is no telling which of them was meant.
func (in *npzInputs) agrees(path string, made *attn.Inputs) error {
	for i, name := range attn.Tensors {
		how := "rounding it to half"
		if made.Quant != nil {
			how = "quantising it"
		}
		for _, a := range []struct {
			name string
			n    int
			at   int // the first element that differs; -1: none
			same bool
		}{
			{name, len(in.bytes[i]), differsAt(in.bytes[i], made.Bytes[i]), made.Quant != nil},
			{name, len(in.half[i]), differsAt(in.half[i], made.Half[i]), made.Quant == nil},
			{name + "s", len(in.scales[i]), differsAt(in.scales[i], made.Scales[i]), made.Quant != nil},
		} {
			switch {
			case a.n == 0 || a.same && a.at < 0:
			case !a.same:
				return usage("--inputs %s: arrays %sx and %s are both there, and this kernel does not take %s as it is: keep %sx alone", path, name, a.name, a.name, name)
			default:
				return usage("--inputs %s: arrays %sx and %s are both there, and disagree: %s does not give %s (first at element %d): keep one of them",
					path, name, a.name, how, a.name, a.at)
			}
		}
	}
	return nil
}

// differsAt is the first index at which two slices differ; -1: none.
func differsAt[T comparable](a, b []T) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func (in *npzInputs) readX(r *npzReader, name string, dst *[]float32) error {
	a, err := in.read(r, name, 4, npy.F32, npy.F64)
	if err != nil {
		return err
	}
	*dst = a.Float32s()
	for i, v := range *dst {
		if v-v != 0 {
			return usage("--inputs %s: array %s holds %v at element %d: inputs must be finite", r.path, name, v, i)
		}
	}
	return nil
}

func (in *npzInputs) readTensor(r *npzReader, name string, dst *[]uint8) error {
	a, err := in.read(r, name, 4, npy.U8)
	if err != nil {
		return err
	}
	*dst = a.Data
	return nil
}

func (in *npzInputs) readScales(r *npzReader, name string, dst *[]float32) error {
	a, err := in.read(r, name, 1, npy.F32)
	if err != nil {
		return err
	}
	*dst = a.Float32s()
	for i, v := range *dst {
		if v-v != 0 || v <= 0 {
			return usage("--inputs %s: array %s holds %v for head %d: scales are positive and finite", r.path, name, v, i)
		}
	}
	return nil
}
