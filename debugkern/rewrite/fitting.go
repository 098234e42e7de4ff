package rewrite

import (
	"maps"
	"slices"
	"strings"
)

// Which edits are compiled together. A function is inlined at each call, and each edit of a line that calls
// it adds a call. Edits of a function and of its callers therefore multiply: NVRTC took a minute for 254.

// mostCopies is how many copies edits that are compiled together have in all, where functions are inlined.
const mostCopies = 600

// perLine is how many instructions a line becomes that is there once.
const perLine = 8

// inlining counts how often what the functions of a kernel have is there once they are inlined.
type inlining struct {
	calls  map[string]map[string]int // by the name of a function and of one that it calls
	kernel map[string]bool
	edits  map[string]int // by function
}

// inlining counts the calls of the texts.
func (w *Set) inlining() *inlining {
	in := &inlining{calls: map[string]map[string]int{}, kernel: map[string]bool{}, edits: map[string]int{}}
	for _, t := range w.texts {
		for _, f := range t.functions {
			in.kernel[f.name] = in.kernel[f.name] || f.kernel
			w.count(in, f.name, t.tokens[f.from:f.to])
		}
	}
	return in
}

// count adds the calls that some tokens of a function have.
func (w *Set) count(in *inlining, of string, tokens []token) {
	for i := range tokens {
		if len(w.called[tokens[i].text]) == 0 || tokens[i].kind != name {
			continue
		}
		if in.calls[of] == nil {
			in.calls[of] = map[string]int{}
		}
		in.calls[of][tokens[i].text]++
	}
}

// copies counts those of a function.
func (in *inlining) copies(of string, known map[string]int) int {
	if n, ok := known[of]; ok {
		return n
	}
	known[of] = 1 // a function that calls itself
	n := 0
	for caller, calls := range in.calls {
		if calls[of] > 0 && caller != of {
			n += calls[of] * in.copies(caller, known)
		}
	}
	if in.kernel[of] {
		n = 1
	}
	known[of] = n
	return n
}

// all counts the copies of all edits.
func (in *inlining) all() int {
	n, known := 0, map[string]int{}
	for f, edits := range in.edits {
		n += edits * in.copies(f, known)
	}
	return n
}

// Fitting chooses among the first n edits, the likeliest first, those that one compilation takes: at most
// mostCopies copies after inlining and unrolling. became returns how many instructions of the kernel a line
// compiled to. rest has the others, in their order. Edits of how often a loop runs stand in a compilation of
// their own: with them a compiler does not unroll the loop, which makes another kernel of it.
func (w *Set) Fitting(edits []Edit, n int, became func(text string, line int) int) (chosen, rest []Edit) {
	in := w.inlining()
	unrolled, heads := 0, len(edits) > 0 && edits[0].unrolls()
	for i := range edits {
		e := &edits[i]
		if i >= n {
			rest = append(rest, edits[i:]...)
			break
		}
		if e.unrolls() != heads {
			rest = append(rest, *e)
			continue
		}
		of := e.function()
		if of == "" {
			chosen = append(chosen, *e)
			continue
		}
		was := in.calls[of]
		in.calls[of] = maps.Clone(was)
		for _, s := range e.sites {
			w.count(in, of, lex(s.now).tokens)
		}
		in.edits[of]++
		own := max(1, became(e.Text.Name, e.Line)/perLine)
		unrolled += own
		if (in.all() > mostCopies || unrolled > mostCopies) && len(chosen) > 0 {
			in.calls[of] = was
			in.edits[of]--
			unrolled -= own
			rest = append(rest, *e)
			continue
		}
		chosen = append(chosen, *e)
	}
	return chosen, rest
}

// unrolls reports whether an edit is of the head of a loop that a compiler may unroll.
func (e *Edit) unrolls() bool {
	t, found := e.Text, false
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			if s.kind != "for" || len(s.body) == 0 {
				return
			}
			from, to := t.tokens[s.from].from, t.tokens[s.body[0].from].from
			before := strings.TrimSpace(t.text[:from])
			before = before[strings.LastIndexByte(before, '\n')+1:]
			found = found || !strings.HasPrefix(before, "#pragma unroll 1") &&
				slices.ContainsFunc(e.sites, func(x site) bool { return from < x.from && x.to <= to })
		})
	}
	return found
}

// function is the name of the function that an edit is in, "" where it is in none.
func (e *Edit) function() string {
	for _, f := range e.Text.functions {
		from, to := e.Text.tokens[f.from].from, e.Text.tokens[f.to-1].to
		if at := e.sites[0].from; from <= at && at < to {
			return f.name
		}
	}
	return ""
}
