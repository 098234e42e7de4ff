package hostrun

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// launchConfig is the struct that cudaLaunchKernelEx takes.
var launchConfig = &ctype{form: formStruct, name: "cudaLaunchConfig_t", size: 56, align: 8, fields: []field{
	{name: "gridDim", kind: dim3Type}, {name: "blockDim", kind: dim3Type, at: 12},
	{name: "dynamicSmemBytes", kind: sizeType, at: 24}, {name: "stream", kind: pointerTo(voidType), at: 32},
	{name: "attrs", kind: pointerTo(launchAttribute), at: 40}, {name: "numAttrs", kind: uintType, at: 48},
}}

// launchAttribute is an element of its attrs: an id, and of the union of values those that are followed.
var launchAttribute = &ctype{
	form: formStruct, name: "cudaLaunchAttribute", size: 72, align: 8, fields: []field{
		{name: "id", kind: intType}, {name: "val", at: 8, kind: &ctype{
			form: formStruct, name: "cudaLaunchAttributeValue", size: 64, align: 8, fields: []field{
				{name: "cooperative", kind: intType}, {name: "clusterDim", kind: dim3Type},
			},
		}},
	},
}

// attributes are the ids of the attributes that are followed (CUDA Runtime API, cudaLaunchAttributeID).
var attributes = map[string]int64{
	"cudaLaunchAttributeCooperative":      attributeCooperative,
	"cudaLaunchAttributeClusterDimension": attributeCluster,
}

const (
	attributeCooperative = 2
	attributeCluster     = 4
)

// launch notes a launch, the first time that its place is reached.
func (x *execution) launch(n *node) {
	l := Launch{Line: n.line, Kernel: n.text}
	config := n.args[0].args
	for i, to := range []**[3]int64{&l.Grid, &l.Block} {
		if i < len(config) {
			*to = x.extents(x.item(dim3Type, config[i]))
		}
	}
	if len(config) > 2 {
		l.Shared = sharedBytes(x.value(config[2]))
	}
	for _, a := range n.config {
		l.Template = append(l.Template, x.templateInt(a))
	}
	x.launched(l, x.values(n.args[1:]))
}

// launchKernel is cudaLaunchKernel: its arguments are given by their addresses.
func (x *execution) launchKernel(args []*node) value { return x.launchByAddresses(args, false) }

// launchCooperative is cudaLaunchCooperativeKernel.
func (x *execution) launchCooperative(args []*node) value { return x.launchByAddresses(args, true) }

func (x *execution) launchByAddresses(args []*node, cooperative bool) value {
	if len(args) < 4 {
		return success
	}
	kernel := args[0]
	for kernel.op == opCast || kernel.op == opUnary && kernel.text == "&" {
		kernel = kernel.args[0]
	}
	l := Launch{Line: args[0].line, Kernel: kernel.text, Grid: x.extents(x.item(dim3Type, args[1])),
		Block: x.extents(x.item(dim3Type, args[2])), Cooperative: cooperative}
	if len(args) > 4 {
		l.Shared = sharedBytes(x.value(args[4]))
	}
	list := x.decay(x.value(args[3]))
	if list.object == nil || kernel.op != opName {
		return success
	}
	var values []value
	for i := range list.object.n {
		v := value{}
		if p := list.object.load(i); p.object != nil {
			v = p.object.load(p.at)
		}
		values = append(values, x.decay(v))
	}
	x.launched(l, values)
	return success
}

// launchConfigured is cudaLaunchKernelEx: a struct has the configuration.
func (x *execution) launchConfigured(args []*node) value {
	if len(args) < 2 || args[1].op != opName {
		return success
	}
	p := x.value(args[0])
	if p.object == nil {
		return success
	}
	config := p.object.load(p.at)
	if config.kind != launchConfig || config.object == nil {
		return success
	}
	slots := config.object.slots
	l := Launch{
		Line:   args[0].line,
		Kernel: args[1].text,
		Grid:   x.extents(slots[0]),
		Block:  x.extents(slots[1]),
		Shared: sharedBytes(slots[2]),
	}
	x.attributes(&l, slots[4], slots[5])
	x.launched(l, x.values(args[2:]))
	return success
}

