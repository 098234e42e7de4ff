package argument

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

// TestParse: each form of a value is what it says.
func TestParse(t *testing.T) {
	for text, ok := range map[string]func(v *Value) bool{
		"list(0, 2,7):i32": func(v *Value) bool {
			return slices.Equal(v.Buffer.Fill.Values, []float64{0, 2, 7}) &&
				slices.Equal(v.Buffer.Dims, []int{3})
		},
		"list(1,-2,3,4):f32[2,2]": func(v *Value) bool {
			return v.Buffer.Fill.Values[1] == -2 && len(v.Buffer.Dims) == 2
		},
		"main:i32[9]": func(v *Value) bool { return v.Buffer.Main },

		"1024":      func(v *Value) bool { return v.Number.Text == "1024" && v.Number.DType == 0 },
		"-0.5:f32":  func(v *Value) bool { return v.Number.Text == "-0.5" && v.Number.DType == probes.F32 },
		"0x10:u8":   func(v *Value) bool { return v.Number.DType == probes.U8 },
		"true":      func(v *Value) bool { return v.Number.Text == "true" },
		"true:bool": func(v *Value) bool { return v.Number.DType == probes.U8 },
		"inf:f32":   func(v *Value) bool { return v.Number.Text == "inf" },
		"null":      func(v *Value) bool { return v.Null },
		"randn:f32[64, 128]": func(v *Value) bool {
			return v.Buffer.Fill.Kind == probes.FillRandn && v.Buffer.DType == probes.F32 &&
				v.Buffer.Dims[0] == 64 && v.Buffer.Dims[1] == 128
		},
		"-inf:bf16[3]": func(v *Value) bool {
			return v.Buffer.Fill.Kind == probes.FillNegInf && v.Buffer.DType == probes.BF16
		},
		"unwritten:tf32[4]": func(v *Value) bool {
			return v.Buffer.Fill.Kind == probes.FillUnwritten && v.Buffer.DType == probes.F32
		},
		"randint(-3, 4):i16[9]": func(v *Value) bool {
			return v.Buffer.Fill.Lo == -3 && v.Buffer.Fill.Hi == 4
		},
		"a/b.npy":    func(v *Value) bool { return v.File.Path == "a/b.npy" && v.File.DType == 0 },
		"b.npy:bf16": func(v *Value) bool { return v.File.DType == probes.BF16 },
		"c.npz:w":    func(v *Value) bool { return v.File.Path == "c.npz" && v.File.Key == "w" },
		"c.npz:w:e4m3": func(v *Value) bool {
			return v.File.Key == "w" && v.File.DType == probes.E4M3
		},
		"{0: 0.5:f32, 8: iota:i32[4]}": func(v *Value) bool {
			return len(v.Fields) == 2 && v.Fields[0].Value.Number.Text == "0.5" && v.Fields[1].Offset == 8 &&
				v.Fields[1].Value.Buffer.Dims[0] == 4
		},
		"tensormap{of: q, box: [1,64, 32], swizzle: 64B}": func(v *Value) bool {
			m := v.Map
			return m.Of == "q" && slices.Equal(m.Box, []int64{1, 64, 32}) && m.Swizzle == "64B" &&
				m.Dims == nil
		},
		"tensormap {of: 2, dtype: tf32, dims: [9,8], strides: [64], box: [4,8], steps: [2,1], offset: 32, " +
			"interleave: none, promotion: 256B, fill: nan}": func(v *Value) bool {
			m := v.Map
			return m.Of == "2" && m.DType == "tf32" && m.Strides[0] == 64 && m.Steps[0] == 2 &&
				m.Offset == 32 && m.Promotion == "256B" && m.Fill == "nan" && m.Dims[0] == 9
		},
	} {
		v, err := Parse(text)
		if err != nil || v.Text != text || !ok(v) {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
}

// TestMistakes: each mistake is an error that says what is wrong and what was expected.
func TestMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"": "nothing is given", "abc": "expected a number", "zeros": "needs a type and extents",
		"ones:f32": "has no extents", "zeros:f33[4]": "unknown type", "zeros:f32[4": "closing bracket",
		"zeros:f32[0]": "from 1 on", "zeros:f32[-4]": "from 1 on", "zeros:f32[]": "from 1 on",
		"zeros:f32[x]": "from 1 on", "zeros:f32[99999999999999]": "64 TiB",
		"zeros:f64[4294967296,4294967296]": "64 TiB", "zeros:f32[1,1,1,1,1,1,1,1,1]": "at most 8",
		"list(1,2):i32[3]": "2 numbers, and", "list(1,x):i32": "not a number",
		"list(1.5):i32": "not a whole number",
		"list(300):u8":  "does not have 300", "list(1:i32[1]": "list(N,...)", "main:i32": "has no extents",
		"gauss:f32[4]": "unknown source", "randint(0,300):u8[4]": "does not have",
		"nan:i32[4]": "no values of type i32", "randn:u8[4]": "no values of type u8",
		"randint(1):i32[4]": "randint(LO,HI)", "randint(2,1):i32[4]": "no number lies between",
		"randint(a,1):i32[4]": "not a whole number", "x.npz": "name one", "x.npy:float": "unknown type",
		"{0: 1": "closing brace", "{x: 1}": "OFFSET: VALUE", "{-4: 1}": "OFFSET: VALUE",
		"{0: {0: 1}}": "struct within a struct", "{0: abc}": "field at byte 0",
		"tensormap{of: x}": "needs box", "tensormap{box: [4]}": "needs of",
		"tensormap": "expected tensormap{of", "tensormap{of: x, box: [4]": "closing brace",
		"tensormap{of: x, box: 4}":                                 "in brackets",
		"tensormap{of: x, box: [4], box: [4]}":                     "given twice",
		"tensormap{of: x, box: [a]}":                               "not a whole number",
		"tensormap{of: x, box: [4], swizle: 32B}":                  "unknown key \"swizle\"",
		"tensormap{of: x, box: [4], swizzle: 9B}":                  "none, 32B, 64B, 128B",
		"tensormap{of: x, box: [4], dtype: f33}":                   "no tensor map has",
		"tensormap{of, box: [4]}":                                  "KEY: VALUE",
		"tensormap{of: x, box: [4], offset: z}":                    "not a whole number",
		"{0: tensormap{of: x, box: [4]}}":                          "a parameter of its own",
		"randint(-9223372036854775808,9223372036854775807):i64[1]": "more than 2^63",
		strings.Repeat("9", 1<<17):                                 "characters",
	} {
		if v, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %+v, %v, want %q", text, v, err, says)
		}
	}
}

