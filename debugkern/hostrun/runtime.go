package hostrun

import "math"

// runtime are functions of CUDA's runtime and of C and C++ that memory or an integer comes from.
var runtime map[string]func(x *execution, args []*node) value

func init() {
	type f = func(x *execution, args []*node) value
	runtime = map[string]f{
		"cudaMalloc":                         (*execution).memory,
		"cudaMallocManaged":                  (*execution).memory,
		"cudaMallocPitch":                    (*execution).pitchedMemory,
		"cudaMallocAsync":                    (*execution).memory,
		"cudaMallocHost":                     (*execution).memory,
		"cudaHostAlloc":                      (*execution).memory,
		"malloc":                             (*execution).malloc,
		"calloc":                             (*execution).calloc,
		"aligned_alloc":                      (*execution).aligned,
		"cudaMemcpy":                         (*execution).copyMemory,
		"cudaMemcpyAsync":                    (*execution).copyMemory,
		"memcpy":                             (*execution).copyMemory,
		"cudaMemset":                         (*execution).setMemory,
		"cudaMemsetAsync":                    (*execution).setMemory,
		"memset":                             (*execution).setMemory,
		"cudaMemcpyToSymbol":                 (*execution).copyToSymbol,
		"cudaMemcpyToSymbolAsync":            (*execution).copyToSymbol,
		"cudaLaunchKernel":                   (*execution).launchKernel,
		"cudaLaunchCooperativeKernel":        (*execution).launchCooperative,
		"cudaLaunchKernelEx":                 (*execution).launchConfigured,
		"cudaOccupancyMaxPotentialBlockSize": (*execution).blockSize,
		"cudaOccupancyMaxActiveBlocksPerMultiprocessor": (*execution).activeBlocks,
		"cudaDeviceGetAttribute":                        (*execution).deviceAttribute,
		"cudaGetDeviceProperties":                       (*execution).properties,
		"rand":                                          (*execution).random,
		"exit":                                          (*execution).end,
		"abort":                                         (*execution).end,
		"_exit":                                         (*execution).end,
		"min":                                           (*execution).least,
		"swap":                                          (*execution).exchange,
		"max":                                           (*execution).most,
		"abs":                                           (*execution).absolute,
		"raw_pointer_cast":                              (*execution).same,
		"thrust::raw_pointer_cast":                      (*execution).same,
		"fill":                                          (*execution).fillRange,
		"iota":                                          (*execution).iotaRange,
		"sequence":                                      (*execution).sequence,
		"thrust::sequence":                              (*execution).sequence,
		"size":                                          (*execution).count,
	}
}

// exchange is std::swap: what it cannot exchange is unknown behind it.
func (x *execution) exchange(args []*node) value {
	if len(args) != 2 {
		return value{}
	}
	a, b := x.place(args[0]), x.place(args[1])
	if a == nil || b == nil {
		x.taintPlace(args[0])
		x.taintPlace(args[1])
		return value{}
	}
	first, second := a.load(), b.load()
	a.store(second)
	b.store(first)
	return value{}
}

// random is rand(): any integer from 0 to RAND_MAX.
func (x *execution) random(args []*node) value {
	return value{kind: intType, state: bounded, hi: math.MaxInt32}
}

// same is the value of its only argument.
func (x *execution) same(args []*node) value {
	if len(args) != 1 {
		return value{}
	}
	return x.value(args[0])
}

// count is std::size.
func (x *execution) count(args []*node) value {
	if v := x.same(args); v.object != nil && v.kind != nil && v.kind.form != formPointer {
		return integerValue(sizeType, v.object.n)
	}
	return value{kind: sizeType}
}

func (x *execution) end(args []*node) value { panic(errEnded) }

var success = value{kind: intType, state: known}

// memory is cudaMalloc, and what else takes the address of a pointer and a size.
func (x *execution) memory(args []*node) value {
	if len(args) < 2 {
		return success
	}
	to := args[0]
	for to.op == opCast {
		to = to.args[0]
	}
	p, bytes := x.value(to), x.value(args[1])
	if p.object == nil || p.kind == nil || p.kind.elem == nil || p.kind.elem.form != formPointer {
		return success
	}
	made := value{kind: p.kind.elem}
	if bytes.state == known && bytes.i >= 0 && bytes.i < mostBytes {
		made.state, made.object = known, allocated(bytes.i)
		if of := p.kind.elem.elem; of != nil && of.size > 0 && of.form != formVoid {
			made.object.become(of)
		}
	}
	p.object.store(p.at, made)
	return success
}

// pitchedMemory is cudaMallocPitch: rows begin at multiples of 512 bytes.
func (x *execution) pitchedMemory(args []*node) value {
	const row = 512
	if len(args) != 4 {
		return success
	}
	pitch, width := x.value(args[1]), x.value(args[2])
	if pitch.object == nil || width.state != known || width.i < 0 || width.i > mostBytes {
		return x.memory(args[:2])
	}
	n := (width.i + row - 1) / row * row
	pitch.object.store(pitch.at, integerValue(sizeType, n))
	rows := x.value(args[3])
	bytes := &node{op: opInt, i: -1, text: "ll"}
	if rows.state == known && rows.i >= 0 && rows.i < mostExtent/max(1, n) {
		bytes.i = n * rows.i
	}
	out := x.memory([]*node{args[0], bytes})
	to := args[0]
	for to.op == opCast {
		to = to.args[0]
	}
	if p := x.value(to); n > width.i && p.object != nil {
		if made := p.object.load(p.at); made.object != nil {
			made.object.padded = true
		}
	}
	return out
}

