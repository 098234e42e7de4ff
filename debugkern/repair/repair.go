// Package repair looks for one edit of one operation that puts a wrong stage right.
//
// The one idea: executing a block takes milliseconds, so a supposed cause is tried and not argued for.
// Candidates are changes of the instructions that made the wrong cells out of right operands
// (debugkern.Run.Slice): a constant, a comparison, a rounding, an operand, an operation too many or too few.
// A candidate counts where every cell of the stage is right with it, and nothing else becomes worse; who
// reports one tries it on more blocks, under the checkers.
//
// Where it is an access that a checker finds wrong, and no stage, the candidates are changes of what computes
// its address and of what decides whether it executes.
//
// It must not know kernels, stages' names, or source text: a cure is an edit of PTX, with the lines of the
// source that it was compiled from.
package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Question is what is to be put right: the cells of a stage that are wrong in one block.
type Question struct {
	Stage  probes.Stage
	Block  probes.Dim3
	KVTile int
	Cells  [][2]int       // rows and columns of some wrong cells, the first first
	Near   *report.Source // instructions of this line are tried first; nil: none is known
	Trials int            // at most so many executions; 0: by what the block executes
	// Numbers are constants of a floating-point type that an instruction may have in the place of its own,
	// besides those that arithmetic has.
	Numbers []float64
	// Factor is by how much the cells are the right ones times: a constant that they are made with may be off
	// by it. 0: they are not, or none is known
	Factor float64
	Masked bool // the cells look like a mask that is off: edits of what is compared are tried first
	// Coarse: the cells are right to a few digits: edits of roundings are tried first
	Coarse bool
	// Values: the cells are made of the elements that they should be made of, so that edits of what computes
	// indices and bounds are tried last
	Values bool
	// Skipped: the cells lack what belongs in them, or nothing says what is wrong with them: edits of the
	// conditions by which a part is skipped, and of bounds, are tried too
	Skipped bool
	// Accesses are the instructions of a finding (indices of the entry's body), where it is no stage that is
	// to be put right: what computes their addresses, and what decides whether they execute, is edited.
	// Watch attaches the checkers to a trial, and Right says whether it is right. Stage, KVTile and Cells
	// are unused.
	Accesses []int
	Watch    func(*debugkern.Trial)
	Right    func(*debugkern.Run) bool
	// Stray: the finding is that the accesses reach what is not theirs, or are misaligned
	Stray bool
	// Quick: cells are wrong or lack because of the finding, so that an edit is executed without the checkers
	// first, and watched only where more cells are right with it
	Quick bool
	// Until is when the search ends though edits are left: a kernel that computes with NaN, or whose loops an
	// edit lengthens, takes long. The zero time: never.
	Until time.Time
	// Confirm tries a cure elsewhere, one at a time: the search ends with the first that it confirms. nil:
	// the search ends with the first batch that has cures.
	Confirm func(*Cure) (bool, error)
}

// How many executions a search makes at most: so many, or as many as execute so many warp instructions; one
// or two seconds on two cores. It does not depend on the machine.
const (
	mostTrials       = 320
	leastTrials      = 48
	warpInstructions = 8 << 20
	// mostWatched is how many edits of a quick search are watched by the checkers.
	mostWatched = 16
)

// Cure is an edit with which the stage is right in the block that was tried.
type Cure struct {
	Edits  []ptx.Edit
	At     int            // the first instruction that is edited, in the entry's body
	Source *target.Source // its place in the source
	Was    string         // what stands there, in words or as the source may have it: "1.446295"
	Now    string         // what stands there with the edit
	What   string         // the edit as a phrase: "1.442695 in place of 1.446295"
	Kind   Kind
	// From and To are what the edit changes in the PTX: a modifier ("lt", "le"), an opcode or a constant; "":
	// it is of another kind
	From, To string
	Others   []*target.Source // the lines that it edits besides Source
	// Given is the integer of the kernel that the edit takes, and Gave that in the place of which, or with
	// which, it does: Taken says how. nil where the edit is of another kind.
	Given, Gave *Integer
	Taken       string
	UsedAt      []*target.Source // where what the edited instructions give is used first, and next
	// Sizes are the sizes of the plan that the number of the edit is in this run: in another run each may be
	// another number, which Sized writes into the edits.
	Sizes     []Size
	operand   int // of the number in the edited instructions
	Confirmed bool
}

