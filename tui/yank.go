package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/debugkern/text"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

const (
	// maxYank is how much text is copied at most.
	maxYank = 1 << 20
	// safeYank is how much text every terminal takes that takes OSC 52 at all: several end a sequence at
	// 100,000 bytes, of which the text in base64 is the most.
	safeYank = 74000
	// screenString is how much GNU screen passes on in one sequence; it has dropped more than 768 bytes.
	screenString = 768
)

// yank copies what is under the cursor.
func (m *Model) yank(string) tea.Cmd {
	copied := text.Terminal(m.yanked()) // it is pasted into terminals
	if copied == "" {
		m.Say("nothing to copy here")
		return nil
	}
	return m.copyOut(copied, view.FirstLine(copied))
}

// copyOut copies a text by OSC 52, which the terminal may or may not allow, and says how much of what.
func (m *Model) copyOut(copied, what string) tea.Cmd {
	said := fmt.Sprintf("copied by OSC 52 (%s), if the terminal allows it: %s",
		sizeText(int64(len(copied))), what)
	if len(copied) > safeYank {
		said = fmt.Sprintf("copied by OSC 52 (%s; many terminals cut it above %s): %s",
			sizeText(int64(len(copied))),
			sizeText(safeYank), what)
	}
	m.Say(said)
	paint := m.paint
	return func() tea.Msg {
		if paint != nil {
			paint.clipboard(copied)
		}
		return copiedMsg{copied}
	}
}

// copiedMsg says what was sent to the terminal's clipboard.
type copiedMsg struct{ text string }

// clipboard sets the terminal's clipboard by OSC 52. The terminal does not say whether it did.
func (p *painter) clipboard(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seq := ansi.SetSystemClipboard(text)
	if p.screen { // it does not know OSC 52, and passes on what it is told to; tmux takes the first one
		seq += ansi.ScreenPassthrough(seq, screenString)
	}
	p.write(seq)
}

// yanked is what is under the cursor of the view, "" where there is nothing to copy.
func (m *Model) yanked() string {
	if m.over != nil {
		return m.listed()
	}
	if m.Failing() {
		return m.failure.pane.Text()
	}
	if v, ok := m.Shown().(view.Copier); ok {
		return v.Text()
	}
	return ""
}

// copying is what of the tile under the cursor is copied, and how.
type copying struct {
	part      string // cell, row or tile; "" what the view has under its cursor, in words
	form      cell.Form
	reference bool // the reference's numbers
}

// yankWords are the words of :yank.
var yankWords = slices.Concat([]string{"cell", "row", "tile"}, cell.Forms, []string{"reference"})

// parseCopying reads the argument of :yank: its words in any order.
func parseCopying(arg string) (copying, error) {
	var c copying
	said := ""
	for _, w := range strings.Fields(arg) {
		switch {
		case w == "reference":
			c.reference = true
		case slices.Contains(cell.Forms, w) && said == "":
			c.form, said = cell.Form(slices.Index(cell.Forms, w)), w
		case slices.Contains(yankWords[:3], w) && c.part == "":
			c.part = w
		default:
			return c, fmt.Errorf("yank %q: expected cell, row or tile, then csv or numpy, then reference; "+
				":dump FILE.csv or FILE.npy writes a tile to a file", arg)
		}
	}
	if c.part == "" && arg != "" {
		c.part = "tile"
	}
	return c, nil
}

// yankedMsg is a part of a tile as it is copied.
type yankedMsg struct {
	gen        int
	text, what string
	err        error
}

// yankPart is :yank. Without an argument it copies what is under the cursor, as the key does.
func (m *Model) yankPart(arg string) tea.Cmd {
	c, err := parseCopying(arg)
	switch {
	case err != nil:
		m.Complain(err.Error())
		return nil
	case c.part == "":
		return m.yank("")
	case m.Run == nil || m.Failing():
		m.Complain("no tile to copy: no run is on screen")
		return nil
	}
	viewer, at, gen, ref := m.Run.Viewer, m.PlaceOf(m.Cursor), m.Gen, m.Numbers.Ref
	return func() tea.Msg {
		v, err := viewer.View(at.Place)
		if err != nil {
			return yankedMsg{gen: gen, err: err}
		}
		msg := yankedMsg{gen: gen}
		msg.text, msg.what, msg.err = c.of(v, at, ref)
		return msg
	}
}

// of is a part of a tile as text, and what it is called.
func (c copying) of(v *debugkern.TileView, at debugkern.Cell, ref cell.Ref) (copied, what string, err error) {
	if err := c.missing(v, at); err != nil {
		return "", "", err
	}
	rows, cols, value := v.ValidRows, v.ValidCols, c.texts(v, ref)
	dtype, whose := cell.NumPyType(v.Got.DType), ""
	if c.reference {
		dtype, whose = "float64", " of the reference"
	}
	place := v.Stage.String()
	switch c.part {
	case "cell":
		inner := value
		value = func(int, int) string { return inner(at.Row, at.Col) }
		copied, _ = c.form.Rows(dtype, 0, 1, 1, maxYank, value)
		return copied, fmt.Sprintf("%s%s as %s", cell.Name(v.Plan, at.Row, at.Col), whose, c.form), nil
	case "row":
		copied, _ = c.form.Rows(dtype, at.Row, 1, cols, maxYank, value)
		return copied, fmt.Sprintf("row %d of %s%s, %s, as %s", at.Row, place, whose, theme.Count(cols,
			"cell"),
			c.form), nil
	}
	copied, n := c.form.Rows(dtype, 0, rows, cols, maxYank, value)
	if n < rows {
		all := ":dump FILE.csv"
		if c.reference {
			all += " reference"
		}
		return copied, fmt.Sprintf("%d of %d rows of %s%s as %s; %s writes all of it", n, rows, place, whose,
			c.form, all), nil
	}
	return copied, fmt.Sprintf("%s%s, %d×%d, as %s", place, whose, rows, cols, c.form), nil
}

// yankedTile copies a part of a tile.
func (m *Model) yankedTile(msg yankedMsg) tea.Cmd {
	switch {
	case msg.gen != m.Gen:
		return nil
	case msg.err != nil:
		m.Complain(view.OneLine(msg.err))
		return nil
	}
	return m.copyOut(msg.text, msg.what)
}

// commandLine is :command: the line that asks a shell for what is on screen, shown and copied.
func (m *Model) commandLine(string) tea.Cmd {
	line := m.NextRequest().CommandLine(m.opt.Config)
	if m.file.ofPython() { // the bundle is gone when the terminal is closed
		line = "tilescope check " + text.JoinWords(m.file.words)
	}
	cmd := m.copyOut(line, line)
	m.Status.Whole = true
	return cmd
}
