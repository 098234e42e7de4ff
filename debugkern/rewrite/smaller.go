package rewrite

import "strings"

// mostDifferences is in how many places an edit may differ from what it replaces, so that it is asked whether
// it needs each of them.
const mostDifferences = 6

// Smaller lists what an edit of one place comes to without one of its differences from what it replaces: of
// `f(b, 2)` in the place of `f(a, 1)` these are `f(a, 2)` and `f(b, 1)`. An edit that is taken from another
// line may bring more from there than is wrong. What Smaller gave may be made smaller again. nil where it has
// one difference, or more than mostDifferences.
func (e *Edit) Smaller() (out []Edit) {
	if len(e.sites) != 1 && !e.parted {
		return nil
	}
	var all []site
	for _, s := range e.sites {
		all = append(all, e.Text.differences(s)...)
	}
	if len(all) < 2 || len(all) > mostDifferences {
		return nil
	}
	for i := range all {
		var sites []site
		var what []string
		open := 0 // brackets more than before
		for k, s := range all {
			if k != i {
				sites, what = append(sites, s), append(what, e.Text.says(s))
				open += opened(s.now) - opened(e.Text.text[s.from:s.to])
			}
		}
		if open != 0 {
			continue
		}
		o := *e
		o.sites, o.What, o.Drops, o.loses, o.parted = sites, strings.Join(what, " and "), nil, 0, true
		o.Line = 1 + strings.Count(e.Text.text[:sites[0].from], "\n")
		out = append(out, o)
	}
	return out
}

// opened is how many brackets more a text opens than it closes.
func opened(text string) (n int) {
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		}
	}
	return n
}

// says words what a site puts in its place.
func (t *Text) says(s site) string {
	was, now := strings.TrimSpace(t.text[s.from:s.to]), strings.TrimSpace(s.now)
	switch {
	case was == "":
		return now + " added"
	case now == "":
		return "without " + was
	}
	return now + " in place of " + was
}

// differences are the parts of what a site replaces that are other tokens with it.
func (t *Text) differences(s site) (out []site) {
	old, now := lex(t.text[s.from:s.to]).tokens, lex(s.now).tokens
	old, now = old[:len(old)-1], now[:len(now)-1] // without the end
	// common[i][k] is how many tokens old[i:] and now[k:] have in common, in the same order.
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for k := len(now) - 1; k >= 0; k-- {
			if common[i][k] = max(common[i+1][k], common[i][k+1]); old[i].text == now[k].text {
				common[i][k] = 1 + common[i+1][k+1]
			}
		}
	}
	for i, k := 0, 0; i < len(old) || k < len(now); {
		if i < len(old) && k < len(now) && old[i].text == now[k].text {
			i, k = i+1, k+1
			continue
		}
		a, b := i, k
		for (i < len(old) || k < len(now)) && !(i < len(old) && k < len(now) && old[i].text == now[k].text) {
			if k >= len(now) || i < len(old) && common[i+1][k] >= common[i][k+1] {
				i++
			} else {
				k++
			}
		}
		d := site{from: s.from, to: s.from}
		if a > 0 {
			d.from = s.from + old[a-1].to // with the blanks before what differs
			d.to = d.from
		}
		switch {
		case i > a && k > b:
			d.from, d.to, d.now = s.from+old[a].from, s.from+old[i-1].to, s.now[now[b].from:now[k-1].to]
		case i > a:
			if d.to = s.from + old[i-1].to; a > 0 && old[a-1].to == old[a].from && i < len(old) {
				d.to = s.from + old[i].from // there are none: with those behind it
			}
		case b > 0:
			d.now = s.now[now[b-1].to:now[k-1].to]
		default:
			d.now = s.now[:now[k-1].to] + " "
		}
		out = append(out, d)
	}
	return out
}
