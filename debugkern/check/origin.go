package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A NaN or an infinity begins where an instruction makes one of operands that had none: inf - inf, 0 · inf,
// the root of a negative number, a result past the largest number of its type (f32 → f16 above all), a
// division by zero. An infinity that comes from a constant or an input is a mask and begins nowhere, nor does
// what is computed from it by the rules: ex2(-inf) = 0, max(-inf, x), -inf - x. A NaN that no arithmetic made
// (an input, memory never written) begins where arithmetic first takes it.
//
// It is a finding only where it matters: where what came of it is still in global memory when the block ends.
// A NaN that a maximum drops, or that lies where nobody looks, is none.
func originKind() kind {
	return kind{set: Origins, start: startOrigins, findings: originFindings}
}

func startOrigins(b *block) unit {
	return &originUnit{
		id: b.id, view: b.view, tags: newTags[int32](), at: map[int]*origin{},
		lines: map[target.Source]*origin{}, loaded: map[entryKey]int32{}, updates: map[memoryAt]int{},
	}
}

// originUnit watches one block. A tag is the number of an origin, from 1.
type originUnit struct {
	id      probes.Dim3
	view    target.View
	x       executing
	tags    *tags[int32]
	origins []*origin
	at      map[int]*origin // by PC: those of a source line are one
	lines   map[target.Source]*origin
	entries []entry
	loaded  map[entryKey]int32 // the tags of entries
	// updates are the instructions by which atomics changed cells of shared memory last
	updates map[memoryAt]int
	bytes   [64]byte
}

// origin is a source line that made values that are not finite, and what became of them.
type origin struct {
	number int32
	source *target.Source
	caller *target.Source // in the kernel's own body, where source is in a function that was inlined
	// calls: every way that it was inlined: one operation that goes wrong at each of them is one origin
	calls []target.Calls
	kv    int // the first time
	warps uint64
	lanes uint64
	count int
	what  string // "NaN is made here: -inf - -inf"
	hops  []hop
	first hop    // the first cell of memory that it came to
	space string // of it
}

func (u *originUnit) Interests() target.ClassSet { return target.AllClasses }
func (u *originUnit) Follows() target.ClassSet {
	return target.Classes(target.ClassALU, target.ClassLoad, target.ClassStore, target.ClassAtomic,
		target.ClassAsync, target.ClassShuffle, target.ClassMMA)
}

// Event implements target.Observer.
func (u *originUnit) Event(e *target.Event) {
	if u.Follows().Has(e.Class) {
		u.x.add(u.view, e)
	}
}

// After implements target.Follower.
func (u *originUnit) After(*target.Event) {
	x := &u.x
	in := x.Instr
	x.finish()
	if to, from, args, ok := arithmetic(in); ok {
		u.compute(to, from, args)
		return
	}
	if acc, c, ab, ok := product(in); ok {
		u.multiply(acc, c, ab)
		return
	}
	if x.copies() {
		u.enter()
	}
	if u.tags.move(x) {
		switch {
		case x.Class == target.ClassStore:
			u.reached()
		case in.Kind() == isa.Shuffle && in.Args[0].Registers(nil) != nil:
			u.undefined()
		}
		return
	}
	if in.Kind().Updates() {
		u.accumulate()
		return
	}
	u.mixed()
}

// compute is float arithmetic.
func (u *originUnit) compute(to, from numberType, args []int) {
	x := &u.x
	if len(x.dst) == 0 {
		return
	}
	var out [32][unitsMax]int32
	tagged := false
	each(x.Mask, func(lane int) {
		for k := range to.n {
			r := to.value(to.part(x.dst[0][lane], k))
			if finite(r) {
				continue
			}
			if t := u.inherit(to, from, args, lane, k, r); t > 0 {
				out[lane][k*to.bits/16], tagged = t, true
			}
		}
	})
	u.tags.set(x, x.dests()[0], nonNil(tagged, &out))
}

func nonNil[T comparable](any bool, t *[32][unitsMax]T) *[32][unitsMax]T {
	if any {
		return t
	}
	return nil
}

