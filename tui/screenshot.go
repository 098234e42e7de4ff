package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/file"
	"tilescope/debugkern/text"
	"tilescope/tui/picture"
)

// screenshotMsg says that a picture of the screen was written, or why not.
type screenshotMsg struct {
	path string
	size int
	err  error
}

// screenshot writes the screen as SVG, in the colours of the theme. No file is replaced.
func (m *Model) screenshot(path string) tea.Cmd {
	if !strings.EqualFold(filepath.Ext(path), ".svg") {
		m.Complain(fmt.Sprintf("screenshot %q: expected a file's name that ends in .svg", path))
		return nil
	}
	lines, th, files := slices.Clone(m.screen()), m.Theme, m.Files
	return func() tea.Msg {
		svg := picture.SVG(th, lines)
		return screenshotMsg{path, len(svg), writeNew(files, path, svg)}
	}
}

// writeNew writes a file that does not exist yet; a failed write leaves none.
func writeNew(files *file.System, path string, content []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return errExists
	}
	p, err := files.Create(path, 0o666)
	if err != nil {
		return err
	}
	defer p.Abandon()
	if _, err := p.Write(content); err != nil {
		return err
	}
	if err := p.CommitNew(); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	return nil
}

var errExists = errors.New("exists already and is not overwritten")

// shot reports what became of a picture.
func (m *Model) shot(msg screenshotMsg) {
	switch {
	case errors.Is(msg.err, errExists):
		m.Complain(fmt.Sprintf("screenshot: %s %v", text.Line(msg.path), msg.err))
	case msg.err != nil:
		m.Complain("screenshot: " + msg.err.Error())
	default:
		m.Say(fmt.Sprintf("wrote %s (%d KB)", text.Line(msg.path), (msg.size+1023)/1024))
	}
}
