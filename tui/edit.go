package tui

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/text"
	"tilescope/tui/view"
)

// yank copies what is under the cursor by OSC 52, which the terminal may or may not allow.
func (m *Model) yank(string) tea.Cmd {
	copied := text.Terminal(m.yanked()) // it is pasted into terminals
	if copied == "" {
		m.Say("nothing to copy here")
		return nil
	}
	m.Say(fmt.Sprintf("copied by OSC 52 (%d bytes), if the terminal allows it: %s", len(copied),
		view.FirstLine(copied)))
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
	p.write(ansi.SetSystemClipboard(text))
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

// editedMsg says that the editor was closed.
type editedMsg struct {
	file string
	err  error
}

func (m *Model) edited(msg editedMsg) {
	if msg.err != nil {
		m.Complain("editor: " + msg.err.Error())
		return
	}
	m.Say(msg.file + " closed; x runs again")
}

// edit opens the source line in the user's editor. A source that is part of the program, or that a fault's
// patch has changed, is shown as a copy.
func (m *Model) edit(string) tea.Cmd {
	file, line := m.SourcePlace()
	if v, ok := m.Shown().(view.Editable); ok && !m.Failing() {
		if f, l, ok := v.EditLine(); ok {
			file, line = f, l
		}
	}
	lines := m.SourceOf(file)
	if m.Failing() {
		lines = m.failure.text(file)
	}
	if file == "" || lines == nil {
		m.Say("no source to open yet")
		return nil
	}
	editor := variable(m.opt.Environ, "VISUAL")
	if editor == "" {
		editor = variable(m.opt.Environ, "EDITOR")
	}
	if strings.TrimSpace(editor) == "" {
		m.Complain("no editor: set $EDITOR")
		return nil
	}
	job := &editJob{paint: m.paint, out: m.opt.Output, editor: editor, name: file, line: max(1, line),
		text: lines}
	if man, _ := m.Manifest(); man != nil && man.Dir != "" &&
		filepath.Base(man.SourcePath()) == filepath.Base(file) && !m.patched() {
		job.path = man.SourcePath()
	}
	return tea.Exec(job, func(err error) tea.Msg { return editedMsg{file, err} })
}

// patched reports whether the sources on screen have been changed by the patches of the request's faults:
// their lines are not those of the files.
func (m *Model) patched() bool {
	req := m.Req
	switch {
	case m.Failing():
		req = m.Fail.Request
	case m.Run != nil:
		req = m.Run.Request
	}
	man, variant := m.ManifestOf(req.Target)
	if man == nil {
		return false
	}
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	return err == nil && len(sel.Patches()) > 0
}

// editJob runs the editor. It takes at least as long as the renderer needs to let go of the screen: an editor
// that returns at once would otherwise leave it frozen.
type editJob struct {
	editor, name, path string
	line               int
	text               []string

	paint    *painter
	in       io.Reader
	out, err io.Writer
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand.
// The library's output is mute: the editor has the terminal itself.
func (j *editJob) SetStdin(r io.Reader) {
	if j.in = r; r != nil {
		if t, ok := r.(*asker); ok {
			j.in = t.inputFile // a program needs a file: a reader would be copied into a pipe
		}
	}
}
func (j *editJob) SetStdout(io.Writer)   {}
func (j *editJob) SetStderr(w io.Writer) { j.err = w }

const editorPad = 80 * time.Millisecond

// Run implements tea.ExecCommand.
func (j *editJob) Run() error {
	started := time.Now()
	if j.paint != nil {
		j.paint.leave()
		defer j.paint.resume()
	}
	path := j.path
	if path == "" {
		dir, err := os.MkdirTemp("", "tilescope")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, filepath.Base(j.name))
		if err := os.WriteFile(path, []byte(strings.Join(j.text, "\n")+"\n"), 0o400); err != nil {
			return err
		}
	}
	words := strings.Fields(j.editor)
	args := append(words[1:], editorArgs(filepath.Base(words[0]), path, j.line)...)
	cmd := exec.Command(words[0], args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = j.in, j.out, j.err
	err := cmd.Run()
	if d := editorPad - time.Since(started); d > 0 {
		time.Sleep(d)
	}
	return err
}

// editorArgs is how an editor is given a line.
func editorArgs(editor, path string, line int) []string {
	switch editor {
	case "code", "codium", "cursor":
		return []string{"--wait", "--goto", fmt.Sprintf("%s:%d", path, line)}
	case "hx", "helix", "subl", "zed":
		return []string{fmt.Sprintf("%s:%d", path, line)}
	case "vi", "vim", "nvim", "nano", "emacs", "emacsclient", "kak", "micro", "joe", "ne", "mg":
		return []string{"+" + strconv.Itoa(line), path}
	}
	return []string{path}
}
