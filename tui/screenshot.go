package tui

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/text"
	"tilescope/tui/picture"
	"tilescope/tui/view"
)

// screenshotMsg says that a picture of the screen was written, or why not.
type screenshotMsg struct {
	path string
	size int64
	err  error
}

// screenshot is :screenshot FILE.svg: the screen in the colours of the theme.
func (m *Model) screenshot(command, path string) tea.Cmd {
	if !strings.EqualFold(filepath.Ext(path), ".svg") {
		m.Complain(fmt.Sprintf("screenshot %q: expected a file's name that ends in .svg", path))
		return nil
	}
	lines, th, o := slices.Clone(m.screen()), m.Theme, m.output(command, path)
	return func() tea.Msg {
		n, err := o.write(func(w io.Writer) error {
			_, err := w.Write(picture.SVG(th, lines))
			return err
		})
		return screenshotMsg{o.path, n, err}
	}
}

// shot reports what became of a picture.
func (m *Model) shot(msg screenshotMsg) {
	if msg.err != nil {
		m.Complain(view.OneLine(msg.err))
		return
	}
	m.Say(fmt.Sprintf("wrote %s, %s", text.Line(msg.path), sizeText(msg.size)))
}
