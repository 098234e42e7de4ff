package emu

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// findingKey is what makes two bad accesses one cause.
type findingKey struct {
	kind   target.Kind
	pc     int32 // where there are no debug lines
	source target.Source
	name   string
}

// findings collects one block's, or one launch's, by cause.
type findings struct {
	byKey map[findingKey]*target.Finding
	order []findingKey
}

// add counts a finding, or makes it the first of its cause.
func (fs *findings) add(k findingKey, f target.Finding) *target.Finding {
	if fs.byKey == nil {
		fs.byKey = map[findingKey]*target.Finding{}
	}
	if old := fs.byKey[k]; old != nil {
		old.Count += f.Count
		return old
	}
	fs.byKey[k] = &f
	fs.order = append(fs.order, k)
	return &f
}

// merge adds the findings of a later block.
func (fs *findings) merge(o *findings) {
	for _, k := range o.order {
		fs.add(k, *o.byKey[k])
	}
}

// list returns the findings by block, source and kind.
func (fs *findings) list(grid probes.Dim3) []target.Finding {
	out := make([]target.Finding, 0, len(fs.order))
	for _, k := range fs.order {
		out = append(out, *fs.byKey[k])
	}
	line := func(f *target.Finding) (string, int) {
		if f.Source == nil {
			return "", 0
		}
		return f.Source.File, f.Source.Line
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		if x, y := grid.Linear(a.Block), grid.Linear(b.Block); x != y {
			return x < y
		}
		fa, la := line(a)
		fb, lb := line(b)
		if fa != fb {
			return fa < fb
		}
		if la != lb {
			return la < lb
		}
		if a.Kind != b.Kind {
			return a.Kind < b.Kind
		}
		return a.Variable < b.Variable
	})
	return out
}

// source is the instruction's place in the CUDA source, blamed on the caller of library code.
func (in *inst) source() *target.Source { return target.Blame(in.fn, int(in.index)) }

// where writes source() for a message.
func (in *inst) where() string { return in.source().String() }

// called is source with the call sites of functions that were called and not inlined on the way
// to the current place.
func (w *warp) called(in *inst) *target.Source {
	src := in.source()
	if w.cur >= len(w.groups) || len(w.groups[w.cur].stack) == 0 {
		return src
	}
	var sites []target.Site
	stack := w.groups[w.cur].stack
	for i, pc := range stack {
		if slices.Contains(stack[:i], pc) { // functions that call themselves are named once
			continue
		}
		at := w.blk.p.code[pc].source()
		sites = append(append(sites, at.Calls.Sites()...), target.Site{
			File: at.File, Line: at.Line, Function: at.Function,
		})
	}
	src.Calls = target.CallsOf(append(sites, src.Calls.Sites()...))
	return src
}

// report adds one lane's bad access.
func (b *block) report(
	w *warp, in *inst, lane int, kind target.Kind, v variable, p place, msg string, neighbour string,
) {
	if in.probe {
		return
	}
	src := w.called(in)
	k := findingKey{kind: kind, source: *src, name: v.name}
	if old := b.found.byKey[k]; old != nil {
		old.Count++
		old.Warps = addInt(old.Warps, w.id)
		old.Lanes = addInt(old.Lanes, lane)
		b.remember(kind, in, old)
		return
	}
	if text := src.Calls.Text(src.Function); text != "" {
		msg += ", " + text
	}
	f := b.found.add(k, target.Finding{
		Kind: kind, Severity: kind.Severity(), Message: msg, Variable: v.name, Index: v.index,
		Space: p.space.String(), Block: b.id, Warps: []int{w.id}, Lanes: []int{lane},
		KVTile: w.tile(in, lane), Source: src, Neighbour: neighbour, Count: 1,
	})
	b.remember(kind, in, f)
	if b.l.Ends != nil && b.l.Ends(f) {
		b.fault("finding", f.Message, w, 1<<lane)
		b.limit = 0
	}
}

// quick finds an instruction's finding of a kind again. An instruction that goes wrong often goes wrong in
// the same way: after quickAfter times in a block the rest is counted without being described.
type quick map[*inst]*target.Finding

const quickAfter = 64

// again counts a finding that was described often enough.
func (b *block) again(kind target.Kind, w *warp, in *inst, lane int) bool {
	q := b.quick[kind][in]
	if in.probe || q != nil && q.Count >= quickAfter {
		if q != nil {
			q.Count++
			q.Warps, q.Lanes = addInt(q.Warps, w.id), addInt(q.Lanes, lane)
		}
		return true
	}
	return false
}

