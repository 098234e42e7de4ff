package tui

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/text"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
	"tilescope/tui/pane/pipe"
)

// pipeData is what the Pipe view shows of a run.
func pipeData(s *shown, o outcome.Outcome) pipe.Data {
	return pipe.Data{Run: o, Plan: s.plan, Viewer: s.viewer, Summary: s.summary}
}

// sourcePlace is the source line that the cursor stands for: its cell's writer, else where the stage first went wrong,
// else a finding, else the file's beginning.
func (m *Model) sourcePlace() (file string, line int) {
	if m.fail == nil && m.run == nil {
		return "", 0
	}
	if r, ok := m.pane.fail.Selected(); m.fail != nil && ok && r.Line > 0 {
		return r.File, r.Line
	}
	if m.run == nil {
		return "", 0
	}
	if at := m.underCursor(); m.view == keymap.Races && at != nil {
		return at.File, at.Line
	}
	if w := m.who.known[m.placeOf(m.cursor)]; w != nil && w.Source != nil {
		return w.Source.File, w.Source.Line
	}
	r := m.run.report
	if d := r.Stage(m.cursor.Stage.String()); d != nil && d.FirstBad != nil && d.FirstBad.Source != nil {
		return d.FirstBad.Source.File, d.FirstBad.Source.Line
	}
	for _, f := range r.Findings {
		if f.Source != nil {
			return f.Source.File, f.Source.Line
		}
	}
	if man, _ := m.manifest(); man != nil {
		return filepath.Base(man.SourcePath()), 0
	}
	return "", 0
}

// yank copies what is under the cursor by OSC 52, which the terminal may or may not allow.
func (m *Model) yank(string) tea.Cmd {
	copied := text.Terminal(m.yanked()) // it is pasted into terminals
	if copied == "" {
		m.say("nothing to copy here")
		return nil
	}
	m.say(fmt.Sprintf("copied by OSC 52 (%d bytes), if the terminal allows it: %s", len(copied), firstLine(copied)))
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

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func (m *Model) yanked() string {
	switch {
	case m.view == keymap.Flags:
		return commandLine(m)
	case m.view == keymap.Frag:
		return m.pane.frag.CellText()
	case m.view == keymap.Gates:
		return "tilescope gates " + text.Shell(m.pane.gates.Selected().Target)
	case m.view == keymap.GPU:
		return m.pane.gpu.Text()
	case m.view == keymap.Races:
		return m.pane.races.Text()
	case m.failing():
		return m.pane.fail.Text()
	case m.run == nil:
		return ""
	case m.view == keymap.Pipe:
		return m.pane.pipe.Text()
	case m.view == keymap.Source:
		return m.walkText()
	}
	c := m.placeOf(m.cursor)
	v := m.pane.tile.Shown()
	if v == nil || !v.Got.Reached() {
		return where(c)
	}
	return fmt.Sprintf("%s %s = %s", where(c), cell.Name(m.run.plan.Stage(c.Stage), c.Row, c.Col), m.pane.tile.CellText())
}

// commandLine is the request as it is typed at a shell.
func commandLine(m *Model) string {
	out := "tilescope run " + text.Shell(m.req.Target) + " --shape " + text.Shell(shapeName(m.req)) + " --seed " + strconv.FormatUint(m.req.Seed, 10)
	for _, k := range slices.Sorted(maps.Keys(m.req.Set)) {
		out += " --set " + text.Shell(k+"="+m.req.Set[k])
	}
	for _, f := range m.req.Faults {
		out += " --fault " + text.Shell(f)
	}
	if g := m.req.Gate.String(); g != "none" {
		out += " --gate " + g
	}
	return out
}

// editedMsg says that the editor was closed.
type editedMsg struct {
	file string
	err  error
}

func (m *Model) edited(msg editedMsg) {
	if msg.err != nil {
		m.complain("editor: " + msg.err.Error())
		return
	}
	m.say(msg.file + " closed; x runs again")
}

// edit opens the source line in the user's editor. A source that is part of the program, or that a fault's patch has changed,
// is shown as a copy.
func (m *Model) edit(string) tea.Cmd {
	file, line := m.sourcePlace()
	if f, l := m.pane.code.Cursor(); m.view == keymap.Source && f != "" && l > 0 {
		file, line = f, l
	}
	if m.focused() == partSource {
		if f, l := m.pane.source.Pointed(); f != "" && l > 0 {
			file, line = f, l
		}
	}
	lines := m.sourceOf(file)
	if m.failing() {
		lines = m.failedText(file)
	}
	if file == "" || lines == nil {
		m.say("no source to open yet")
		return nil
	}
	editor := variable(m.opt.Environ, "VISUAL")
	if editor == "" {
		editor = variable(m.opt.Environ, "EDITOR")
	}
	if strings.TrimSpace(editor) == "" {
		m.complain("no editor: set $EDITOR")
		return nil
	}
	job := &editJob{paint: m.paint, out: m.opt.Output, editor: editor, name: file, line: max(1, line), text: lines}
	if man, _ := m.manifest(); man != nil && man.Dir != "" && filepath.Base(man.SourcePath()) == filepath.Base(file) && !m.patched() {
		job.path = man.SourcePath()
	}
	return tea.Exec(job, func(err error) tea.Msg { return editedMsg{file, err} })
}

// patched reports whether the sources on screen have been changed by the patches of the request's faults: their lines are not
// those of the files.
func (m *Model) patched() bool {
	req := m.req
	switch {
	case m.failing():
		req = m.fail.request
	case m.run != nil:
		req = m.run.request
	}
	man, variant := m.manifestOf(req.Target)
	if man == nil {
		return false
	}
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	return err == nil && len(sel.Patches()) > 0
}

// editJob runs the editor. It takes at least as long as the renderer needs to let go of the screen: an editor that returns
// at once would otherwise leave it frozen.
type editJob struct {
	editor, name, path string
	line               int
	text               []string

	paint    *painter
	in       io.Reader
	out, err io.Writer
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand.
func (j *editJob) SetStdin(r io.Reader)  { j.in = r }
func (j *editJob) SetStdout(io.Writer)   {} // the library's output is mute: the editor has the terminal itself
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

// editorArgs is how an editor is told a line.
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
