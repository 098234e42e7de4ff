package discover

import (
	"fmt"
	"math/bits"
	"sort"
	"strings"
)

// variable is a name with the values that it has in samples, from 0 to below size.
type variable struct {
	name string
	size int
}

// sample is one point of a function of whole numbers: the variables' values, and the function's.
type sample struct {
	at []int
	v  int
}

// fitted is a function that agrees with all samples: a constant plus a weight for each bit of each variable,
// or for a variable as a whole.
type fitted struct {
	vars    []variable
	base    int
	weights [][]int // by variable and bit, one for a variable as a whole
	byBit   []bool
}

// fit finds a function of the variables that agrees with every sample: linear in the variables or, of as few
// of them as possible, linear in their bits, as the layouts of tiles over threads are. false where there is
// none. A variable, or a bit, that no sample varies has no weight.
func fit(vars []variable, samples []sample) (*fitted, bool) {
	if len(samples) == 0 {
		return nil, false
	}
	for most := range len(vars) + 1 {
		for set := range uint(1) << len(vars) {
			if bits.OnesCount(set) != most {
				continue
			}
			f := &fitted{vars: vars, byBit: make([]bool, len(vars))}
			for i := range f.byBit {
				f.byBit[i] = set>>i&1 != 0
			}
			if f.solve(samples) {
				return f, true
			}
		}
	}
	return nil, false
}

// columns are the unknowns of a variable: how many, and its values in them.
func (f *fitted) digits(i, v int) []int {
	if !f.byBit[i] {
		return []int{v}
	}
	n := bits.Len(uint(max(f.vars[i].size-1, 0)))
	out := make([]int, n)
	for b := range out {
		out[b] = v >> b & 1
	}
	return out
}

// solve finds whole weights by elimination over the samples, and checks all of them.
func (f *fitted) solve(samples []sample) bool {
	var rows [][]float64
	width := 0
	for _, s := range samples {
		row := []float64{1}
		for i, v := range s.at {
			for _, d := range f.digits(i, v) {
				row = append(row, float64(d))
			}
		}
		width = len(row)
		rows = reduce(rows, append(row, float64(s.v)))
		if rows == nil {
			return false
		}
	}
	x := make([]float64, width)
	for _, r := range rows {
		lead := leading(r)
		v := r[width]
		x[lead] = v
	}
	// Free unknowns are 0: rows are fully reduced.
	whole := make([]int, width)
	for i, v := range x {
		whole[i] = int(v + 0.5)
		if v < 0 {
			whole[i] = -int(-v + 0.5)
		}
		if d := v - float64(whole[i]); d > 1e-6 || d < -1e-6 {
			return false
		}
	}
	f.base = whole[0]
	at := 1
	f.weights = nil
	for i := range f.vars {
		n := len(f.digits(i, 0))
		f.weights = append(f.weights, whole[at:at+n])
		at += n
	}
	for _, s := range samples {
		if f.at(s.at) != s.v {
			return false
		}
	}
	return true
}

// leading is the first unknown of a row.
func leading(r []float64) int {
	for i, v := range r[:len(r)-1] {
		if v != 0 {
			return i
		}
	}
	return -1
}

// reduce adds a row to a fully reduced system; nil where it contradicts.
func reduce(rows [][]float64, r []float64) [][]float64 {
	for _, p := range rows {
		if c := r[leading(p)]; c != 0 {
			for i := range r {
				if r[i] -= c * p[i]; r[i] < 1e-9 && r[i] > -1e-9 {
					r[i] = 0
				}
			}
		}
	}
	lead := leading(r)
	if lead < 0 {
		if r[len(r)-1] != 0 {
			return nil
		}
		if rows == nil {
			return [][]float64{}
		}
		return rows
	}
	c := r[lead]
	for i := range r {
		r[i] /= c
	}
	for _, p := range rows {
		if c := p[lead]; c != 0 {
			for i := range p {
				if p[i] -= c * r[i]; p[i] < 1e-9 && p[i] > -1e-9 {
					p[i] = 0
				}
			}
		}
	}
	return append(rows, r)
}

// at evaluates the function.
func (f *fitted) at(at []int) int {
	v := f.base
	for i, x := range at {
		for d, digit := range f.digits(i, x) {
			v += f.weights[i][d] * digit
		}
	}
	return v
}

// moved is the function plus a number.
func (f *fitted) moved(by int) *fitted {
	g := *f
	g.base += by
	return &g
}

// text writes the function as an expression of a manifest.
func (f *fitted) text() string {
	type term struct {
		weight int
		text   string
	}
	var terms []term
	for i, v := range f.vars {
		w := f.weights[i]
		if !f.byBit[i] {
			terms = append(terms, term{w[0], v.name})
			continue
		}
		for lo := 0; lo < len(w); {
			hi := lo + 1
			for hi < len(w) && w[lo] != 0 && w[hi] == w[hi-1]*2 {
				hi++
			}
			text := v.name
			if lo > 0 {
				text = fmt.Sprintf("div(%s, %d)", v.name, 1<<lo)
			}
			if hi < len(w) {
				text = fmt.Sprintf("%s %% %d", text, 1<<(hi-lo))
			}
			terms = append(terms, term{w[lo], text})
			lo = hi
		}
	}
	sort.SliceStable(terms, func(i, j int) bool { return abs(terms[i].weight) > abs(terms[j].weight) })
	var out strings.Builder
	for _, t := range terms {
		if t.weight == 0 {
			continue
		}
		switch {
		case t.weight < 0:
			out.WriteString(" - ")
		case out.Len() > 0:
			out.WriteString(" + ")
		}
		text := t.text
		if w := abs(t.weight); w != 1 {
			if strings.Contains(text, "%") {
				text = "(" + text + ")"
			}
			text = fmt.Sprintf("%d * %s", w, text)
		} else if strings.Contains(text, "%") {
			text = "(" + text + ")"
		}
		out.WriteString(text)
	}
	switch s := out.String(); {
	case s == "":
		return fmt.Sprint(f.base)
	case strings.HasPrefix(s, " - "):
		return fmt.Sprintf("%d%s", f.base, s)
	case f.base > 0:
		return fmt.Sprintf("%s + %d", s, f.base)
	case f.base < 0:
		return fmt.Sprintf("%s - %d", s, -f.base)
	default:
		return s
	}
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
