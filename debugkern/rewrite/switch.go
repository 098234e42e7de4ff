package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// LineOf is the line that a compiler's messages have for edit k, from 1, of a Switched text.
func LineOf(k int) int { return firstLine + k }

// EditAt is the edit of a line in a compiler's message, 0 where the line is one of the text itself.
func EditAt(line int) int { return max(0, line-firstLine) }

const firstLine = 1 << 20

// prelude is what a Switched text begins with. The compiler does not know what the instruction gives, so that
// it keeps every edit.
const prelude = `#ifndef TILESCOPE_EDITS
#define TILESCOPE_EDITS
static __device__ __forceinline__ bool tilescope_edit(int k) {
  int variant;
  asm("mov.u32 %0, %%envreg31;" : "=r"(variant));
  return variant == k;
}
template <class T> struct tilescope_plain { typedef T type; };
template <class T> struct tilescope_plain<T&> { typedef T type; };
template <class T> struct tilescope_plain<const T&> { typedef T type; };
#endif
#line 1
`

// Switched writes edits into the texts that they are of: by their names, what is compiled in their place. It
// has all of them, and executes the one whose number %envreg31 is (target.Launch.Variant), none where that is
// 0. kept are the edits that it has; the number of one is its index plus one. left are edits that cannot
// stand in one text with others before them. Those that must be compiled alone are in neither.
func Switched(edits []Edit) (texts map[string]string, kept, left []Edit) {
	byText := map[*Text]*node{}
	for i := range edits {
		e := &edits[i]
		if e.Alone {
			continue
		}
		root := byText[e.Text]
		if root == nil {
			root = &node{from: 0, to: len(e.Text.text)}
			byText[e.Text] = root
		}
		if slices.ContainsFunc(e.sites, func(s site) bool { return !root.fits(s) }) {
			left = append(left, *e)
			continue
		}
		kept = append(kept, *e)
		for _, s := range e.sites {
			root.insert(s, len(kept))
		}
	}
	texts = map[string]string{}
	for t, root := range byText {
		w := &switcher{t: t}
		w.inside(root)
		texts[t.Name] = prelude + w.b.String()
	}
	return texts, kept, left
}

// node is a part of a text with the edits of it, and the parts in it that have edits.
type node struct {
	from, to int
	whole    bool
	choices  []choice
	kids     []*node
}

type choice struct {
	k   int
	now string
	as  bool
}

// fits reports whether a site lies in one part or holds whole parts.
func (n *node) fits(s site) bool {
	for _, k := range n.kids {
		switch {
		case s.to <= k.from || k.to <= s.from || s.from <= k.from && k.to <= s.to:
		case k.from <= s.from && s.to <= k.to:
			return k.fits(s)
		default:
			return false
		}
	}
	return true
}

// insert puts a site that fits into its place.
func (n *node) insert(s site, k int) {
	c := choice{k, s.now, s.cast}
	for _, kid := range n.kids {
		switch {
		case kid.from == s.from && kid.to == s.to && kid.whole == s.whole:
			kid.choices = append(kid.choices, c)
			return
		case kid.from <= s.from && s.to <= kid.to && !(kid.from == s.from && kid.to == s.to && s.whole):
			kid.insert(s, k)
			return
		}
	}
	in := &node{from: s.from, to: s.to, whole: s.whole, choices: []choice{c}}
	n.kids = slices.DeleteFunc(n.kids, func(kid *node) bool {
		if s.from <= kid.from && kid.to <= s.to {
			in.kids = append(in.kids, kid)
			return true
		}
		return false
	})
	n.kids = append(n.kids, in)
}

// switcher writes a text.
type switcher struct {
	t *Text
	b strings.Builder
}

// inside writes a part without its own edits.
func (w *switcher) inside(n *node) {
	slices.SortFunc(n.kids, func(a, b *node) int { return cmp.Compare(a.from, b.from) })
	at := n.from
	for _, k := range n.kids {
		w.b.WriteString(w.t.text[at:k.from])
		w.node(k)
		at = k.to
	}
	w.b.WriteString(w.t.text[at:n.to])
}

// node writes a part with its edits.
func (w *switcher) node(n *node) {
	if n.whole {
		w.b.WriteString("{")
		for _, c := range n.choices {
			fmt.Fprintf(&w.b, "\n#line %d\nif (tilescope_edit(%d)) { %s } else\n", LineOf(c.k), c.k,
				oneLine(c.now))
		}
		fmt.Fprintf(&w.b, "#line %d\n{ ", w.line(n.from))
		w.inside(n)
		w.b.WriteString(" } }")
		return
	}
	w.b.WriteString("(")
	for _, c := range n.choices {
		now := "(" + oneLine(c.now) + ")"
		if c.as {
			now = fmt.Sprintf("(typename tilescope_plain<decltype((%s))>::type)%s",
				oneLine(w.t.text[n.from:n.to]), now)
		}
		fmt.Fprintf(&w.b, "\n#line %d\ntilescope_edit(%d) ? %s :\n", LineOf(c.k), c.k, now)
	}
	fmt.Fprintf(&w.b, "#line %d\n(", w.line(n.from))
	w.inside(n)
	w.b.WriteString("))")
}

func (w *switcher) line(at int) int { return 1 + strings.Count(w.t.text[:at], "\n") }

// oneLine is a part of a text without its ends of lines and comments to them.
func oneLine(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if at := strings.Index(l, "//"); at >= 0 {
			l = l[:at]
		}
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, " ")
}
