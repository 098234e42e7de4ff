package debugkern

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/sbinet/npyio/npz"

	"tilescope/probes"
)

// npzWriter writes NumPy archives with arrays of any rank and of type f16, which npyio's writer does not have.
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
	shape := make([]string, len(dims))
	for i, d := range dims {
		shape[i] = fmt.Sprint(d)
	}
	tail := ""
	if len(dims) == 1 {
		tail = ","
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }", descr(t), strings.Join(shape, ", "), tail)
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

// errWriter keeps the first error, so that the many small writes of a dump need no check each.
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
}

// readInputs reads Qx Kx Vx, or Q K V Qs Ks Vs. Every complaint names the file, the array, and what was expected.
func readInputs(path string) (*npzInputs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--inputs: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, usage("--inputs: %w", err)
	}
	r, err := npz.NewReader(f, info.Size())
	if err != nil {
		return nil, usage("--inputs %s: not a readable .npz archive: %w", path, err)
	}
	in := &npzInputs{}
	have := map[string]bool{}
	for _, k := range r.Keys() {
		have[k] = true
	}
	plain := have["Qx.npy"] || have["Qx"]
	for i, n := range []string{"Q", "K", "V"} {
		if plain {
			err = in.readX(r, path, n+"x", &in.x[i])
		} else if err = in.readTensor(r, path, n, &in.bytes[i]); err == nil {
			err = in.readScales(r, path, n+"s", &in.scales[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// key finds an array under its name, with or without the .npy of the archive's member.
func key(r *npz.Reader, name string) string {
	for _, k := range r.Keys() {
		if strings.TrimSuffix(k, ".npy") == name {
			return k
		}
	}
	return ""
}

func (in *npzInputs) check(r *npz.Reader, path, name string, rank int, types ...string) (string, error) {
	k := key(r, name)
	if k == "" {
		return "", usage("--inputs %s: no array %q (expected Qx Kx Vx, or Q K V Qs Ks Vs; it has %s)", path, name, strings.Join(r.Keys(), " "))
	}
	h := r.Header(k)
	if h == nil {
		return "", usage("--inputs %s: array %s has no readable header", path, name)
	}
	if !slices.Contains(types, h.Descr.Type) || h.Descr.Fortran || len(h.Descr.Shape) != rank {
		return "", usage("--inputs %s: array %s is %s %v (fortran order %t); expected %s of rank %d in C order", path, name,
			h.Descr.Type, h.Descr.Shape, h.Descr.Fortran, strings.Join(types, " or "), rank)
	}
	if rank == 4 {
		d := [4]int(h.Descr.Shape)
		if in.dims == [4]int{} {
			in.dims = d
		}
		if in.dims != d {
			return "", usage("--inputs %s: array %s has shape %v, the ones before it %v", path, name, d, in.dims)
		}
	} else if h.Descr.Shape[0] != in.dims[1] {
		return "", usage("--inputs %s: array %s has %d scales for %d heads", path, name, h.Descr.Shape[0], in.dims[1])
	}
	return k, nil
}

func (in *npzInputs) readX(r *npz.Reader, path, name string, dst *[]float32) error {
	k, err := in.check(r, path, name, 4, "<f4", "<f8")
	if err != nil {
		return err
	}
	if r.Header(k).Descr.Type == "<f4" {
		err = r.Read(k, dst)
	} else {
		var wide []float64
		if err = r.Read(k, &wide); err == nil {
			*dst = make([]float32, len(wide))
			for i, v := range wide {
				(*dst)[i] = float32(v)
			}
		}
	}
	if err != nil {
		return usage("--inputs %s: array %s: %w", path, name, err)
	}
	for i, v := range *dst {
		if v-v != 0 {
			return usage("--inputs %s: array %s holds %v at element %d: inputs must be finite", path, name, v, i)
		}
	}
	return nil
}

func (in *npzInputs) readTensor(r *npz.Reader, path, name string, dst *[]uint8) error {
	k, err := in.check(r, path, name, 4, "|u1")
	if err == nil {
		if err = r.Read(k, dst); err != nil {
			err = usage("--inputs %s: array %s: %w", path, name, err)
		}
	}
	return err
}

func (in *npzInputs) readScales(r *npz.Reader, path, name string, dst *[]float32) error {
	k, err := in.check(r, path, name, 1, "<f4")
	if err != nil {
		return err
	}
	if err = r.Read(k, dst); err != nil {
		return usage("--inputs %s: array %s: %w", path, name, err)
	}
	for i, v := range *dst {
		if v-v != 0 || v <= 0 {
			return usage("--inputs %s: array %s holds %v for head %d: scales are positive and finite", path, name, v, i)
		}
	}
	return nil
}
