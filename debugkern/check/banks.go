package check

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Bank conflicts are advice, and all blocks run the same code: they are measured in the first and the last
// block that the launch executes, and counts are those blocks'. A line and variable is worth saying where its
// conflicts add at least bankShare of all shared-memory transactions there.
const (
	bankShare = 0.02
	// bankPatterns: ways to lie that are kept for each instruction; further ones count, but no
	// layout is tried on them
	bankPatterns = 512
)

func bankKind() kind {
	return kind{set: Banks, start: startBanks, findings: bankFindings}
}

// sampled reports whether a block is one of the two that advice is measured in.
func sampled(v target.View) bool {
	l := v.Launch()
	if l.Only != nil {
		return v.Block() == l.Only[0] || v.Block() == l.Only[len(l.Only)-1]
	}
	n := l.Grid.Linear(v.Block())
	return n == 0 || n == l.Grid.Count()-1
}

// blocksText names the blocks that advice was measured in.
func blocksText(blocks int) string {
	if blocks > 1 {
		return "the first and the last block, which this is counted in,"
	}
	return "the block"
}

func startBanks(b *block) unit {
	if !sampled(b.view) {
		return nil
	}
	l := b.view.Launch()
	return &bankUnit{
		id: b.id, arrays: sharedArrays(b.view.Program()[0], l.Shared, l.DynShared),
		sites: map[bankKey]*bankSite{},
	}
}

// bankUnit measures one block.
type bankUnit struct {
	id           probes.Dim3
	arrays       []sharedArray
	sites        map[bankKey]*bankSite
	last         *bankSite
	transactions int
	halves       [4]int32 // rows that the first half of a transposed matrix access starts at
}

// bankKey is an instruction that touches an array; -1: none that is named.
type bankKey struct{ pc, array int }

// bankSite is what one instruction does in one array.
type bankSite struct {
	key      bankKey
	array    *sharedArray
	linear   bool // addressed by a leading dimension alone
	source   *target.Source
	warps    uint64
	accesses int
	more     int // accesses whose pattern was not kept
	cost     service
	patterns []*pattern
	served   []service
}

func (u *bankUnit) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAsync)
}

// Event implements target.Observer.
func (u *bankUnit) Event(e *target.Event) {
	if e.Space != target.SpaceShared || e.Probe || e.Mask == 0 {
		return
	}
	var off [32]int32
	first := bits.TrailingZeros32(e.Mask)
	for m := e.Mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		off[i] = int32(e.Addr[i])
	}
	mask, size := e.Mask, e.Bytes
	wmma := e.Instr.Kind().MovesFragment()
	// transposed halves: ldmatrix.trans takes two elements of eight rows at a time
	if wmma && size == 2 && e.Mask == ^uint32(0) {
		if e.Value%2 == 0 {
			copy(u.halves[:], off[:4])
			return
		}
		copy(off[4:8], off[:4])
		copy(off[:4], u.halves[:])
		mask, size, first = 0xff, 16, 0
	}
	s := u.site(e, int(off[first]), size, wmma)
	s.warps |= 1 << (e.Warp & 63)
	s.accesses++
	cost := s.add(&off, mask, size)
	s.cost.phases += cost.phases
	s.cost.transactions += cost.transactions
	s.cost.degree = max(s.cost.degree, cost.degree)
	u.transactions += cost.transactions
}

// site finds what the instruction does in the array at an address.
func (u *bankUnit) site(e *target.Event, at, size int, wmma bool) *bankSite {
	if s := u.last; s != nil && s.key.pc == e.PC && (s.array == nil || s.array.contains(at, at+size)) {
		return s
	}
	k := bankKey{e.PC, -1}
	a := arrayAt(u.arrays, at, at+size)
	for i := range u.arrays {
		if a == &u.arrays[i] {
			k.array = i
		}
	}
	s := u.sites[k]
	if s == nil {
		s = &bankSite{key: k, array: a, linear: wmma, source: target.Blame(e.Func, e.Instr.Index)}
		u.sites[k] = s
	}
	u.last = s
	return s
}

// add counts one access and returns its cost. Lanes are compared with the ways to lie seen before: the same
// offsets from each other, any number of whole rows away.
func (s *bankSite) add(off *[32]int32, mask uint32, size int) service {
	base, row := int32(0), int32(bankCount*bankBytes)
	if s.array != nil {
		base = int32(s.array.addr)
		if d := s.array.Dims; len(d) > 1 {
			row = int32(d[len(d)-1] * s.array.DType.Size())
		}
	}
	shift := off[bits.TrailingZeros32(mask)]
	shift = base + (shift-base)/row*row
	if row%bankBytes != 0 {
		shift = base
	}
	var rel [32]int32
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		rel[i] = off[i] - shift
	}
	for i := len(s.patterns) - 1; i >= 0; i-- {
		p := s.patterns[i]
		if p.mask == mask && p.bytes == size && p.off == rel {
			p.count++
			return s.served[i]
		}
	}
	cost := serve(&rel, mask, size)
	if len(s.patterns) == bankPatterns {
		s.more++
		return cost
	}
	s.patterns = append(s.patterns, &pattern{mask, size, rel, 1})
	s.served = append(s.served, cost)
	return cost
}

// bankLine is what a source line does in an array, over all of its instructions.
type bankLine struct {
	variable string
	source   *target.Source
	block    probes.Dim3
	warps    uint64
	accesses int
	cost     service
	worst    *pattern
}

