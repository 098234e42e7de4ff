package emu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Kernel is one decoded entry. It is immutable and may be launched from several goroutines.
type Kernel struct {
	p     *program
	once  sync.Once
	exact *program    // the same without shared slots, for stepping; decoded when first asked for
	share atomic.Bool // in some launch, blocks read or wrote what others wrote

	liveOnce sync.Once
	lives    *cfg.Liveness
}

// stepped returns the program in which every register keeps a slot of its own.
func (k *Kernel) stepped() *program {
	k.once.Do(func() {
		p, err := load(context.Background(), k.p.chip, k.p.module, k.p.entry.Name, false)
		if err != nil {
			panic("BUG: a decoded kernel does not decode again: " + err.Error())
		}
		k.exact = p
	})
	return k.exact
}

// Resources are not known: the code was never through ptxas.
func (k *Kernel) Resources() *target.Resources { return nil }

// largestShared is the static shared variable to blame where there is too much; nil where there is none.
func (k *Kernel) largestShared() *ptx.Var {
	var most *ptx.Var
	for _, s := range k.p.shared {
		if !s.Dynamic && (most == nil || s.Size > most.Size) {
			most = s.Var
		}
	}
	return most
}

// check refuses a launch that no device would take.
func (k *Kernel) check(l *target.Launch) error {
	at, c := k.p.entry.Pos, k.p.chip
	fail := func(format string, args ...any) error {
		return &ptx.Error{
			Pos: at, Msg: fmt.Sprintf("launch %s: "+format, append([]any{k.p.entry.Name}, args...)...),
		}
	}
	for i, axis := range "xyz" {
		if l.Grid[i] < 1 || l.Block[i] < 1 {
			return fail("grid %s, block %s: every extent must be positive", l.Grid, l.Block)
		}
		if l.Grid[i] > c.Grid[i] {
			return fail("a grid of %d blocks in %c, at most %d", l.Grid[i], axis, c.Grid[i])
		}
		if l.Block[i] > c.Block[i] {
			return fail("a block of %d threads in %c, at most %d", l.Block[i], axis, c.Block[i])
		}
	}
	if n := l.Block.Count(); n > c.ThreadsPerBlock {
		return fail("%d threads a block, at most %d", n, c.ThreadsPerBlock)
	}
	if n := budget.Add(int64(max(k.p.nstatic, k.p.dynBase)),
		int64(l.DynShared)); n > int64(c.SharedPerBlock) {
		if v := k.largestShared(); v != nil {
			at = v.Pos
		}
		return fail("%s of shared memory a block, at most %s", budget.Text(n),
			budget.Text(int64(c.SharedPerBlock)))
	}
	for _, id := range l.Only {
		for i := range 3 {
			if id[i] < 0 || id[i] >= l.Grid[i] {
				return fail("block %s lies outside the grid %s", id, l.Grid)
			}
		}
	}
	if l.Resident < 0 {
		return fail("%d resident blocks", l.Resident)
	}
	if why := k.p.badCluster(l); why != "" {
		return fail("%s", why)
	}
	switch l.Schedule.Policy {
	case "", "in-order", "reverse", "random", "ahead", "priority":
	default:
		return fail("unknown schedule policy %q", l.Schedule.Policy)
	}
	switch l.Schedule.Async {
	case "", "latest", "earliest", "random":
	default:
		return fail("unknown time for cp.async to land: %q", l.Schedule.Async)
	}
	return nil
}

// launch is one execution of the grid.
type launch struct {
	k        *Kernel
	l        *target.Launch
	mem      *memory
	ids      []probes.Dim3
	wanted   map[probes.Dim3]bool // the blocks of ids whose results are asked for; nil: all
	next     atomic.Int64
	stop     atomic.Bool
	done     []outcome // by index in ids
	limit    atomic.Int64
	all      *union      // what the blocks have read and written
	shares   atomic.Bool // they shared some byte
	found    findings    // about several blocks
	captured *captures   // nil without a Probe
	cluster  int         // blocks of a cluster
}

// outcome is what one block left.
type outcome struct {
	counts  target.Counts
	found   findings
	err     *target.Fault
	broken  bool
	printed []byte
	missing probes.Missing
}