// inherit says where a result that is not finite comes from: a source's origin, a new one, or 0: nowhere.
func (u *originUnit) inherit(to, from numberType, args []int, lane, k int, r float64) int32 {
	x := &u.x
	tag, entered, hadNaN, hadInf := int32(0), int32(0), false, false
	for _, a := range args {
		if len(x.src[a]) == 0 {
			continue
		}
		i := k
		// cvt.f16x2.f32 d, a, b: a goes to the upper half
		if from.n == 1 && (x.Instr.Kind() == isa.Convert && to.n == 2) {
			if i = 0; a != len(args)-k {
				continue
			}
		}
		v := from.value(from.part(x.src[a][0][lane], i))
		if finite(v) {
			continue
		}
		hadNaN, hadInf = hadNaN || math.IsNaN(v), hadInf || math.IsInf(v, 0)
		t := u.tags.operand(x, &x.Instr.Args[a])
		if t == nil || math.IsInf(r, 0) && math.IsNaN(v) {
			continue
		}
		switch o := t[lane][i*from.bits/16]; {
		case o > 0 && (tag == 0 || o < tag):
			tag = o
		case o < 0 && math.IsNaN(v) && entered == 0:
			entered = o
		}
	}
	switch {
	case tag > 0:
		u.through(tag, x.Instr.Opcode())
		return tag
	case math.IsInf(r, 0) && (hadInf || hadNaN), math.IsNaN(r) && x.Instr.Op == "neg":
		return 0
	}
	return u.begin(lane, func() string { return u.describe(to, from, args, lane, k, r, hadNaN, entered) })
}

// begin makes this instruction an origin, or counts one more value of it.
func (u *originUnit) begin(lane int, what func() string) int32 {
	x := &u.x
	o := u.at[x.PC]
	if o == nil {
		src := target.Blame(x.Func, x.Instr.Index)
		line := *src
		line.Calls = ""
		if o = u.lines[line]; o == nil {
			o = &origin{
				number: int32(len(u.origins) + 1), source: src, caller: caller(&x.Event, src), kv: x.KVTile,
				what: what(),
			}
			u.lines[line] = o
			u.origins = append(u.origins, o)
		}
		if !slices.Contains(o.calls, src.Calls) {
			o.calls = append(o.calls, src.Calls)
		}
		u.at[x.PC] = o
	}
	o.count++
	if o.kv == x.KVTile {
		o.warps |= 1 << (x.Warp & 63)
		o.lanes |= 1 << lane
	}
	return o.number
}

// caller is the place in the kernel's own body that an instruction was inlined into, nil where it was not.
func caller(e *target.Event, src *target.Source) *target.Source {
	l := e.Instr.Loc.Outermost()
	if l == nil || l.Line == 0 || l.Name == src.File && l.Line == src.Line {
		return nil
	}
	return &target.Source{File: l.Name, Line: l.Line, Function: e.Func.Demangled}
}

// multiply is a matrix product. Which row and column an element comes from is not asked: what is not finite
// in the result comes from the first origin among the operands that has a share in it at all.
func (u *originUnit) multiply(acc, c, ab numberType) {
	x := &u.x
	tag, entered, bad := int32(0), int32(0), ""
	for i := 1; i < 4 && i < len(x.src); i++ {
		t := ab
		if i == 3 {
			t = c
		}
		regs := elements(&x.Instr.Args[i])
		for r := range x.src[i] {
			tags := u.tags.operand(x, regs[r])
			each(x.Mask, func(lane int) {
				for k := range t.n {
					v := t.value(t.part(x.src[i][r][lane], k))
					if finite(v) {
						continue
					}
					bad = number(v)
					if tags == nil {
						continue
					}
					switch o := tags[lane][k*t.bits/16]; {
					case o > 0 && (tag == 0 || o < tag):
						tag = o
					case o < 0 && math.IsNaN(v) && entered == 0:
						entered = o
					}
				}
			})
		}
	}
	for r, reg := range x.dests() {
		var out [32][unitsMax]int32
		tagged := false
		each(x.Mask, func(lane int) {
			for k := range acc.n {
				v := acc.value(acc.part(x.dst[r][lane], k))
				if finite(v) || tag == 0 && bad != "" && math.IsInf(v, 0) {
					continue
				}
				from := tag
				if tag > 0 {
					u.through(tag, x.Instr.Op+".mma")
				} else {
					from = u.begin(lane, func() string { return u.describeProduct(acc, v, bad, entered) })
				}
				out[lane][k*acc.bits/16], tagged = from, true
			}
		})
		u.tags.set(x, reg, nonNil(tagged, &out))
	}
}

