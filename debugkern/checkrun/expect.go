package checkrun

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/expectation"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// expectWork is how much is executed and followed for the expectations of a check: warp instructions that are
// executed again and values that are visited. It takes seconds. What a sample is made of depends on this
// number and the kernel alone, never on the machine.
const expectWork = 1 << 23

// mostCandidates is how many elements of an output an expectation is evaluated for, to choose from.
const mostCandidates = 1 << 22

// parseExpectations reads what the request states; nothing else of the check has been looked at.
func (l *launch) parseExpectations() error {
	if len(l.req.Expect) > 0 && l.req.Backend == "cuda" {
		return report.Usagef("--expect follows values on the emulator, and --backend cuda does not execute " +
			"there: use emu or both")
	}
	for _, text := range l.req.Expect {
		x, err := expectation.Parse(text)
		if err != nil {
			return misstated(err)
		}
		l.stated = append(l.stated, x)
	}
	return nil
}

// misstated is a mistake in an expectation as a usage error, with a mark below the place.
func misstated(err error) error {
	var bad *expectation.Error
	if !errors.As(err, &bad) {
		return err
	}
	if bad.Text == "" {
		return report.Usagef("--expect: %w", err)
	}
	return report.Usagef("--expect: %w\n%s", err, bad.Caret())
}

// bindExpectations finds the arguments that the expectations name, and evaluates a few elements of each, so
// that most mistakes are found before anything is executed.
func (l *launch) bindExpectations() error {
	var args []expectation.Argument
	if len(l.stated) > 0 {
		for i, a := range l.args {
			args = append(args, a.named(i))
		}
	}
	for _, x := range l.stated {
		b, err := x.Bind(args)
		if err != nil {
			return misstated(err)
		}
		if b.Size() == 0 {
			return report.Usagef("--expect %s: no element of the output is named", x)
		}
		for _, k := range spread(b.Size(), mostTried) {
			c, ok, err := b.At(k)
			if err == nil && ok {
				_, err = b.Want(c)
			}
			if err != nil {
				return misstated(err)
			}
		}
		l.bound = append(l.bound, b)
	}
	return nil
}

// mostTried is how many elements of an output are evaluated before the kernel is executed.
const mostTried = 16

// named is the argument as an expectation may name it: in the source, in the PTX, or by its index.
func (a *arg) named(i int) expectation.Argument {
	out := expectation.Argument{Names: []string{a.name}, Dims: a.dims}
	if a.param != nil && a.into == nil && a.param.Name != "" {
		out.Names = append(out.Names, a.param.Name, fmt.Sprintf("arg%d", a.index))
	}
	if a.isMemory() {
		return out
	}
	if v, ok := a.whole(); ok {
		out.Value = &v
	}
	return out
}

// whole is a scalar that is a whole number; ok is false for one that is none, or of which nobody says.
func (a *arg) whole() (v int64, ok bool) {
	n := len(a.scalar)
	if n != 1 && n != 2 && n != 4 && n != 8 || a.value != nil && a.value.Number == nil {
		return 0, false
	}
	u := uint64(0)
	for i := n - 1; i >= 0; i-- {
		u = u<<8 | uint64(a.scalar[i])
	}
	switch {
	case a.dtype != 0 && a.dtype.Size() == n:
		if x := a.dtype.Value(u); n < 8 && !a.dtype.Float() {
			return int64(x), true
		}
		return int64(u), !a.dtype.Float()
	case a.param != nil && a.param.Type.Float():
		return 0, false
	case a.value != nil && a.value.Number.Fraction():
		return 0, false
	}
	shift := 64 - 8*n
	return int64(u<<shift) >> shift, true
}

