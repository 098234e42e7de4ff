package rewrite

import (
	"slices"
	"strings"
)

// Spread adds to lines those that make what stands on them, each a step farther, up to most: what is assigned
// to the names on a line, the loops and conditions around it, the functions that it calls, and the calls of
// its own function. A function of one statement is as near as the line that calls it. lines are as Edits has
// them.
func (w *Set) Spread(lines map[string]map[int]int, most int) {
	for _, t := range w.texts {
		for _, f := range t.functions { // a statement has several lines
			each(f.body, func(s *statement) { t.wholeStatement(lines, s) })
		}
	}
	for range most {
		type place struct {
			t   *Text
			at  int
			far int
		}
		var more []place
		for _, t := range w.texts {
			for _, f := range t.functions {
				for far := range most {
					near := map[int]bool{}
					for line, d := range lines[t.Name] {
						if max(d, 0) == far {
							near[line] = true
						}
					}
					w.from(t, f, near, func(t *Text, at, step int) {
						more = append(more, place{t, at, far + step})
					})
				}
			}
		}
		for _, p := range more {
			p.t.put(lines, p.at, p.far)
		}
	}
}

// Mentioning adds the lines of functions that mention a name, of a variable or function, as far as given:
// those that store to it a step nearer than the others. lines are as Edits has them.
func (w *Set) Mentioning(lines map[string]map[int]int, name string, far int) {
	name, _, _ = strings.Cut(name, "[")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	for _, t := range w.texts {
		for _, f := range t.functions {
			each(f.body, func(s *statement) {
				for i := s.from; s.kind == "other" && i < s.to; i++ {
					if t.is(i, name) {
						t.put(lines, i, far+1)
					}
				}
				for _, e := range s.top() {
					e.walk(func(e, _ *expr) bool {
						own := e.text == name || strings.HasPrefix(e.text, name+"<") // of a template
						if !own || e.op != "name" && e.op != "member" {
							return true
						}
						t.put(lines, e.from, far+1)
						return true
					})
					to, _ := e.base()
					if binding[e.op] == assignment {
						to, _ = e.kids[0].base()
					}
					if to.text == name {
						t.put(lines, s.from, far)
					}
				}
			})
		}
	}
}

// Overlaying adds the lines that give the place of an array to another one, as far as given. lines are as
// Edits has them.
func (w *Set) Overlaying(lines map[string]map[int]int, name string, far int) {
	for _, t := range w.texts {
		for _, f := range t.functions {
			each(f.body, func(s *statement) {
				equals := slices.IndexFunc(t.tokens[s.from:s.to], func(x token) bool { return x.text == "=" })
				reference := t.is(s.from+1, "(") && t.is(s.from+2, "&")
				if s.kind != "for" && reference && equals > 0 && t.has(s.from+equals, s.to, name) {
					t.put(lines, s.from, far)
				}
			})
		}
	}
}

// Guarding adds the lines that declare what the conditions of a line compare, its own and those of the
// statements round it, and those that change it in its function, with the conditions under which they do, as
// far as given. lines are as Edits has them.
func (w *Set) Guarding(lines map[string]map[int]int, of string, line, far int) {
	for _, t := range w.texts {
		if t.Name != of {
			continue
		}
		for _, f := range t.functions {
			var names []string
			compared := func(e *expr) {
				e.walk(func(x, _ *expr) bool {
					if x.op == "name" {
						names = append(names, x.text)
					}
					return true
				})
			}
			each(f.body, func(s *statement) {
				if first, last := t.tokens[s.from].line, t.tokens[s.to-1].line; line < first || line > last {
					return
				}
				if (s.kind == "if" || loops[s.kind]) && len(s.exprs) > 0 && s.exprs[0] != nil {
					compared(s.exprs[0])
				}
				for _, e := range s.top() {
					e.walk(func(x, _ *expr) bool {
						if x.op == "?" {
							compared(x.kids[0])
						}
						return true
					})
				}
			})
			each(f.body, func(s *statement) {
				for _, v := range s.declares {
					made := v.init != nil && !v.fixed && s.kind == "declaration"
					if made && slices.Contains(names, v.name) {
						t.put(lines, v.at, far)
					}
				}
				if s.kind != "expression" || !slices.ContainsFunc(names, s.changes) {
					return
				}
				for at := s; at != nil && (at == s || at.kind == "if" || at.kind == "block"); at = at.parent {
					if at.kind != "block" {
						t.put(lines, at.from, far)
					}
				}
			})
		}
	}
}

// Leaving adds the lines of kernels at which a thread may return early, as far as given. lines are as Edits
// has them.
func (w *Set) Leaving(lines map[string]map[int]int, far int) {
	for _, t := range w.texts {
		for _, f := range t.functions {
			each(f.body, func(s *statement) {
				if f.kernel && s.kind == "if" && len(s.body) == 1 && s.body[0].kind == "return" {
					t.put(lines, s.from, far)
				}
			})
		}
	}
}

// put notes how far the line of a token is.
func (t *Text) put(lines map[string]map[int]int, at, far int) {
	if lines[t.Name] == nil {
		lines[t.Name] = map[int]int{}
	}
	line := t.tokens[at].line
	if was, ok := lines[t.Name][line]; !ok || far < was {
		lines[t.Name][line] = far
	}
}

