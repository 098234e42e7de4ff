package npy

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzNpz: any bytes are an archive whose arrays have the bytes of their shapes, or an *Error; nothing
// panics, and nothing takes more memory than the budget.
func FuzzNpz(f *testing.F) {
	for _, l := range layouts {
		b, _ := l.archive(small()...)
		f.Add(b)
	}
	f.Add(npyBytes("'<f8'", "False", "(2, 0)", nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(a *Array, err error) {
			var located *Error
			if err != nil && !errors.As(err, &located) {
				t.Fatalf("%T: %v", err, err)
			}
			if err != nil {
				return
			}
			n, ok := a.Elems()
			if !ok || len(a.Data) != n*a.DType.Size() || len(a.Data) > budget {
				t.Fatalf("%s has %d bytes", a.Header, len(a.Data))
			}
		}
		check(ReadArray(t.Context(), bytes.NewReader(b), int64(len(b)), "t.npy", budget))
		archive, err := Open(bytes.NewReader(b), int64(len(b)), "t.npz", budget)
		if err != nil {
			check(nil, err)
			return
		}
		for _, name := range archive.Names() {
			_, _, herr := archive.Header(name)
			a, err := archive.Read(t.Context(), name)
			if check(a, err); herr != nil && err == nil {
				t.Fatalf("%s is read, and its header is wrong: %v", name, herr)
			}
		}
	})
}
