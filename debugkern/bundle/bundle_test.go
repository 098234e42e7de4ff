package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/npy"
)

var update = flag.Bool("update", false, "write testdata/rowsum.tsl anew")

const budget = 64 << 20

// rowsum is a launch of testdata/rowsum.cu: two rows and their biases in one memory, a struct with a pointer
// in it, an output that nobody has written, of which the second element was recorded.
func rowsum(t testing.TB) (Manifest, Parts) {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	packed := make([]float32, 130)
	for i := range packed[:128] {
		packed[i] = float32(i%8) / 4
	}
	packed[128], packed[129] = 0.5, -1
	bytesOf := func(x ...float32) []byte {
		var out []byte
		for _, v := range x {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
		return out
	}
	m := Manifest{
		Origin: "ptx", Versions: map[string]string{"tilescope": "test"}, Entry: "rowsum",
		Launch: Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{64, 1, 1}, Cluster: [3]int{1, 1, 1}, Shared: 256},
		Memory: []Memory{
			{Name: "packed", DType: "f32", Dims: []int{130}, Before: []Range{{0, 520}}},
			{Name: "out", DType: "f32", Dims: []int{2}, After: []Range{{4, 4}}},
		},
		Parameters: []Parameter{
			{Name: "x", Value: strings.Repeat("00", 8) + "0200000040000000",
				Pointers: []Pointer{{Dims: []int{2, 64}, Strides: []int{64, 1}}}},
			{Name: "bias", Value: strings.Repeat("00", 8),
				Pointers: []Pointer{{Offset: 512, Dims: []int{2}, Strides: []int{1}}}},
			{Name: "out", Value: strings.Repeat("00", 8), Pointers: []Pointer{{Memory: 1}}},
			{Name: "scale", Type: "f32", Value: "0000003f"},
		},
		Sources: []Source{{Path: "rowsum.cu"}},
	}
	return m, Parts{
		PTX: read("rowsum.ptx"), Before: map[string][]byte{"packed": bytesOf(packed...)},
		After:   map[string][]byte{"out": bytesOf(27)},
		Sources: map[string][]byte{"rowsum.cu": read("rowsum.cu")},
	}
}

func written(t testing.TB, m Manifest, p Parts) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(t testing.TB, b []byte) (*Bundle, error) {
	return read(t.Context(), bytes.NewReader(b), int64(len(b)), "x.tsl", budget)
}