// sequence is thrust's: 0, 1, 2, ...
func (x *execution) sequence(args []*node) value {
	if len(args) == 2 {
		args = append(args, &node{op: opInt})
	}
	return x.iotaRange(args)
}

func (x *execution) malloc(args []*node) value {
	v := value{kind: pointerTo(voidType)}
	if len(args) == 1 {
		if n := x.value(args[0]); n.state == known && n.i >= 0 && n.i < mostBytes {
			v.state, v.object = known, allocated(n.i)
		}
	}
	return v
}

func (x *execution) aligned(args []*node) value { return x.malloc(args[max(0, len(args)-1):]) }

func (x *execution) calloc(args []*node) value {
	v := value{kind: pointerTo(voidType)}
	if len(args) == 2 {
		n, each := x.value(args[0]), x.value(args[1])
		if n.state == known && each.state == known && n.i >= 0 && each.i > 0 && n.i < mostBytes/each.i {
			v.state, v.object = known, allocated(n.i*each.i)
			v.object.zero = true
		}
	}
	return v
}

func (x *execution) copyMemory(args []*node) value {
	if len(args) < 3 {
		return success
	}
	to, from, n := x.decay(x.value(args[0])), x.decay(x.value(args[1])), x.value(args[2])
	switch {
	case to.object == nil:
	case from.object == nil || n.state != known:
		to.object.spoil()
	default:
		x.spend(n.i)
		transfer(to.object, to.at, from.object, from.at, n.i)
	}
	return success
}

func (x *execution) setMemory(args []*node) value {
	if len(args) < 3 {
		return success
	}
	to, v, n := x.decay(x.value(args[0])), x.value(args[1]), x.value(args[2])
	if to.object == nil {
		return success
	}
	t := to.object.elem
	if t == nil || !t.scalar() || v.state != known || n.state != known || !to.object.room() ||
		t.form == formFloat && v.i != 0 {
		to.object.spoil()
		return success
	}
	word := int64(0)
	for range t.size {
		word = word<<8 | v.i&255
	}
	to.object.overwrite(to.at, n.i)
	count := min(n.i/t.size, to.object.n-to.at)
	x.spend(count)
	for i := range max(0, count) {
		to.object.store(to.at+i, x.convert(integerValue(longType, word), t))
	}
	return success
}

// copyToSymbol is cudaMemcpyToSymbol: to a variable of the device.
func (x *execution) copyToSymbol(args []*node) value {
	if len(args) < 3 {
		return success
	}
	for args[0].op == opCast || args[0].op == opUnary && args[0].text == "&" {
		args[0] = args[0].args[0]
	}
	if args[0].op != opName {
		return success
	}
	symbol := x.globals[args[0].text]
	if symbol == nil {
		return success
	}
	x.symbols[args[0].text] = true
	to := x.decay(symbol.load())
	if !(to.kind != nil && to.kind.form == formPointer && to.object != nil) {
		to = x.address(args[0])
	}
	from, n := x.decay(x.value(args[1])), x.value(args[2])
	at := int64(0)
	if len(args) > 3 {
		if v := x.value(args[3]); v.state == known && to.kind != nil && to.kind.elem != nil &&
			to.kind.elem.size > 0 {
			at = v.i / to.kind.elem.size
		}
	}
	switch {
	case to.object == nil:
	case from.object == nil || n.state != known:
		to.object.spoil()
	default:
		transfer(to.object, to.at+at, from.object, from.at, n.i)
	}
	return success
}

func (x *execution) least(args []*node) value { return x.extreme(args, "<") }
func (x *execution) most(args []*node) value  { return x.extreme(args, ">") }

func (x *execution) extreme(args []*node, op string) value {
	if len(args) != 2 {
		return value{}
	}
	a, b := x.value(args[0]), x.value(args[1])
	yes, ok := x.operate(op, a, b).truth()
	switch {
	case !ok && a.kind.scalar() && b.kind.scalar():
		return value{kind: x.common(a.kind, b.kind)}
	case !ok:
		return value{}
	case yes:
		return a
	}
	return b
}

func (x *execution) absolute(args []*node) value {
	if len(args) != 1 {
		return value{}
	}
	v := x.value(args[0])
	if v.state != known || !v.kind.scalar() {
		return value{kind: v.kind}
	}
	v.f = math.Abs(v.f)
	if v.kind.form == formInt && v.i < 0 {
		return integerValue(v.kind, -v.i)
	}
	return v
}

// span is the range of elements from one pointer to another.
func (x *execution) span(args []*node) (o *object, from, to int64) {
	if len(args) < 3 {
		return nil, 0, 0
	}
	a, b := x.decay(x.value(args[0])), x.decay(x.value(args[1]))
	if a.object == nil || a.object != b.object || !a.object.room() {
		x.spoil(a)
		return nil, 0, 0
	}
	return a.object, a.at, min(b.at, a.object.n)
}

func (x *execution) fillRange(args []*node) value {
	if o, from, to := x.span(args); o != nil {
		v := x.convert(x.value(args[2]), o.elem)
		x.spend(to - from)
		for i := from; i < to; i++ {
			o.store(i, x.clone(v))
		}
	}
	return value{}
}

func (x *execution) iotaRange(args []*node) value {
	if o, from, to := x.span(args); o != nil {
		v := x.convert(x.value(args[2]), o.elem)
		x.spend(to - from)
		for i := from; i < to; i++ {
			o.store(i, v)
			v = x.added(v, 1)
		}
	}
	return value{}
}