// Integer is a value that a kernel computes.
type Integer struct {
	Name   string         // of an argument of the launch, or a number of a thread or block; "": it has none
	Source *target.Source // where it is computed; nil: in several places, or none is known
	Part   bool           // it is a part of what that line computes
	Op     string         // of the PTX that computes it; "": in several places, or none is known
}

// Size is a number of the plan with its name, times a factor, or one over it.
type Size struct {
	Name    string
	Factor  int
	Inverse bool
}

// In is the size in another run, 0 where it has none of that name.
func (s Size) In(run *debugkern.Run) float64 {
	for _, x := range sizes(run.Plan) {
		if x.name == s.Name {
			if s.Inverse {
				return 1 / float64(s.Factor*x.n)
			}
			return float64(s.Factor * x.n)
		}
	}
	return 0
}

// String is the size as a formula: "2*C", "1/C".
func (s Size) String() string {
	text := s.Name
	if s.Factor > 1 {
		text = fmt.Sprintf("%d*%s", s.Factor, s.Name)
	}
	if s.Inverse {
		return "1/" + text
	}
	return text
}

// Sized is a cure's edits with another number, of the type that the instruction has it in.
func (c *Cure) Sized(x float64) []ptx.Edit {
	out := slices.Clone(c.Edits)
	for i := range out {
		out[i].New = out[i].New.With(func(in *ptx.Instr) {
			switch o := &in.Args[c.operand]; o.Kind {
			case ptx.OpF32:
				o.Imm = uint64(math.Float32bits(float32(x)))
			case ptx.OpF64:
				o.Imm = math.Float64bits(x)
			default:
				o.Imm, o.Unsigned = uint64(int64(x)), false
			}
		})
	}
	return out
}

// With is the edit as what a trial was made with: "with 1.44 in place of 1", "without the division (/)".
func (c *Cure) With() string {
	if strings.HasPrefix(c.What, "without ") {
		return c.What
	}
	return "with " + c.What
}

// Kind is what an edit changes.
type Kind string

// Kinds of edits.
const (
	Constant    Kind = "constant"    // an immediate of a floating-point type
	Number      Kind = "number"      // an immediate of an integer type: an index, a bound, a stride, a mask
	Comparison  Kind = "comparison"  // <, <=, …
	Rounding    Kind = "rounding"    // toward zero in place of to nearest, half in place of float
	Operand     Kind = "operand"     // another value
	Operation   Kind = "operation"   // another operation on the same values
	Superfluous Kind = "superfluous" // an operation too many
	Missing     Kind = "missing"     // an operation too few
)

// Result is what a search showed.
type Result struct {
	Tried      int // executions
	Candidates int // edits that there were
	Operations int // instructions that made the cells
	Cures      []Cure
	Late       bool // it ended because of Until
}