// accumulate is an atomic on memory: what it adds keeps its origin there.
func (u *originUnit) accumulate() {
	x := &u.x
	u.updated()
	args := x.Instr.Args
	i := 1
	if x.Instr.HasDest() {
		i = 2
	}
	if i < len(args) {
		if t := u.tags.operand(x, &args[i]); t != nil {
			for j := range x.parts {
				p := &x.parts[j]
				each(p.mask, func(lane int) {
					if o := t[lane][0]; o > 0 {
						u.tags.put(x.at(p, lane, 0), o)
					}
				})
			}
			u.reached()
		}
	}
	if x.Instr.HasDest() {
		for _, r := range x.dests() {
			u.tags.set(x, r, nil)
		}
	}
}

// mixed is any other instruction: where a source had an origin and a result could be read as not
// finite, it goes on.
func (u *originUnit) mixed() {
	x := &u.x
	in := x.Instr
	if len(x.dst) == 0 || in.Form().Args[0].Kind == isa.ArgDestPred {
		return
	}
	var from [32]int32
	any := false
	for i := 1; i < len(in.Args); i++ {
		for _, op := range elements(&in.Args[i]) {
			if t := u.tags.operand(x, op); t != nil {
				each(x.Mask, func(lane int) {
					for _, o := range t[lane] {
						if o > 0 && (from[lane] == 0 || o < from[lane]) {
							from[lane], any = o, true
						}
					}
				})
			}
		}
	}
	for i, r := range x.dests() {
		var out [32][unitsMax]int32
		if any {
			each(x.Mask, func(lane int) {
				v := x.dst[i][lane]
				if v>>23&0xff == 0xff {
					out[lane][0] = from[lane]
				}
				for u := range 2 {
					if v>>(16*u+10)&0x1f == 0x1f {
						out[lane][u] = from[lane]
					}
				}
			})
		}
		u.tags.set(x, r, nonNil(any, &out))
	}
}

var _ target.Follower = (*originUnit)(nil)

// End implements target.Ender: what is left in global memory is what counts.
func (u *originUnit) End() {
	u.tags.regs = nil
	for k := range u.tags.mem {
		if k.space != target.SpaceGlobal {
			delete(u.tags.mem, k)
		}
	}
}

func originFindings(_ *Checker, us []unit) []target.Finding {
	var blocks []*causes
	for _, x := range us {
		blocks = append(blocks, x.(*originUnit).causes())
	}
	return mergeCauses(blocks)
}

// causes makes findings of the origins of what is left in global memory.
func (u *originUnit) causes() *causes {
	left := map[int32]bool{}
	for k, o := range u.tags.mem {
		if k.space == target.SpaceGlobal {
			left[o] = true
		}
	}
	cs := &causes{}
	for _, o := range u.origins {
		if !left[o.number] {
			continue
		}
		line := *o.source
		line.Calls = ""
		cs.add(line, target.Finding{
			Kind: target.NaNOrigin, Message: o.message(), Variable: o.first.variable, Index: o.first.index,
			Space: o.space, Block: u.id, Warps: bitList(o.warps), Lanes: bitList(o.lanes), KVTile: o.kv,
			Source: o.source, Other: o.caller, Consequence: o.path(), Count: o.count,
		})
	}
	return cs
}

// mostCallers is how many call sites of an inlined function a message names.
const mostCallers = 3

// message says what was made, and names the call sites of an inlined function, each once.
func (o *origin) message() string {
	var sites []string
	for _, c := range o.calls {
		if site := c.Text(""); site != "" && !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	text := o.what
	for i, site := range sites {
		switch {
		case i == 0:
			text += "; " + site
		case i == mostCallers:
			return text + fmt.Sprintf(" and from %d places more", len(sites)-i)
		default:
			text += " and " + strings.TrimPrefix(site, "called ")
		}
	}
	return text
}
