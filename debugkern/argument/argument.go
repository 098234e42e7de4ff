// Package argument reads kernel arguments as the command line writes them, and makes the bytes
// that they stand for.
//
//	n=1024   scale=0.125:f32   flag=true
//	x=randn:f32[64,128]   idx=randint(0,63):i32[64]   y=unwritten:f16[64]
//	offsets=list(0,2,3,7):i32[4]   rows=main:i32[1000]
//	w=weights.npz:w   h=h.npy:bf16   nothing=null
//	p={0: 0.5:f32, 8: iota:i32[4]}
//	tx=tensormap{of: x, box: [64,64], swizzle: 128B}
//
// The one idea: a value says itself what it is; a kernel's parameter only says how many bytes it
// takes, and whether it is used as an address. Generated numbers depend on the seed, the parameter's
// index and the element alone.
//
// It must not know kernels, launches or what executes them.
package argument

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Value is one argument as written.
type Value struct {
	Text string
	// One of these: a number, a buffer's elements, a file's, a null pointer, a struct's fields, or a tensor
	// map.
	Number *Number
	Buffer *Buffer
	File   *File
	Null   bool
	Fields []Field
	Map    *TensorMap
}

// TensorMap describes a tensor in the buffer of another argument.
type TensorMap struct {
	Of string // the argument's name
	tensormap.Spec
}

// Number is a scalar. DType 0: that of the parameter.
type Number struct {
	Text  string
	DType probes.DType
}

// Buffer is generated memory.
type Buffer struct {
	Fill  probes.Fill
	DType probes.DType
	Dims  []int
	// Main: what the source's main copies there. Its numbers are not those of Fill until somebody gives them.
	Main bool
}

// File is an array of a NumPy file. DType is what its bits are read as; 0: the file's own.
type File struct {
	Path  string
	Key   string // of an .npz; "" for an .npy
	DType probes.DType
}

// Field is a part of a struct.
type Field struct {
	Offset int
	Value  *Value
}

// fills are the sources of generated memory, by name.
var fills = map[string]probes.FillKind{
	"zeros": probes.FillZeros, "ones": probes.FillOnes, "nan": probes.FillNaN, "inf": probes.FillInf,
	"-inf": probes.FillNegInf, "iota": probes.FillIota, "randn": probes.FillRandn, "rand": probes.FillRand,
	"unwritten": probes.FillUnwritten,
}

// mainSource is what the source's main copies to the memory.
const mainSource = "main"

const (
	sourceNames = "zeros, ones, nan, inf, -inf, iota, randn, rand, randint(LO,HI), list(N,...), main, unwritten"
	usualForms  = "a number, SOURCE:DTYPE[DIM,...] such as randn:f32[64,64], FILE.npy, FILE.npz:KEY, or null"
	maxText     = 1 << 16
	maxDims     = 8
	maxFields   = 256
)

// Parse reads a value. The error says what is wrong and what was expected, without the parameter's name.
func Parse(text string) (*Value, error) {
	v := &Value{Text: text}
	if len(text) > maxText {
		return nil, fmt.Errorf("%d characters; at most %d are read", len(text), maxText)
	}
	s := strings.TrimSpace(text)
	switch {
	case s == "":
		return nil, fmt.Errorf("nothing is given; expected %s", usualForms)
	case s == "null":
		v.Null = true
		return v, nil
	case s[0] == '{':
		return v, v.structure(s)
	case strings.HasPrefix(s, "tensormap"):
		return v, v.tensorMap(strings.TrimSpace(strings.TrimPrefix(s, "tensormap")))
	}
	if path, rest, ok := filePath(s); ok {
		return v, v.file(path, rest)
	}
	if head, dtype, ok := strings.Cut(s, ":"); ok {
		return v, v.typed(head, dtype)
	}
	if name, _, _ := strings.Cut(s, "("); isSource(name) && !isNumber(s) {
		return nil, fmt.Errorf("%s needs a type and extents: %s:f32[64]", s, s)
	}
	if !isNumber(s) && s != "true" && s != "false" {
		return nil, fmt.Errorf("expected %s; found %q", usualForms, clip(s))
	}
	v.Number = &Number{Text: s}
	return v, nil
}

// isSource reports whether a name is that of generated memory.
func isSource(name string) bool {
	_, ok := fills[name]
	return ok || name == "randint" || name == "list" || name == mainSource
}

// filePath splits a text that begins with the path of a NumPy file.
func filePath(s string) (path, rest string, ok bool) {
	for _, ext := range []string{".npz", ".npy"} {
		if i := strings.Index(s, ext); i >= 0 && (len(s) == i+len(ext) || s[i+len(ext)] == ':') {
			return s[:i+len(ext)], strings.TrimPrefix(s[i+len(ext):], ":"), true
		}
	}
	return "", "", false
}