// Search tries edits until some put the stage right. An error is that of ctx, or says that
// nothing could be tried.
func Search(ctx context.Context, run *debugkern.Run, q Question) (*Result, error) {
	s := &search{ctx: ctx, run: run, q: q, left: q.Trials, out: &Result{}}
	var ops []debugkern.Operation
	if len(q.Accesses) > 0 {
		ops = leading(run.Entry(), q.Accesses)
	} else {
		var err error
		if ops, err = run.Slice(ctx, q.Stage, q.Block, q.KVTile, q.Cells); err != nil {
			return nil, err
		}
		s.stages = run.Plan.Stage(q.Stage).From.Union(probes.StagesOf(q.Stage))
	}
	base, err := s.try(nil)
	if err != nil {
		return nil, err
	}
	if q.Quick {
		s.budget = max(s.budget, 4*run.Report.Cost.WarpInstructions) // the block may have stopped early
		plain, err := s.plain(nil)
		if err != nil {
			return nil, err
		}
		s.right, _ = cellsOf(plain.Report)
	}
	s.base = healthOf(base.Report, q.Stage)
	s.tolerate(base.Report)
	s.budget = max(s.budget, 3*base.Report.Cost.WarpInstructions+1000)
	if s.left == 0 {
		s.left = mostTrials
	}
	// A trial decodes the module, which takes about as long as executing each of its
	// instructions a few times.
	each := base.Report.Cost.WarpInstructions + 4*uint64(len(run.Entry().Body))
	s.left = int(min(uint64(s.left), max(leastTrials, warpInstructions/max(1, each))))
	if s.base.bad == 0 && len(q.Accesses) == 0 {
		return s.out, nil
	}
	m := newMenu(run, ops, q.Near)
	for _, x := range q.Numbers {
		m.real = append(m.real, constant{x: x})
	}
	m.factor, m.values, m.addresses = q.Factor, q.Values, addressing(run.Entry(), q.Accesses)
	s.menu = m
	s.out.Operations = len(m.ops)
	list := m.candidates()
	few := slices.IndexFunc(list, func(c candidate) bool { return c.rank >= rankFirst })
	if few < 0 {
		few = len(list)
	}
	switch first, rest := list[:few], list[few:]; {
	case q.Masked:
		list = slices.Concat(first, m.masked(), m.conditions(), rest)
	case q.Skipped:
		var masks []candidate
		if len(q.Accesses) == 0 { // an access has no scores that a mask could hide
			masks = m.masked()
		}
		list = slices.Concat(first, m.conditions(), masks, rest)
	}
	if q.Coarse {
		rest := func(c candidate) int {
			if c.kind == Rounding {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(rest(a), rest(b)) })
	}
	s.out.Candidates = len(list)
	if err := s.all(list); err != nil {
		return nil, err
	}
	switch {
	case len(s.out.Cures) > 0:
	case q.Quick:
		err = s.all(s.promising())
	default:
		err = s.all(s.unions())
	}
	if err != nil {
		return nil, err
	}
	if !s.confirmed() && !q.Values {
		if err := s.standInsTried(each); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

// search is one search under way.
type search struct {
	ctx    context.Context
	run    *debugkern.Run
	q      Question
	base   health
	budget uint64 // warp instructions of a trial: an edit may leave a loop without an end
	left   int
	stages probes.StageSet // the stage, and what it is computed from
	menu   *menu
	// strays are the lines at which an access goes wrong without an edit; an edit with which one does
	// elsewhere is refused. nil before that is known
	strays map[report.Source]bool
	helped []candidate // put a part right, and of a stage's other cells none wrong; not yet tried together
	right  int         // cells that are right without an edit, where the search is quick
	// earlier is how many cures there were before what is being tried; unconfirmed are the classes of those
	// that were found then and not confirmed
	earlier     int
	unconfirmed []int
	out         *Result
}

// health is how well a trial does.
type health struct {
	bad    int            // wrong cells of the stage
	cells  int            // of the stage, that were judged
	others map[string]int // wrong cells of the other stages
	failed bool
}

func healthOf(rep *report.Run, stage probes.Stage) health {
	h := health{others: map[string]int{}, failed: rep.Verdict == report.Failed}
	for i := range rep.Stages {
		st := &rep.Stages[i]
		if st.Name == stage.String() {
			h.bad, h.cells = st.Local.Bad, st.Local.Cells
		} else {
			h.others[st.Name] = st.Local.Bad
		}
	}
	return h
}

// cures reports whether a trial has the stage right, as much of it as before, and no other stage worse.
func (s *search) cures(h health) bool {
	if h.failed || h.bad > 0 || h.cells < s.base.cells {
		return false
	}
	for name, n := range s.base.others {
		if h.others[name] > n {
			return false
		}
	}
	return true
}

// promising are the edits of a quick search with which most cells are right, without the checkers: these
// are watched.
func (s *search) promising() []candidate {
	list := s.helped
	s.helped, s.left = nil, mostWatched
	slices.SortStableFunc(list, func(a, b candidate) int { return b.right - a.right })
	return list[:min(len(list), mostWatched)]
}

// cellsOf counts the cells of all stages that were captured: those within their bounds, and the others.
func cellsOf(rep *report.Run) (right, wrong int) {
	for i := range rep.Stages {
		st := &rep.Stages[i]
		right += st.Local.Cells - st.Local.Bad
		wrong += st.Local.Bad
	}
	return right, wrong
}

// try executes a trial, under the checkers where the search is about a finding.
func (s *search) try(edits []ptx.Edit) (*debugkern.Run, error) {
	if len(s.q.Accesses) == 0 {
		return s.plain(edits)
	}
	t := debugkern.Trial{
		Blocks: []probes.Dim3{s.q.Block}, Edits: edits, Budget: s.budget, Ends: s.refuses(edits),
	}
	s.q.Watch(&t)
	return s.run.Try(s.ctx, t)
}

// plain executes a trial without the checkers.
func (s *search) plain(edits []ptx.Edit) (*debugkern.Run, error) {
	return s.run.Try(s.ctx, debugkern.Trial{
		Blocks: []probes.Dim3{s.q.Block}, Edits: edits, Stages: s.stages, Budget: s.budget, Tiles: true,
		Ends: s.refuses(edits),
	})
}

// tolerate notes where accesses go wrong without an edit. Those that the search is to put right are not
// tolerated.
func (s *search) tolerate(rep *report.Run) {
	s.strays = map[report.Source]bool{}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Source != nil && goesAstray(target.Kind(f.Kind)) {
			s.strays[report.Source{File: f.Source.File, Line: f.Source.Line}] = true
		}
	}
	if s.q.Stray {
		fn := s.run.Entry()
		for _, i := range s.q.Accesses {
			if at := target.Blame(fn, i); at != nil {
				delete(s.strays, report.Source{File: at.File, Line: at.Line})
			}
		}
	}
}

// refuses is by which finding a trial of edits ends: a cure lets no access go wrong that is right without it.
// Such a trial would take long, as each of its findings is described.
func (s *search) refuses(edits []ptx.Edit) func(*target.Finding) bool {
	if len(edits) == 0 || s.strays == nil {
		return nil
	}
	return func(f *target.Finding) bool {
		return goesAstray(f.Kind) && f.Source != nil &&
			!s.strays[report.Source{File: f.Source.File, Line: f.Source.Line}]
	}
}

// goesAstray reports whether findings of a kind are of accesses past what they may touch, or misaligned.
func goesAstray(kind target.Kind) bool {
	return kind == target.OutOfBounds || kind == target.Misaligned
}

// batch is how many candidates are tried before the search looks whether it is done: the same on every
// machine, so that results are.
const batch = 16

// How many cures end a search of which none was confirmed. A mask is compared in several places, and the
// number that they have in common is computed in another.
const (
	enough       = 4
	enoughMasked = 6
)

func (s *search) enough() int {
	if s.q.Masked {
		return enoughMasked
	}
	return enough
}

// all tries candidates in order.
func (s *search) all(list []candidate) error {
	for len(list) > 0 && s.left > 0 && !s.done() {
		if s.out.Late = s.out.Late || s.late(); s.out.Late {
			return nil
		}
		n := min(batch, len(list), s.left)
		good, helps, failed := make([]*Cure, n), make([]bool, n), make([]error, n)
		wg, next := join.Group{}, atomic.Int64{}
		for range min(n, runtime.GOMAXPROCS(0)) {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					good[i], helps[i], failed[i] = s.one(&list[i])
				}
			})
		}
		wg.Wait()
		if err := errors.Join(failed...); err != nil {
			return err
		}
		s.left -= n
		s.out.Tried += n
		for i, c := range good {
			if helps[i] {
				s.helped = append(s.helped, list[i])
			}
			if c == nil || s.done() {
				continue
			}
			if s.q.Confirm != nil {
				var err error
				if c.Confirmed, err = s.q.Confirm(c); err != nil {
					return err
				}
			}
			if !c.Confirmed && list[i].class > 0 {
				s.unconfirmed = append(s.unconfirmed, list[i].class)
			}
			s.out.Cures = append(s.out.Cures, *c)
		}
		list = list[n:]
	}
	return nil
}

