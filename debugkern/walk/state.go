package walk

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
)

// State is a walk's Values: of a moment that is past, or of the one at hand.
type State struct {
	pos      Position
	mask     uint32
	grid     probes.Dim3
	threads  probes.Dim3 // of a block
	names    map[string]int
	types    []string // of the entry's registers
	kv       func() int
	register func(lane, reg int) uint64
	shared   []byte
	written  []byte
	arrays   []place
}

// place is where a shared array lies.
type place struct {
	probes.SharedArray
	at, rows, cols int
}

// live returns the state of a warp at the moment at hand; it changes as the block executes.
func (w *walker) live(warp, pc int, mask uint32) *State {
	s := &State{
		pos: Position{Block: w.block.ID(), Step: w.block.Steps(), Warp: warp, PC: pc}, mask: mask,
		grid: w.launch.Grid, threads: w.launch.Block, names: w.names, types: w.types(),
		kv:       func() int { return w.block.KVTile(warp, pc) },
		register: func(lane, reg int) uint64 { return w.block.Register(warp, lane, reg) },
	}
	s.shared, s.written = w.block.Shared()
	for _, a := range w.launch.Shared {
		if _, at, rows, cols, err := w.array(a.Name); err == nil {
			s.arrays = append(s.arrays, place{a, at, rows, cols})
		}
	}
	return s
}

// types lists the types of the entry's registers.
func (w *walker) types() []string {
	if w.regTypes == nil {
		for _, r := range w.program.Functions()[0].Regs {
			w.regTypes = append(w.regTypes, r.Type.String())
		}
	}
	return w.regTypes
}

// State copies what expressions can read now.
func (w *walker) State() Values {
	s := w.live(w.warp, w.pos.PC, w.pos.Mask)
	s.pos = w.pos
	kv, warp := w.pos.KVTile, w.warp
	s.kv = func() int { return kv }
	s.shared, s.written = slices.Clone(s.shared), slices.Clone(s.written)
	values := make([][32]uint64, len(s.types))
	if warp >= 0 && warp < len(w.passed) {
		for reg := range values {
			for lane := range values[reg] {
				values[reg][lane] = w.block.Register(warp, lane, reg)
			}
		}
	}
	s.register = func(lane, reg int) uint64 { return values[reg][lane] }
	return s
}

// Name implements expr.Env.
func (s *State) Name(name string, lane int) (expr.Value, error) {
	base, dim, _ := strings.Cut(name, ".")
	axis := strings.Index("xyz", dim)
	thread := s.pos.Warp*32 + lane
	pick := func(d probes.Dim3) (expr.Value, error) { return expr.Number(int64(d[axis])), nil }
	switch base {
	case "lane":
		return expr.Number(int64(lane)), nil
	case "warp":
		return expr.Number(int64(s.pos.Warp)), nil
	case "thread":
		return expr.Number(int64(thread)), nil
	case "kv":
		return expr.Number(int64(s.kv())), nil
	case "step":
		return expr.Number(int64(s.pos.Step)), nil
	case "pc":
		return expr.Number(int64(s.pos.PC)), nil
	case "active":
		return expr.True(s.mask>>lane&1 != 0), nil
	case "blockIdx":
		return pick(s.pos.Block)
	case "blockDim":
		return pick(s.threads)
	case "gridDim":
		return pick(s.grid)
	case "threadIdx":
		x, y := max(1, s.threads[0]), max(1, s.threads[1])
		return pick(probes.Dim3{thread % x, thread / x % y, thread / (x * y)})
	}
	return expr.Value{}, fmt.Errorf("%s has no value here", name)
}

// Register implements expr.Env.
func (s *State) Register(name string, lane int) (expr.Value, error) {
	reg, ok := s.names[name]
	if !ok {
		return expr.Value{}, s.HasRegister(name)
	}
	return expr.OfRegister(s.types[reg], s.register(lane, reg)), nil
}

// Cell implements expr.Env.
func (s *State) Cell(array string, index []int64) (expr.Value, error) {
	if err := s.HasArray(array, len(index)); err != nil {
		return expr.Value{}, err
	}
	i := slices.IndexFunc(s.arrays, func(p place) bool { return p.Name == array })
	p := &s.arrays[i]
	dims := p.dims(len(index))
	at := 0
	for k, n := range index {
		if err := s.HasIndex(array, len(index), k, n); err != nil {
			return expr.Value{}, err
		}
		at = at*dims[k] + int(n)
	}
	size := p.DType.Size()
	at = p.at + at*size
	if at+size > len(s.shared) {
		return expr.Value{}, fmt.Errorf("%s does not lie in this launch's shared memory", array)
	}
	raw := uint64(0)
	for k := size - 1; k >= 0; k-- {
		raw = raw<<8 | uint64(s.shared[at+k])
	}
	v := expr.Of(p.DType, raw)
	v.Unwritten = slices.Contains(s.written[at:at+size], 0)
	return v, nil
}

// HasRegister implements expr.Scope.
func (s *State) HasRegister(name string) error {
	if _, ok := s.names[name]; ok {
		return nil
	}
	// a name like it: the same letters, the highest number
	class, best := strings.TrimRight(name, "0123456789"), ""
	for n := range s.names {
		if strings.TrimRight(n,
			"0123456789") == class && (len(n) > len(best) || len(n) == len(best) && n > best) {
			best = n
		}
	}
	if best != "" {
		return fmt.Errorf("the kernel has no register %s (%s0 to %s)", name, class, best)
	}
	return fmt.Errorf("the kernel has no register %s", name)
}

// HasArray implements expr.Scope.
func (s *State) HasArray(name string, n int) error {
	var all []string
	for _, p := range s.arrays {
		if p.Name != name {
			all = append(all, p.Name)
			continue
		}
		if n == len(p.Dims) || n == 2 {
			return nil
		}
		return fmt.Errorf("%s has %d dimensions %v, found %d indices", name, len(p.Dims), p.Dims, n)
	}
	return fmt.Errorf("no shared array %q in this build (shared arrays: %s)", name, strings.Join(all, " "))
}

// dims are the extents of an array that is indexed by n numbers: two may be its row and column.
func (p *place) dims(n int) []int {
	if n != len(p.Dims) {
		return []int{p.rows, p.cols}
	}
	return p.Dims
}

// HasIndex implements expr.Scope.
func (s *State) HasIndex(array string, n, dim int, at int64) error {
	i := slices.IndexFunc(s.arrays, func(p place) bool { return p.Name == array })
	if i < 0 {
		return s.HasArray(array, n)
	}
	if dims := s.arrays[i].dims(n); at < 0 || at >= int64(dims[dim]) {
		return fmt.Errorf("the %s index of %s is %d, expected 0 to %d", expr.Ordinal(dim), array, at,
			dims[dim]-1)
	}
	return nil
}

// Lane returns the first active lane, 0 where none is.
func (s *State) Lane() int {
	if s.mask == 0 {
		return 0
	}
	return bits.TrailingZeros32(s.mask)
}
