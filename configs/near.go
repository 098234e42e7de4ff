package configs

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// near returns the known names that a mistyped one probably meant: the closest ones, at most three.
func near(name string, known []string) []string {
	type scored struct {
		name string
		d    int
	}
	var found []scored
	low := strings.ToLower(name)
	for _, k := range known {
		kl := strings.ToLower(k)
		d := distance(low, kl)
		if len(low) >= 3 && (strings.Contains(kl, low) || strings.Contains(low, kl) && len(kl) >= 3) {
			d = min(d, 2)
		}
		if short := min(len(low), len(kl)); d <= short/3 || d <= 2 && short >= 4 {
			found = append(found, scored{k, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		return found[i].d < found[j].d || found[i].d == found[j].d && found[i].name < found[j].name
	})
	var out []string
	for _, f := range found {
		if len(out) < 3 && f.d == found[0].d && (len(out) == 0 || f.name != out[len(out)-1]) {
			out = append(out, f.name)
		}
	}
	return out
}

// Near returns the known names that a mistyped one probably meant, at most three; nil where none is near.
func Near(name string, known []string) []string { return near(name, known) }

// Suggest returns what a message about an unknown name ends with: the known names that are near it, else all.
func Suggest(name string, known []string) string { return suggest(name, known) }

// suggest words the near names as a tail for a message, or lists what is known when nothing is near.
func suggest(name string, known []string) string {
	if n := near(name, known); len(n) > 0 {
		return ": did you mean " + strings.Join(n, " or ") + "?"
	}
	if len(known) == 0 {
		return " (there are none)"
	}
	if len(known) > 40 {
		known = append(known[:40:40], fmt.Sprintf("and %d more", len(known)-40))
	}
	return " (known: " + strings.Join(known, " ") + ")"
}

// Mistyped returns the known names from which a word differs by one slip: a letter more, less or another, or
// two neighbours exchanged; by two slips where it has six letters or more. They are the nearest ones, at most
// three.
func Mistyped(word string, known []string) (out []string) {
	const long = 6
	most := 1
	if len(word) >= long {
		most = 2
	}
	best := most + 1
	for _, k := range known {
		switch d := distance(strings.ToLower(word), strings.ToLower(k)); {
		case d > most || d > best || len(k) < 3:
		case d < best:
			best, out = d, []string{k}
		case len(out) < 3 && !slices.Contains(out, k):
			out = append(out, k)
		}
	}
	return out
}

// distance is the optimal string alignment distance: edits and swaps of neighbours. Names
// are cut at 64 bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