// late reports whether the time of the search is over.
func (s *search) late() bool { return !s.q.Until.IsZero() && time.Now().After(s.q.Until) }

// done reports whether a cure was confirmed, or cures enough were found.
func (s *search) done() bool {
	n := len(s.out.Cures)
	return n-s.earlier >= s.enough() || n > 0 && s.out.Cures[n-1].Confirmed
}

// confirmed reports whether a cure was confirmed, or there is one and nothing that confirms it.
func (s *search) confirmed() bool {
	return slices.ContainsFunc(s.out.Cures, func(c Cure) bool { return c.Confirmed || s.q.Confirm == nil })
}

// unionTrials is how many unions of edits are tried at most.
const unionTrials = 8

// unions lists edits of the same kind that each put a part of the wrong cells right, together: the source
// says twice what is to be changed, for two columns or two rows.
func (s *search) unions() []candidate {
	var out []candidate
	s.left = max(s.left, unionTrials)
	group := map[string]*candidate{}
	at := map[string]bool{}
	for _, c := range s.helped {
		key := string(c.kind) + c.what()
		if place := key + s.menu.places[c.edits[0].At]; at[place] {
			continue // another choice of the same instructions' copies
		} else {
			at[place] = true
		}
		u := group[key]
		if u == nil {
			group[key] = &candidate{
				kind: c.kind, was: c.was, now: c.now, text: c.text, edits: slices.Clone(c.edits),
				from: c.from, to: c.to,
			}
			continue
		}
		if slices.ContainsFunc(c.edits, func(e ptx.Edit) bool {
			return slices.ContainsFunc(u.edits, func(x ptx.Edit) bool { return x.At == e.At })
		}) {
			continue
		}
		if u.edits = append(u.edits, c.edits...); u.rank == 0 {
			u.rank = len(out) + 1
			out = append(out, candidate{})
		}
		out[u.rank-1] = *u
	}
	s.helped = nil
	return out[:min(len(out), unionTrials)]
}