// TestCommittedBundle: testdata/rowsum.tsl, which tests of other packages open, is what Write
// makes of this launch.
func TestCommittedBundle(t *testing.T) {
	path := filepath.Join("testdata", "rowsum.tsl")
	m, p := rowsum(t)
	want := written(t, m, p)
	if *update {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Open(t.Context(), path, budget)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	again, err := opened(t, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range again.members() { // compression may differ from one release of Go to the next
		one, err1 := b.archive.Content(t.Context(), member, maxText)
		two, err2 := again.archive.Content(t.Context(), member, maxText)
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("member %s differs from what is written now (%v, %v); go test ./debugkern/bundle -update",
				member, err1, err2)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	m, p := rowsum(t)
	first := written(t, m, p)
	if !bytes.Equal(first, written(t, m, p)) {
		t.Error("the same launch gives other bytes")
	}
	b, err := opened(t, first)
	if err != nil {
		t.Fatal(err)
	}
	ptx, err := b.PTX(t.Context())
	if err != nil || !bytes.Equal(ptx, p.PTX) {
		t.Errorf("%d bytes of PTX (%v)", len(ptx), err)
	}
	before, err := b.Before(t.Context(), 0)
	if err != nil || !bytes.Equal(before.Data, p.Before["packed"]) || before.Known != nil {
		t.Errorf("before: %v", err)
	}
	if none, err := b.Before(t.Context(), 1); none != nil || err != nil {
		t.Errorf("unwritten memory has contents %v (%v)", none, err)
	}
	after, err := b.After(t.Context(), 1)
	if err != nil || !bytes.Equal(after.Data, append([]byte{0xff, 0xff, 0xff, 0xff}, p.After["out"]...)) ||
		!bytes.Equal(after.Known, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}) {
		t.Errorf("after: %+v (%v)", after, err)
	}
	text, ok, err := b.Text(t.Context(), "rowsum.cu")
	if err != nil || !ok || !bytes.Equal(text, p.Sources["rowsum.cu"]) {
		t.Errorf("source: %v, %v", ok, err)
	}
	if _, ok, err := b.Text(t.Context(), "/etc/passwd"); ok || err != nil {
		t.Errorf("a source that is not there: %v, %v", ok, err)
	}
	if got := b.Parameters[0].Bytes(); len(got) != 16 || got[8] != 2 || got[12] != 64 {
		t.Errorf("parameter %x", got)
	}
}

// TestArraysAreNumPys: contents are arrays that NumPy reads: of the memory's own type and extents where
// all of it is there.
func TestArraysAreNumPys(t *testing.T) {
	m, p := rowsum(t)
	b := written(t, m, p)
	a, err := npy.Open(bytes.NewReader(b), int64(len(b)), "x.tsl", budget)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"before/packed": "f4[130]", "after/out": "u1[4]"} {
		if h, ok, err := a.Header(name); err != nil || !ok || h.String() != want {
			t.Errorf("%s is %s (%v, %v), want %s", name, h, ok, err, want)
		}
	}
}

// TestMistakes: each is one located error, before anything is allocated by it.
func TestMistakes(t *testing.T) {
	big := strings.Repeat("00", 32764)
	for _, c := range []struct {
		name, field, want string
		change            func(m *Manifest)
	}{
		{"no entry", "entry", "printable text", func(m *Manifest) { m.Entry = "" }},
		{"escape in a name", "parameters[0].name", "printable text",
			func(m *Manifest) { m.Parameters[0].Name = "x\x1b[2J" }},
		{"origin", "origin", "printable text", func(m *Manifest) { m.Origin = strings.Repeat("o", 300) }},
		{"empty grid", "launch.grid", "y is 0", func(m *Manifest) { m.Launch.Grid[1] = 0 }},
		{"negative cluster", "launch.cluster", "x is -1", func(m *Manifest) { m.Launch.Cluster[0] = -1 }},
		{"negative shared", "launch.shared", "-1 bytes", func(m *Manifest) { m.Launch.Shared = -1 }},
		{"memory's name", "memory[0].name", "letters", func(m *Manifest) { m.Memory[0].Name = "../x" }},
		{"two of a name", "memory[1].name", "second memory packed",
			func(m *Manifest) { m.Memory[1].Name = "packed" }},
		{"dtype", "memory[0].dtype", "unknown element type", func(m *Manifest) { m.Memory[0].DType = "f17" }},
		{"no elements", "memory[0].dims", "extent 0", func(m *Manifest) { m.Memory[0].Dims = []int{0} }},
		{
			"overflow", "memory[0].dims", "extent",
			func(m *Manifest) { m.Memory[0].Dims = []int{1 << 40, 1 << 40} },
		},
		{"dimensions", "memory[0].dims", "17 dimensions",
			func(m *Manifest) { m.Memory[0].Dims = make([]int, 17) }},
		{"range past the end", "memory[0].before[0]", "within the memory's 520",
			func(m *Manifest) { m.Memory[0].Before = []Range{{0, 521}} }},
		{"negative range", "memory[0].before[0]", "within",
			func(m *Manifest) { m.Memory[0].Before = []Range{{-4, 4}} }},
		{"range overflow", "memory[0].before[0]", "within",
			func(m *Manifest) { m.Memory[0].Before = []Range{{8, math.MaxInt64}} }},
		{"overlap", "memory[0].before[1]", "in order",
			func(m *Manifest) { m.Memory[0].Before = []Range{{0, 8}, {4, 8}} }},
		{"ranges that touch", "memory[0].before[1]", "one range",
			func(m *Manifest) { m.Memory[0].Before = []Range{{0, 8}, {8, 8}} }},
		{"no ranges", "memory[1].after", "0 ranges", func(m *Manifest) { m.Memory[1].After = []Range{} }},
		{"value", "parameters[3].value", "hexadecimal", func(m *Manifest) { m.Parameters[3].Value = "0x00" }},
		{"upper case", "parameters[3].value", "lower-case",
			func(m *Manifest) { m.Parameters[3].Value = "0000003F" }},
		{"no value", "parameters[3].value", "hexadecimal", func(m *Manifest) { m.Parameters[3].Value = "" }},
		{"too many bytes", "parameters[3].value", "more than 32764",
			func(m *Manifest) { m.Parameters[3].Value = big }},
		{"pointer past the end", "parameters[0].pointers[0].at", "byte 9",
			func(m *Manifest) { m.Parameters[0].Pointers[0].At = 9 }},
		{"negative pointer", "parameters[0].pointers[0].at", "byte -1",
			func(m *Manifest) { m.Parameters[0].Pointers[0].At = -1 }},
		{"pointers overlap", "parameters[0].pointers[1].at", "byte 4", func(m *Manifest) {
			m.Parameters[0].Pointers = append(m.Parameters[0].Pointers, Pointer{At: 4})
		}},
		{"a map that is too small", "parameters[3].map", "a parameter of 128 bytes", func(m *Manifest) {
			m.Parameters[3].Map = &TensorMap{DType: "f32", Dims: []int64{2, 64}, Box: []int64{1, 64}}
		}},
		{"a map of no memory", "parameters[3].map.memory", "2; there are 2", func(m *Manifest) {
			m.Parameters[3].Value = strings.Repeat("00", 128)
			m.Parameters[3].Map = &TensorMap{
				Memory: 2, DType: "f32", Dims: []int64{2, 64}, Box: []int64{1, 64},
			}
		}},
		{"a map past the end", "parameters[3].map", "packed has 520 bytes", func(m *Manifest) {
			m.Parameters[3].Value = strings.Repeat("00", 128)
			m.Parameters[3].Map = &TensorMap{DType: "f32", Dims: []int64{3, 64}, Box: []int64{1, 64}}
		}},
		{"a map without a box", "parameters[3].map", "a box of 0 extents", func(m *Manifest) {
			m.Parameters[3].Value = strings.Repeat("00", 128)
			m.Parameters[3].Map = &TensorMap{DType: "f32", Dims: []int64{2, 64}}
		}},
		{"an address", "parameters[0].pointers[0].at", "has an address",
			func(m *Manifest) { m.Parameters[0].Value = "01" + m.Parameters[0].Value[2:] }},
		{"no such memory", "parameters[1].pointers[0].memory", "2; there are 2",
			func(m *Manifest) { m.Parameters[1].Pointers[0].Memory = 2 }},
		{"offset", "parameters[1].pointers[0].offset", "byte 521",
			func(m *Manifest) { m.Parameters[1].Pointers[0] = Pointer{Offset: 521} }},
		{"strides", "parameters[1].pointers[0].strides", "1 strides for 2",
			func(m *Manifest) { m.Parameters[1].Pointers[0].Dims = []int{1, 1} }},
		{"view past the end", "parameters[1].pointers[0].strides", "leaves memory",
			func(m *Manifest) { m.Parameters[1].Pointers[0].Dims = []int{3} }},
		{
			"view before the beginning", "parameters[1].pointers[0].strides", "leaves memory",
			func(m *Manifest) {
				m.Parameters[1].Pointers[0] = Pointer{Offset: 0, Dims: []int{2}, Strides: []int{-1}}
			},
		},
		{"extent of a view", "parameters[1].pointers[0].dims", "extent 0",
			func(m *Manifest) { m.Parameters[1].Pointers[0].Dims = []int{0} }},
		{"absolute source", "sources[0].path", "relative path",
			func(m *Manifest) { m.Sources[0].Path = "/etc/passwd" }},
		{"source above", "sources[0].path", "relative path",
			func(m *Manifest) { m.Sources[0].Path = "../x.py" }},
		{"unclean source", "sources[0].path", "relative path",
			func(m *Manifest) { m.Sources[0].Path = "a//x.py" }},
		{"a drive", "sources[0].path", "relative path", func(m *Manifest) { m.Sources[0].Path = `C:\x.py` }},
		{"two sources", "sources[1].path", "second source",
			func(m *Manifest) { m.Sources = append(m.Sources, m.Sources[0]) }},
		{"too many parameters", "parameters", "5000 of them",
			func(m *Manifest) { m.Parameters = make([]Parameter, 5000) }},
		{"too much memory", "memory", "5000 of them", func(m *Manifest) { m.Memory = make([]Memory, 5000) }},
		{"too many sources", "sources", "2000 of them",
			func(m *Manifest) { m.Sources = make([]Source, 2000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, p := rowsum(t)
			c.change(&m)
			var out bytes.Buffer
			err := Write(&out, m, p)
			var e *Error
			if !errors.As(err, &e) || e.Field != c.field || !strings.Contains(e.Reason, c.want) ||
				out.Len() > 0 {
				t.Errorf("%v, %d bytes written; want field %s and %q", err, out.Len(), c.field, c.want)
			}
		})
	}
}

// repacked writes an archive again, its members changed.
func repacked(t *testing.T, b []byte, change func(members map[string][]byte)) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string][]byte{}
	var order []string
	for _, f := range r.File {
		x, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if members[f.Name], err = io.ReadAll(x); err != nil {
			t.Fatal(err)
		}
		order = append(order, f.Name)
	}
	change(members)
	for name := range members {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range order {
		if _, ok := members[name]; !ok {
			continue
		}
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(members[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestDamage: what somebody else's program wrote is refused with one located error, when it is opened or
// when the part is read.
func TestDamage(t *testing.T) {
	m, p := rowsum(t)
	whole := written(t, m, p)
	replace := func(from, to string) func(map[string][]byte) {
		return func(members map[string][]byte) {
			if !bytes.Contains(members[manifestMember], []byte(from)) {
				t.Fatalf("no %q in the description", from)
			}
			members[manifestMember] = bytes.Replace(members[manifestMember], []byte(from), []byte(to), 1)
		}
	}
	for _, c := range []struct {
		name, want string
		change     func(members map[string][]byte)
	}{
		{"no description", `no member "bundle.json"`,
			func(m map[string][]byte) { delete(m, manifestMember) }},
		{"another schema", "expected tilescope.bundle/1", replace(Schema, "tilescope.bundle/9")},
		{"unknown key", "unknown field", replace(`"origin"`, `"environment": {}, "origin"`)},
		{
			"two descriptions", "something follows", func(m map[string][]byte) {
				m[manifestMember] = append(m[manifestMember], "{}"...)
			},
		},
		{"another type", "launch.shared", replace(`"shared": 256`, `"shared": "256"`)},
		{"a fraction", "launch.shared", replace(`"shared": 256`, `"shared": 256.5`)},
		{"not JSON", "bundle.json", func(m map[string][]byte) { m[manifestMember] = []byte("{") }},
		{"a member too many", `"environment.txt", which is not described`,
			func(m map[string][]byte) { m["environment.txt"] = []byte("HOME=/root") }},
		{"a member too few", `no member "module.ptx"`, func(m map[string][]byte) { delete(m, moduleMember) }},
		{"no contents", `no member "before/packed.npy"`,
			func(m map[string][]byte) { delete(m, "before/packed.npy") }},
		{
			"another module", "digest", func(m map[string][]byte) {
				m[moduleMember] = append(m[moduleMember], '\n')
			},
		},
		{
			"another source", "digest", func(m map[string][]byte) {
				m["sources/rowsum.cu"] = []byte("// other")
			},
		},
		{"short contents", "bytes of elements", func(m map[string][]byte) {
			m["before/packed.npy"] = append(npy.AppendHeader(nil, npy.F32, []int{1}), 1, 2, 3, 4)
		}},
		{"no array", "NUMPY", func(m map[string][]byte) { m["before/packed.npy"] = []byte("not an array") }},
		{
			"huge memory", "memory[1]: out has", replace("\"dims\": [\n    2\n   ]",
				"\"dims\": [\n    2000000000\n   ]"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := readAll(t, repacked(t, whole, c.change))
			if err == nil || !strings.HasPrefix(err.Error(), "x.tsl: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	for n := range len(whole) {
		if n%97 == 0 {
			if err := readAll(t, whole[:n]); err == nil {
				t.Errorf("cut off after %d bytes: no error", n)
			}
		}
	}
}

// readAll reads everything of a bundle.
func readAll(t testing.TB, b []byte) error {
	x, err := opened(t, b)
	if err != nil {
		return err
	}
	return x.Verify(t.Context())
}

func FuzzBundle(f *testing.F) {
	m, p := rowsum(f)
	f.Add(written(f, m, p))
	small := m
	small.Memory, small.Sources, small.Parameters = nil, nil, []Parameter{{Name: "n", Value: "01000000"}}
	f.Add(written(f, small, Parts{PTX: []byte(".version 8.0")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := read(t.Context(), bytes.NewReader(b), int64(len(b)), "x.tsl", 1<<20)
		if err != nil {
			return
		}
		for i := range x.Memory {
			for _, get := range []func() (*Contents, error){
				func() (*Contents, error) { return x.Before(t.Context(), i) },
				func() (*Contents, error) { return x.After(t.Context(), i) },
			} {
				if c, err := get(); err == nil && c != nil && int64(len(c.Data)) != x.Memory[i].Bytes() {
					t.Errorf("memory %d has %d bytes, not %d", i, len(c.Data), x.Memory[i].Bytes())
				}
			}
		}
	})
}
