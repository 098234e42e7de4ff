// Package prompt is the line in which commands, searches and filters are typed, with completion.
//
// The one idea: it edits text and offers candidates that somebody else computes from the text so far.
//
// It must not know what a command does, nor keys by name: its methods are called.
package prompt

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/tui/theme"
)

// Candidate is one completion: the whole line it makes, and what it is.
type Candidate struct {
	Line   string
	Help   string
	Key    string // the key that does the same
	Marks  []int  // characters of the line that the text matches
	Prefix bool   // the line begins with the text
	Taken  bool   // of the first: Enter takes it where no other has been chosen
}

// Pane edits one line.
type Pane struct {
	th       *theme.Theme
	lead     string // ":", "/" or "&"
	text     []rune
	at       int // cursor
	complete func(string) ([]Candidate, string)
	cands    []Candidate
	none     string // why there is no candidate
	note     string // what the text so far comes to
	pick     int    // -1 until one is chosen
	history  map[string][]string
	recall   int // how far back in history; 0 is the line being typed
	typed    string
}

// New returns a closed prompt.
func New(th *theme.Theme) *Pane { return &Pane{th: th, history: map[string][]string{}} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) { p.th = th }

// Open starts a line. complete may be nil.
func (p *Pane) Open(lead, text string, complete func(string) ([]Candidate, string)) {
	p.lead, p.text, p.complete, p.recall, p.note = lead, []rune(text), complete, 0, ""
	p.at = len(p.text)
	p.offer()
}

// Close ends editing.
func (p *Pane) Close() {
	p.lead, p.cands, p.none, p.note = "", nil, "", ""
	p.set("")
}

// Active reports whether a line is being edited, and its lead.
func (p *Pane) Active() (lead string, ok bool) { return p.lead, p.lead != "" }

// Text is the line so far.
func (p *Pane) Text() string { return string(p.text) }

// SetNote says what the text so far comes to, at the end of the line.
func (p *Pane) SetNote(text string) { p.note = text }

// Accept ends editing and returns the line, remembered for later.
func (p *Pane) Accept() (lead, text string) {
	lead, text = p.lead, p.Text()
	if text != "" && (len(p.history[lead]) == 0 || p.history[lead][len(p.history[lead])-1] != text) {
		p.history[lead] = append(p.history[lead], text)
	}
	p.Close()
	return lead, text
}

func (p *Pane) offer() {
	p.cands, p.none, p.pick = nil, "", -1
	if p.complete != nil {
		p.cands, p.none = p.complete(p.Text())
	}
}

func (p *Pane) set(text string) {
	p.text = []rune(text)
	p.at = len(p.text)
}

// Insert types text at the cursor; control characters are left out.
func (p *Pane) Insert(s string) {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || r == 0x7f:
			return -1
		}
		return r
	}, s)
	p.text = slices.Insert(p.text, p.at, []rune(s)...)
	p.at += len([]rune(s))
	p.offer()
}

// Backspace deletes before the cursor; on an empty line it reports that the prompt should close.
func (p *Pane) Backspace() (empty bool) {
	if p.at > 0 {
		p.text = slices.Delete(p.text, p.at-1, p.at)
		p.at--
		p.offer()
	}
	return len(p.text) == 0 && p.at == 0 && p.lead != "" && len(p.cands) == 0
}

// Delete deletes under the cursor.
func (p *Pane) Delete() {
	if p.at < len(p.text) {
		p.text = slices.Delete(p.text, p.at, p.at+1)
		p.offer()
	}
}

// DeleteWord deletes the word before the cursor.
func (p *Pane) DeleteWord() {
	i := p.at
	for i > 0 && p.text[i-1] == ' ' {
		i--
	}
	for i > 0 && p.text[i-1] != ' ' {
		i--
	}
	p.text = slices.Delete(p.text, i, p.at)
	p.at = i
	p.offer()
}

// Clear deletes up to the cursor.
func (p *Pane) Clear() {
	p.text = slices.Delete(p.text, 0, p.at)
	p.at = 0
	p.offer()
}

// Move moves the cursor by n characters, as far as the line goes.
func (p *Pane) Move(n int) { p.at = max(0, min(p.at+n, len(p.text))) }

