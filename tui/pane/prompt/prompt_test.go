package prompt

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/tui/theme"
)

// popup is what a pane offers for a text, without colours.
func popup(text string, w int, lines ...string) string {
	p := New(theme.New(theme.Options{}))
	p.Open(":", text, func(string) (out []Candidate, none string) {
		for _, l := range lines {
			out = append(out, Candidate{Line: l, Prefix: true})
		}
		return out, ""
	})
	return ansi.Strip(strings.Join(p.Popup(w, 10), "\n"))
}

// TestLongPathsAreToldApart: of candidates that are wider than the screen the folders that all share are left
// out, and not the names at their ends; what fits is written in full.
func TestLongPathsAreToldApart(t *testing.T) {
	folder := "open /home/somebody/" + strings.Repeat("deep/", 20)
	s := popup(folder, 60, folder+"first.cu", folder+"second.cu --grid 8")
	for _, want := range []string{":…first.cu", ":…second.cu --grid 8"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if s := popup(folder, 60, folder+"only.cu"); !strings.Contains(s, ":…only.cu") {
		t.Errorf("one alone:\n%s", s)
	}
	s = popup("open a/", 60, "open a/first.cu", "open a/second.cu")
	if !strings.Contains(s, ":open a/first.cu") {
		t.Errorf("short ones are cut:\n%s", s)
	}
}

// TestALongLineIsShownWhole: a text that is longer than the line stands above it in rows that end between
// words, all of them where there is room, else those around the cursor; each character once.
func TestALongLineIsShownWhole(t *testing.T) {
	text := "open k.cu --grid 5 --block 64"
	for i := range 12 {
		text += " --arg x" + string(rune('a'+i)) + "=randn:f32[100,32]"
	}
	for _, w := range []int{40, 80, 120} {
		p := New(theme.New(theme.Options{}))
		p.Open(":", text, nil)
		got := ""
		for _, l := range p.Popup(w, 40) {
			if ansi.StringWidth(l) != w {
				t.Errorf("%d columns: a line of %d", w, ansi.StringWidth(l))
			}
			got += strings.TrimSpace(ansi.Strip(l)) + " "
		}
		if got != text+" " {
			t.Errorf("%d columns: %q", w, got)
		}
		p.Move(-1 << 20)
		small := ansi.Strip(strings.Join(p.Popup(w, 5), "\n"))
		if n := strings.Count(small, "\n") + 1; n != 3 || !strings.Contains(small, "open k.cu --grid 5") {
			t.Errorf("%d columns, the cursor at the beginning: %d lines\n%s", w, n, small)
		}
		p.Move(1 << 20)
		small = ansi.Strip(strings.Join(p.Popup(w, 5), "\n"))
		if !strings.Contains(small, "xl=randn:f32[100,32]") {
			t.Errorf("%d columns, the cursor at the end:\n%s", w, small)
		}
	}
	p := New(theme.New(theme.Options{}))
	if p.Open(":", "open k.cu", nil); p.Popup(80, 10) != nil {
		t.Error("a text that fits is shown twice")
	}
}

// TestAClosedPromptShowsNothing: a text that is longer than the line is gone when the line is accepted or
// closed, and is not what the next line begins with.
func TestAClosedPromptShowsNothing(t *testing.T) {
	long := "break 422 if " + strings.Repeat("lane < 9 && ", 20) + "warp == 0"
	for name, end := range map[string]func(*Pane){
		"accepted": func(p *Pane) {
			if lead, text := p.Accept(); lead != ":" || text != long {
				t.Errorf("accepted %q %q", lead, text)
			}
		},
		"closed": (*Pane).Close,
	} {
		p := New(theme.New(theme.Options{}))
		p.Open(":", long, nil)
		if p.Popup(120, 10) == nil {
			t.Fatal("a long text is not shown while it is typed")
		}
		end(p)
		if left := p.Popup(120, 10); left != nil {
			t.Errorf("%s: still shown:\n%s", name, ansi.Strip(strings.Join(left, "\n")))
		}
	}
}