func (b *block) remember(kind target.Kind, in *inst, f *target.Finding) {
	if b.quick == nil {
		b.quick = map[target.Kind]quick{}
	}
	if b.quick[kind] == nil {
		b.quick[kind] = quick{}
	}
	if b.quick[kind][in] == nil {
		b.quick[kind][in] = f
	}
}

func addInt(s []int, v int) []int {
	i := sort.SearchInts(s, v)
	if i < len(s) && s[i] == v {
		return s
	}
	s = append(s, 0)
	copy(s[i+1:], s[i:])
	s[i] = v
	return s
}

func lanesOf(mask uint32) []int {
	var ls []int
	for i := range 32 {
		if mask>>i&1 != 0 {
			ls = append(ls, i)
		}
	}
	return ls
}

// variable is what a finding names: an array and the element touched.
type variable struct {
	name  string
	index []int
	// dims are its extents, and size the bytes of an element, where they are known: else empty and 0
	dims []int
	size int
}

func (v variable) String() string {
	s := v.name
	for _, i := range v.index {
		s += fmt.Sprintf("[%d]", i)
	}
	if target.KeepsLocals(v.name) {
		s += " (arrays of a thread)"
	}
	return s
}

// typed names an element of an array of known extents by its byte offset.
func typed(name string, off int64, size int, dims []int) variable {
	return variable{name, index(off, size, dims), dims, size}
}

// extents says how much a variable holds: 4096 elements, 8×64 elements; "" where that is not known.
func (v variable) extents() string {
	if len(v.dims) == 0 || slices.Contains(v.dims, 0) {
		return ""
	}
	if len(v.dims) == 1 && v.dims[0] == 1 {
		return "1 element"
	}
	out := make([]string, len(v.dims))
	for i, n := range v.dims {
		out[i] = strconv.Itoa(n)
	}
	return strings.Join(out, "×") + " elements"
}

// overrun says of an access of size bytes that begins at an element of a variable which it does not stay
// within: reads x[4096]; x has 4096 elements. Where the extents are not known it gives the bytes.
func (v variable) overrun(in *inst, x *access, size int) string {
	extents := v.extents()
	switch {
	case extents == "":
		return fmt.Sprintf("%s of %d bytes outside %s", verb(in, x), size, v)
	case v.size == 1 && len(v.dims) == 1 && len(v.index) == 1 && size > 1: // the module has bytes alone
		return fmt.Sprintf("%s %d bytes from byte %d of %s on; %s has %d bytes", verbs[verb(in, x)], size,
			v.index[0], v.name, v.name, v.dims[0])
	case size == v.size:
		return fmt.Sprintf("%s %s; %s has %s", verbs[verb(in, x)], v, v.name, extents)
	}
	return fmt.Sprintf("%s %d bytes from %s on; %s has %s", verbs[verb(in, x)], size, v, v.name, extents)
}

// verbs are the verbs of sentences that state an access.
var verbs = map[string]string{
	"read": "reads", "write": "writes", "access": "accesses", "atomic access": "accesses atomically",
}

// verb is what an instruction does at one of its addresses.
func verb(in *inst, x *access) string {
	switch in.class {
	case target.ClassStore:
		return "write"
	case target.ClassAtomic:
		return "atomic access"
	case target.ClassMBarrier, target.ClassBulk:
		return "access"
	case target.ClassAsync:
		if x.nth == 0 { // its destination
			return "write"
		}
	}
	return "read"
}

func (b *block) misaligned(w *warp, in *inst, x *access, lane int, p place, align int) {
	if b.again(target.Misaligned, w, in, lane) {
		return
	}
	v := b.variableOf(x, p, align)
	b.report(w, in, lane, target.Misaligned, v, p,
		fmt.Sprintf("%s of %s at %s: address %#x is no multiple of %d", verb(in, x), in.src.Opcode(), v,
			p.addr, align), "")
}

