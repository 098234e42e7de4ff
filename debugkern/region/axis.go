package region

import (
	"fmt"
	"slices"
)

// state is what is known of one coordinate: cells with it were judged, or some of them are wrong.
type state uint8

const (
	unjudged state = iota
	right
	wrong
)

// phrase is a set of coordinates in words.
type phrase struct {
	kind kind
	text string // of numbers, without the axis' name: "16–31 and 48–63"
	cost float64
	has  func(x int) bool
}

// kind is how the words of a set go with those of its axis.
type kind uint8

const (
	all     kind = iota
	one          // a single number
	list         // numbers and ranges
	from         // from a number to the end
	below        // from 0 up to a number, which is not one of them
	but          // all but a number
	odd          // every other one
	even         //
	modular      // "8–15 of every 16"
)

// longest is how many numbers a description of one axis may have.
const longest = 6

// phrases describes the coordinates that have wrong cells: the set of exactly these among the judged ones,
// by at most one phrase, the shortest, and after it that there is no limit.
func phrases(axis []state) []phrase {
	free := phrase{kind: all, has: func(int) bool { return true }}
	first, last, n, others := -1, -1, 0, 0
	end := 0
	for x, s := range axis {
		switch s {
		case wrong:
			if first < 0 {
				first = x
			}
			last = x
			n++
		case right:
			others++
		}
		if s != unjudged {
			end = x + 1
		}
	}
	if n == 0 || others == 0 {
		return []phrase{free}
	}
	fits := func(has func(x int) bool) bool {
		for x, s := range axis {
			if s == wrong && !has(x) || s == right && has(x) {
				return false
			}
		}
		return true
	}
	var found []phrase
	add := func(k kind, text string, cost float64, has func(x int) bool) {
		if cost <= longest && fits(has) {
			found = append(found, phrase{kind: k, text: text, cost: cost, has: has})
		}
	}
	if n == 1 {
		add(one, fmt.Sprint(first), 1, func(x int) bool { return x == first })
	}
	if others == 1 {
		no := slices.Index(axis, right)
		add(but, fmt.Sprint(no), 1.5, func(x int) bool { return x != no })
	}
	add(from, fmt.Sprint(first), 1.8, func(x int) bool { return x >= first })
	add(below, fmt.Sprint(last+1), 1.9, func(x int) bool { return x <= last })
	if end > 3 {
		add(odd, "odd", 1, func(x int) bool { return x%2 == 1 })
		add(even, "even", 1, func(x int) bool { return x%2 == 0 })
	}
	for m := 4; 2*m <= end; m *= 2 {
		found = append(found, periodic(axis, m, fits)...)
	}
	if runs := runsOf(axis); len(runs) <= 3 {
		var texts []string
		cost := 0.0
		for _, r := range runs {
			texts = append(texts, r.String())
			cost += 2
		}
		add(list, join(texts), cost, func(x int) bool {
			return slices.ContainsFunc(runs, func(r run) bool { return r[0] <= x && x <= r[1] })
		})
	}
	if len(found) == 0 {
		return []phrase{free}
	}
	best := slices.MinFunc(found, func(a, b phrase) int {
		switch {
		case a.cost < b.cost:
			return -1
		case a.cost > b.cost:
			return 1
		}
		return 0
	})
	return []phrase{best, free}
}

// periodic describes an axis by one or two ranges of every m.
func periodic(axis []state, m int, fits func(has func(x int) bool) bool) []phrase {
	folded := make([]state, m)
	for x, s := range axis {
		folded[x%m] = max(folded[x%m], s)
	}
	has := func(x int) bool { return folded[x%m] == wrong }
	runs := runsOf(folded)
	if len(runs) > 2 || len(runs) == 0 || !fits(has) {
		return nil
	}
	texts := make([]string, len(runs))
	for i, r := range runs {
		texts[i] = r.String()
	}
	return []phrase{{
		kind: modular, text: fmt.Sprintf("%s of every %d", join(texts), m), has: has,
		cost: 2*float64(len(runs)) + 0.5,
	}}
}

// run is consecutive coordinates, both ends among them.
type run [2]int

func (r run) String() string {
	if r[0] == r[1] {
		return fmt.Sprint(r[0])
	}
	return fmt.Sprintf("%d–%d", r[0], r[1])
}

// runsOf are the runs of coordinates with wrong cells; those that were not judged do not end one.
func runsOf(axis []state) []run {
	var out []run
	open := false
	for x, s := range axis {
		switch {
		case s == wrong && open:
			out[len(out)-1][1] = x
		case s == wrong:
			out, open = append(out, run{x, x}), true
		case s == right:
			open = false
		}
	}
	return out
}

// words writes a phrase of rows or columns; last is the highest coordinate that was judged.
func (p phrase) words(noun string, last int) string {
	switch p.kind {
	case one:
		return noun + " " + p.text
	case odd, even:
		return p.text + " " + noun + "s"
	case from:
		return fmt.Sprintf("%ss %s–%d", noun, p.text, last)
	case below:
		var end int
		fmt.Sscan(p.text, &end)
		return noun + "s " + run{0, end - 1}.String()
	case but:
		return fmt.Sprintf("all %ss but %s", noun, p.text)
	}
	return noun + "s " + p.text
}
