package emu

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// blockOrder executes the blocks of a launch one at a time, in the order that the package comment defines.
type blockOrder struct {
	r       *launch
	policy  string
	rng     *rand.Rand
	seq     []int // indices in launch.ids, in the order in which blocks begin
	next    int   // in seq
	limit   int   // a block has failed: those behind it in launch.ids are of no interest
	slots   int   // how many blocks are resident at once
	wanted  int   // blocks of launch.wanted that have not ended
	live    []*resident
	spare   []*block
	advised bool
	found   findings
	full    error    // there was no memory for another block
	release []func() // what the blocks have reserved
	history *history // of one block, where it is recorded
}

// resident is a block that has begun and not ended.
type resident struct {
	*block
	index  int    // in launch.ids
	number int    // how many began before it
	began  int    // how many had begun when it last gave way
	since  uint64 // block.polls at the last change of global memory by any block
}

// maxReady is how many blocks a schedule that interleaves them lets run at once. Blocks
// that wait do not count.
const maxReady = 8

// givenUp is how often each block polls memory that nobody changes before the launch counts as stuck.
const givenUp = 1 << 16

// newOrder prepares the execution of a launch's blocks.
func newOrder(r *launch) *blockOrder {
	s := r.l.Schedule
	o := &blockOrder{
		r: r, policy: s.Policy, slots: residents(r.k.p, r.l), limit: len(r.ids), wanted: len(r.ids),
	}
	if r.wanted != nil {
		o.wanted = len(r.wanted)
	}
	o.rng = rand.New(rand.NewPCG(s.Seed, 0x626c_6f63_6b73))
	for i := range r.ids {
		o.seq = append(o.seq, i)
	}
	switch n := len(o.seq); o.policy {
	case "reverse":
		slices.Reverse(o.seq)
	case "random", "priority":
		o.rng.Shuffle(n, func(i, j int) { o.seq[i], o.seq[j] = o.seq[j], o.seq[i] })
	case "ahead":
		k := o.rng.IntN(n)
		first := o.seq[k]
		copy(o.seq[1:k+1], o.seq[:k])
		o.seq[0] = first
	}
	return o
}

// run executes until every block of interest has ended, or none can go on.
func (o *blockOrder) run() {
	for o.wanted > 0 && !o.r.stop.Load() {
		b := o.choose()
		if b == nil {
			if o.full == nil && !o.r.stop.Load() && len(o.live) > 0 {
				o.stuck()
			}
			break
		}
		o.execute(b)
	}
	for _, b := range o.live {
		b.end()
	}
	for _, release := range o.release {
		release()
	}
}

// choose returns the block whose turn it is, nil where none can go on.
func (o *blockOrder) choose() *resident {
	for range 2 {
		ready := o.ready()
		if slices.Contains([]string{"random"}, o.policy) {
			room := o.room() && len(ready) < maxReady
			if k := len(ready); room && o.rng.IntN(k+1) == k {
				return o.begin()
			}
			if len(ready) > 0 {
				return ready[o.rng.IntN(len(ready))]
			}
		} else if len(ready) > 0 {
			return ready[0]
		}
		if o.room() {
			return o.begin()
		}
		if !o.rest() {
			return nil
		}
	}
	return nil
}

// ready lists the blocks that can go on and have not asked that others go first, in the order
// in which they began.
func (o *blockOrder) ready() []*resident {
	var out []*resident
	for _, b := range o.live {
		if b.wait.gave == gaveNone {
			out = append(out, b)
		}
	}
	return out
}

// room reports whether another block can begin.
func (o *blockOrder) room() bool {
	for o.next < len(o.seq) && o.seq[o.next] >= o.limit {
		o.next++
	}
	return o.next < len(o.seq) && len(o.live) < o.slots
}

// rest lets those go on that let others go first, and reports whether there are any: not where every block
// has polled for very long, and nothing has changed meanwhile.
func (o *blockOrder) rest() bool {
	some, hope := false, false
	for _, b := range o.live {
		if b.wait.gave == gaveTired {
			some = true
			hope = hope || b.polls-b.since < givenUp
		}
	}
	if !some || !hope {
		return false
	}
	for _, b := range o.live {
		if b.wait.gave == gaveTired {
			b.wait.wake(b.block)
		}
	}
	return true
}

