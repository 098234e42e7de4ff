package source

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/code"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
)

// Search implements view.Searcher: it looks in the source, or in the PTX where that has the focus.
func (v *Controller) Search(text string) error {
	v.search = text
	if v.code.Search(text)+v.ptx.Search(text) == 0 && text != "" {
		v.search = ""
		return fmt.Errorf("neither the source nor the PTX has %q", text)
	}
	return nil
}

// Here implements view.Searcher.
func (v *Controller) Here() (back func() tea.Cmd) {
	code, ptx := v.code.Here(), v.ptx.Here()
	return func() tea.Cmd {
		code()
		ptx()
		return nil
	}
}

// nextMatch goes to the next line of the focused pane that matches, or to the one before.
func (v *Controller) nextMatch(dir int) tea.Cmd {
	if v.search == "" {
		v.Say("no search is active: " + v.Keys.Label(keymap.Search) + " begins one")
		return nil
	}
	where, find := "source", v.code.FindNext
	other, elsewhere := "PTX", v.ptx.Matches()
	if v.at == partPTX {
		where, find, other, elsewhere = "PTX", v.ptx.FindNext, "source", v.code.Matches()
	}
	m, ok := find(dir)
	if !ok {
		v.Complain(fmt.Sprintf("%s: no line has %q; %s: %s", where, v.search, other,
			theme.Count(elsewhere, "line")))
		return nil
	}
	v.Say(matchText(where, v.search, m, dir))
	if v.Follow && v.at == partPTX {
		v.followPTX()
	} else if v.Follow {
		v.ptx.Point(v.code.Cursor())
	}
	return nil
}

// matchText words what a search came to: source: "acc", line 3 of 17 (from the top again)
func matchText(where, text string, m code.Match, dir int) string {
	out := fmt.Sprintf("%s: %q, line %d of %d that have it", where, text, m.Of, m.Total)
	switch {
	case m.Wrapped && m.Total == 1:
		return fmt.Sprintf("%s: %q, the only line that has it", where, text)
	case m.Wrapped && dir > 0:
		return out + "; from the top again"
	case m.Wrapped:
		return out + "; from the bottom again"
	}
	return out
}
