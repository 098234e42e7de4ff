package check

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// naive is happens-before as a textbook has it: a vector clock a thread, every access to every byte
// remembered. The race checker has to agree with it on random programs.
type naive struct {
	sites   []site
	threads int
	clock   [][]int // [t][u]: what t knows of u
	bars    [16][]naiveArrival
	fences  map[int][]int
	pending map[int][]int
	at      map[uint64][]int
	arrived map[int][]int // by mbarrier: what threads released that arrived
	done    map[int][]int // the same when its last phase completed
	bytes   map[uint64][]naiveAccess
	races   map[[2]int]bool
	first   int // PC of the access at which the first race was seen, -1: none
	ignore  int // PC of a synchronisation that orders nothing, -1: none
}

type naiveArrival struct {
	thread int
	waits  bool
	clock  []int
}

type naiveAccess struct {
	thread, epoch, pc, n int
	writes, strong       bool
}

func newNaive(threads int) *naive {
	v := &naive{threads: threads, fences: map[int][]int{}, pending: map[int][]int{}, at: map[uint64][]int{},
		arrived: map[int][]int{}, done: map[int][]int{},
		bytes: map[uint64][]naiveAccess{}, races: map[[2]int]bool{}, first: -1, ignore: -1}
	for t := range threads {
		c := make([]int, threads)
		c[t] = 1
		v.clock = append(v.clock, c)
	}
	return v
}

// Interests implements target.Interested.
func (v *naive) Interests() target.ClassSet {
	return target.AllClasses | target.Classes(target.ClassMBarrierDone, target.ClassMBarrierPass)
}

func (v *naive) View(w target.View) { v.sites = sitesOf(w.Program()) }

func most(a, b []int) []int {
	if a == nil {
		return append([]int(nil), b...)
	}
	out := append([]int(nil), a...)
	for i, x := range b {
		out[i] = max(out[i], x)
	}
	return out
}

// release is a copy of what t knows; what it does from here on is not in it.
func (v *naive) release(t int) []int {
	c := append([]int(nil), v.clock[t]...)
	v.clock[t][t]++
	return c
}

func (v *naive) Event(e *target.Event) {
	var ts []int
	for m := e.Mask; m != 0; m &= m - 1 {
		ts = append(ts, 32*e.Warp+bits.TrailingZeros32(m))
	}
	if e.PC == v.ignore && e.Class != target.ClassBarrierDone {
		return
	}
	switch e.Class {
	case target.ClassBarrier:
		for _, t := range ts {
			v.bars[e.Barrier] = append(v.bars[e.Barrier], naiveArrival{
				t, !e.Instr.Has("arrive"), v.release(t),
			})
		}
	case target.ClassBarrierDone:
		var all []int
		for _, a := range v.bars[e.Barrier] {
			all = most(all, a.clock)
		}
		for _, a := range v.bars[e.Barrier] {
			if a.waits {
				v.clock[a.thread] = most(v.clock[a.thread], all)
			}
		}
		v.bars[e.Barrier] = nil
	case target.ClassWarpSync:
		var all []int
		for _, t := range ts {
			all = most(all, v.release(t))
		}
		for _, t := range ts {
			v.clock[t] = most(v.clock[t], all)
		}
	case target.ClassFence:
		for _, t := range ts {
			if p := v.pending[t]; p != nil {
				v.clock[t] = most(v.clock[t], p)
				delete(v.pending, t)
			}
			v.fences[t] = v.release(t)
		}
	case target.ClassMBarrier:
		for _, t := range ts {
			v.touch(e, t, e.Addr[t%32])
		}
		if e.Instr.Has("arrive") && !e.Instr.Has("relaxed") {
			for _, t := range ts {
				at := int(e.Addr[t%32])
				v.arrived[at] = most(v.arrived[at], v.release(t))
			}
		}
	case target.ClassMBarrierDone:
		v.done[e.Barrier] = v.arrived[e.Barrier]
	case target.ClassMBarrierPass:
		for _, t := range ts {
			v.clock[t] = most(v.clock[t], v.done[int(e.Addr[t%32])])
		}
	case target.ClassLoad, target.ClassStore, target.ClassAtomic:
		if e.Space == target.SpaceShared {
			for _, t := range ts {
				v.access(e, t, e.Addr[t%32])
			}
		}
	}
}

