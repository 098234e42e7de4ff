package hostrun

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ctype is a type of C++.
type ctype struct {
	form   form
	name   string // of a number as cTypes in scaffold spell it, of a struct its own
	size   int64  // in bytes
	align  int64
	signed bool
	elem   *ctype // of a pointer, an array or a vector
	n      int64  // of an array
	fields []field
	// of a struct: its functions by name, the constructors by its own, and the scope that has its template's
	// arguments
	methods map[string][]*function
	bound   *scope
	statics map[string]*node // its constants
}

type form uint8

const (
	formUnknown form = iota
	formVoid
	formInt
	formFloat
	formPointer
	formArray
	formVector
	formStruct
	formRange // a distribution of integers
	formFunction
	formOpaque // of CUDA's or of C++'s, of which nothing is needed
)

// field is a member of a struct: where it begins in bytes, and what it begins with.
type field struct {
	name  string
	kind  *ctype
	at    int64
	first *node
}

func integer(name string, size int64, signed bool) *ctype {
	return &ctype{form: formInt, name: name, size: size, align: size, signed: signed}
}

func floating(name string, size int64) *ctype {
	return &ctype{form: formFloat, name: name, size: size, align: size, signed: true}
}

var (
	intType    = integer("int", 4, true)
	boolType   = integer("bool", 1, false)
	longType   = integer("long long", 8, true)
	sizeType   = integer("size_t", 8, false)
	floatType  = floating("float", 4)
	doubleType = floating("double", 8)
	voidType   = &ctype{form: formVoid, name: "void", size: 1, align: 1}
	uintType   = integer("unsigned int", 4, false)
	lambdaType = &ctype{form: formFunction, size: 8, align: 8} // of kernels too
	dim3Type   = vectorOf("dim3", uintType, 3)
)

// numberTypes are the types of numbers by their names, spelled with single blanks.
var numberTypes = map[string]*ctype{
	"void":               voidType,
	"bool":               boolType,
	"char":               integer("char", 1, true),
	"signed char":        integer("signed char", 1, true),
	"int8_t":             integer("int8_t", 1, true),
	"unsigned char":      integer("unsigned char", 1, false),
	"uchar":              integer("unsigned char", 1, false),
	"uint8_t":            integer("uint8_t", 1, false),
	"short":              integer("short", 2, true),
	"int16_t":            integer("int16_t", 2, true),
	"unsigned short":     integer("unsigned short", 2, false),
	"ushort":             integer("unsigned short", 2, false),
	"uint16_t":           integer("uint16_t", 2, false),
	"int":                intType,
	"int32_t":            integer("int32_t", 4, true),
	"signed":             intType,
	"unsigned":           uintType,
	"unsigned int":       uintType,
	"cudaError_t":        intType,
	"cudaError":          intType,
	"uint":               uintType,
	"uint32_t":           integer("uint32_t", 4, false),
	"long":               integer("long", 8, true),
	"long int":           integer("long", 8, true),
	"long long":          longType,
	"long long int":      longType,
	"int64_t":            integer("int64_t", 8, true),
	"ptrdiff_t":          integer("int64_t", 8, true),
	"ssize_t":            integer("int64_t", 8, true),
	"unsigned long":      integer("unsigned long", 8, false),
	"size_t":             sizeType,
	"unsigned long long": integer("unsigned long long", 8, false),
	"uint64_t":           integer("uint64_t", 8, false),
	"float":              floatType,
	"double":             doubleType,
	"half":               floating("half", 2),
	"__half":             floating("half", 2),
	"nv_half":            floating("half", 2),
	"__nv_bfloat16":      floating("__nv_bfloat16", 2),
	"nv_bfloat16":        floating("__nv_bfloat16", 2),
	"__nv_fp8_e4m3":      floating("__nv_fp8_e4m3", 1),
	"__nv_fp8_e5m2":      floating("__nv_fp8_e5m2", 1),
}

// vectorType is the name of a vector of CUDA: float4, uint2, half2.
var vectorType = regexp.MustCompile(
	`^(char|uchar|short|ushort|int|uint|long|ulong|longlong|ulonglong|float|double|` +
		`half|__half|__nv_bfloat16)([1-4])$`,
)

