package rewrite

import (
	"regexp"
	"slices"
)

// Edits with which a kernel is often right by chance: their conditions do not say what an author means.

// Freezes reports whether an edit makes a condition in a loop one that does not change from iteration to
// iteration: it no more has the loop's variable, nor what is computed from it.
func (e *Edit) Freezes() bool {
	if len(e.sites) != 1 || e.sites[0].whole {
		return false
	}
	t, at, frozen := e.Text, e.sites[0], false
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			if s.kind != "if" || len(s.exprs) != 1 || s.exprs[0] == nil {
				return
			}
			c := s.exprs[0]
			from, to := t.tokens[c.from].from, t.tokens[c.to-1].to
			if at.from < from || at.to > to {
				return
			}
			moving := movingNames(s)
			has := func(text string) bool {
				return slices.ContainsFunc(lex(text).tokens, func(x token) bool { return moving[x.text] })
			}
			now := t.text[from:at.from] + " " + at.now + " " + t.text[at.to:to]
			frozen = frozen || has(t.text[from:to]) && !has(now)
		})
	}
	return frozen
}

// Contradicts reports whether an edit makes a condition of a name and its negation, which never holds, or
// always: what is done under it is better left out, or done always.
func (e *Edit) Contradicts() bool {
	_, now, ok := e.Lines()
	if !ok {
		return false
	}
	for _, m := range bothWays.FindAllStringSubmatch(now, -1) {
		if m[1] == m[2] || m[3] != "" && m[3] == m[4] {
			return true
		}
	}
	return false
}

// bothWays matches two names of which one is negated.
var bothWays = regexp.MustCompile(`(?:^|[^\w!.])(\w+) (?:&&|\|\|) !(\w+)\b|!(\w+) (?:&&|\|\|) (\w+)\b`)

// movingNames are the variables of the loops round a statement, and those that are declared in these loops
// from moving ones.
func movingNames(s *statement) map[string]bool {
	moving := map[string]bool{}
	for p := s.parent; p != nil; p = p.parent {
		if p.kind == "for" && p.init != nil {
			for _, v := range p.init.declares {
				moving[v.name] = true
			}
		}
	}
	for p := s.parent; p != nil; p = p.parent {
		for _, o := range p.body {
			for _, v := range o.declares {
				for name := range moving {
					if v.init != nil && v.init.has(name) {
						moving[v.name] = true
						break
					}
				}
			}
		}
	}
	return moving
}