// WithPaths returns a value as it is written, with what rename makes of each path of a file in it. In a text
// that is no value it replaces what looks like one.
func WithPaths(text string, rename func(path string) string) string {
	s := strings.TrimSpace(text)
	if body, ok := strings.CutSuffix(s, "}"); ok && strings.HasPrefix(s, "{") {
		parts := split(body[1:])
		for i, part := range parts {
			if offset, value, ok := strings.Cut(part, ":"); ok {
				parts[i] = strings.TrimSpace(offset) + ": " + WithPaths(value, rename)
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if path, _, ok := filePath(s); ok && !strings.HasPrefix(s, "tensormap") {
		return rename(path) + s[len(path):]
	}
	return s
}

func (v *Value) file(path, rest string) error {
	v.File = &File{Path: path}
	if strings.HasSuffix(path, ".npz") {
		if rest == "" {
			return fmt.Errorf("%s holds several arrays: name one, %s:KEY", clip(path), clip(path))
		}
		v.File.Key, rest, _ = strings.Cut(rest, ":")
	}
	if rest == "" {
		return nil
	}
	var err error
	v.File.DType, err = parseDType(rest)
	return err
}

// typed reads NUMBER:DTYPE or SOURCE:DTYPE[DIM,...].
func (v *Value) typed(head, tail string) error {
	name, dims, sized := strings.Cut(tail, "[")
	dtype, err := parseDType(name)
	if err != nil {
		return err
	}
	if !sized {
		if isNumber(head) || head == "true" || head == "false" {
			v.Number = &Number{Text: head, DType: dtype}
			return nil
		}
		if !strings.HasPrefix(strings.TrimSpace(head), "list(") {
			return fmt.Errorf("%s:%s has no extents; expected %s:%s[DIM,...]", clip(head), name, clip(head),
				name)
		}
		dims = fmt.Sprintf("%d]", 1+strings.Count(head, ","))
	}
	b := &Buffer{DType: dtype, Main: strings.TrimSpace(head) == mainSource}
	if !b.Main {
		if b.Fill, err = parseFill(head, dtype); err != nil {
			return err
		}
	}
	if b.Dims, err = parseDims(dims, dtype); err != nil {
		return err
	}
	if n := len(b.Fill.Values); b.Fill.Kind == probes.FillValues && n != probes.Elems(b.Dims) {
		return fmt.Errorf("list has %d numbers, and [%s has %d elements", n, clip(dims), probes.Elems(b.Dims))
	}
	v.Buffer = b
	return nil
}

// parseFill reads a source of generated memory.
func parseFill(text string, dtype probes.DType) (probes.Fill, error) {
	text = strings.TrimSpace(text)
	if args, ok := strings.CutPrefix(text, "randint("); ok {
		f, err := parseRandInt(text, args)
		if r, ok := integers[dtype]; err == nil && ok && (float64(f.Lo) < r.lo || float64(f.Hi) > r.hi) {
			return f, fmt.Errorf("%s has numbers that %s does not have (%.0f to %.0f)", clip(text),
				dtype, r.lo, r.hi)
		}
		return f, err
	}
	if numbers, ok := strings.CutPrefix(text, "list("); ok {
		return parseList(text, numbers, dtype)
	}
	kind, ok := fills[text]
	if !ok {
		return probes.Fill{}, fmt.Errorf("unknown source %q; expected %s", clip(text), sourceNames)
	}
	switch kind {
	case probes.FillNaN, probes.FillInf, probes.FillNegInf, probes.FillRandn, probes.FillRand:
		if !dtype.Float() {
			return probes.Fill{}, fmt.Errorf("%s has no values of type %s", text, dtype)
		}
	}
	return probes.Fill{Kind: kind}, nil
}

// parseList reads the numbers of list(N,...), up to its closing parenthesis.
func parseList(text, numbers string, dtype probes.DType) (probes.Fill, error) {
	f := probes.Fill{Kind: probes.FillValues}
	numbers, ok := strings.CutSuffix(numbers, ")")
	if !ok {
		return f, fmt.Errorf("%s: expected list(N,...), a number for each element", clip(text))
	}
	for _, part := range strings.Split(numbers, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return f, fmt.Errorf("%s: %q is not a number", clip(text), clip(strings.TrimSpace(part)))
		}
		r, whole := integers[dtype]
		switch {
		case whole && n != math.Trunc(n):
			return f, fmt.Errorf(
				"%s: %s is not a whole number, and %s has only such",
				clip(text),
				part,
				dtype,
			)
		case whole && (n < r.lo || n > r.hi):
			return f, fmt.Errorf(
				"%s: %s does not have %s (%.0f to %.0f)",
				clip(text),
				dtype,
				part,
				r.lo,
				r.hi,
			)
		case whole && math.Abs(n) > 1<<53:
			return f, fmt.Errorf("%s: %s is more than 2^53, the largest number of a list", clip(text), part)
		}
		f.Values = append(f.Values, n)
	}
	return f, nil
}

func parseRandInt(text, args string) (probes.Fill, error) {
	args, ok := strings.CutSuffix(args, ")")
	parts := strings.Split(args, ",")
	if !ok || len(parts) != 2 {
		return probes.Fill{}, fmt.Errorf("%s: expected randint(LO,HI), both included", clip(text))
	}
	f := probes.Fill{Kind: probes.FillRandInt}
	for i, to := range []*int64{&f.Lo, &f.Hi} {
		v, err := strconv.ParseInt(strings.TrimSpace(parts[i]), 0, 64)
		if err != nil {
			return f, fmt.Errorf("%s: %q is not a whole number", clip(text), clip(parts[i]))
		}
		*to = v
	}
	if f.Lo > f.Hi {
		return f, fmt.Errorf("%s: no number lies between", clip(text))
	}
	if f.Hi-f.Lo < 0 || f.Hi-f.Lo == math.MaxInt64 {
		return f, fmt.Errorf("%s: the range has more than 2^63 numbers", clip(text))
	}
	return f, nil
}

// parseDims reads "DIM,...]".
func parseDims(text string, dtype probes.DType) ([]int, error) {
	list, ok := strings.CutSuffix(strings.TrimSpace(text), "]")
	if !ok {
		return nil, fmt.Errorf("the extents [%s have no closing bracket", clip(text))
	}
	parts := strings.Split(list, ",")
	if len(parts) > maxDims {
		return nil, fmt.Errorf("%d extents; at most %d are possible", len(parts), maxDims)
	}
	var out []int
	total := float64(dtype.Size())
	for _, p := range parts {
		n, err := strconv.ParseInt(strings.TrimSpace(p), 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("extent %q in [%s]: expected a whole number from 1 on",
				clip(p), clip(list))
		}
		if total *= float64(n); total > 1<<46 {
			return nil, fmt.Errorf("the extents [%s] of %s take more than 64 TiB", clip(list), dtype)
		}
		out = append(out, int(n))
	}
	return out, nil
}

// structure reads {OFFSET: VALUE, ...}.
func (v *Value) structure(s string) error {
	body, ok := strings.CutSuffix(s[1:], "}")
	if !ok {
		return fmt.Errorf("the struct has no closing brace")
	}
	for _, part := range split(body) {
		offset, value, ok := strings.Cut(part, ":")
		n, err := strconv.ParseInt(strings.TrimSpace(offset), 0, 32)
		if !ok || err != nil || n < 0 {
			return fmt.Errorf("field %q: expected OFFSET: VALUE, the offset in bytes", clip(part))
		}
		inner, err := Parse(value)
		if err != nil {
			return fmt.Errorf("field at byte %d: %w", n, err)
		}
		if inner.Map != nil {
			return fmt.Errorf("field at byte %d: a tensor map is a parameter of its own", n)
		}
		if inner.Fields != nil {
			return fmt.Errorf("field at byte %d: a struct within a struct; give its fields by their offsets",
				n)
		}
		if v.Fields = append(v.Fields, Field{int(n), inner}); len(v.Fields) > maxFields {
			return fmt.Errorf("more than %d fields", maxFields)
		}
	}
	return nil
}

// split splits at the commas that stand in no brackets.
func split(text string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, text[from:i]), i+1
			}
		}
	}
	return append(out, text[from:])
}

// aliases are names of types that are stored as others.
var aliases = map[string]probes.DType{"bool": probes.U8, "tf32": probes.F32}

func parseDType(name string) (probes.DType, error) {
	name = strings.TrimSpace(name)
	if t, ok := aliases[name]; ok {
		return t, nil
	}
	t, err := probes.ParseDType(name)
	if err != nil {
		return 0, fmt.Errorf(
			"unknown type %q; expected f64 f32 tf32 f16 bf16 e4m3 e5m2 i8 u8 i16 u16 i32 u32 i64 u64 or bool",
			clip(name))
	}
	return t, nil
}

func isNumber(s string) bool {
	if _, err := strconv.ParseInt(s, 0, 64); err == nil {
		return true
	}
	if _, err := strconv.ParseUint(s, 0, 64); err == nil {
		return true
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || strings.Contains(fmt.Sprint(err), "out of range")
}

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