// spread is at most so many of the numbers from 0 to n-1: the first, the last, and others in steps that no
// power of two divides, so that all lanes and columns have their turn. Of no numbers it is empty.
func spread(n, most int) []int {
	if most = min(n, most); most <= 0 {
		return nil
	}
	step := int(float64(n) * 0.6180339887498949)
	for step = max(step, 1); gcd(step, n) != 1; step++ {
	}
	out := make([]int, 0, most)
	for _, first := range []int{0, n - 1} {
		if len(out) < most && !slices.Contains(out, first) {
			out = append(out, first)
		}
	}
	for at := step % n; len(out) < most; at = (at + step) % n {
		if at != 0 && at != n-1 {
			out = append(out, at)
		}
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// expectations compares what outputs are made of with what the request states.
func (l *launch) expectations() error {
	if len(l.bound) == 0 {
		return nil
	}
	if _, ok := l.kernel.(target.Stepper); !ok {
		return report.Usagef("--expect follows values on the emulator, and the kernel was executed on %s",
			l.primary.Info().Device)
	}
	l.progress(debugkern.Progress{Phase: "run", Detail: "what outputs are made of"})
	whole := l.target()
	whole.Ordered = l.ordered
	w, err := origin.IndexWriters(l.ctx, l.kernel, whole)
	if err != nil {
		return report.LaunchError(err)
	}
	f := origin.New(l.kernel, whole, w)
	for i, b := range l.bound {
		x := &stated{
			launch: l, b: b, w: w, f: f, grid: whole.Grid,
			doc: report.Expectation{Expect: b.Text}, until: f.Work + (expectWork-f.Work)/(len(l.bound)-i),
		}
		f.Most = x.until + expectWork
		if err := x.check(); err != nil {
			return err
		}
		l.doc.Coverage.Expectations = append(l.doc.Coverage.Expectations, x.doc)
	}
	return nil
}

// stated is the comparison of one expectation.
type stated struct {
	*launch
	b       *expectation.Bound
	w       *origin.Writers
	f       *origin.Follower
	grid    probes.Dim3
	until   int // origin.Follower.Work at which no further element is followed
	doc     report.Expectation
	blocks  map[int][]expectation.Cell // by the number of the block that wrote them last
	groups  []*group
	located int // elements that differ
	// owned is which of a block's elements another one is expected in, by index; of the cells that ownedBy
	// is the first of.
	owned   map[expectation.Element]int
	ownedBy *expectation.Cell
}

// check follows the elements that the expectation names, a sample of them where they are too many.
func (x *stated) check() error {
	never, err := x.candidates()
	if err != nil {
		return err
	}
	if never.count > 0 && x.only == nil {
		x.doc.Checked += never.count
		x.doc.Elements += never.count
		x.unwritten(never)
	}
	numbers := slices.Sorted(maps.Keys(x.blocks))
	for i, k := range spread(len(numbers), len(numbers)) {
		left := x.until - x.f.Work
		if i > 0 && left <= 0 {
			break
		}
		if err := x.block(x.blocks[numbers[k]], x.f.Work+left/(len(numbers)-i)); err != nil {
			return err
		}
	}
	x.write()
	x.unfollowed()
	return nil
}

// neverWritten is elements that no block wrote.
type neverWritten struct{ count, first, last int }

// candidates sorts the elements that the expectation names by the block that wrote them last.
func (x *stated) candidates() (never neverWritten, err error) {
	x.blocks = map[int][]expectation.Cell{}
	size := x.b.Size()
	order := spread(size, mostCandidates)
	for i, k := range order {
		if i&0xfff == 0 && x.ctx.Err() != nil {
			return never, x.ctx.Err()
		}
		c, ok, err := x.b.At(k)
		if err != nil {
			return never, misstated(err)
		}
		if !ok {
			continue
		}
		n, written := x.w.Last(origin.Element{Arg: x.b.Output(), At: c.Element})
		if written {
			x.blocks[n] = append(x.blocks[n], c)
			x.doc.Elements++
			continue
		}
		if never.count == 0 {
			never.first, never.last = c.Element, c.Element
		}
		never.count++
		never.first, never.last = min(never.first, c.Element), max(never.last, c.Element)
	}
	if len(order) < size { // those that were not looked at count, too
		x.doc.Elements += size - len(order)
	}
	return never, nil
}

// block follows elements that one block wrote, at least one, until so much work is done.
func (x *stated) block(cells []expectation.Cell, until int) error {
	slices.SortFunc(cells, func(a, b expectation.Cell) int { return a.Element - b.Element })
	for i, k := range spread(len(cells), len(cells)) {
		if i > 0 && x.f.Work >= until {
			return nil
		}
		if err := x.cell(cells[k], cells); err != nil {
			return err
		}
	}
	return nil
}

// cell compares one element.
func (x *stated) cell(c expectation.Cell, others []expectation.Cell) error {
	want, err := x.b.Want(c)
	if err != nil {
		return misstated(err)
	}
	x.f.Work += want.Work
	made, err := x.made(c)
	if err != nil {
		return err
	}
	if made.Incomplete != "" {
		x.doc.NotFollowed++
		x.doc.Reason = made.Incomplete
		return nil
	}
	x.doc.Checked++
	if d := want.Compare(entries(made)); !d.Empty() {
		x.differs(&difference{Difference: d, cell: c, want: want, made: made}, others)
	}
	return nil
}

// made is what an element is made of.
func (x *stated) made(c expectation.Cell) (*origin.Made, error) {
	m, _, err := x.f.Element(x.ctx, origin.Element{Arg: x.b.Output(), At: c.Element})
	if err != nil {
		return nil, report.LaunchError(err)
	}
	return m, nil
}

func entries(m *origin.Made) []expectation.Entry {
	out := make([]expectation.Entry, len(m.Entries))
	for i, e := range m.Entries {
		out[i] = expectation.Entry{Element: expectation.Element(e.Element), Times: e.Times}
	}
	return out
}