// Launch executes the blocks: at once over the cores, and again in the defined order where they share memory
// (see the package comment). What it returns depends on the kernel, the launch's data and its schedule alone.
func (k *Kernel) Launch(ctx context.Context, l *target.Launch) (*target.Result, error) {
	start := time.Now()
	if err := k.check(l); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sum := k.Needs(l)
	if err := sum.Within(l.Memory.Limit()); err != nil {
		return nil, err
	}
	kept := resultBytes(l)
	release, err := l.Memory.Reserve("the launch of "+k.p.entry.Name, sum.Total()-kept)
	if err != nil {
		return nil, err
	}
	defer release()
	give, err := l.Memory.Reserve("captures and outputs of "+k.p.entry.Name, kept)
	if err != nil {
		return nil, err
	}
	res, err := k.launch(ctx, l)
	if err != nil {
		give()
		return nil, err
	}
	budget.Until(l.Memory, res, give)
	res.Elapsed = time.Since(start)
	return res, nil
}

// launch executes the blocks; memory for it is reserved.
func (k *Kernel) launch(ctx context.Context, l *target.Launch) (res *target.Result, err error) {
	// an observer that cannot forget must not see a run that does not count
	if l.Observe != nil && l.Discard == nil && !k.orders(l) {
		plain := *l
		plain.Observe = nil
		if _, err := k.apart(ctx, &plain); err != nil {
			return nil, err
		}
	}
	if !k.orders(l) {
		if res, err = k.apart(ctx, l); err != nil {
			return nil, err
		}
		if res == nil && l.Discard != nil {
			l.Discard()
		}
	}
	if res == nil {
		if res, err = k.inOrder(ctx, l); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// orders reports whether a launch has to execute its blocks in the defined order: they are known to share
// memory, or wait for memory to change, which takes for ever where they run on their own.
func (k *Kernel) orders(l *target.Launch) bool {
	n := k.p.clusterOf(l).Count()
	if n > 1 { // that one waits for another is found when they execute
		return l.Grid.Count() > n && (l.Ordered || k.share.Load())
	}
	return l.Grid.Count() > 1 && (l.Ordered || k.p.waits || k.share.Load())
}

// begin makes a launch that has executed nothing yet.
func (k *Kernel) begin(l *target.Launch, ids []probes.Dim3) (*launch, error) {
	mem, err := newMemory(k.p, l, false)
	if err != nil {
		return nil, err
	}
	r := &launch{k: k, l: l, mem: mem, ids: ids, cluster: k.p.clusterOf(l).Count()}
	if mem.capture != nil {
		r.captured = newCaptures(l.Probe.Layout)
	}
	r.done = make([]outcome, len(ids))
	r.limit.Store(int64(len(ids)))
	return r, nil
}

// apart executes every block on its own, as many at a time as there are cores. The result is nil where
// that does not count: blocks shared memory, or one goes round in a circle or used up its budget, perhaps
// waiting for another.
//
// Why it counts otherwise: no block read or wrote a byte that another wrote, so every byte that a block read
// was what it was before the launch or what the block itself had written, whenever the others ran; each block
// executed as it would have all by itself, and so in any order, and no byte depends on which of two blocks
// wrote it last. Whether blocks share does not depend on chance either: up to the first access that makes
// them share, all executed as they would have by themselves, so what they touch by themselves conflicts in
// every run or in none.
func (k *Kernel) apart(ctx context.Context, l *target.Launch) (*target.Result, error) {
	ids := l.Only
	dims := k.p.clusterOf(l)
	switch {
	case dims.Count() > 1:
		ids = k.clusterIDs(l, dims)
	case ids == nil:
		ids = linearly(l.Grid)
	}
	r, err := k.begin(l, ids)
	if err != nil {
		return nil, err
	}
	if r.cluster > 1 {
		r.want(l.Only)
	}
	changes := func(a *alloc) bool { return r.mem.writable(k.p, a) }
	r.all = &union{all: newFootprint(r.mem, changes)}
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	r.run(changes)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.shares.Load() {
		k.share.Store(true)
		return nil, nil
	}
	res, fault := r.result()
	switch {
	case fault != nil && fault.Kind == "budget" && len(ids) > 1:
		k.share.Store(true)
		return nil, nil
	case fault != nil:
		return nil, fault
	}
	return res, nil
}

// inOrder executes the blocks of the whole grid in the defined order. Those that l.Only names are all that
// counts, but others may decide what they do.
func (k *Kernel) inOrder(ctx context.Context, l *target.Launch) (*target.Result, error) {
	if k.p.clusterOf(l).Count() > 1 {
		return k.clustersInOrder(ctx, l)
	}
	r, err := k.begin(l, linearly(l.Grid))
	if err != nil {
		return nil, err
	}
	r.want(l.Only)
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	o := newOrder(r)
	o.run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.found = o.found
	res, fault := r.result()
	if fault != nil {
		return nil, fault
	}
	res.Ordered = true
	return res, nil
}

// run executes every block on its own, or every cluster.
func (r *launch) run(changes func(*alloc) bool) {
	work := r.work
	if r.cluster > 1 {
		work = r.workClusters
	}
	n := r.l.Parallel
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	n = min(n, len(r.ids)/r.cluster)
	if n <= 1 {
		work(changes)
		return
	}
	wg := join.Group{Stop: func() { r.stop.Store(true) }}
	for range n {
		wg.Go(func() { work(changes) })
	}
	wg.Wait()
}

// work takes blocks until there are none. A fault keeps later blocks from starting; those before it finish,
// so that the fault reported is always the first block's.
func (r *launch) work(changes func(*alloc) bool) {
	b := newBlock(r.k.p, r.l, r.mem)
	if b.stop = &r.stop; r.l.Grid.Count() > 1 {
		b.wait = &waiting{apart: true}
	}
	b.note(newFootprint(r.mem, changes))
	for {
		i := r.next.Add(1) - 1
		if i >= r.limit.Load() || r.stop.Load() {
			return
		}
		b.begin(r.ids[i])
		b.run()
		b.checkPasses()
		b.checkGathers()
		b.replace.finish()
		b.end()
		r.done[i] = r.outcome(b)
		if r.all.add(b.foot) || b.wait != nil && b.wait.gave == gaveWait {
			r.shares.Store(true)
			r.stop.Store(true)
		}
		if b.err != nil {
			for {
				old := r.limit.Load()
				if i+1 >= old || r.limit.CompareAndSwap(old, i+1) {
					break
				}
			}
		}
	}
}

// outcome takes what a block has left when it has ended: the launch gets its captures.
func (r *launch) outcome(b *block) outcome {
	o := outcome{b.finished(), b.found, b.err, b.broken, b.printed, b.missing()}
	if r.captured != nil {
		r.captured.take(&b.slots)
	}
	return o
}

// missing lists the cells of the block's slots that no thread stored.
func (b *block) missing() probes.Missing {
	if b.mem.capture == nil || !b.l.Probe.Layout.Range.Contains(b.id) {
		return nil
	}
	return b.l.Probe.Layout.Missing(&b.slots, b.id, &b.slots)
}

// result puts together what the blocks left.
func (r *launch) result() (*target.Result, *target.Fault) {
	res := &target.Result{
		Outputs: map[string][]byte{}, Unwritten: map[string]int{}, Written: map[string][]byte{},
		Reached: true,
	}
	var all findings
	for i := range r.done {
		o := &r.done[i]
		if o.err != nil {
			return nil, o.err
		}
		res.Counts.Add(o.counts)
		all.merge(&o.found)
		if o.broken {
			res.Reached, res.Stopped = false, append(res.Stopped, r.ids[i])
		}
		res.Printed = append(res.Printed, o.printed...)
		res.Missing = res.Missing.Merge(o.missing)
	}
	all.merge(&r.found)
	res.Findings = all.list(r.l.Grid)
	for _, a := range r.mem.allocs {
		if a.arg == nil || !a.arg.Buffer.Output {
			continue
		}
		res.Outputs[a.name] = a.data
		res.Unwritten[a.name] = a.unwritten()
		if a.written != nil {
			res.Written[a.name] = a.written
		}
	}
	if r.captured != nil {
		res.Capture = r.captured.pieces
	}
	return res, nil
}

// unwritten counts the elements with a byte that was never written.
func (a *alloc) unwritten() int {
	size := max(a.arg.Buffer.DType.Size(), 1)
	n := 0
	for i := 0; i+size <= len(a.written); i += size {
		if !allWritten(a.written[i : i+size]) {
			n++
		}
	}
	return n
}