// begin makes the next block of the launch resident.
func (o *blockOrder) begin() *resident {
	r := o.r
	var b *block
	if n := len(o.spare); n > 0 {
		b, o.spare = o.spare[n-1], o.spare[:n-1]
	} else {
		if !o.reserve() {
			return nil
		}
		b = newBlock(r.k.p, r.l, r.mem)
		b.stop, b.ordered, b.wait = &r.stop, true, &waiting{}
	}
	i := o.seq[o.next]
	b.quiet = !r.wants(i)
	b.begin(r.ids[i])
	t := &resident{block: b, index: i, number: o.next}
	o.next++
	o.live = append(o.live, t)
	return t
}

// reserve asks for the memory of another block; where there is none, the launch ends with a
// fault at that block.
func (o *blockOrder) reserve() bool {
	r := o.r
	var sum budget.Sum
	perBlock(&sum, r.k.p, r.l, 1)
	release, err := r.l.Memory.Reserve(fmt.Sprintf("another block that waits for others (%d are resident)",
		len(o.live)), sum.Total())
	if err != nil {
		i := o.seq[o.next]
		o.full, o.limit = err, min(o.limit, i)
		r.done[i].err = &target.Fault{Kind: "memory", Msg: err.Error(), Block: r.ids[i], Err: err}
		return false
	}
	o.release = append(o.release, release)
	return true
}

// execute gives a block its turn.
func (o *blockOrder) execute(b *resident) {
	if n := o.slice(); n > 0 {
		b.stepTo = b.clock + n
	}
	if o.history != nil && b.index == o.history.index {
		o.history.resume(b.block)
	}
	before := b.wroteGlobal
	b.run()
	b.stepTo = noStep
	if b.wroteGlobal != before {
		o.changed(b)
	}
	switch {
	case b.err != nil || b.broken || b.ended():
		o.finish(b)
		return
	case o.r.stop.Load():
		return
	}
	b.began = o.next
	if o.history != nil && b.index == o.history.index {
		o.history.pause(b.block)
	}
	for _, x := range b.obs {
		if p, ok := x.Observer.(target.Pauser); ok {
			b.follow()
			p.Pause()
		}
	}
	if o.policy == "priority" && b.wait.gave == gaveNone { // it becomes the least important
		i := slices.Index(o.live, b)
		o.live = append(slices.Delete(o.live, i, i+1), b)
	}
}

// slice is how many warp instructions a turn has, 0: no limit.
func (o *blockOrder) slice() uint64 {
	switch o.policy {
	case "random":
		return 1 + o.rng.Uint64N(1<<(4+o.rng.IntN(8)))
	case "priority":
		return 1 + o.rng.Uint64N(1<<(6+o.rng.IntN(10)))
	}
	return 0
}

// changed wakes the blocks that wait for what block by has just written.
func (o *blockOrder) changed(by *resident) {
	for _, b := range o.live {
		if b == by {
			continue
		}
		b.since = b.polls
		if b.wait.gave != gaveWait || !b.wait.changed(o.r.mem) {
			continue
		}
		if by.number >= b.began && !o.r.l.Cooperative {
			o.advise(b, by)
		}
		b.wait.wake(b.block)
	}
	by.since = by.polls
}

// finish keeps what a block has left.
func (o *blockOrder) finish(b *resident) {
	r := o.r
	b.replace.finish()
	b.end()
	if r.wants(b.index) {
		r.done[b.index] = r.outcome(b.block)
		o.wanted--
	} else if b.err != nil {
		r.done[b.index].err = b.err
	}
	if b.err != nil {
		o.limit = min(o.limit, b.index)
		o.live = slices.DeleteFunc(o.live, func(x *resident) bool { return x.index > b.index })
	}
	o.live = slices.DeleteFunc(o.live, func(x *resident) bool { return x == b })
	b.obs, b.found = nil, findings{}
	o.spare = append(o.spare, b.block)
}

// wants reports whether a block's results are asked for.
func (r *launch) wants(i int) bool { return r.wanted == nil || r.wanted[r.ids[i]] }

// residents is how many blocks of a launch are resident at once. Registers are left out: how many a thread
// takes is known to ptxas alone.
func residents(p *program, l *target.Launch) int {
	if l.Resident > 0 {
		return l.Resident
	}
	return p.chip.Resident(l.Block.Count(), max(p.nstatic, p.dynBase)+l.DynShared)
}

// linearly lists the blocks of a grid.
func linearly(grid probes.Dim3) []probes.Dim3 {
	ids := make([]probes.Dim3, grid.Count())
	for i := range ids {
		ids[i] = grid.At(i)
	}
	return ids
}
