package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// bookmarks are places by letter.
type bookmarks struct {
	*view.Context
	all map[string]configs.Bookmark
}

// set remembers the cursor under a letter.
func (b *bookmarks) set(name string) tea.Cmd {
	c := b.PlaceOf(b.Cursor)
	b.all[name] = configs.Bookmark{Target: b.Req.Target, Cursor: remember(c)}
	b.Say(fmt.Sprintf("bookmark %s set at %s", name, b.Named(c)))
	return b.Root.Changed()
}

func (b *bookmarks) goTo(name string) tea.Cmd {
	mark, ok := b.all[name]
	if !ok {
		b.Complain(fmt.Sprintf("no bookmark %s: %s%s sets it", name,
			strings.TrimSuffix(b.Keys.Label(keymap.SetMark), "a"), name))
		return nil
	}
	c, ok := recall(mark.Cursor)
	if !ok {
		b.Complain(fmt.Sprintf("bookmark %s names stage %q, which there is not", name, mark.Stage))
		return nil
	}
	cmd := b.GoTo(c)
	text := fmt.Sprintf("at bookmark %s: %s", name, b.Named(b.PlaceOf(b.Cursor)))
	if mark.Target != "" && mark.Target != b.Req.Target {
		text += " (it was set in " + mark.Target + ")"
	}
	b.Say(text)
	return cmd
}

func remember(c debugkern.Cell) configs.Cursor {
	return configs.Cursor{Stage: c.Stage.String(), Block: c.Block, Tile: c.KVTile, Row: c.Row, Col: c.Col}
}

func recall(c configs.Cursor) (debugkern.Cell, bool) {
	return debugkern.Cell{
		Place: debugkern.Place{Stage: probes.Stage(c.Stage), Block: c.Block, KVTile: c.Tile},
		Row:   c.Row, Col: c.Col,
	}, c.Stage != ""
}