// TestScalars: a number takes the parameter's bytes and its own type, else the obvious one; what does
// not fit is refused.
func TestScalars(t *testing.T) {
	for _, c := range []struct {
		text  string
		dtype probes.DType
		size  int
		float bool
		want  []byte // nil: refused
	}{
		{"1024", 0, 4, false, []byte{0, 4, 0, 0}},
		{"-1", 0, 4, false, []byte{255, 255, 255, 255}},
		{"1", 0, 4, true, []byte{0, 0, 0x80, 0x3f}},
		{"0.5", 0, 4, false, []byte{0, 0, 0, 0x3f}},
		{"0.5", 0, 8, false, []byte{0, 0, 0, 0, 0, 0, 0xe0, 0x3f}},
		{"0.5", 0, 2, false, []byte{0, 0x38}},
		{"true", 0, 1, false, []byte{1}},
		{"true", probes.F32, 4, false, []byte{0, 0, 0x80, 0x3f}},
		{"18446744073709551615", probes.U64, 8, false, bytes.Repeat([]byte{255}, 8)},
		{"-9223372036854775808", probes.I64, 8, false, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}},
		{"0x7f", probes.I8, 1, false, []byte{0x7f}},
		{"nan", 0, 4, true, []byte{255, 255, 255, 0x7f}},
		{"-inf", probes.F16, 2, false, []byte{0, 0xfc}},
		{"128", probes.I8, 1, false, nil},
		{"9223372036854775808", probes.I64, 8, false, nil},
		{"1.5", probes.I32, 4, false, nil},
		{"1e39", 0, 4, true, nil},
		{"1", probes.F64, 4, false, nil},
		{"5000000000", 0, 4, false, nil},
		{"1", 0, 12, false, nil},
	} {
		n := &Number{Text: c.text, DType: c.dtype}
		got, err := n.Bytes(c.size, c.float)
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s for %d bytes: %v, %v", c.text, c.size, got, err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s for %d bytes: % x, %v, want % x", c.text, c.size, got, err, c.want)
		}
	}
}

// FuzzParse: no text panics, and what is read has extents and types that exist.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"1", "randn:f32[4,4]", "{0: 1:i32}", "x.npz:a:bf16", "randint(0,9):u8[2]", "true:bool",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text)
		if err != nil {
			return
		}
		if b := v.Buffer; b != nil && (b.DType.Size() == 0 || len(b.Dims) == 0 || b.Dims[0] < 1) {
			t.Fatalf("%q: %+v", text, b)
		}
		if n := v.Number; n != nil {
			for _, size := range []int{1, 2, 4, 8} {
				if b, err := n.Bytes(size, false); err == nil && len(b) != size {
					t.Fatalf("%q: %d bytes for %d", text, len(b), size)
				}
			}
		}
	})
}

// TestWithPaths: the paths of a value are replaced, wherever they stand, and nothing else is.
func TestWithPaths(t *testing.T) {
	for text, want := range map[string]string{
		"w.npy": "/d/w.npy", "w.npz:key:bf16": "/d/w.npz:key:bf16", "a/h.npy:e4m3": "/d/a/h.npy:e4m3",
		"{0: 0.5:f32, 8: w.npy, 16:w.npz:k}": "{0: 0.5:f32, 8: /d/w.npy, 16: /d/w.npz:k}",
		"randn:f32[64,128]":                  "randn:f32[64,128]", "null": "null", "1024": "1024",
		"tensormap{of: x, box: [64,64]}": "tensormap{of: x, box: [64,64]}",
	} {
		got := WithPaths(text, func(path string) string { return "/d/" + path })
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if v, err := Parse(got); err != nil || (v.File != nil) != strings.HasPrefix(got, "/") {
			t.Errorf("%s: %v", got, err)
		}
	}
}
