package scaffold

import (
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Parameter is what a module shows of one kernel parameter, and its source where there is one.
type Parameter struct {
	Name    string       // "" where there is only the PTX: it has none
	DType   probes.DType // of its elements, for a pointer
	Guessed bool         // DType is a guess
	// Declared is the parameter's type as the source spells it, with the template's arguments in it, where
	// DType is by it; "" where DType is by the PTX.
	Declared string
	Vector   int // of a pointer to vectors, as float4 is one: how many elements one of them has, else 0
	Pointer  bool
	Read     bool // memory is read through it
	Loaded   bool // by loads, besides atomic operations: it counts what it holds before the launch
	Written  bool // memory is written through it
	// Of a struct that is passed by value: its bytes, else 0, and what the kernel reads of it, by offset.
	Struct int
	Fields []Field
}

// Field is a number or a pointer of a struct.
type Field struct {
	Offset int // bytes
	Parameter
}

// Parameters describes an entry's parameters in order. s is the CUDA source that it was compiled from, the
// zero value for PTX. A pointer is recognised by its use: global memory is reached through it.
func Parameters(f *ptx.Func, s Source) []Parameter {
	list, declared := make([]Parameter, len(f.Params)), declaredParameters(s.asWritten().view(f))
	loads := parameterLoads(f)
	uses := pointerUses(f, loads)
	for i, p := range f.Params {
		q := &list[i]
		if p.Size > 8 {
			q.Struct, q.Fields = p.Size, fields(i, loads, uses)
			if i < len(declared) && len(declared) >= len(f.Params)-1 {
				q.Name = declared[i].Name
			}
			continue
		}
		var u pointerUse
		for k, l := range loads {
			if l.param == i {
				u = uses[k]
			}
		}
		q.Read, q.Loaded, q.Written = u.read, u.loaded, u.written
		number := p.Type.Signed() || p.Type.Float() || p.Type.Bytes() < 8 // a struct's is an array of bytes
		q.Pointer = p.Size == 8 && (p.Ptr || u.read || u.written || !number)
		if q.Pointer {
			q.DType, q.Guessed = u.element()
		} else {
			q.DType, q.Guessed = scalarType(p)
		}
		if i < len(declared) && len(declared) >= len(f.Params)-1 {
			d := declared[i]
			q.Name = d.Name
			if q.Pointer && !d.Pointer && !u.read && !u.written && d.DType.Size() == p.Size {
				q.Pointer = false // long long: PTX has its bytes alone
			}
			if d.DType != 0 && d.Pointer == q.Pointer {
				q.DType, q.Guessed, q.Declared, q.Vector = d.DType, false, d.Declared, d.Vector
			}
		}
	}
	return list
}

// fields are what a kernel reads of a struct, the parameter of an index, by offset.
func fields(index int, loads []parameterLoad, uses []pointerUse) []Field {
	var out []Field
	for k, l := range loads {
		if l.param != index {
			continue
		}
		f := Field{Offset: l.offset}
		if u := uses[k]; u.read || u.written {
			f.Pointer, f.Read, f.Loaded, f.Written = true, u.read, u.loaded, u.written
			f.DType, f.Guessed = u.element()
		} else {
			f.DType, f.Guessed = scalarType(&ptx.Var{Type: l.typ, Size: l.typ.Bytes()})
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Field) int { return a.Offset - b.Offset })
	return out
}

func scalarType(p *ptx.Var) (probes.DType, bool) {
	switch {
	case p.Type == ptx.F32:
		return probes.F32, false
	case p.Type == ptx.F64:
		return probes.F64, false
	case p.Size == 8:
		return probes.I64, true
	case p.Size == 2:
		return probes.U16, true
	case p.Size == 1:
		return probes.U8, true
	}
	return probes.I32, p.Size != 4
}

// pointerUse is how global memory is reached through a pointer parameter.
type pointerUse struct {
	read, loaded, written bool
	types                 []ptx.Type // of accesses one element wide
}

// element guesses the type behind a pointer: what single elements are accessed as; 0 where only vectors are.
func (u pointerUse) element() (t probes.DType, guessed bool) {
	smallest := ptx.TypeNone
	for _, t := range u.types {
		if smallest == ptx.TypeNone || t.Bytes() < smallest.Bytes() {
			smallest = t
		}
	}
	switch {
	case smallest == ptx.F32:
		return probes.F32, false
	case smallest == ptx.F64:
		return probes.F64, false
	case smallest == ptx.TypeNone:
		return 0, true
	case smallest.Bytes() == 1:
		return probes.U8, true
	case smallest.Bytes() == 2:
		return probes.F16, true
	case smallest.Bytes() == 4 && u.written: // halves are often stored in pairs
		return probes.F16, true
	}
	return 0, true
}

// parameterLoad is a place of the parameters that a kernel reads: the whole of one, or a part of a struct.
type parameterLoad struct {
	param, offset int
	typ           ptx.Type // of one element
}

// parameterLoads lists the places that a kernel reads of its parameters, each once.
func parameterLoads(f *ptx.Func) []parameterLoad {
	var out []parameterLoad
	for _, in := range f.Body {
		i, at := parameterOf(f, in)
		for k := range max(in.Vec(), 1) {
			l := parameterLoad{i, at + k*in.Type().Bytes(), in.Type()}
			if i >= 0 &&
				!slices.ContainsFunc(out, func(o parameterLoad) bool {
					return o.param == i && o.offset == l.offset
				}) {
				out = append(out, l)
			}
		}
	}
	return out
}

// parameterOf is the parameter that an instruction loads from, and the byte in it; -1 for
// any other instruction.
func parameterOf(f *ptx.Func, in *ptx.Instr) (param, offset int) {
	if in.Op != "ld" || in.Space() != ptx.SpaceParam || len(in.Args) < 2 || in.Args[1].Var == nil {
		return -1, 0
	}
	return slices.Index(f.Params, in.Args[1].Var), int(in.Args[1].Off)
}

// pointerUses follows the addresses made of each place of the parameters through moves and additions to the
// accesses of memory.
func pointerUses(f *ptx.Func, loads []parameterLoad) []pointerUse {
	origin := addressOrigins(f, loads)
	uses := make([]pointerUse, len(loads))
	for _, in := range f.Body {
		read, written := accesses(in)
		if !read && !written {
			continue
		}
		for _, a := range in.Args {
			if a.Kind != ptx.OpAddr || a.Base != ptx.BaseReg {
				continue
			}
			for i := range uses {
				if i >= 64 || origin[a.Reg]>>i&1 == 0 {
					continue
				}
				uses[i].read, uses[i].written = uses[i].read || read, uses[i].written || written
				uses[i].loaded = uses[i].loaded || read && !written
				if in.Vec() < 2 && in.Op != "cp" {
					uses[i].types = append(uses[i].types, in.Type())
				}
			}
		}
	}
	return uses
}

// accesses returns how an instruction touches memory that a parameter's address may lie in.
func accesses(in *ptx.Instr) (read, written bool) {
	if s := in.Space(); s == ptx.SpaceParam || s == ptx.SpaceLocal || s == ptx.SpaceConst ||
		s == ptx.SpaceShared && in.Op != "cp" {
		return false, false
	}
	switch in.Op {
	case "ld", "ldu", "cp":
		return true, false
	case "st":
		return false, true
	case "wmma":
		return in.Has("load"), in.Has("store")
	case "atom", "red":
		return true, true
	}
	return false, false
}

// addressOrigins is, for each register, the set of places of the parameters, the first 64 of them, whose
// value it is an address from.
func addressOrigins(f *ptx.Func, loads []parameterLoad) []uint64 {
	return origins(f, func(in *ptx.Instr, register int) uint64 {
		i, at := parameterOf(f, in)
		if i < 0 || in.Type().Bytes() != 8 {
			return 0
		}
		k := slices.IndexFunc(loads, func(l parameterLoad) bool {
			return l.param == i && l.offset == at+8*register
		})
		return 1 << k // nothing for a place past the 64th
	})
}

// origins is, for each register, the set of what its value is an address from. first is what an instruction
// itself brings into the destination register of an index; moves and additions pass it on.
func origins(f *ptx.Func, first func(in *ptx.Instr, register int) uint64) []uint64 {
	origin := make([]uint64, len(f.Regs))
	for changed := true; changed; {
		changed = false
		for _, in := range f.Body {
			for k, reg := range destinations(in) {
				if reg < 0 {
					continue
				}
				from := first(in, k)
				switch in.Op {
				case "mov", "cvta", "add", "sub", "mad", "selp":
					for _, a := range in.Args[1:] {
						if a.Kind == ptx.OpReg && a.Reg >= 0 {
							from |= origin[a.Reg]
						}
					}
				}
				if to := &origin[reg]; *to|from != *to {
					*to, changed = *to|from, true
				}
			}
		}
	}
	return origin
}

// destinations are the registers that an instruction's first operand names, in order; -1 for what is none.
func destinations(in *ptx.Instr) []int32 {
	if len(in.Args) < 2 {
		return nil
	}
	switch a := &in.Args[0]; a.Kind {
	case ptx.OpReg:
		return []int32{a.Reg}
	case ptx.OpVec:
		out := make([]int32, len(a.Elems))
		for i, e := range a.Elems {
			if out[i] = -1; e.Kind == ptx.OpReg {
				out[i] = e.Reg
			}
		}
		return out
	}
	return nil
}

var (
	qualifier = regexp.MustCompile(
		`\b(const|volatile|struct|__restrict__|__restrict|restrict|__grid_constant__)\b`)
	cName = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// cTypes are the element types that CUDA sources spell.
var cTypes = map[string]probes.DType{
	"float": probes.F32, "double": probes.F64, "int": probes.I32, "int32_t": probes.I32,
	"unsigned int": probes.U32, "unsigned": probes.U32, "uint32_t": probes.U32, "half": probes.F16,
	"__half": probes.F16, "__nv_bfloat16": probes.BF16, "nv_bfloat16": probes.BF16,
	"unsigned char": probes.U8, "uint8_t": probes.U8, "signed char": probes.I8, "int8_t": probes.I8,
	"__nv_fp8_e4m3": probes.E4M3, "__nv_fp8_e5m2": probes.E5M2, "long long": probes.I64,
	"int64_t": probes.I64, "size_t": probes.U64, "uint64_t": probes.U64, "unsigned long long": probes.U64,
	"long": probes.I64, "unsigned long": probes.U64, "char": probes.I8, "short": probes.I16,
	"unsigned short": probes.U16, "uint16_t": probes.U16,
}

// vectorType is CUDA's name of a vector, of the type of an element and their number: float4, uchar2, half2.
var vectorType = regexp.MustCompile(`^(\w+)([1-4])$`)

// vectorOf is the type of a vector's elements.
var vectorOf = map[string]probes.DType{
	"char": probes.I8, "uchar": probes.U8, "short": probes.I16, "ushort": probes.U16, "int": probes.I32,
	"uint": probes.U32, "long": probes.I64, "ulong": probes.U64, "longlong": probes.I64,
	"ulonglong": probes.U64, "float": probes.F32, "double": probes.F64, "half": probes.F16,
	"__half": probes.F16, "nv_bfloat16": probes.BF16, "__nv_bfloat16": probes.BF16,
}

// declaredParameters are a kernel's parameters as its source declares them: names, and the types that it
// recognises. nil where the source does not show the kernel.
func declaredParameters(v *view) []Parameter {
	if v.kernel == nil {
		return nil
	}
	var list []Parameter
	for _, d := range v.kernel.Parameters {
		p := v.resolve(d.Type) + " " + d.Name
		kind, name, pointer := p, "", strings.Contains(d.Type, "*")
		if pointer {
			i := strings.LastIndexByte(p, '*')
			kind, name = p[:i], cName.FindString(p[i:])
		} else if words := strings.Fields(p); len(words) > 1 {
			last := len(words) - 1
			for n := last; n > 0; n-- { // the longest type that is known: a macro may follow the name
				if cTypes[strings.Join(words[:n], " ")] != 0 {
					last = n
					break
				}
			}
			kind, name = strings.Join(words[:last], " "), words[last]
		}
		kind = strings.Join(strings.Fields(kind), " ")
		x := Parameter{Name: name, DType: cTypes[kind], Pointer: pointer}
		if m := vectorType.FindStringSubmatch(kind); pointer && m != nil && vectorOf[m[1]] != 0 {
			x.DType, x.Vector = vectorOf[m[1]], int(m[2][0]-'0')
		} else if x.DType != 0 {
			x.Declared = kind + strings.Repeat("*", strings.Count(d.Type, "*"))
		}
		list = append(list, x)
	}
	return list
}