func (b *block) uninitialised(w *warp, in *inst, x *access, lane int, p place) {
	if b.again(target.Uninitialised, w, in, lane) {
		return
	}
	for i, ok := range p.written { // name the first byte that was not written
		if ok == 0 {
			p.addr += uint64(i)
			break
		}
	}
	v := b.variableAt(p.space, p.addr)
	if v.name == "" {
		v = b.variableOf(x, p, x.size)
	}
	b.report(w, in, lane, target.Uninitialised, v, p, fmt.Sprintf("%s is read before it is written", v), "")
}

// firstPages are the addresses that a null pointer and an index lead to: no memory lies there.
const firstPages = 1 << 16

func (b *block) outOfBounds(w *warp, in *inst, x *access, lane int, p place, size int) {
	if b.again(target.OutOfBounds, w, in, lane) {
		return
	}
	v := b.variableOf(x, p, size)
	hit := b.variableAt(p.space, p.addr)
	if hit.name == "" { // the access begins before the neighbour that it reaches into
		hit = b.variableAt(p.space, p.addr+uint64(size)-1)
	}
	if hit.name == v.name {
		if hit = b.variableAt(p.space, p.addr+uint64(size)-1); hit.name == v.name {
			hit.name = ""
		}
	}
	msg := v.overrun(in, x, size)
	if v.name == "" {
		msg = fmt.Sprintf("%s of %d bytes at %s address %#x, where nothing is", verb(in, x), size,
			p.space, p.addr)
		if p.space == target.SpaceGlobal && p.addr < firstPages {
			msg = fmt.Sprintf("%s of %d bytes %s, at address %#x", verb(in, x), size,
				target.ThroughNull, p.addr)
		}
	}
	if hit.name != "" {
		msg = v.overrun(in, x, size) + "; it hits " + hit.String()
	}
	at := p.addr & (windowSize - 1)
	if p.space == target.SpaceShared && v.name != "" && at >= uint64(len(b.shared)) {
		msg += fmt.Sprintf(
			"; the block has %d bytes of shared memory, and this is byte %d",
			len(b.shared),
			at,
		)
	}
	if p.space == target.SpaceGlobal && onHeap(p.addr) {
		if near := b.heap.around(p.addr); near != "" {
			msg = fmt.Sprintf("%s of %d bytes %s", verb(in, x), size, near)
		}
	}
	b.report(w, in, lane, target.OutOfBounds, v, p, msg, hit.name)
}

// variableOf names the symbol that an access started from, with the element that its address would be.
func (b *block) variableOf(x *access, p place, size int) variable {
	best, dist := variable{}, ^uint64(0)
	set := b.pointers(b.p.sets[x.set])
	for i, s := range b.p.syms {
		lo, n, ok := b.extent(s)
		if set>>i&1 == 0 || !ok {
			continue
		}
		off := int64(p.addr - lo)
		d := uint64(max(-off, off-int64(n), 0))
		if d < dist {
			best, dist = b.element(s, off), d
		}
	}
	if best.name == "" {
		return b.variableAt(p.space, p.addr)
	}
	return best
}

// element names an element of a symbol by byte offset.
func (b *block) element(s *symbol, off int64) variable {
	if s.space == target.SpaceShared {
		var part *probes.SharedArray
		for i := range b.l.Shared {
			a := &b.l.Shared[i]
			switch {
			case a.Within == "" && a.Name == s.name:
				return typed(a.Name, off, a.DType.Size(), a.Dims)
			case a.Within == s.name && off >= int64(a.Offset) && (part == nil || a.Offset >= part.Offset):
				part = a
			}
		}
		if part != nil {
			return typed(part.Name, off-int64(part.Offset), part.DType.Size(), part.Dims)
		}
	}
	if a := b.symAlloc(s); s.space == target.SpaceGlobal && a != nil && s.v == nil {
		return a.element(off)
	}
	return b.p.variable(s.name, s.v, off)
}

// variable names an element of a variable. Compilers declare every array as bytes: its elements are then
// what it is accessed as.
func (p *program) variable(name string, v *ptx.Var, off int64) variable {
	if n := p.widths[v]; n > 1 {
		return variable{name: name, index: index(off, n, nil)}
	}
	return typed(name, off, elemSize(v), dimsOf(v))
}

