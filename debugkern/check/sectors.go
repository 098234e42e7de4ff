package check

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Global memory moves in sectors of 32 bytes. A warp instruction that touches more sectors than its bytes
// would fill is uncoalesced: the rest is moved for nothing. (CUDA C++ Best Practices Guide, "Coalesced Access
// to Global Memory".) Like bank conflicts it is measured in the first and the last block. A line and argument
// is worth saying where at least sectorWaste of the sectors it moves are not needed, and those are at least
// sectorShare of all sectors moved there.
const (
	sectorBytes = 32
	sectorWaste = 0.25
	sectorShare = 0.05
)

func sectorKind() kind {
	return kind{set: Sectors, start: startSectors, findings: sectorFindings}
}

func startSectors(b *block) unit {
	if !sampled(b.view) {
		return nil
	}
	return &sectorUnit{
		id: b.id, view: b.view, sites: map[sectorKey]*sectorSite{}, by: map[int][]argumentSite{},
	}
}

type sectorUnit struct {
	id    probes.Dim3
	view  target.View
	sites map[sectorKey]*sectorSite
	by    map[int][]argumentSite // by PC: what it accessed, usually one argument
	moved int
}

// argumentSite is a site for the addresses of one allocation.
type argumentSite struct {
	lo, hi uint64
	*sectorSite
}

// sectorKey is a source line and what it accesses.
type sectorKey struct {
	variable, file string
	line           int
}

type sectorSite struct {
	sectorKey
	source        *target.Source
	block         probes.Dim3
	warps         uint64
	op            string
	accesses      int
	moved, needed int // sectors
	stride        int64
	uneven        bool
}

func (u *sectorUnit) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAsync)
}

// Event implements target.Observer.
func (u *sectorUnit) Event(e *target.Event) {
	addr, space := e.Addr, e.Space
	if e.Class == target.ClassAsync {
		addr, space = e.Addr2, target.SpaceGlobal
	}
	if space != target.SpaceGlobal || e.Probe || e.Mask == 0 || e.Instr.Kind().MovesFragment() {
		// events of a wmma access of global memory are by elements: how the hardware groups them is not known
		return
	}
	if u.view.OnHeap(addr[bits.TrailingZeros32(e.Mask)&31]) {
		return // nor where it puts what malloc returns
	}
	moved, needed := sectors(addr, e.Mask, e.Bytes)
	u.moved += moved
	first := bits.TrailingZeros32(e.Mask)
	s := u.site(e, addr[first])
	s.warps |= 1 << (e.Warp & 63)
	s.accesses++
	s.moved, s.needed = s.moved+moved, s.needed+needed
	s.strided(addr, e.Mask)
}

// site finds what the instruction accesses at an address.
func (u *sectorUnit) site(e *target.Event, addr uint64) *sectorSite {
	for _, a := range u.by[e.PC] {
		if addr >= a.lo && addr < a.hi {
			return a.sectorSite
		}
	}
	name, _ := u.view.Name(target.SpaceGlobal, addr)
	src := target.Blame(e.Func, e.Instr.Index)
	k := sectorKey{name, src.File, src.Line}
	s := u.sites[k]
	if s == nil {
		s = &sectorSite{sectorKey: k, source: src, block: u.id, op: e.Instr.Opcode()}
		u.sites[k] = s
	}
	if lo, hi, _ := u.view.Extent(addr); hi > lo { // else it lies nowhere, and the next such access elsewhere
		u.by[e.PC] = append(u.by[e.PC], argumentSite{lo, hi, s})
	}
	return s
}

// sectors counts the sectors that the lanes touch, and how few would hold their bytes.
func sectors(addr *[32]uint64, mask uint32, size int) (moved, needed int) {
	var lo [32]uint64
	n := 0
	for m := mask; m != 0; m &= m - 1 {
		lo[n] = addr[bits.TrailingZeros32(m)&31]
		n++
	}
	slices.Sort(lo[:n])
	bytes, end := uint64(0), uint64(0) // distinct bytes; where the last lane's end
	next := uint64(0)                  // first sector not counted yet
	for _, a := range lo[:n] {
		z := a + uint64(size)
		if a < end {
			bytes += max(z, end) - end
		} else {
			bytes += uint64(size)
		}
		end = max(end, z)
		from, to := max(a/sectorBytes, next), (z-1)/sectorBytes+1
		if to > from {
			moved += int(to - from)
			next = to
		}
	}
	return moved, int((bytes + sectorBytes - 1) / sectorBytes)
}

// strided notes how far apart neighbouring lanes are.
func (s *sectorSite) strided(addr *[32]uint64, mask uint32) {
	for m := mask & (mask >> 1); m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d := int64(addr[(i+1)&31] - addr[i])
		if s.stride == 0 {
			s.stride = d
		}
		s.uneven = s.uneven || d != s.stride
	}
}

func sectorFindings(_ *Checker, us []unit) []target.Finding {
	all := map[sectorKey]*sectorSite{}
	var list []*sectorSite
	moved := 0
	for _, x := range us {
		u := x.(*sectorUnit)
		moved += u.moved
		for _, s := range u.sites {
			old := all[s.sectorKey]
			if old == nil {
				c := *s
				all[s.sectorKey] = &c
				list = append(list, &c)
				continue
			}
			old.warps |= s.warps
			old.accesses += s.accesses
			old.moved, old.needed = old.moved+s.moved, old.needed+s.needed
			old.uneven = old.uneven || s.uneven || s.stride != old.stride
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if x, y := a.moved-a.needed, b.moved-b.needed; x != y {
			return x > y
		}
		return a.file < b.file || a.file == b.file &&
			(a.line < b.line || a.line == b.line && a.variable < b.variable)
	})
	var out []target.Finding
	for _, s := range list {
		waste := float64(s.moved - s.needed)
		if waste == 0 || waste < sectorWaste*float64(s.moved) || waste < sectorShare*float64(moved) {
			continue
		}
		out = append(out, s.finding(moved, blocksText(len(us))))
	}
	return out
}

func (s *sectorSite) finding(moved int, in string) target.Finding {
	how := "its lanes lie unevenly"
	if !s.uneven && s.stride != 0 {
		how = fmt.Sprintf("its lanes lie %d bytes apart", s.stride)
	}
	name := s.variable
	if name == "" {
		name = "global memory"
	}
	return target.Finding{
		Kind: target.Uncoalesced, Severity: target.SeverityAdvice, Variable: s.variable,
		Space: target.SpaceGlobal.String(),
		Block: s.block, Warps: bitList(s.warps), KVTile: -1, Source: s.source, Count: s.accesses,
		Message: fmt.Sprintf("%s of %s moves %d sectors of 32 bytes where %d would hold what it touches: %s",
			s.op, name, s.moved, s.needed, how),
		Consequence: fmt.Sprintf("%.0f%% of the global sectors of %s are moved for nothing here",
			100*float64(s.moved-s.needed)/float64(max(moved, 1)), in),
	}
}