// vectorOf is a struct of n numbers: x, y, z, w.
func vectorOf(name string, elem *ctype, n int) *ctype {
	t := &ctype{form: formStruct, name: name, size: elem.size * int64(n), align: elem.size}
	if n == 2 || n == 4 {
		t.align = min(16, elem.size*int64(n))
	}
	for i := range n {
		t.fields = append(t.fields, field{name: string("xyzw"[i]), kind: elem, at: elem.size * int64(i)})
		if name == "dim3" {
			t.fields[i].first = &node{op: opInt, i: 1}
		}
	}
	return t
}

func pointerTo(t *ctype) *ctype { return &ctype{form: formPointer, size: 8, align: 8, elem: t} }

// arrayOf is an array of a number or of structs; of an extent that is not known, one of unknown bytes.
func arrayOf(t *ctype, n int64) *ctype {
	return &ctype{form: formArray, elem: t, n: n, size: n * t.size, align: t.align}
}

// scalar reports a type whose values are one number.
func (t *ctype) scalar() bool { return t != nil && (t.form == formInt || t.form == formFloat) }

// typeNamed is a type by the name that a source has for it, nil where it is not known.
func (x *execution) typeNamed(name string, args []*node) *ctype {
	if t, ok := x.binding(name); ok {
		return t
	}
	if t := x.memberType(name, args); t != nil {
		return t
	}
	plain := strings.TrimPrefix(name, "::")
	plain = strings.TrimPrefix(strings.TrimPrefix(plain, "std::"), "thrust::")
	if t, ok := numberTypes[plain]; ok {
		return t
	}
	if plain == "dim3" {
		return dim3Type
	}
	if m := vectorType.FindStringSubmatch(plain); m != nil {
		n, _ := strconv.Atoi(m[2])
		elem := map[string]string{
			"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
			"ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long",
		}[m[1]]
		if elem == "" {
			elem = m[1]
		}
		return vectorOf(plain, numberTypes[elem], n)
	}
	switch plain {
	case "vector", "host_vector", "device_vector":
		if len(args) > 0 {
			if elem := x.typeOf(args[0]); elem != nil {
				return &ctype{form: formVector, elem: elem, size: 24, align: 8}
			}
		}
	case "array":
		if len(args) > 1 {
			if elem, n := x.typeOf(args[0]), x.value(args[1]); elem != nil && n.state == known {
				return arrayOf(elem, n.i)
			}
		}
	case "pair", "tuple":
		return x.tuple(plain, args)
	case "unique_ptr":
		if len(args) > 0 {
			return pointerTo(x.typeOf(args[0]))
		}
	case "uniform_int_distribution":
		return &ctype{form: formRange, name: plain, size: 8, align: 8}
	case "complex":
		return nil
	case "cudaStream_t", "cudaEvent_t":
		return &ctype{form: formOpaque, name: plain, size: 8, align: 8}
	case "string":
		return &ctype{form: formOpaque, name: plain, size: 32, align: 8}
	}
	if i := strings.LastIndex(plain, "::"); i >= 0 {
		plain = plain[i+2:]
	}
	if of, ok := x.aliases[plain]; ok && of != plain {
		return x.typeNamed(of, nil)
	}
	return x.record(plain, args)
}

// tuple is a struct of a pair's or a tuple's parts; nil where the type of one is not known.
func (x *execution) tuple(name string, args []*node) *ctype {
	t := &ctype{form: formStruct, name: name, align: 1}
	for i, a := range args {
		part := x.typeOf(a)
		if part == nil || part.align == 0 {
			return nil
		}
		f := field{name: fmt.Sprint(i), kind: part}
		if name == "pair" && i < 2 {
			f.name = []string{"first", "second"}[i]
		}
		t.add(f)
	}
	t.size = (t.size + t.align - 1) / t.align * t.align
	return t
}

// add places a field behind the others.
func (t *ctype) add(f field) {
	f.at = (t.size + f.kind.align - 1) / f.kind.align * f.kind.align
	t.fields = append(t.fields, f)
	t.size, t.align = f.at+f.kind.size, max(t.align, f.kind.align)
}

// typeOf is the type that a template's argument names.
func (x *execution) typeOf(n *node) *ctype {
	if n == nil || n.op != opType {
		return nil
	}
	return x.resolve(n.kind)
}

// resolve is a type as it is spelled; nil where it is not known.
func (x *execution) resolve(t *typeName) *ctype {
	if t == nil {
		return nil
	}
	out := x.typeNamed(t.name, t.args)
	for range t.pointers {
		out = pointerTo(out)
	}
	return out
}