// findWidths finds the variables of global and constant memory that are declared as bytes and accessed in
// elements of one size, alone or in vectors. What moves bytes for others to use (a copy, a row of a matrix)
// says nothing of elements. Shared arrays have the elements that a launch gives them (target.Launch.Shared).
func (p *program) findWidths() {
	p.widths = map[*ptx.Var]int{}
	alone := map[*ptx.Var]bool{}
	for i := range p.code {
		in := &p.code[i]
		if in.mem == nil || in.mem.second != nil || in.mma != nil && in.mma.matrix > 0 ||
			in.class == target.ClassTensorMap || in.class == target.ClassFence {
			continue
		}
		for s, set := 0, p.sets[in.mem.set]; s < len(p.syms); s++ {
			v := p.syms[s].v
			if set>>s&1 == 0 || v == nil || v.Type.Bytes() != 1 ||
				v.Space != ptx.SpaceGlobal && v.Space != ptx.SpaceConst {
				continue
			}
			if n, ok := p.widths[v]; ok && n != in.mem.size {
				p.widths[v] = 1
				continue
			}
			p.widths[v] = in.mem.size
			alone[v] = alone[v] || in.mem.n <= 1
		}
	}
	for v := range p.widths {
		if !alone[v] {
			p.widths[v] = 1
		}
	}
}

func (a *alloc) element(off int64) variable {
	if a.arg != nil {
		buf := a.arg.Buffer
		if buf.Strides == nil {
			return typed(a.name, off, buf.DType.Size(), buf.Dims)
		}
		flat := index(off, buf.DType.Size(), nil)
		if at, ok := probes.IndexAt(flat[0], buf.Dims, buf.Strides); ok {
			return variable{name: a.name, index: at}
		}
		return variable{name: a.name, index: flat}
	}
	return variable{name: a.name, index: []int{int(off)}}
}

func elemSize(v *ptx.Var) int {
	if v == nil {
		return 1
	}
	return max(v.Type.Bytes(), 1)
}

func dimsOf(v *ptx.Var) []int {
	if v == nil {
		return nil
	}
	return v.Dims
}

// index splits a byte offset into the indices of an array; the first runs over its end, or below 0,
// where the offset does.
func index(off int64, size int, dims []int) []int {
	size = max(size, 1)
	n := int(off) / size
	if off < 0 && int(off)%size != 0 {
		n--
	}
	if len(dims) == 0 {
		return []int{n}
	}
	out := make([]int, len(dims))
	for i := len(dims) - 1; i > 0; i-- {
		d := max(dims[i], 1)
		q := n / d
		if n%d < 0 {
			q--
		}
		out[i], n = n-q*d, q
	}
	out[0] = n
	return out
}

// variableAt names what lies at an address, with an empty name where nothing does.
func (b *block) variableAt(space target.Space, addr uint64) variable {
	switch space {
	case target.SpaceShared:
		for _, s := range b.p.shared {
			n := s.Size
			if s.Dynamic {
				n = b.l.DynShared
			}
			if addr >= uint64(s.Addr) && addr < uint64(s.Addr+n) {
				sym := &symbol{
					name: s.Demangled, space: space, v: s.Var, addr: uint64(s.Addr), size: n, param: -1,
					alloc: -1,
				}
				return b.element(sym, int64(addr)-int64(s.Addr))
			}
		}
		if n := sharedUnits(b.own); addr >= uint64(n) && addr < uint64(len(b.shared)) {
			return variable{name: "reserved shared memory", index: []int{int(addr) - n}}
		}
	case target.SpaceLocal:
		for _, v := range b.p.locals {
			if addr >= uint64(v.off) && addr < uint64(v.off+v.size) {
				return b.p.variable(v.v.Demangled, v.v, int64(addr)-int64(v.off))
			}
		}
		if n := uint64(b.p.stack); b.p.stacks && addr >= n && addr < uint64(b.p.frame) {
			return variable{name: "stack", index: []int{int(addr - n)}}
		}
	case target.SpaceGlobal, target.SpaceConst:
		if a, off := b.at(addr); a != nil && off < uint64(len(a.data)) {
			if i := allocOf(addr); i < len(b.p.globals) {
				return b.p.variable(a.name, b.p.globals[i], int64(off))
			}
			return a.element(int64(off))
		}
	}
	return variable{}
}

func (b *block) badStride(w *warp, in *inst, x *access, lane int, p place, bytes int) {
	v := b.variableOf(x, p, bytes)
	b.report(w, in, lane, target.Misaligned, v, p,
		fmt.Sprintf("%s of %s with rows %d bytes apart: no multiple of %d", in.src.Opcode(), v, bytes,
			in.mma.rows), "")
}
