// Package list is a list that lies over the whole view: keys, messages. The one idea: an item is a lead, a
// text that is wrapped and never cut, and a name at the right end; the cursor goes from item to item and the
// window follows it. It must not know keys, models or what an item stands for.
package list

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/tui/theme"
)

// Item is one entry.
type Item struct {
	Lead string // in a column at the left
	Text string // wrapped
	Tail string // at the right end of the first line, where there is room
	Head bool   // a heading: the cursor passes over it
	Bad  bool   // an error
}

// Data is what is listed.
type Data struct {
	Title, Note string
	Empty       string // what stands where there are no items
	Items       []Item
}

// Pane draws the list in a box.
type Pane struct {
	theme.Frame[bool]
	data  Data
	at    int // item under the cursor
	top   int // first line shown
	skip  int // lines of an item taller than the window that lie above it
	match string
	paged bool // the window stands where Page has put it, and does not follow the cursor

	owner []int // item of each line
	lines []string
}

// New returns an empty list.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, true)} }

// SetData lists other items; the cursor keeps its place as far as there is one.
func (p *Pane) SetData(d Data) {
	p.data, p.Changed = d, true
	p.at, p.paged = max(0, min(p.at, len(d.Items)-1)), false
	p.settle(1)
}

// settle moves the cursor off a heading.
func (p *Pane) settle(dir int) {
	for _, d := range []int{dir, -dir} {
		for i := p.at; i >= 0 && i < len(p.data.Items); i += d {
			if !p.data.Items[i].Head {
				p.at = i
				return
			}
		}
	}
}

// Here returns what puts the cursor and the window back to where they are now.
func (p *Pane) Here() (back func()) {
	at, top, skip, paged := p.at, p.top, p.skip, p.paged
	return func() {
		p.at, p.top, p.skip, p.paged, p.Changed = max(0, min(at, len(p.data.Items)-1)), top, skip, paged, true
	}
}

// Selected is the index of the item under the cursor; ok is false where there is none.
func (p *Pane) Selected() (i int, ok bool) {
	return p.at, p.at < len(p.data.Items) && !p.data.Items[p.at].Head
}

// Move moves the cursor by n items that are no headings.
func (p *Pane) Move(n int) {
	dir := 1
	if n < 0 {
		dir, n = -1, -n
	}
	p.View()
	p.paged = false
	for ; n > 0; n-- {
		if to := p.skip + dir; to >= 0 && to <= p.height()-(p.H-2) {
			p.skip = to
			continue
		}
		p.skip = 0
		i := p.at + dir
		for i >= 0 && i < len(p.data.Items) && p.data.Items[i].Head {
			i += dir
		}
		if i < 0 || i >= len(p.data.Items) {
			if dir < 0 { // the headings above the first item
				p.top = 0
			}
			break
		}
		p.at = i
	}
	p.Changed = true
}

// height is how many lines the item under the cursor takes.
func (p *Pane) height() int {
	n := 0
	for _, o := range p.owner {
		if o == p.at {
			n++
		}
	}
	return n
}

// Edge moves the cursor to the first (dir < 0) or last item.
func (p *Pane) Edge(dir int) {
	p.at, p.top, p.skip, p.paged = 0, 0, 0, false
	if dir > 0 {
		p.at = max(0, len(p.data.Items)-1)
	}
	p.settle(-dir)
	p.paged = dir < 0 && p.H > 4 // the heading above the first item is shown
	if p.Changed = true; dir > 0 {
		p.View()
		p.skip, p.Changed = max(0, p.height()-(p.H-2)), true
	}
}

// Page moves the window by a part of the lines shown, 1 is all of them but one, 2 half, and the cursor into
// it. Items take several lines: no line is passed over.
func (p *Pane) Page(dir, part int) {
	p.View()
	h := p.H - 2
	if len(p.data.Items) == 0 || h < 1 {
		return
	}
	was := p.top
	p.top = max(0, min(p.top+dir*max(1, h/part-1), len(p.lines)-h))
	if p.top == was { // the window is at its end
		p.at = max(0, dir*(len(p.data.Items)-1))
		p.settle(-dir)
		p.paged, p.Changed = true, true
		return
	}
	from, to := p.top, min(p.top+h, len(p.owner))-1
	if dir < 0 {
		from, to = to, from
	}
	for i := from; i != to+dir; i += dir {
		if !p.data.Items[p.owner[i]].Head {
			p.at = p.owner[i]
			break
		}
	}
	p.skip = 0
	if p.height() > h {
		p.skip = max(0, min(p.top-slices.Index(p.owner, p.at), p.height()-h))
	}
	p.paged, p.Changed = true, true
}

// Scroll moves the window by n lines, and the cursor with it.
func (p *Pane) Scroll(n int) {
	p.View()
	p.top = max(0, min(p.top+n, len(p.lines)-(p.H-2)))
	for i := p.top; i < min(p.top+p.H-2, len(p.owner)); i++ {
		if p.owner[i] == p.at {
			return
		}
	}
	i := p.top
	if n < 0 {
		i = p.top + p.H - 3
	}
	if i >= 0 && i < len(p.owner) {
		p.at, p.skip = p.owner[i], 0
		p.settle(n)
	}
	p.Changed = true
}