// one tries a candidate; nil where it does not put the stage right. helps says that it puts a part of it
// right. The error is one that ends the search.
func (s *search) one(c *candidate) (cure *Cure, helps bool, err error) {
	if s.q.Quick && c.right == 0 {
		r, err := s.plain(c.edits)
		if err != nil && (s.ctx.Err() != nil || debugkern.OutOfMemory(err)) {
			return nil, false, err
		}
		if err != nil || r.Report.Verdict == report.Failed {
			return nil, false, nil
		}
		right, wrong := cellsOf(r.Report)
		if right <= s.right {
			return nil, false, nil
		}
		if c.right = right; wrong > 0 {
			return nil, true, nil
		}
	}
	r, err := s.try(c.edits)
	if err != nil {
		if s.ctx.Err() != nil || debugkern.OutOfMemory(err) {
			return nil, false, err
		}
		return nil, false, nil // it cannot be loaded, does not end, or runs into a fault: no cure
	}
	if len(s.q.Accesses) > 0 {
		if !s.q.Right(r) {
			return nil, false, nil
		}
		return s.cure(c), false, nil
	}
	h := healthOf(r.Report, s.q.Stage)
	if !s.cures(h) {
		bad := h.bad
		h.bad = 0
		return nil, s.cures(h) && 4*bad <= 3*s.base.bad, nil
	}
	return s.cure(c), false, nil
}

// cure describes a candidate that puts right what was asked for.
func (s *search) cure(c *candidate) *Cure {
	at := slices.MinFunc(c.edits, func(a, b ptx.Edit) int { return a.At - b.At }).At
	cure := &Cure{
		Edits: c.edits, At: at, Source: s.menu.blame(at), Was: c.was, Now: c.now, What: c.what(),
		Kind: c.kind, From: c.from, To: c.to, Sizes: c.sizes, operand: c.operand,
	}
	if c.site != nil {
		cure.Source = target.SourceAt(s.menu.fn, c.site)
	}
	if c.given != nil {
		cure.Given, cure.Gave, cure.Taken = c.given, c.gave, c.taken
	}
	if c.of > 0 {
		at = c.of - 1
		cure.At, cure.Source = at, s.menu.blame(at)
	}
	seen := map[string]bool{}
	for _, e := range c.edits {
		if place := s.menu.places[e.At]; !seen[place] && !c.alone {
			if seen[place] = true; place != s.menu.places[at] {
				cure.Others = append(cure.Others, s.menu.blame(e.At))
			}
		}
	}
	for _, e := range c.edits {
		cure.UsedAt = append(cure.UsedAt, s.menu.uses(e.At)...)
	}
	return cure
}
