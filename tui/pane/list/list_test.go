package list

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tilescope/tui/theme"
)

func sample(w, h int) *Pane {
	p := New(theme.New(theme.Options{Profile: colorprofile.ASCII}))
	p.SetSize(w, h)
	var items []Item
	for i := range 30 {
		if i%10 == 0 {
			items = append(items, Item{Head: true, Text: fmt.Sprintf("Part %d", i/10)})
		}
		items = append(items, Item{Lead: fmt.Sprint("k", i),
			Text: "does something that takes more than one line " +
				strings.Repeat("and more ", i%3) + fmt.Sprintf("end%d.", i), Tail: fmt.Sprintf("name-%d", i)})
	}
	p.SetData(Data{Title: "LIST", Note: "Esc closes", Items: items})
	return p
}

func text(p *Pane) string { return ansi.Strip(strings.Join(p.View(), "\n")) }

// TestEveryItemCanBeReached: the cursor goes over every item and no heading, and what it is on is on the
// screen whole.
func TestEveryItemCanBeReached(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {40, 12}, {120, 37}, {200, 57}} {
		p := sample(size[0], size[1])
		for i := range 30 {
			at, ok := p.Selected()
			x := p.data.Items[at]
			if !ok || x.Lead != fmt.Sprint("k", i) {
				t.Fatalf("%v: item %d is %+v", size, i, x)
			}
			if s := text(p); size[0] >= 80 && !strings.Contains(s, fmt.Sprintf("end%d.", i)) {
				t.Errorf("%v: item %d is not shown:\n%s", size, i, s)
			}
			for _, l := range p.View() {
				if n := ansi.StringWidth(l); n != size[0] {
					t.Fatalf("%v: a line of %d columns: %q", size, n, l)
				}
			}
			if len(p.View()) != size[1] {
				t.Fatalf("%v: %d lines", size, len(p.View()))
			}
			p.Move(1)
		}
		p.Edge(-1)
		if s := text(p); size[1] >= 10 && !strings.Contains(s, "Part 0") {
			t.Errorf("%v: the first heading is not shown at the top:\n%s", size, s)
		}
		p.Edge(1)
		if at, _ := p.Selected(); p.data.Items[at].Lead != "k29" {
			t.Errorf("%v: the last item is %+v", size, p.data.Items[at])
		}
	}
}

// TestATallItemIsReadLineByLine: an item taller than the window is scrolled before the cursor leaves it.
func TestATallItemIsReadLineByLine(t *testing.T) {
	p := sample(40, 8)
	words := strings.Repeat("word ", 100) + "ENDWORD"
	p.SetData(Data{Items: []Item{{Lead: "a", Text: words}, {Lead: "b", Text: "next"}}})
	seen := false
	for range 100 {
		seen = seen || strings.Contains(text(p), "ENDWORD")
		if at, _ := p.Selected(); at == 1 {
			break
		}
		p.Move(1)
	}
	if at, _ := p.Selected(); !seen || at != 1 {
		t.Errorf("end seen: %t, at %d:\n%s", seen, at, text(p))
	}
}

func TestFind(t *testing.T) {
	p := sample(80, 20)
	if !p.Find("END17", 0) {
		t.Fatal("not found")
	}
	if at, _ := p.Selected(); p.data.Items[at].Lead != "k17" || !strings.Contains(text(p), "end17") {
		t.Errorf("found %+v", p.data.Items[at])
	}
	if !p.Find("name-2", 1) || p.data.Items[p.at].Lead != "k20" {
		t.Errorf("next is %+v", p.data.Items[p.at])
	}
	if !p.Find("name-2", -1) || p.data.Items[p.at].Lead != "k2" {
		t.Errorf("previous is %+v", p.data.Items[p.at])
	}
	if p.Find("nothing of the kind", 1) || p.data.Items[p.at].Lead != "k2" {
		t.Errorf("found what is not there: %+v", p.data.Items[p.at])
	}
}

func TestScrollAndHit(t *testing.T) {
	p := sample(80, 12)
	for range 100 {
		p.Scroll(3)
	}
	if s := text(p); !strings.Contains(s, "end29") {
		t.Errorf("scrolled to\n%s", s)
	}
	for range 100 {
		p.Scroll(-3)
	}
	if s := text(p); !strings.Contains(s, "Part 0") {
		t.Errorf("scrolled back to\n%s", s)
	}
	if p.Hit(3) || p.data.Items[p.at].Lead != "k1" {
		t.Errorf("a click is on %+v\n%s", p.data.Items[p.at], text(p))
	}
	if !p.Hit(3) {
		t.Error("the second click is not one")
	}
	if p.Hit(1) {
		t.Error("a heading can be chosen")
	}
}

func TestEmpty(t *testing.T) {
	p := New(theme.New(theme.Options{Profile: colorprofile.ASCII}))
	p.SetSize(80, 10)
	p.SetData(Data{Title: "LIST", Empty: "no message yet"})
	p.Move(1)
	p.Edge(1)
	p.Scroll(1)
	if _, ok := p.Selected(); ok || !strings.Contains(text(p), "no message yet") || p.Hit(1) {
		t.Errorf("empty:\n%s", text(p))
	}
}

// TestPagesShowEveryLine: paging from one end to the other passes over no line, in either direction and by
// any part of the window, and the item under the cursor is shown.
func TestPagesShowEveryLine(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {40, 12}, {30, 5}, {120, 37}} {
		for _, part := range []int{1, 2} {
			for _, dir := range []int{1, -1} {
				p := sample(size[0], size[1])
				p.Edge(-dir)
				p.View()
				seen := map[int]bool{}
				for range 400 {
					p.View()
					for i := p.top; i < min(p.top+p.H-2, len(p.lines)); i++ {
						seen[i] = true
					}
					if !p.shows() {
						t.Fatalf("%v: the cursor's item is off the screen at line %d", size, p.top)
					}
					p.Page(dir, part)
				}
				if n := len(p.lines); len(seen) != n {
					t.Errorf("%v, part %d, direction %d: %d of %d lines were shown", size, part, dir,
						len(seen), n)
				}
			}
		}
	}
}

// shows reports whether a line of the cursor's item is in the window.
func (p *Pane) shows() bool {
	for i := p.top; i < min(p.top+p.H-2, len(p.owner)); i++ {
		if p.owner[i] == p.at {
			return true
		}
	}
	return false
}
