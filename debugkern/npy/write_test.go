package npy

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWriter: what is written is read again, of every type and rank.
func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, dtype := range dtypes {
		data := make([]byte, 6*dtype.Size())
		for i := range data {
			data[i] = byte(i % 2)
		}
		out := w.Array("of_"+string(dtype), dtype, 3, 1, 2)
		for _, part := range [][]byte{data[:1], data[1:]} {
			if n, err := out.Write(part); n != len(part) || err != nil {
				t.Errorf("%s: %d, %v", dtype, n, err)
			}
		}
	}
	w.Array("vector", U8, 2).Write([]byte{7, 8})
	w.Array("scalar", I16).Write([]byte{5, 0})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(dtypes)+2 {
		t.Errorf("%d arrays", len(got))
	}
	for _, dtype := range dtypes {
		a := got["of_"+string(dtype)]
		if a.DType != dtype || !slices.Equal(a.Shape, []int{3, 1, 2}) || len(a.Data) != 6*dtype.Size() ||
			a.Data[1] != 1 {
			t.Errorf("%s: %v %v", dtype, a.Header, a.Data)
		}
	}
	if v, s := got["vector"], got["scalar"]; !bytes.Equal(v.Data, []byte{7, 8}) || len(s.Shape) != 0 ||
		s.Data[0] != 5 {
		t.Errorf("%v, %v", v, s)
	}
}

// full is a writer that takes so many bytes and no more.
type full int

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriterFails: the first error is Close's, whatever is written after it.
func TestWriterFails(t *testing.T) {
	space := full(100)
	w := NewWriter(&space)
	noise := make([]byte, 1<<20) // what does not compress
	rand.NewChaCha8([32]byte{}).Read(noise)
	w.Array("a", F32, 1<<18).Write(noise)
	w.Array("b", F32, 1<<18).Write(noise)
	w.Fail(errors.New("later"))
	if err := w.Close(); !errors.Is(err, errFull) || w.Err() != err {
		t.Errorf("%v", err)
	}
	w = NewWriter(&bytes.Buffer{})
	w.Fail(errFull)
	w.Array("a", U8, 1).Write([]byte{1})
	if err := w.Close(); err != errFull {
		t.Errorf("%v", err)
	}
}