// Hit puts the cursor on the item drawn on line y of the pane, and reports whether it was there already.
func (p *Pane) Hit(y int) (again bool) {
	p.View()
	i := p.top + y - 1
	if y < 1 || y >= p.H-1 || i >= len(p.owner) || len(p.data.Items) == 0 || p.data.Items[p.owner[i]].Head {
		return false
	}
	again = p.owner[i] == p.at
	p.at, p.skip, p.Changed = p.owner[i], 0, true
	return again
}

// Mark marks a text where it occurs; the cursor stays.
func (p *Pane) Mark(text string) { p.match, p.Changed = text, true }

// Find marks what contains a text ("": nothing), and moves the cursor to the next (dir 1) or previous item
// that does, around the ends; with dir 0 the cursor may stay where it is. It reports whether there is one.
func (p *Pane) Find(text string, dir int) bool {
	p.match, p.Changed = text, true
	n := len(p.data.Items)
	if text == "" || n == 0 {
		return text == ""
	}
	step, from := dir, dir
	if dir == 0 {
		step = 1
	}
	for k := range n {
		i := ((p.at+from+k*step)%n + n) % n
		if x := p.data.Items[i]; !x.Head && (contains(x.Text, text) || contains(x.Lead, text) ||
			contains(x.Tail, text)) {
			p.at, p.skip, p.paged = i, 0, false
			return true
		}
	}
	return false
}

func contains(s, text string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(text))
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 20 || p.H < 3 {
		return p.Theme.Blank(p.W, p.H)
	}
	p.write(p.W - 2)
	first, last := 0, 0
	for i, o := range p.owner {
		if o == p.at {
			if last == 0 {
				first = i
			}
			last = i + 1
		}
	}
	for first > 0 && first == last-1 && p.data.Items[p.owner[first-1]].Head && p.top > first-1 {
		first--
	}
	h := p.H - 2
	if !p.paged {
		if p.top = min(max(p.top, last-h), first); last-first > h {
			p.top = first + p.skip
		}
	}
	p.top = max(0, min(p.top, len(p.lines)-h))
	note := p.data.Note
	if len(p.lines) > h {
		note = fmt.Sprintf("%d-%d of %d · %s", p.top+1, min(p.top+h, len(p.lines)), len(p.lines), note)
		if long := "lines " + note; p.Theme.Width(p.data.Title+long)+4 < p.W {
			note = long
		}
	}
	return p.Theme.Box(p.data.Title, note, p.lines[p.top:], p.W, p.H, true)
}

// write fills lines and owner.
func (p *Pane) write(w int) {
	p.lines, p.owner = p.lines[:0], p.owner[:0]
	lead, tail := 0, 0
	for _, x := range p.data.Items {
		if x.Head {
			continue
		}
		lead, tail = max(lead, p.Theme.Width(x.Lead)), max(tail, p.Theme.Width(x.Tail))
	}
	lead = min(lead, w/3)
	if tail > w/3 || tail == 0 {
		tail = -1
	}
	if len(p.data.Items) == 0 {
		p.lines = append(p.lines, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, p.data.Empty).Done())
		p.owner = append(p.owner, 0)
	}
	for i, x := range p.data.Items {
		if x.Head {
			p.lines = append(p.lines, p.Theme.Line(w).Space(1).Add(p.Theme.Title, x.Text).Done())
			p.owner = append(p.owner, i)
			continue
		}
		right := w
		if tail > 0 {
			right = min(w, readable) // a name far from its text is hard to follow
		}
		p.item(i, x, lead, right-lead-tail-5, right, w)
	}
}

// readable is the width up to which texts with names at their right end are written.
const readable = 118

// item writes one item whose text has room columns and whose name ends at column right, in w columns.
func (p *Pane) item(i int, x Item, lead, room, right, w int) {
	style := p.Theme.Text
	switch {
	case x.Bad:
		style = p.Theme.Error
	case i == p.at:
		style = p.Theme.Strong
	}
	for k, s := range p.Theme.Wrap(x.Text, room) {
		l := p.Theme.Line(w)
		if k == 0 {
			l.Pointer(i == p.at).Space(1).Add(p.Theme.Key, p.Theme.Fit(x.Lead, lead))
		}
		l.Pad(lead + 4)
		p.marked(l, style, s)
		if k == 0 && x.Tail != "" && right-l.Col() > p.Theme.Width(x.Tail) {
			l.Right(p.Theme.Dim, x.Tail, right-1)
		}
		p.lines, p.owner = append(p.lines, l.Done()), append(p.owner, i)
	}
}

// marked writes text with what the search matches in it marked.
func (p *Pane) marked(l *theme.Line, style theme.Style, s string) {
	low, find := strings.ToLower(s), strings.ToLower(p.match)
	for find != "" && len(low) == len(s) {
		i := strings.Index(low, find)
		if i < 0 {
			break
		}
		l.Add(style, s[:i]).Add(p.Theme.Match, s[i:i+len(find)])
		s, low = s[i+len(find):], low[i+len(find):]
	}
	l.Add(style, s)
}