// Complete takes the next (dir 1) or previous candidate; the first time the longest beginning that all share.
func (p *Pane) Complete(dir int) {
	if len(p.cands) == 0 {
		return
	}
	if begin := p.beginning(); p.pick < 0 && dir > 0 && len(begin) > 0 && p.Text() != "" {
		common := shared(begin)
		if len(common) > len(p.Text()) {
			p.set(common)
			p.offer()
			if len(begin) > 1 {
				return
			}
		}
		if len(begin) == 1 {
			return
		}
	}
	p.Pick(dir)
}

// beginning lists the candidates that begin with the text.
func (p *Pane) beginning() []Candidate {
	var out []Candidate
	for _, c := range p.cands {
		if c.Prefix {
			out = append(out, c)
		}
	}
	return out
}

// Picking reports whether a candidate after the first has been chosen.
func (p *Pane) Picking() bool { return p.pick > 0 }

// Recalling reports whether the line is an earlier one.
func (p *Pane) Recalling() bool { return p.recall > 0 }

// Pick takes the next (dir 1) or previous candidate.
func (p *Pane) Pick(dir int) {
	if len(p.cands) == 0 {
		return
	}
	p.pick = (p.pick + dir + len(p.cands)) % len(p.cands)
	if p.pick < 0 {
		p.pick = len(p.cands) - 1
	}
	p.set(p.cands[p.pick].Line)
}

