package npy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const budget = 1 << 20

// readAll reads every array of an archive.
func readAll(b []byte) (map[string]*Array, error) {
	a, err := Open(bytes.NewReader(b), int64(len(b)), "t.npz", budget)
	if err != nil {
		return nil, err
	}
	out := map[string]*Array{}
	for _, name := range a.Names() {
		h, ok, err := a.Header(name)
		if err != nil || !ok {
			return nil, err
		}
		if out[name], err = a.Read(context.Background(), name); err != nil {
			return nil, err
		}
		if fmt.Sprint(h) != fmt.Sprint(out[name].Header) {
			return nil, fmt.Errorf("header %v, array %v", h, out[name].Header)
		}
	}
	return out, nil
}

// layouts are the ways in which archives are written: by NumPy, by Go, and what else the format allows.
var layouts = map[string]layout{
	"stored": {}, "deflated": {method: deflated}, "NumPy": {wide: true},
	"NumPy compressed": {method: deflated, wide: true},
	"Go":               {method: deflated, descriptor: 16}, "descriptor 12": {descriptor: 12},
	"descriptor 20": {descriptor: 20, wide: true},
	"descriptor 24": {method: deflated, descriptor: 24}, "zip64": {end64: true, wide: true},
}

func small() []part {
	return []part{
		{"Q.npy", npyBytes("'|u1'", "False", "(2, 3)", []byte{1, 2, 3, 4, 5, 6})},
		{"Qs.npy", npyBytes("'<f4'", "False", "(2,)", binary.LittleEndian.AppendUint64(nil,
			0x3f8000003f000000))},
	}
}

func TestReadsWhatIsWritten(t *testing.T) {
	for name, l := range layouts {
		b, _ := l.archive(small()...)
		got, err := readAll(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q, s := got["Q"], got["Qs"]
		if q.DType != U8 || !slices.Equal(q.Shape, []int{2, 3}) || !bytes.Equal(q.Data, []byte{1, 2, 3, 4,
			5, 6}) {
			t.Errorf("%s: Q is %v %v", name, q.Header, q.Data)
		}
		if s.DType != F32 || !slices.Equal(s.Float32s(), []float32{0.5, 1}) {
			t.Errorf("%s: Qs is %v %v", name, s.Header, s.Data)
		}
	}
}

// TestSub: a folder of an archive is an archive, by names without the folder's.
func TestSub(t *testing.T) {
	parts := small()
	parts[0].name = "before/" + parts[0].name
	b, _ := layout{}.archive(parts...)
	a, err := Open(bytes.NewReader(b), int64(len(b)), "t.npz", budget)
	if err != nil {
		t.Fatal(err)
	}
	sub := a.Sub("before/")
	if got := sub.Names(); !slices.Equal(got, []string{"Q"}) {
		t.Fatalf("names %q", got)
	}
	if q, err := sub.Read(t.Context(), "Q"); err != nil || !bytes.Equal(q.Data, []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", q, err)
	}
	if _, ok, err := sub.Header("Qs"); ok || err != nil {
		t.Errorf("Qs is in it: %v, %v", ok, err)
	}
}

// TestHeaders: every type, shape and version.
func TestHeaders(t *testing.T) {
	read := func(b []byte) (*Array, error) {
		return ReadArray(context.Background(), bytes.NewReader(b), int64(len(b)), "t.npy", budget)
	}
	for _, dt := range dtypes {
		order := "<"
		if dt.Size() == 1 {
			order = "|"
		}
		data := slices.Repeat([]byte{1}, 4*dt.Size())
		a, err := read(npyBytes("'"+order+string(dt)+"'", "False", "(2, 2)", data))
		if err != nil || a.DType != dt || !bytes.Equal(a.Data, data) {
			t.Errorf("%s: %v, %v", dt, a, err)
		}
	}
	for shape, elems := range map[string]int{"()": 1, "(3,)": 3, "(0,)": 0,
		"(0, 4611686018427387904, 8)": 0, "(1,1,3)": 3, "( 3 , )": 3, "(1, 2,)": 2} {
		a, err := read(npyBytes("'|i1'", "False", shape, make([]byte, elems)))
		if err != nil || len(a.Data) != elems {
			t.Errorf("shape %s: %v, %v", shape, a, err)
		}
	}
	other := npyHeader(`{"shape":(1,), "fortran_order":False, "descr":"<f8"}`,
		binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.25)))
	for _, b := range [][]byte{
		other,
		slices.Concat([]byte("\x93NUMPY\x02\x00"), other[8:10], []byte{0, 0}, other[10:]),
		slices.Concat([]byte("\x93NUMPY\x03\x00"), other[8:10], []byte{0, 0}, other[10:]),
	} {
		a, err := read(b)
		if err != nil || !slices.Equal(a.Float32s(), []float32{0.25}) {
			t.Errorf("version %d: %v, %v", b[6], a, err)
		}
	}
}

