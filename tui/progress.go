package tui

import (
	"strings"

	"tilescope/debugkern"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// stages of a run as the progress line shows them, and the phases that each is made of.
var progressStages = []struct {
	name   string
	phases []string
}{
	{"build", []string{"", "resolve", "inputs", "reference", "build", "load"}},
	{"launch", []string{"run", "launch", "plain"}}, {"compare", []string{"compare", "explain"}},
}

// progressText: ✓build ▸ ●launch emu 3/16 ▸ ○compare
func progressText(th *theme.Theme, p debugkern.Progress) string {
	at := -1
	for i, s := range progressStages {
		for _, phase := range s.phases {
			if phase == p.Phase {
				at = i
			}
		}
	}
	if at < 0 { // something this line does not know
		return view.PlainProgress(p)
	}
	detail := view.PlainProgress(debugkern.Progress{Detail: p.Detail, Done: p.Done, Total: p.Total})
	var b strings.Builder
	for i, s := range progressStages {
		mark := th.Glyph.Ring
		switch {
		case i < at:
			mark = th.Glyph.OK
		case i == at:
			mark = th.Glyph.Dot
		}
		if i > 0 {
			b.WriteString(" " + th.Glyph.Crumb + " ")
		}
		b.WriteString(mark + s.name)
		if i == at && detail != "" {
			b.WriteString(" " + th.Fit(detail, 28))
		}
	}
	return b.String()
}