// templateInt is a template's argument that is an integer; nil for a type, and where it is not known.
func (x *execution) templateInt(n *node) *int64 {
	if n.op == opType {
		if n.text == "true" || n.text == "false" {
			b := map[string]int64{"true": 1}[n.text]
			return &b
		}
		if x.lookup(n.text) == nil {
			return nil
		}
		n = &node{op: opName, text: n.text, line: n.line}
	}
	v := x.value(n)
	if v.state != known || v.kind == nil || v.kind.form != formInt {
		return nil
	}
	return &v.i
}

// values are the arguments of a launch.
func (x *execution) values(args []*node) (out []value) {
	for _, a := range args {
		out = append(out, x.decay(x.value(a)))
	}
	return out
}

// sharedBytes is a size of dynamic shared memory, -1 where it is not known.
func sharedBytes(v value) int64 {
	if v.state == known && v.kind.form == formInt {
		return v.i
	}
	return -1
}

// attributes takes a launch's attributes from the array that its configuration leads to.
func (x *execution) attributes(l *Launch, list, n value) {
	if list.object == nil || n.state != known {
		return
	}
	for i := range min(n.i, list.object.n-list.at) {
		a := list.object.load(list.at + i)
		if a.kind != launchAttribute || a.object == nil {
			continue
		}
		id, of := a.object.slots[0], a.object.slots[1].object
		switch {
		case id.state != known || of == nil:
		case id.i == attributeCooperative:
			l.Cooperative = of.slots[0].state == known && of.slots[0].i != 0
		case id.i == attributeCluster:
			l.Cluster = x.extents(of.slots[1])
		}
	}
}

// extents are a grid or a block; nil where they are not known.
func (x *execution) extents(v value) *[3]int64 {
	if v.kind != nil && v.kind.scalar() {
		v = x.convert(v, dim3Type)
	}
	if v.object == nil || len(v.object.slots) != 3 {
		return nil
	}
	var out [3]int64
	for i, e := range v.object.slots {
		if e.state != known || e.i < 1 {
			return nil
		}
		out[i] = e.i
	}
	return &out
}

func (x *execution) launched(l Launch, values []value) {
	l.Assumed = x.assumed
	for _, v := range values {
		l.Args = append(l.Args, argument(v))
	}
	known := slices.ContainsFunc(
		x.launches,
		func(o Launch) bool { return o.Line == l.Line && o.Kernel == l.Kernel },
	)
	if !known {
		for _, name := range slices.Sorted(maps.Keys(x.symbols)) {
			l.Symbols = append(l.Symbols, symbol(name, x.globals[name]))
		}
		x.launches = append(x.launches, l)
	}
	for _, v := range values { // a kernel may write to all that it is given
		x.spoilReached(v, 0)
	}
}

// spoilReached makes memory unknown that a kernel is given, by way of a struct too.
func (x *execution) spoilReached(v value, depth int) {
	if v.object == nil || v.kind == nil || depth > 4 {
		return
	}
	if v.kind.form == formPointer {
		v.object.spoil()
		return
	}
	for _, f := range v.object.slots {
		x.spoilReached(f, depth+1)
	}
}

// argument is a value as a launch is given it.
func argument(v value) (out Argument) {
	switch {
	case v.kind == nil:
	case v.kind.form == formPointer && v.object != nil:
		m := memory(v)
		out.Memory = &m
	case v.kind.form == formStruct && v.object != nil:
		s := &Struct{Name: v.kind.name, Bytes: v.kind.size}
		s.fields(v, "", 0, 0)
		out.Struct = s
	case v.state != known:
	case v.kind.form == formInt:
		out.Int = &v.i
	case v.kind.form == formFloat:
		out.Float = &v.f
	}
	return out
}