func TestBudgetAndContext(t *testing.T) {
	b, _ := layout{}.archive(part{"a.npy", npyBytes("'|u1'", "False", "(60,)", make([]byte, 60))},
		part{"b.npy", npyBytes("'|u1'", "False", "(60,)", make([]byte, 60))})
	a, err := Open(bytes.NewReader(b), int64(len(b)), "t.npz", 100)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := a.Read(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := a.Read(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	want := `t.npz: member "b.npy": u1[60] takes 60 bytes, and 40 are left of what arrays may take`
	if _, err := a.Read(t.Context(), "b"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := a.Read(t.Context(), "c"); err == nil ||
		err.Error() != `t.npz: there is no array "c" (expected one of "a" "b")` {
		t.Errorf("%v", err)
	}
	if _, ok, err := a.Header("c"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	var located *Error
	if _, err := a.Read(t.Context(), "b"); !errors.As(err, &located) || located.Member != "b.npy" ||
		!strings.Contains(located.File, "t.npz") {
		t.Errorf("%+v", err)
	}
}

// TestContent: any member can be read whole, with the same checks; what is larger than its limit or
// the budget is refused.
func TestContent(t *testing.T) {
	text := []byte("{\"schema\": \"x\"}")
	for name, l := range layouts {
		b, _ := l.archive(append(small(), part{"bundle.json", text})...)
		a, err := Open(bytes.NewReader(b), int64(len(b)), "t.tsl", budget)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m := a.Members(); len(m) != 3 || m[2].Name != "bundle.json" || m[2].Bytes != int64(len(text)) ||
			m[0].Name != "Q.npy" {
			t.Errorf("%s: members %+v", name, m)
		}
		if got, err := a.Content(context.Background(), "bundle.json", 100); err != nil ||
			!bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		for member, limit := range map[string]int64{"bundle.json": 3, "Q": 100, "Q.npy": 10} {
			if _, err := a.Content(context.Background(), member, limit); err == nil ||
				!strings.HasPrefix(err.Error(), "t.tsl: ") {
				t.Errorf("%s: %s within %d bytes: %v", name, member, limit, err)
			}
		}
	}
	b, _ := layout{}.archive(part{"bundle.json", text})
	a, err := Open(bytes.NewReader(b), int64(len(b)), "t.tsl", 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Content(context.Background(), "bundle.json", 100); err != nil {
		t.Error(err)
	}
	if _, err := a.Content(context.Background(), "bundle.json", 100); err == nil {
		t.Error("the budget is used up, and the member was read again")
	}
}

// TestAppendHeader: what is written is read back as it was described.
func TestAppendHeader(t *testing.T) {
	for _, h := range []Header{{F32, []int{2, 3}}, {U8, []int{5}}, {I64, []int{}}, {F16, []int{1, 2, 3, 4}}} {
		n, _ := h.bytes()
		b := AppendHeader([]byte{}, h.DType, h.Shape)
		if len(b)%64 != 0 {
			t.Errorf("%s: %d bytes before the elements", h, len(b))
		}
		b = append(b, make([]byte, n)...)
		a, err := ReadArray(context.Background(), bytes.NewReader(b), int64(len(b)), "t.npy", budget)
		if err != nil || a.Header.String() != h.String() {
			t.Errorf("%s: %v, %v", h, a, err)
		}
	}
}