// If is the line of the innermost if whose statement a line belongs to, 0 where it belongs to none.
func (t *Text) If(line int) int {
	at := 0
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			if s.kind != "if" || len(s.body) == 0 {
				return
			}
			first, last := t.tokens[s.body[0].from].line, t.tokens[s.body[len(s.body)-1].to-1].line
			if first <= line && line <= last {
				at = max(at, t.tokens[s.from].line)
			}
		})
	}
	return at
}

// wholeStatement adds the other lines of an expression that has one of lines.
func (t *Text) wholeStatement(lines map[string]map[int]int, s *statement) {
	own := lines[t.Name]
	if s.kind != "expression" && s.kind != "declaration" && s.kind != "return" && s.kind != "asm" {
		return
	}
	first, last := t.tokens[s.from].line, t.tokens[s.to-1].line
	for n := first; n <= last; n++ {
		if d, ok := own[n]; ok {
			for o := first; o <= last; o++ {
				if was, ok := own[o]; !ok || was > d {
					own[o] = d
				}
			}
		}
	}
}

// longest is how many statements a function that a line calls may have for all of them to be looked at.
const longest = 12

// from visits what makes that which stands on lines of a function.
func (w *Set) from(t *Text, f *function, lines map[int]bool, visit func(t *Text, at, step int)) {
	on := func(at int) bool { return lines[t.tokens[at].line] }
	var names []string
	touched := false
	each(f.body, func(s *statement) {
		if !on(s.from) {
			return
		}
		touched = true
		for p := s.parent; p != nil; p = p.parent {
			if p.kind == "for" || p.kind == "if" || p.kind == "while" {
				visit(t, p.from, 1)
			}
		}
		for _, e := range s.top() {
			e.walk(func(e, parent *expr) bool {
				if e.op != "name" {
					return true
				}
				if parent == nil || parent.op != "call" || parent.kids[0] != e {
					names = append(names, e.text)
				}
				w.body(e.text, visit)
				return true
			})
		}
	})
	if !touched {
		return
	}
	each(f.body, func(s *statement) {
		for _, v := range s.declares {
			if slices.Contains(names, v.name) && v.init != nil {
				visit(t, s.from, 1)
			}
		}
		for _, e := range s.top() {
			if binding[e.op] != assignment {
				continue
			}
			if to, _ := e.kids[0].base(); to.op == "name" && slices.Contains(names, to.text) {
				visit(t, s.from, 1)
			}
		}
	})
	for _, o := range w.texts {
		for _, g := range o.functions {
			each(g.body, func(s *statement) {
				for _, e := range s.top() {
					e.walk(func(e, _ *expr) bool {
						if e.op == "call" && e.kids[0].op == "name" && e.kids[0].text == f.name {
							visit(o, e.from, 1)
						}
						return true
					})
				}
			})
		}
	}
}

// body visits the statements of a short function.
func (w *Set) body(name string, visit func(t *Text, at, step int)) {
	for _, t := range w.texts {
		for _, f := range t.functions {
			n := 0
			each(f.body, func(*statement) { n++ })
			if f.name != name || n > longest {
				continue
			}
			step := 1
			if n == 1 {
				step = 0
			}
			each(f.body, func(s *statement) { visit(t, s.from, step) })
		}
	}
}

// BoundLines are the lines that an edit of how often a loop runs may stand in the place of an edit of: those
// on which the function computes what the loop ends at, and what that is computed from. nil where the edit is
// of something else.
func (w *Set) BoundLines(e *Edit) map[int]bool {
	if len(e.sites) != 1 {
		return nil
	}
	t := e.Text
	out := map[int]bool{}
	for _, f := range t.functions {
		l := &lister{w: w, t: t, f: f}
		each(f.body, func(s *statement) {
			if s.kind != "for" || len(s.exprs) == 0 || s.exprs[0] == nil || s.init == nil {
				return
			}
			c := s.exprs[0]
			if at := e.sites[0]; at.from >= t.tokens[c.from].from && at.to <= t.tokens[c.to-1].to {
				l.definedOn(c, s.init.declares, boundSteps, out)
			}
		})
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// HeaderLines are the lines of the loops and conditions round a statement that an edit puts under another
// condition, of which one may be meant that they have; nil for another edit.
func (e *Edit) HeaderLines() map[int]bool {
	if len(e.sites) != 1 || !strings.HasPrefix(e.What, "under the condition ") {
		return nil
	}
	t, out := e.Text, map[int]bool{}
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			if t.tokens[s.from].from != e.sites[0].from {
				return
			}
			for p := s.parent; p != nil; p = p.parent {
				if p.kind == "for" || p.kind == "if" {
					out[t.tokens[p.from].line] = true
				}
			}
		})
	}
	return out
}

// boundSteps is how many definitions back a loop's bound is followed.
const boundSteps = 2

// definedOn notes the lines on which the variables of an expression are declared, but for some, and those
// of what they are computed from.
func (l *lister) definedOn(e *expr, but []*variable, steps int, out map[int]bool) {
	e.walk(func(x, _ *expr) bool {
		v := (*variable)(nil)
		if x.op == "name" {
			v = l.find(x.text, x.from)
		}
		if v == nil || v.fixed || v.init == nil || slices.Contains(but, v) || v.at < l.f.from {
			return true
		}
		out[v.line] = true
		if steps > 1 {
			l.definedOn(v.init, but, steps-1, out)
		}
		return true
	})
}
