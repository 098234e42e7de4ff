// Package prompt is the line in which commands, searches and filters are typed, with completion.
//
// The one idea: it edits text and offers candidates that somebody else computes from the text so far.
//
// It must not know what a command does, nor keys by name: its methods are called.
package prompt

import (
	"slices"
	"strings"

	"tilescope/tui/theme"
)

// Candidate is one completion: the whole line it makes, and what it is.
type Candidate struct {
	Line string
	Help string
}

// Pane edits one line.
type Pane struct {
	th       *theme.Theme
	lead     string // ":", "/" or "&"
	text     []rune
	at       int // cursor
	complete func(string) []Candidate
	cands    []Candidate
	pick     int // -1 until one is chosen
	history  map[string][]string
	recall   int // how far back in history; 0 is the line being typed
	typed    string
}

// New returns a closed prompt.
func New(th *theme.Theme) *Pane { return &Pane{th: th, history: map[string][]string{}} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) { p.th = th }

// Open starts a line. complete may be nil.
func (p *Pane) Open(lead, text string, complete func(string) []Candidate) {
	p.lead, p.text, p.complete, p.recall = lead, []rune(text), complete, 0
	p.at = len(p.text)
	p.offer()
}

// Close ends editing.
func (p *Pane) Close() { p.lead, p.cands = "", nil }

// Active reports whether a line is being edited, and its lead.
func (p *Pane) Active() (lead string, ok bool) { return p.lead, p.lead != "" }

// Text is the line so far.
func (p *Pane) Text() string { return string(p.text) }

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
	p.cands, p.pick = nil, -1
	if p.complete != nil {
		p.cands = p.complete(p.Text())
	}
}

func (p *Pane) set(text string) {
	p.text = []rune(text)
	p.at = len(p.text)
}

// Insert types text at the cursor; control characters are left out.
func (p *Pane) Insert(s string) {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
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
	if p.pick < 0 && dir > 0 {
		if common := shared(p.cands); len(common) > len(p.Text()) {
			p.set(common)
			p.offer()
			if len(p.cands) > 1 {
				return
			}
		}
	}
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
	from := 0
	if room := w - 2 - len(p.lead); p.at > room {
		from = p.at - room
	}
	l := p.th.Line(w).Add(p.th.Key, p.lead).Add(p.th.Text, string(p.text[from:]))
	return l.Done(), len(p.lead) + p.at - from
}

// Popup draws up to h candidates in w columns; nil where there are none.
func (p *Pane) Popup(w, h int) []string {
	n := min(len(p.cands), h)
	if n <= 0 {
		return nil
	}
	first := max(0, min(p.pick-n+1, len(p.cands)-n))
	out := make([]string, n)
	for i := range out {
		c := p.cands[first+i]
		name, help := p.th.Text, p.th.Dim
		if first+i == p.pick {
			name, help = p.th.Select, p.th.Select
		}
		l := p.th.Line(w).Add(name, " "+p.lead+p.th.Fit(c.Line, max(8, w/2-2))).
			Repeat(name, " ", max(1, min(30, w/2)-3-p.th.Width(c.Line)))
		out[i] = l.Add(help, " "+p.th.Fit(c.Help, l.Left()-1)).DoneIn(help)
	}
	return out
}