// fields adds the numbers and pointers of a struct that begins at so many bytes.
func (s *Struct) fields(v value, prefix string, at int64, depth int) {
	if depth > mostDepth || v.object == nil {
		return
	}
	for i, f := range v.kind.fields {
		if i >= len(v.object.slots) {
			return
		}
		of := v.object.slots[i]
		switch {
		case f.kind.form == formStruct:
			s.fields(of, prefix+f.name+".", at+f.at, depth+1)
		case f.kind.form == formArray && of.object != nil && f.kind.elem.scalar():
			for k := range min(f.kind.n, 64) {
				s.Fields = append(s.Fields, Field{
					Name: prefix + f.name, At: at + f.at + k*f.kind.elem.size, Type: f.kind.elem.name,
					Argument: argument(of.object.load(k)),
				})
			}
		case f.kind.form == formPointer:
			name := ""
			if f.kind.elem != nil {
				name = f.kind.elem.name
			}
			s.Fields = append(s.Fields, Field{Name: prefix + f.name, At: at + f.at, Type: name, Pointer: true,
				Argument: argument(of)})
		default:
			s.Fields = append(s.Fields, Field{Name: prefix + f.name, At: at + f.at, Type: f.kind.name,
				Argument: argument(of)})
		}
	}
}

// memory is what a pointer leads to.
func memory(v value) (m Memory) {
	o := v.object
	size := int64(1)
	if o.elem != nil {
		size, m.Type = o.elem.size, o.elem.name
	}
	m.Bytes, m.Offset = o.bytes-v.at*size, v.at*size
	m.Written, m.Padded = o.written || o.zero, o.padded
	if o.elem == nil || !o.elem.scalar() || !m.Written || o.spoilt || v.at < 0 || v.at > o.n || !o.room() {
		return m
	}
	all := !slices.Contains(o.states[v.at:], unknown)
	switch {
	case all && o.elem.form == formInt:
		m.Ints = slices.Clone(o.ints[v.at:])
	case all:
		m.Floats = slices.Clone(o.floats[v.at:])
	}
	if o.elem.form != formInt {
		return m
	}
	lo, hi, some := o.lo, o.hi, o.ranged
	for i, s := range o.states {
		if s != known {
			continue
		}
		if !some {
			lo, hi, some = o.ints[i], o.ints[i], true
		}
		lo, hi = min(lo, o.ints[i]), max(hi, o.ints[i])
	}
	m.Range, m.Lo, m.Hi = some && !o.endless, lo, hi
	return m
}

// mostInitial is how many numbers of a variable are listed: constant memory has at most 64 KB.
const mostInitial = 1 << 14

// symbol is a variable of the device as the host leaves it.
func symbol(name string, v *variable) Symbol {
	out := Symbol{Name: name}
	o, at := v.object, v.at
	if o == nil {
		o, at = v.value.object, 0
	}
	if o == nil {
		return out
	}
	list := o.leaves(at)
	if len(list) > mostInitial {
		return out
	}
	var numbers []string
	for i, l := range list {
		x := l.object.load(l.at)
		if x.state != known && l.kind.form == formFloat {
			// the same numbers in every run
			x = value{kind: l.kind, state: known, f: math.Round(math.Sin(float64(i+1)*12.9898)*1e4) / 1e4}
			out.Random = true
		}
		text := literal(x, l.kind)
		if text == "" {
			return Symbol{Name: name}
		}
		numbers = append(numbers, text)
	}
	if numbers != nil {
		out.Initial = "{" + strings.Join(numbers, ", ") + "}"
	}
	return out
}

// literal is a number as C++ spells it; "" where it is not known, or of a type that no list can initialise.
func literal(v value, t *ctype) string {
	switch {
	case v.state != known:
		return ""
	case t.form == formInt && t.signed && v.i != math.MinInt64:
		return fmt.Sprint(v.i)
	case t.form == formInt && !t.signed:
		return fmt.Sprintf("%dULL", uint64(v.i))
	case math.IsNaN(v.f) || math.IsInf(v.f, 0):
		return ""
	case t.name == "double":
		return fmt.Sprintf("double(%s)", strconv.FormatFloat(v.f, 'g', -1, 64))
	case t.name == "float":
		return fmt.Sprintf("float(%s)", strconv.FormatFloat(v.f, 'g', -1, 32))
	}
	return ""
}
