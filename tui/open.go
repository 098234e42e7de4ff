package tui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/text"
	"tilescope/tui/view"
)

// Opened is a target, or a file with its launch, that the terminal may run.
type Opened struct {
	Request debugkern.Request
	// Reopen adopts the file anew, see Options.Reopen; nil: the request is of no file.
	Reopen func(context.Context) (debugkern.Request, error)
}

// openedMsg is what :open has made of its words, or why it made nothing.
type openedMsg struct {
	gen    int
	named  string
	opened Opened
	mine   *configs.Manifest // of a manifest's path
	err    error
}

// openTarget is :open TARGET|FILE [OPTIONS], with the options of the command line: reading a manifest, and
// compiling a kernel to learn its parameters, happen in the background.
func (p palette) openTarget(arg string) tea.Cmd {
	words, closed := text.Words(arg)
	switch {
	case !closed:
		p.Complain(":open: a quote has no end")
		return nil
	case p.opt.Open == nil:
		p.Complain("files are not opened here: start with `tilescope FILE`")
		return nil
	}
	for i, w := range words {
		words[i] = view.AtHome(w)
	}
	if !p.Begin("open " + words[0]) {
		return nil
	}
	j, open, cat := p.Task.Job, p.opt.Open, p.Engine.Catalogue()
	p.Say("opening " + words[0])
	return func() tea.Msg {
		defer j.Cancel()
		msg := openedMsg{gen: j.Gen, named: words[0]}
		if msg.opened, msg.err = open(j.Ctx, words); msg.err != nil {
			return msg
		}
		if _, _, err := cat.Lookup(msg.opened.Request.Target); err != nil {
			msg.mine, _, msg.err = cat.Open(j.Ctx, msg.opened.Request.Target)
		}
		return msg
	}
}

// opened runs what :open has opened.
func (m *Model) opened(msg openedMsg) tea.Cmd {
	if msg.gen != m.Task.Gen {
		return nil
	}
	m.Task.Stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.ComplainOf(fmt.Errorf("open: %w", msg.err), false)
		return m.SeekConsent(msg.err)
	}
	m.Mine = msg.mine
	m.file.reopen, m.file.opened = msg.opened.Reopen, msg.opened.Request
	cmd := m.Start(msg.opened.Request)
	m.Say("opened " + msg.named)
	return cmd
}

// openable completes the words of :open: targets of the catalogue and files, then nothing, since options are
// those of the command line.
func (p palette) openable(typed string) []string {
	words, closed := text.Words(typed)
	if !closed || len(words) > 1 {
		return nil
	}
	var out []string
	for _, name := range p.Engine.Catalogue().Targets() {
		if typed != "" && strings.HasPrefix(name, typed) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	files := slices.DeleteFunc(p.Paths(typed), func(name string) bool {
		return !strings.HasSuffix(name, "/") && !slices.Contains(openableTypes, filepath.Ext(name))
	})
	return append(files, out...)
}

// openableTypes are the names' ends of files that can be opened.
var openableTypes = []string{".yaml", ".yml", ".cu", ".ptx", ".tsl"}
