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

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// editedMsg says that the editor was closed.
type editedMsg struct {
	file  string
	saved bool   // the file is another than before
	own   bool   // it is the user's own file; else a copy was shown
	why   string // the editor was chosen for this reason; "": the user's choice
	err   error
	again []string // the words of :open that had refused the file; nil: it was open
}

func (m *Model) edited(msg editedMsg) tea.Cmd {
	say := func(text string) {
		if msg.why != "" {
			text += "; " + msg.why
		}
		m.Say(msg.file + text)
	}
	switch {
	case msg.err != nil:
		m.Complain("editor: " + msg.err.Error())
	case !msg.own:
		say(" was a read-only copy: nothing that was done to it has an effect")
	case !msg.saved:
		say(" closed, as it was")
	case msg.again != nil:
		return m.palette().openWords(msg.again)
	case m.opt.Pace.Pulse < 0 || m.file.roots.source == "":
		say(" closed; " + m.Keys.Label(keymap.Again) + " runs again")
	default:
		say(" saved: it runs again at once")
	}
	return nil
}

// edit opens the source line in the user's editor: the user's own file. Of a source that is part of the
// program, or that a fault's patch has changed, there is only a copy to look at; that is said, and the same
// key again opens it.
func (m *Model) edit(string) tea.Cmd {
	if m.failure.open() && m.Fail.Opening != nil {
		return m.editUnopened()
	}
	file, line := m.SourcePlace()
	text := m.SourceOf
	if m.failure.open() {
		text = m.failure.text
	}
	if v, ok := m.Shown().(view.Editable); ok && !m.Failing() {
		if f, l, ok := v.EditLine(); ok {
			file, line, text = f, l, m.SourceOf
		}
	}
	lines := text(file)
	if man, _ := m.Manifest(); lines == nil && m.failure.open() && man != nil && man.Source != "" {
		file, line, lines = man.Source, 1, text("") // the failure is in what was compiled of it
	}
	path, embedded := m.editable(file)
	if file == "" || lines == nil && path == "" {
		m.Say("no source to open yet")
		return nil
	}
	editor, why := editorOf(m.opt.Environ)
	if editor == "" {
		m.Complain(why)
		return nil
	}
	job := &editJob{paint: m.paint, out: m.opt.Output, editor: editor, name: file, line: max(1, line),
		text: lines}
	if job.path = path; path == "" && m.offered != file {
		m.offered = file
		m.Complain(fmt.Sprintf("%s again opens a read-only copy of %s: %s",
			m.Keys.Label(keymap.Edit), filepath.Base(file), embedded))
		return nil
	}
	m.offered = ""
	before := stampOf(path)
	return tea.Exec(job, func(err error) tea.Msg {
		return editedMsg{file: filepath.Base(file), own: path != "", saved: stampOf(path) != before, why: why,
			err: err}
	})
}

// editUnopened opens a file that :open could not open; once it is saved it is opened again.
func (m *Model) editUnopened() tea.Cmd {
	editor, why := editorOf(m.opt.Environ)
	if editor == "" {
		m.Complain(why)
		return nil
	}
	words := m.Fail.Opening
	path, line := words[0], 1
	if r, ok := m.failure.pane.Selected(); ok && filepath.Base(r.File) == filepath.Base(path) && r.Line > 0 {
		line = r.Line
	}
	job := &editJob{paint: m.paint, out: m.opt.Output, editor: editor, name: path, path: path, line: line}
	before := stampOf(path)
	return tea.Exec(job, func(err error) tea.Msg {
		return editedMsg{file: filepath.Base(path), own: true, saved: stampOf(path) != before, why: why,
			err: err, again: words}
	})
}

// usualEditors are tried in this order where nobody has named one.
var usualEditors = []string{"nano", "vim", "vi", "notepad.exe"}

// editorOf is the command of the user's editor; why says how it was chosen where that is nobody's choice, or
// why there is none ("").
func editorOf(environ []string) (editor, why string) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor = variable(environ, name); strings.TrimSpace(editor) != "" {
			return editor, ""
		}
	}
	for _, name := range usualEditors {
		if _, err := exec.LookPath(name); err == nil {
			return name, name + " is used because $VISUAL and $EDITOR are not set"
		}
	}
	return "", "no editor: $VISUAL and $EDITOR are not set, and none of " + strings.Join(usualEditors, ", ") +
		" is found; start tilescope with EDITOR=NAME, or save the file elsewhere: it is watched"
}

// editable is the user's own file that a source's name stands for; "" with the reason where there is none.
func (m *Model) editable(name string) (path, why string) {
	man, _ := m.ManifestOf(m.executed().Target)
	switch {
	case m.file.ofPython() && filepath.Base(name) == filepath.Base(m.file.python):
		return m.file.python, ""
	case man == nil || man.Dir == "":
		return "", "it is embedded; :own DIR writes one of your own"
	case build.Bundled(man.SourcePath()):
		return "", "it is part of the bundle " + filepath.Base(man.SourcePath())
	}
	if path = m.ownPath(man, name); path == "" {
		return "", "it is no file of yours, but comes with tilescope or the compiler"
	}
	if patch, changed := m.patchOf(man, path); changed {
		return "", fmt.Sprintf("%s has changed what is shown; without the fault the file itself is edited",
			filepath.Base(patch))
	}
	return path, ""
}

// ownPath is where a source or header of an own kernel is, by the name that documents have for it; "" where
// there is no such file.
func (m *Model) ownPath(man *configs.Manifest, name string) string {
	there := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	base := name[strings.LastIndexAny(name, `/\`)+1:]
	if filepath.Base(man.SourcePath()) == base && there(man.SourcePath()) {
		return man.SourcePath()
	}
	for path := range m.file.looked { // headers, by their place
		if strings.HasSuffix(filepath.ToSlash(path), "/"+strings.TrimPrefix(filepath.ToSlash(name), "./")) &&
			there(path) {
			return path
		}
	}
	if path := man.Path(filepath.FromSlash(name)); there(path) {
		return path
	}
	return ""
}

// executed is the request whose sources are edited: the failed one, else that of the run on screen.
func (m *Model) executed() debugkern.Request {
	switch {
	case m.failure.open():
		return m.Fail.Request
	case m.Run != nil:
		return m.Run.Request
	}
	return m.Req
}

// patchOf is the patch by which a fault of the request has changed a file: the lines on screen are not the
// file's.
func (m *Model) patchOf(man *configs.Manifest, path string) (patch string, changed bool) {
	req := m.executed()
	_, variant := m.ManifestOf(req.Target)
	sel, err := man.Select(variant, req.Set, req.Faults, req.Gate)
	if err != nil || len(sel.Patches()) == 0 {
		return "", false
	}
	if m.Run != nil && !m.failure.open() {
		if run, ok := m.Run.Viewer.(interface{ Patches(file string) []string }); ok {
			if list := run.Patches(filepath.Base(path)); len(list) > 0 {
				return list[0], true
			}
			return "", false
		}
	}
	return sel.Patches()[0].Path, true
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
		dir, err := os.MkdirTemp("", "tilescope-read-only-copy-")
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
