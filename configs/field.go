package configs

import (
	"encoding/binary"
	"regexp"
	"strconv"

	"tilescope/probes"
)

// structField is a number within a struct that is passed by value.
type structField struct {
	offset int
	Arg    // a scalar
}

var structType = regexp.MustCompile(`^struct\{([0-9]{1,5})\}$`)

// maxStruct is the bytes of all parameters of a kernel (PTX ISA, "Kernel Function Parameters").
const maxStruct = 32764

// structure reads a struct: its bytes, and by offset the numbers and pointers that it has. All other bytes are 0. A pointer's memory is an argument
// of its own name, behind the parameters.
func (p *manifestParser) structure(a *object, arg *Arg, size string) (behind []Arg) {
	a.need("fields")
	arg.DType = probes.U8
	if arg.size, _ = strconv.Atoi(size); arg.size < 1 || arg.size > maxStruct {
		a.fail("type", "a struct of %s bytes; expected 1 to %d", size, maxStruct)
	}
	for _, k := range []string{"dims", "role", "tensor", "fill", "value"} {
		if a.has(k) {
			a.fail(k, "a struct has fields")
		}
	}
	if !a.has("fields") {
		return nil
	}
	fields := p.object(a.vals["fields"], a.field("fields"))
	if fields == nil {
		return nil
	}
	for _, k := range fields.keys {
		offset, err := strconv.Atoi(k)
		if err != nil || offset < 0 {
			fields.fail(k, "expected the field's offset in bytes")
			continue
		}
		f := fields.sub(k, "name", "type", "dims", "role", "tensor", "fill", "value")
		if f == nil {
			continue
		}
		if x, ok := p.structField(f, arg, offset); ok {
			behind = append(behind, x)
		}
	}
	return behind
}

// structField reads a field: a pointer is returned as an argument.
func (p *manifestParser) structField(f *object, arg *Arg, offset int) (Arg, bool) {
	f.need("type")
	out := Arg{Name: f.ident("name"), at: f.here()}
	end := offset
	if !p.argType(f, &out) {
		return out, false
	}
	if end += out.DType.Size(); out.Pointer {
		end = offset + 8
	}
	if end > arg.size {
		f.fail("type", "the field ends at byte %d, and the struct has %d", end, arg.size)
	}
	if !out.Pointer {
		p.scalar(f, &out)
		arg.fields = append(arg.fields, structField{offset, out})
		return out, false
	}
	f.need("name")
	p.pointer(f, &out)
	out.into = []probes.ArgPlace{{Arg: len(p.m.Args), Offset: offset}}
	return out, true
}

// argType reads the type of a pointer or a scalar.
func (p *manifestParser) argType(a *object, arg *Arg) bool {
	t := a.str("type")
	if t == "" {
		return false
	}
	name := t
	if arg.Pointer = t[len(t)-1] == '*'; arg.Pointer {
		name = t[:len(t)-1]
	}
	var err error
	if arg.DType, err = probes.ParseDType(name); err != nil {
		a.fail("type", "%v, with * for a pointer", err)
		return false
	}
	return true
}

// structure makes a struct's bytes.
func (r *resolver) structure(a Arg, out *probes.Arg) error {
	out.Data = make([]byte, a.size)
	for _, f := range a.fields {
		var x probes.Arg
		if err := r.scalar(f.Arg, &x); err != nil {
			return err
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x.Bits)
		copy(out.Data[f.offset:f.offset+f.DType.Size()], b[:])
	}
	return nil
}
