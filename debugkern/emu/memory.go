package emu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// alloc is one global allocation. written is nil where every byte counts as written.
type alloc struct {
	base           uint64
	data           []byte
	written        []byte
	name           string
	arg            *target.Arg
	capture        bool
	heap           bool // of the block that accesses it alone (heap.go)
	space          target.Space
	initial        []byte           // contents before the launch; nil: unwritten
	initialWritten []byte           // which of them were written; nil: none
	dirty          map[int]struct{} // pages changed since Open; nil where nobody asks
}

// gridBarrierBytes is the size of the grid barrier: its own size, and a count.
const gridBarrierBytes = 8

// pageBits is the size of what a snapshot saves of global memory.
const pageBits = 12

// touch notes that bytes changed.
func (a *alloc) touch(off, n int) {
	for p := off >> pageBits; p <= (off+n-1)>>pageBits; p++ {
		a.dirty[p] = struct{}{}
	}
}

// memory is the global memory of a launch.
type memory struct {
	allocs  []*alloc
	params  []byte
	byParam map[int]int // byte offset in the parameter block -> allocation
	maps    []tensorMap // parameters that are tensor maps, by offset
	capture *alloc      // only its address range: each block has the memory of its own slots
	private bool        // of one block that is stepped

	gridBarrier uint64 // address of what the blocks of a cooperative launch meet at; 0: there is none

	once   sync.Once
	stored map[*alloc]bool // by argument: whether the kernel may store to it; made when first asked for
}

// newMemory allocates and fills global memory and the parameter block. Inputs are copied only where the
// kernel may write them, or where the memory is private.
func newMemory(p *program, l *target.Launch, private bool) (*memory, error) {
	m := &memory{params: make([]byte, p.params), byParam: map[int]int{}, private: private}
	for i, v := range p.globals {
		a := &alloc{
			base: allocBase(i), name: v.Demangled, space: spaceOf(v.Space), data: make([]byte, v.Size),
		}
		copy(a.data, v.Init)
		m.allocs = append(m.allocs, a)
	}
	for i, v := range p.globals {
		if err := m.relocate(p, m.allocs[i], v); err != nil {
			return nil, err
		}
	}
	params := p.entry.Params
	own, err := l.Parameters()
	if err != nil {
		return nil, fmt.Errorf("launch %s: %w", p.entry.Name, err)
	}
	n := len(own)
	if l.Probe != nil && l.Probe.Control {
		n++
	}
	if n != len(params) {
		return nil, fmt.Errorf("launch %s: %d arguments for %d parameters", p.entry.Name, n, len(params))
	}
	for i := range l.Args {
		arg := &l.Args[i]
		at := p.mapped(l, params, i)
		for _, x := range arg.Into {
			at = append(at, address{at: params[x.Arg].Offset + x.Offset, skip: uint64(x.Skip)})
		}
		if i < len(own) {
			at = append([]address{{at: params[i].Offset}}, at...)
			if size := params[i].Size; arg.Buffer == nil && len(arg.Scalar) != size {
				err = fmt.Errorf("%d bytes for a parameter of %d", len(arg.Scalar), size)
			} else if arg.Buffer != nil && size != 8 {
				err = fmt.Errorf("a buffer for a parameter of %d bytes", size)
			} else if arg.Map != nil {
				err = unfitMap(params[i])
			}
		}
		if err == nil {
			err = m.argument(p, arg, at, private)
		}
		if err != nil {
			return nil, fmt.Errorf("launch %s: argument %s: %w", p.entry.Name, arg.Name, err)
		}
	}
	m.tensorMaps(l, params)
	if l.Probe != nil {
		m.probe(l, params)
	}
	if l.Cooperative && p.syncsGrid() {
		m.gridBarrier = m.add(&alloc{name: "the grid barrier", data: make([]byte, gridBarrierBytes)}).base
	}
	if private {
		for _, a := range m.allocs {
			a.dirty = map[int]struct{}{}
			if a.arg != nil {
				a.initial, a.initialWritten = a.arg.Buffer.Init, a.arg.Buffer.Written
			} else if !a.capture {
				a.initial = append([]byte(nil), a.data...)
			}
		}
	}
	return m, nil
}

// add appends an allocation.
func (m *memory) add(a *alloc) *alloc {
	a.base = allocBase(len(m.allocs))
	a.space = target.SpaceGlobal
	m.allocs = append(m.allocs, a)
	return a
}

// address is a place of the parameter block, and which byte of a buffer it is the address of.
type address struct {
	at     int
	skip   uint64
	tensor bool // a tensor map of the buffer
}