func (v *naive) access(e *target.Event, t int, addr uint64) {
	s := &v.sites[e.PC]
	if s.strong {
		v.strong(s, t, addr)
	} else if s.writes {
		for a := addr &^ 7; a < addr+uint64(e.Bytes); a++ {
			delete(v.at, a)
		}
	}
	v.touch(e, t, addr)
}

// touch compares an access with those before it, and remembers it.
func (v *naive) touch(e *target.Event, t int, addr uint64) {
	s := &v.sites[e.PC]
	for i := range e.Bytes {
		now := naiveAccess{t, v.clock[t][t], e.PC, e.Bytes, s.writes, s.strong}
		for _, a := range v.bytes[addr+uint64(i)] {
			if a.thread == t || !a.writes && !now.writes || a.strong && now.strong && a.n == now.n ||
				v.clock[t][a.thread] >= a.epoch {
				continue
			}
			v.races[[2]int{min(a.pc, e.PC), max(a.pc, e.PC)}] = true
			if v.first < 0 {
				v.first = e.PC
			}
		}
		v.bytes[addr+uint64(i)] = append(v.bytes[addr+uint64(i)], now)
	}
}

func (v *naive) strong(s *site, t int, addr uint64) {
	seen := v.at[addr]
	if s.reads && seen != nil {
		if s.acquire {
			v.clock[t] = most(v.clock[t], seen)
		} else {
			v.pending[t] = most(v.pending[t], seen)
		}
	}
	if !s.writes {
		return
	}
	mine := v.fences[t]
	if s.release {
		mine = v.release(t)
	}
	switch {
	case mine == nil && !s.reads:
		delete(v.at, addr)
	case mine != nil && s.reads:
		v.at[addr] = most(mine, seen)
	case mine != nil:
		v.at[addr] = mine
	}
}