// shared is the longest beginning of all candidates.
func shared(list []Candidate) string {
	s := list[0].Line
	for _, c := range list[1:] {
		for !strings.HasPrefix(c.Line, s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// Recall brings back an earlier (dir -1) or later line.
func (p *Pane) Recall(dir int) {
	h := p.history[p.lead]
	if p.recall == 0 {
		p.typed = p.Text()
	}
	p.recall = max(0, min(p.recall-dir, len(h)))
	if p.recall == 0 {
		p.set(p.typed)
	} else {
		p.set(h[len(h)-p.recall])
	}
	p.offer()
}

// Line draws the prompt in w columns; cursor is the column of the text cursor.
func (p *Pane) Line(w int) (line string, cursor int) {
	count := p.th.Fit(p.note, max(0, w-p.th.Width(p.Text())-8))
	if n := len(p.cands); n > 0 {
		count = fmt.Sprintf("%d/%d", p.chosen()+1, n)
	}
	from := 0
	if room := w - 3 - len(p.lead) - p.th.Width(count); p.at > room {
		from = p.at - room
	}
	l := p.th.Line(w).Add(p.th.Key, p.lead)
	shown := string(p.text[from:])
	if from > 0 { // the beginning is cut
		l.Glyph(p.th.Dim, p.th.Glyph.Ellipsis)
		shown = string(p.text[from+1:])
	}
	l.Add(p.th.Text, shown)
	if l.Left() > p.th.Width(count)+1 {
		l.Right(p.th.Dim, count, w)
	}
	return l.Done(), len(p.lead) + p.at - from
}

// chosen is the candidate that Enter takes: the one that was chosen, else the first where it is taken for the
// text; -1 for none.
func (p *Pane) chosen() int {
	if p.pick < 0 && len(p.cands) > 0 && p.cands[0].Taken {
		return 0
	}
	return p.pick
}

// Popup draws up to h candidates in w columns, or why there are none, and the whole of a text that is longer
// than the line; nil where there is nothing to show, as once the line is closed.
func (p *Pane) Popup(w, h int) []string {
	if p.lead == "" {
		return nil
	}
	whole := p.whole(w, h-2)
	return append(p.offered(w, h-len(whole)), whole...)
}

// whole draws a text that is longer than the line in up to h lines, with the character under the cursor
// marked; nil where the line has room for it.
func (p *Pane) whole(w, h int) []string {
	if p.th.Width(p.Text()) <= w-3-len(p.lead) || w < 8 || h < 1 {
		return nil
	}
	rows, at := p.rows(w - 4)
	from := max(0, min(at-h/2, len(rows)-h))
	var out []string
	for _, r := range rows[from:min(len(rows), from+h)] {
		l := p.th.Line(w).Space(2)
		if p.at < r[0] || p.at >= r[1] {
			out = append(out, l.Add(p.th.Text, string(p.text[r[0]:r[1]])).Done())
			continue
		}
		l.Add(p.th.Text, string(p.text[r[0]:p.at])).Add(p.th.Select, string(p.text[p.at]))
		out = append(out, l.Add(p.th.Text, string(p.text[p.at+1:r[1]])).Done())
	}
	return out
}

// rows are the beginnings and ends of the text's rows of up to w columns, which end behind a space where they
// have one, and the row that the cursor is in.
func (p *Pane) rows(w int) (rows [][2]int, at int) {
	for from := 0; from < len(p.text); {
		to, space := from, 0
		for to < len(p.text) && p.th.Width(string(p.text[from:to+1])) <= w {
			if to++; p.text[to-1] == ' ' {
				space = to
			}
		}
		to = max(to, from+1)
		if space > from && to < len(p.text) {
			to = space
		}
		if p.at >= from {
			at = len(rows)
		}
		rows = append(rows, [2]int{from, to})
		from = to
	}
	return rows, at
}

// offered draws up to h candidates in w columns, or why there are none.
func (p *Pane) offered(w, h int) []string {
	if len(p.cands) == 0 && p.none != "" && h > 0 {
		var out []string
		for _, s := range p.th.Wrap(p.none, w-4) {
			out = append(out, p.th.Line(w).Space(2).Add(p.th.Notice, s).Done())
		}
		return out[:min(len(out), h)]
	}
	n := min(len(p.cands), h)
	if n <= 0 {
		return nil
	}
	name, key, most := 0, 0, w-3
	for _, c := range p.cands {
		if c.Help != "" {
			most = w/2 - 2
		}
		name, key = max(name, p.th.Width(c.Line)), max(key, p.th.Width(c.Key))
	}
	cut := 0
	if name > most {
		cut = p.common()
	}
	name, key = min(name, most), min(key, 12)
	rest := p.restOfHelp(w, w-name-len(p.lead)-3-helpAfter(key))
	n = max(1, min(n, h-len(rest)))
	first := max(0, min(p.chosen()-n+1, len(p.cands)-n))
	out := make([]string, n)
	for i := range out {
		out[i] = p.candidate(p.cands[first+i], first+i == p.chosen(), cut, name, key, w)
	}
	return append(out, rest...)
}

// helpAfter is how many columns a column of keys takes.
func helpAfter(key int) int {
	if key == 0 {
		return 0
	}
	return key + 2
}

// restOfHelp is the whole help of the chosen candidate, in lines below the list, where its row has room for a
// part of it only.
func (p *Pane) restOfHelp(w, room int) []string {
	i := p.chosen()
	if i < 0 || i >= len(p.cands) || p.th.Width(p.cands[i].Help) <= room {
		return nil
	}
	var out []string
	for _, s := range p.th.Wrap(p.cands[i].Help, w-4) {
		out = append(out, p.th.Line(w).Space(2).Add(p.th.Notice, s).Done())
	}
	return out
}

// common is how much of every candidate is the same, in whole folders: what of it tells none from another.
func (p *Pane) common() int {
	return strings.LastIndexAny(shared(p.cands), "/\\") + 1
}

// candidate draws one candidate: its line, without its first bytes (cut), of which what the text matches is
// marked, key, and help.
func (p *Pane) candidate(c Candidate, chosen bool, cut, name, key, w int) string {
	text, mark, keys, help := p.th.Text, p.th.Match, p.th.Key, p.th.Dim
	if chosen {
		text, mark, keys, help = p.th.Select, p.th.SelectMatch, p.th.Select, p.th.Select
	}
	l := p.th.Line(w).Add(text, " "+p.lead)
	switch {
	case cut > 0:
		l.Add(text, p.th.Fit(p.th.Glyph.Ellipsis+c.Line[cut:], name))
	case p.th.Width(c.Line) > name:
		l.Add(text, p.th.Fit(c.Line, name))
	default:
		for i, r := range c.Line { // names are ASCII: an index is a character
			if slices.Contains(c.Marks, i) {
				l.Add(mark, string(r))
			} else {
				l.Add(text, string(r))
			}
		}
	}
	l.Repeat(text, " ", name+len(p.lead)+2-l.Col())
	if key > 0 {
		l.Add(keys, p.th.Fit(c.Key, key)).Repeat(text, " ", name+len(p.lead)+2+key+2-l.Col())
	}
	return l.Add(help, p.th.Fit(c.Help, l.Left()-1)).DoneIn(help)
}
