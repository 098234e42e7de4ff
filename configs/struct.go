package configs

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"tilescope/configs/schema"
	"tilescope/probes"
)

// Structs that a kernel takes by value, as CuTe's and PyTorch's tensors are: a size, and numbers and pointers
// at byte offsets. What no field says is 0. Pointers become arguments of their own behind all parameters, as
// the executors take them (probes.Arg.Into).

var structType = regexp.MustCompile(`^struct\{(.*)\}$`)

// structSize reads a type struct{BYTES}; ok is false for any other.
func (p *manifestParser) structSize(a *object) (size int, ok bool) {
	if !a.has("type") {
		return 0, false
	}
	m := structType.FindStringSubmatch(deref(a.vals["type"]).Value)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 || n > schema.MaxStruct {
		a.fail("type", "struct{%s}: expected the struct's bytes, 1 to %d, as in struct{32}", clip(m[1]),
			schema.MaxStruct)
		n = schema.MaxStruct
	}
	return n, true
}

// fields reads those of a struct, the manifest's argument of an index. Numbers are added to it; what is
// returned are its pointers, whose names must be unseen.
func (p *manifestParser) fields(a *object, arg *Arg, index int, seen map[string]bool) (pointers []Arg) {
	a.need("fields")
	for _, k := range []string{
		"dims", "strides", "role", "tensor", "fill", "value", "reference", "tolerance",
	} {
		if a.has(k) {
			a.fail(k, "a struct has fields only")
		}
	}
	// by byte: the offset, plus 1, of the field that it belongs to
	taken := make([]int, min(arg.Size, schema.MaxStruct))
	for i, n := range a.list("fields") {
		f := p.section(n, fmt.Sprintf("%s[%d]", a.field("fields"), i), "field")
		if f == nil {
			continue
		}
		at := f.integer("at")
		x := Arg{Name: fmt.Sprintf("%s+%d", arg.Name, at), at: f.here()}
		if f.has("name") {
			x.Name = f.ident("name")
		}
		p.typed(f, &x)
		size := 8
		if !x.Pointer {
			size = max(x.DType.Size(), 1)
		}
		if at+size > arg.Size {
			f.fail("at", "%d bytes at byte %d do not fit a struct of %d bytes", size, at, arg.Size)
			continue
		}
		if k := slices.IndexFunc(taken[at:at+size], func(of int) bool { return of > 0 }); k >= 0 {
			f.fail("at", "byte %d belongs to the field at byte %d already", at+k, taken[at+k]-1)
			continue
		}
		for k := range size {
			taken[at+k] = at + 1
		}
		field := Field{Arg: index, Offset: at, DType: x.DType, Value: x.Value}
		if !x.Pointer {
			arg.Fields = append(arg.Fields, field)
			continue
		}
		if seen[x.Name] {
			f.fail("name", "a second argument named %s", x.Name)
		}
		seen[x.Name] = true
		x.Within = &field
		pointers = append(pointers, x)
	}
	return pointers
}

// structure encodes a struct's numbers; its pointers are written by whoever allocates.
func (r *resolver) structure(a Arg, out *probes.Arg) error {
	out.Data = make([]byte, a.Size)
	for _, f := range a.Fields {
		x := probes.Arg{DType: f.DType}
		if err := r.scalar(Arg{DType: f.DType, Value: f.Value}, &x); err != nil {
			return err
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x.Bits)
		copy(out.Data[f.Offset:], b[:f.DType.Size()])
	}
	return nil
}