// argument places an argument in the parameter block: a scalar, or a buffer's address at
// each of some offsets.
func (m *memory) argument(p *program, arg *target.Arg, at []address, private bool) error {
	if arg.Buffer == nil {
		if arg.Map == nil {
			copy(m.params[at[0].at:], arg.Scalar)
		}
		return nil
	}
	buf := arg.Buffer
	a := &alloc{name: arg.Name, arg: arg}
	switch {
	case buf.Written != nil:
		if len(buf.Written) != len(buf.Init) {
			return fmt.Errorf("%d bytes, and for %d it is given whether they were written", len(buf.Init),
				len(buf.Written))
		}
		a.data, a.written = append([]byte(nil), buf.Init...), append([]byte(nil), buf.Written...)
	case buf.Init != nil && !private && !buf.Output &&
		!slices.ContainsFunc(at, func(x address) bool { return p.writes(x.at) }):
		a.data = buf.Init
	case buf.Init != nil:
		a.data = append([]byte(nil), buf.Init...)
	default:
		if buf.Bytes < 0 || buf.Bytes > 1<<windowBits-2<<32 {
			return fmt.Errorf("a buffer of %d bytes", buf.Bytes)
		}
		a.data, a.written = make([]byte, buf.Bytes), make([]byte, buf.Bytes)
		fill(a.data, 0xff)
	}
	i := len(m.allocs)
	m.add(a)
	for _, x := range at {
		m.byParam[x.at] = i
		if !x.tensor {
			binary.LittleEndian.PutUint64(m.params[x.at:], a.base+x.skip)
		}
	}
	return nil
}

// probe allocates capture and inject buffers and the control block.
func (m *memory) probe(l *target.Launch, params []*ptx.Var) {
	lay := l.Probe.Layout
	m.capture = m.add(&alloc{name: "capture", capture: true})
	inject := l.Probe.Inject
	if inject == nil {
		inject = make([]byte, lay.InjectBytes)
	}
	inj := m.add(&alloc{name: "inject", data: append([]byte(nil), inject...)})
	if !l.Probe.Control {
		return
	}
	ctl := m.add(&alloc{name: probes.ParamName, data: lay.Control(m.capture.base, inj.base)})
	v := params[len(params)-1]
	m.byParam[v.Offset] = len(m.allocs) - 1
	binary.LittleEndian.PutUint64(m.params[v.Offset:], ctl.base)
}

// relocate fills in the addresses that a variable is initialised with.
func (m *memory) relocate(p *program, a *alloc, v *ptx.Var) error {
	for _, r := range v.Relocs {
		var addr uint64
		found := false
		for i, g := range p.globals {
			if g.Name == r.Sym {
				addr, found = allocBase(i)+uint64(r.Addend), true
			}
		}
		for i, f := range p.funcs {
			if f.Name == r.Sym {
				addr, found = codeAddress(i), true
			}
		}
		if !found || r.Size > 8 {
			return fmt.Errorf("%s: the address of %s in an initialiser is not modelled", v.Pos, r.Sym)
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], addr)
		copy(a.data[r.Offset:r.Offset+r.Size], b[:])
	}
	return nil
}

// writable reports whether the kernel may store to an allocation. Variables are not followed: any may be.
func (m *memory) writable(p *program, a *alloc) bool {
	m.once.Do(func() {
		m.stored = map[*alloc]bool{}
		for off, i := range m.byParam {
			m.stored[m.allocs[i]] = m.stored[m.allocs[i]] || p.writes(off)
		}
	})
	may, known := m.stored[a]
	return may || !known && a.space != target.SpaceConst
}

// writes reports whether the kernel may store through the pointer in a parameter: a store with that
// provenance, or one whose provenance is not known.
func (p *program) writes(param int) bool {
	for i := range p.code {
		in := &p.code[i]
		if in.mem == nil || in.class != target.ClassStore && in.class != target.ClassAtomic &&
			in.class != target.ClassBulk && in.class != target.ClassTensorMap {
			continue
		}
		if in.class == target.ClassBulk && in.bulk.tensor != nil {
			if in.bulk.tensor.stores && p.names(in.mem, param) {
				return true
			}
			continue
		}
		if in.mem.space != target.SpaceGlobal && in.mem.space != target.SpaceNone {
			continue
		}
		set := p.sets[in.mem.set]
		if set == 0 && !in.probe {
			return true
		}
		for s := range p.syms {
			if set>>s&1 != 0 && p.syms[s].param == param {
				return true
			}
		}
	}
	return false
}

// at returns the allocation whose window holds addr, and the offset in it.
func (m *memory) at(addr uint64) (*alloc, uint64) {
	i := allocOf(addr)
	if i < 0 || i >= len(m.allocs) {
		return nil, 0
	}
	return m.allocs[i], addr - m.allocs[i].base
}

// scalarAt reads size bytes.
func scalarAt(p []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(le.Uint16(p))
	case 4:
		return uint64(le.Uint32(p))
	}
	return le.Uint64(p)
}

func putScalar(p []byte, size int, v uint64) {
	switch size {
	case 1:
		p[0] = byte(v)
	case 2:
		le.PutUint16(p, uint16(v))
	case 4:
		le.PutUint32(p, uint32(v))
	default:
		le.PutUint64(p, v)
	}
}

func allWritten(p []byte) bool {
	for len(p) >= 8 {
		if le.Uint64(p) != ^uint64(0) {
			return false
		}
		p = p[8:]
	}
	for _, v := range p {
		if v != 0xff {
			return false
		}
	}
	return true
}