// randomProgram is straight code, or a loop of two rounds, over 64 words of shared memory.
func randomProgram(r *rand.Rand, threads int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	guard := func() string {
		return pick("", "", "", "@%w0 ", "@%w1 ", "@%low ", "@!%low ", "@%t0 ", "@%odd ")
	}
	var b strings.Builder
	line := func(text string, numbers ...int) { // $ stands for a number
		for _, n := range numbers {
			text = strings.Replace(text, "$", fmt.Sprint(n), 1)
		}
		b.WriteString("\t" + text + "\n")
	}
	b.WriteString(
		".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b32 s[256];\n.shared .align 8 .b64 m[2];\n.visible .entry k()\n{\n")
	line(".reg .pred %w0, %w1, %w01, %low, %t0, %odd, %more, %over;")
	line(".reg .b16 %h; .reg .b32 %t, %l, %w, %s, %a, %i, %r<5>; .reg .b64 %d;")
	line("mov.u32 %t, %tid.x; and.b32 %l, %t, 31; shr.u32 %w, %t, 5; mov.u32 %s, s; mov.u32 %i, 0;")
	line("setp.eq.u32 %w0, %w, 0; setp.eq.u32 %w1, %w, 1; setp.lt.u32 %w01, %w, 2; setp.lt.u32 %low, %l, 16;")
	line("setp.eq.u32 %t0, %t, 0; and.b32 %r0, %t, 1; setp.eq.u32 %odd, %r0, 1; mov.u64 %d, 0;")
	phases := r.IntN(2) == 0 // mbarriers
	if phases {
		line("@%t0 mbarrier.init.shared.b64 [m], 16; @%t0 mbarrier.init.shared.b64 [m+8], 64; bar.sync 0;")
	}
	b.WriteString("AGAIN:\n")
	careful, whole := r.IntN(3) > 0, r.IntN(2) == 0 // a barrier behind most accesses; none of a part of them
	for range 4 + r.IntN(14) {
		kind := r.IntN(12)
		if phases && r.IntN(3) == 0 {
			line(guard() + pick("mbarrier.arrive.shared.b64 %d, [m];",
				"mbarrier.arrive.shared.b64 %d, [m+8];",
				"mbarrier.arrive.relaxed.cta.shared::cta.b64 %d, [m];",
				"mbarrier.test_wait.parity.shared.b64 %over, [m], 0;",
				"mbarrier.test_wait.parity.shared.b64 %over, [m], 1;",
				"mbarrier.test_wait.parity.shared.b64 %over, [m+8], 0;"))
		}
		if whole && kind < 6 { // only barriers of whole blocks and warps
			line(pick("bar.sync 0;", "bar.warp.sync -1;"))
			continue
		}
		if careful && kind > 5 && r.IntN(8) > 0 {
			line(pick("bar.sync 0;", "bar.sync 0;", "bar.warp.sync -1;"))
		}
		switch kind {
		case 0:
			line("bar.sync 0;")
		case 1:
			line(pick("@%w01 bar.sync 1, 64;", "@%w01 bar.red.popc.u32 %r1, 1, 64, %t0;",
				"@%w0 bar.arrive 2, 64; @%w1 bar.sync 2, 64;"))
		case 2, 3:
			line(pick("bar.warp.sync -1;", "@%low bar.warp.sync 0xffff;", "@!%low bar.warp.sync 0xffff0000;"))
		case 4:
			line(guard() + "membar.cta;")
		case 5:
			line("add.u32 %a, %s, $;", 4*r.IntN(4))
			line(guard() + pick("atom.shared.add.u32 %r1, [%a], 1;", "red.shared.add.u32 [%a], 1;",
				"st.volatile.shared.u32 [%a], 1;",
				"ld.volatile.shared.u32 %r1, [%a];", "atom.acquire.cta.shared.add.u32 %r1, [%a], 1;",
				"atom.release.cta.shared.exch.b32 %r1, [%a], 1;", "st.release.cta.shared.u32 [%a], 1;",
				"ld.acquire.cta.shared.u32 %r1, [%a];"))
		default:
			size := 1 << r.IntN(5)
			line(pick("mov.u32 %r0, %t;", "xor.b32 %r0, %t, 1;", "xor.b32 %r0, %t, 32;",
				"and.b32 %r0, %t, 7;", "mov.u32 %r0, %w;", "mov.u32 %r0, 3;", "mov.u32 %r0, %l;"))
			if careful && r.IntN(2) == 0 { // its own word
				size = 4
				line("mov.u32 %r0, %t;")
			}
			scale := []int{1, 2, 4, 8, 16}[r.IntN(5)]
			if size == 4 && careful {
				scale = 4
			}
			line("mul.lo.u32 %r0, %r0, $; and.b32 %r0, %r0, $; add.u32 %a, %s, %r0;", scale, 511&^(size-1))
			ops := map[int][2]string{
				1: {"ld.shared.u8 %h, [%a];", "st.shared.u8 [%a], %h;"},
				2: {"ld.shared.u16 %h, [%a];", "st.shared.u16 [%a], %h;"},
				4: {"ld.shared.u32 %r1, [%a];", "st.shared.u32 [%a], %t;"},
				8: {"ld.shared.u64 %d, [%a];", "st.shared.v2.u32 [%a], {%t, %l};"},
				16: {"ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%a];",
					"st.shared.v4.u32 [%a], {%t, %l, %w, %t};"},
			}
			line(guard() + ops[size][min(1, r.IntN(3))])
		}
	}
	if r.IntN(3) == 0 {
		line("add.u32 %i, %i, 1; setp.lt.u32 %more, %i, 2; @%more bra AGAIN;")
	}
	if threads > 64 && r.IntN(3) == 0 {
		b.WriteString(
			"\tsetp.eq.u32 %more, %w, 2;\n\t@%more exit;\n\tst.shared.u32 [%s], %t;\n\tbar.sync 0;\n\tld.shared.u32 %r1, [%s+64];\n")
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// TestAgainstNaive: on random programs under random schedules, the checker finds a race exactly where vector
// clocks do, reports no pair that they do not, and does not miss the first.
func TestAgainstNaive(t *testing.T) {
	racy, clean, needed := 0, 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		threads := []int{32, 64, 96, 80}[r.IntN(4)]
		text := randomProgram(r, threads)
		if threads < 64 { // there is no second warp to wait for
			text = strings.NewReplacer("bar.sync 1, 64", "bar.sync 1", "bar.red.popc.u32 %r1, 1, 64",
				"bar.red.popc.u32 %r1, 1", "@%w0 bar.arrive 2, 64;", "").Replace(text)
		}
		m, err := ptx.Parse("random.ptx", []byte(text))
		if err != nil {
			t.Fatal(err, text)
		}
		k, err := emu.New(chip.SM90()).Load(context.Background(), m, "k")
		if err != nil {
			t.Fatal(err, text)
		}
		l := &target.Launch{Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{threads, 1, 1}, Budget: 100_000}
		if r.IntN(2) == 0 {
			l.Schedule = target.Schedule{Policy: "random", Seed: seed}
		}
		want := newNaive(threads)
		l.Observe = func(probes.Dim3) target.Observer { return want }
		res, err := k.Launch(context.Background(), l)
		if err != nil || !res.Reached {
			continue // its barriers do not fit: nothing to compare
		}
		c := New(Options{Set: Races})
		l.Observe, l.Discard = c.Observer, c.Discard
		if _, err := k.Launch(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		u := c.unitsOf(raceKind().set)[0].(*races)
		if !agree(t, want, u) {
			t.Fatalf("seed %d, %d threads, %+v\n%s", seed, threads, l.Schedule, text)
		}
		if len(want.races) > 0 {
			racy++
		} else {
			clean++
			needed += agreeOnNeeds(t, k, l, c)
		}
	}
	t.Logf("%d programs race, %d do not; %d synchronisations are needed", racy, clean, needed)
	if racy < 50 || clean < 20 || needed < 4 {
		t.Errorf("%d programs race, %d do not, %d synchronisations are needed: too few of a kind", racy,
			clean, needed)
	}
}

// agree compares what both found.
func agree(t *testing.T, want *naive, u *races) bool {
	t.Helper()
	ok, first := true, want.first < 0
	for _, p := range u.order {
		a, b := min(int(p.first), int(p.second)), max(int(p.first), int(p.second))
		if !want.races[[2]int{a, b}] {
			t.Errorf("reported: %s and %s, which are ordered", u.sites[a].in.Opcode(), u.sites[b].in.Opcode())
			ok = false
		}
		first = first || p.one.pc == want.first || p.two.pc == want.first
	}
	if !first {
		t.Errorf("missed: a race at instruction %d; all: %v; reported %d pairs", want.first, want.races,
			len(u.order))
		ok = false
	}
	return ok
}

// agreeOnNeeds takes each synchronisation of a program without races away from the vector clocks: it must be
// needed exactly where there are races then.
func agreeOnNeeds(t *testing.T, k target.Kernel, l *target.Launch, c *Checker) (needed int) {
	t.Helper()
	for _, n := range c.Needs() {
		without := newNaive(l.Block[0])
		without.ignore = n.PC
		one := *l
		one.Observe = func(probes.Dim3) target.Observer { return without }
		if _, err := k.Launch(context.Background(), &one); err != nil {
			t.Fatal(err)
		}
		if n.Needed {
			needed++
		}
		if !n.Unclear && n.Needed != (len(without.races) > 0) {
			t.Errorf("%s at %d: needed %v (%s, %v %v), races without it: %v", n.Instr, n.Index, n.Needed,
				n.Variable, n.First, n.Second, without.races)
		}
	}
	return needed
}