func bankFindings(_ *Checker, us []unit) []target.Finding {
	type key struct {
		variable, file string
		line           int
	}
	lines, arrays := map[key]*bankLine{}, map[string]*arrayUse{}
	var order []key
	total := 0
	for _, x := range us {
		u := x.(*bankUnit)
		total += u.transactions
		for _, s := range u.sorted() {
			name := ""
			if s.array != nil {
				name = s.array.Name
				use := arrays[name]
				if use == nil {
					use = &arrayUse{array: s.array}
					arrays[name] = use
				}
				use.add(s)
			}
			k := key{name, s.source.File, s.source.Line}
			l := lines[k]
			if l == nil {
				l = &bankLine{variable: name, source: s.source, block: u.id}
				lines[k] = l
				order = append(order, k)
			}
			l.warps |= s.warps
			l.accesses += s.accesses
			l.cost.phases += s.cost.phases
			l.cost.transactions += s.cost.transactions
			l.cost.degree = max(l.cost.degree, s.cost.degree)
			l.worst = s.worst(l.worst)
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		return lines[order[i]].cost.extra() > lines[order[j]].cost.extra()
	})
	var out []target.Finding
	for _, k := range order {
		l := lines[k]
		if float64(l.cost.extra()) < bankShare*float64(total) {
			break
		}
		out = append(out, l.finding(arrays[l.variable], total, blocksText(len(us))))
	}
	return out
}

// arrayUse is every way in which an array is accessed, by which a new layout is judged.
type arrayUse struct {
	array    *sharedArray
	patterns []*pattern
	linear   bool
	more     int
	tried    bool
	found    *remedy
}

// remedy is the layout that serves all of the array's accesses best, nil where none is worth its while.
func (a *arrayUse) remedy() *remedy {
	if !a.tried {
		a.tried, a.found = true, findRemedy(&a.array.SharedArray, a.patterns, a.linear)
	}
	return a.found
}

func (a *arrayUse) add(s *bankSite) {
	for _, p := range s.patterns {
		i := slices.IndexFunc(a.patterns, func(q *pattern) bool {
			return q.mask == p.mask && q.bytes == p.bytes && q.off == p.off
		})
		if i >= 0 {
			a.patterns[i].count += p.count
			continue
		}
		q := *p
		a.patterns = append(a.patterns, &q)
	}
	a.linear = a.linear || s.linear
	a.more += s.more
}

// sorted lists the sites in the order of the program.
func (u *bankUnit) sorted() []*bankSite {
	out := make([]*bankSite, 0, len(u.sites))
	for _, s := range u.sites {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].key, out[j].key
		return a.pc < b.pc || a.pc == b.pc && a.array < b.array
	})
	return out
}

func (l *bankLine) finding(use *arrayUse, total int, in string) target.Finding {
	mean := float64(l.cost.transactions) / float64(max(l.cost.phases, 1))
	f := target.Finding{
		Kind: target.BankConflict, Severity: target.SeverityAdvice, Variable: l.variable,
		Space: target.SpaceShared.String(),
		Block: l.block, Warps: bitList(l.warps), KVTile: -1, Source: l.source, Count: l.accesses,
		Message: fmt.Sprintf("bank conflicts on %s: %d-way at worst, %.1f-way on average", named(l.variable),
			l.cost.degree, mean),
		Consequence: fmt.Sprintf(
			"%d transactions in %d phases: %.0f%% of the shared-memory transactions of %s are these conflicts",
			l.cost.transactions, l.cost.phases, 100*float64(l.cost.extra())/float64(max(total, 1)), in),
	}
	if use == nil {
		return f
	}
	r := use.remedy()
	if vector := l.vector(); vector != "" {
		f.Message += "; " + vector
		return f
	}
	switch {
	case r == nil && use.linear:
		f.Message += "; no padding of its rows that was tried would halve them, and wmma takes no other layout"
	case r == nil && len(use.array.Dims) > 1:
		f.Message += "; no padding of its rows and no exchange of its columns that was tried, each alone, would halve them"
	case r != nil && use.more > 0:
		f.Message += fmt.Sprintf("; %s (tried on all but %d of its accesses)", r, use.more)
	case r != nil:
		f.Message += "; " + r.String()
	}
	return f
}

// worst is the site's pattern of the highest degree, or p where that is no better.
func (s *bankSite) worst(p *pattern) *pattern {
	for i, q := range s.patterns {
		if s.served[i].degree > 1 &&
			(p == nil || s.served[i].degree > serve(&p.off, p.mask, p.bytes).degree) {
			p = q
		}
	}
	return p
}

// vector advises wider accesses, where lanes take narrow ones that lie a vector's width apart: the words
// between are then taken by the next instruction, and together they have no conflicts.
func (l *bankLine) vector() string {
	p := l.worst
	if p == nil || p.bytes > 8 {
		return ""
	}
	first := bits.TrailingZeros32(p.mask)
	next := bits.TrailingZeros32(p.mask &^ (1 << first))
	if next > 31 {
		return ""
	}
	apart := int(p.off[next] - p.off[first])
	if apart != 8 && apart != 16 || apart <= p.bytes || serve(&p.off, p.mask, apart).extra() > 0 ||
		p.off[first]%int32(apart) != 0 && p.off[first]%int32(p.bytes) != 0 {
		return ""
	}
	for m := p.mask; m&(m-1) != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		if j := bits.TrailingZeros32(m & (m - 1)); int(p.off[j]-p.off[i]) != apart*(j-i) {
			return ""
		}
	}
	return fmt.Sprintf(
		"its lanes take %d bytes each, %d apart: one access of %d bytes a lane would have none", p.bytes,
		apart, apart)
}

// named is how a message calls a variable that may have no name.
func named(v string) string {
	if v == "" {
		return "shared memory"
	}
	return v
}

func bitList(m uint64) []int {
	var out []int
	for ; m != 0; m &= m - 1 {
		out = append(out, bits.TrailingZeros64(m))
	}
	return out
}
