package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/tui/request"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/races"
)

// wroteMsg says that files were written, or why not.
type wroteMsg struct {
	gen  int
	said string
	err  error

	diagnosis *diagnose.Diagnosis // what a page was made of, where it was made for the page
	of        debugkern.Request   // what it is of
}

// wrote says so, and gives Races the diagnosis that a page was made of.
func (m *Model) wrote(msg wroteMsg) {
	if msg.gen != m.Task.Gen {
		return
	}
	m.Task.Stop()
	for _, v := range able[diagnosing](m.views) {
		if msg.diagnosis != nil {
			v.Adopt(msg.of, msg.diagnosis)
		}
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
	case msg.err != nil:
		m.Complain(view.OneLine(msg.err))
	default:
		m.Say(msg.said)
	}
}

// output is a file that a command of the palette writes.
type output struct {
	files   *file.System
	command string // ":dump", to complain by
	path    string
	replace bool // a file that is there
}

// output is the file that an argument names. A leading ~/ is the user's home, as in a shell.
func (m *Model) output(command, path string) output {
	command, replace := strings.CutSuffix(command, "!")
	return output{files: m.Files, command: ":" + command, path: view.AtHome(path), replace: replace}
}

// create begins to write the file, before anything slow is done for it.
func (o output) create() (*file.Pending, error) {
	if info, err := os.Lstat(o.path); err == nil && !o.replace && !info.IsDir() {
		return nil, o.exists()
	}
	p, err := o.files.Create(o.path, 0o666)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: cannot write in %s: %w", o.command, o.path, filepath.Dir(o.path),
			file.Reason(err))
	case p.Direct():
		p.Abandon()
		return nil, fmt.Errorf("%s %s: it is no regular file", o.command, o.path)
	}
	return p, nil
}

func (o output) exists() error {
	return fmt.Errorf("%s exists: %s! %s replaces it", o.path, o.command, text.Shell(o.path))
}

// write fills the file and puts it in its place, all of it or nothing. It returns how many bytes there are.
func (o output) write(fill func(io.Writer) error) (int64, error) {
	p, err := o.create()
	if err != nil {
		return 0, err
	}
	defer p.Abandon()
	n := &counted{w: p}
	if err := fill(n); err != nil {
		return 0, fmt.Errorf("%s %s: %w", o.command, o.path, err)
	}
	commit := p.CommitNew
	if o.replace {
		commit = p.Commit
	}
	if err := commit(); errors.Is(err, fs.ErrExist) {
		return 0, o.exists() // it has come meanwhile
	} else if err != nil {
		return 0, fmt.Errorf("%s: %w", o.command, err)
	}
	return n.n, nil
}

// counted counts the bytes that are written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// dumper is a run that can be written as a NumPy archive. *debugkern.Run is one.
type dumper interface {
	Dump(ctx context.Context, w io.Writer) error
}

var _ dumper = (*debugkern.Run)(nil)

// dump is :dump FILE.npz or FILE.json: the captures, or the document, of the run on screen, as `tilescope
// run` writes them; or FILE.csv or FILE.npy: the tile under the cursor.
func (m *Model) dump(command, path string) tea.Cmd {
	if m.Run == nil {
		why := "no run to write: none has ended well"
		if m.Task.Active {
			why = "no run to write yet: the first is running (" + m.Task.What + ")"
		}
		m.Complain(why)
		return nil
	}
	if file, ext, reference := tileFile(path); ext != "" {
		return m.dumpTile(command, file, ext, reference)
	}
	var fill func(ctx context.Context, w io.Writer) error
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npz":
		run, ok := m.Run.Viewer.(dumper)
		if !ok && m.Run.Run != nil {
			run, ok = m.Run.Run, true // a run that is compared with another
		}
		if !ok {
			m.Complain("this run has no captures to write")
			return nil
		}
		fill = run.Dump
	case ".json":
		doc := m.Run.Report
		fill = func(_ context.Context, w io.Writer) error { return writeDocument(w, doc) }
	default:
		m.Complain(fmt.Sprintf("%q: a run is written as .npz (captures) or .json (its document), a tile as "+
			".csv or .npy", path))
		return nil
	}
	of := request.InFull(m.Run.Request)
	if !m.Current() {
		of = "the previous run, " + of
	}
	return m.writing(m.output(command, path), of, fill)
}

// writing fills a file in the background.
func (m *Model) writing(o output, what string, fill func(ctx context.Context, w io.Writer) error) tea.Cmd {
	name := "writing " + filepath.Base(o.path)
	return m.inTurn(name, func() tea.Cmd { return m.write(name, o, what, fill) })
}

func (m *Model) write(name string, o output, what string,
	fill func(ctx context.Context, w io.Writer) error) tea.Cmd {
	if !m.Begin(name) {
		return nil
	}
	m.Say("writing " + o.path)
	m.Task.Writes = true
	t := m.Task
	return tea.Batch(func() tea.Msg {
		defer t.Cancel()
		n, err := o.write(func(w io.Writer) error { return fill(t.Ctx, w) })
		text := fmt.Sprintf("wrote %s, %s: %s", o.path, sizeText(n), what)
		return wroteMsg{gen: t.Gen, said: text, err: err}
	}, t.Listen())
}

// writeDocument writes a document as the command line does.
func writeDocument(w io.Writer, doc *report.Run) error {
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	_, err = w.Write(append(text.JSON(b), '\n'))
	return err
}

// diagnosing is the view that diagnoses: Races.
type diagnosing interface {
	// Diagnosis is that of the request on screen, nil where there is none.
	Diagnosis() *diagnose.Diagnosis
	// UnderWay returns what says whether the diagnosis that runs for that request has ended, and what it has
	// found, nil where it was cancelled or failed; nil where none runs.
	UnderWay() func() (d *diagnose.Diagnosis, ended bool)
	// Diagnoser starts one; nil where the engine cannot.
	Diagnoser() func(context.Context, debugkern.Request, diagnose.Options) (*diagnose.Diagnosis, error)
	// Adopt takes up a diagnosis that was made for a page.
	Adopt(of debugkern.Request, d *diagnose.Diagnosis)
}

type diagnoser = func(context.Context, debugkern.Request, diagnose.Options) (*diagnose.Diagnosis, error)

// reportPage is :report FILE.html: the page of the diagnosis, which is made where there is none yet.
func (m *Model) reportPage(command, path string) tea.Cmd {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".html" && ext != ".htm" {
		m.Complain(fmt.Sprintf("%q: a report is a page, FILE.html", path))
		return nil
	}
	all := able[diagnosing](m.views)
	if len(all) == 0 || all[0].Diagnoser() == nil {
		m.Complain("this program cannot diagnose")
		return nil
	}
	o, version := m.output(command, path), m.Version
	if d := all[0].Diagnosis(); d != nil {
		return m.writing(o, "the diagnosis in Races", func(_ context.Context, w io.Writer) error {
			return d.WriteHTML(w, version)
		})
	}
	if outcome := all[0].UnderWay(); outcome != nil {
		return m.reportAfter(o, outcome)
	}
	req := m.NextRequest()
	req.Schedule = ""
	name := "diagnosing for " + filepath.Base(path)
	return m.inTurn(name, func() tea.Cmd { return m.diagnoseInto(name, o, req, all[0].Diagnoser()) })
}

// reportAfter writes the page of the diagnosis that runs in Races, once it has ended.
func (m *Model) reportAfter(o output, outcome func() (*diagnose.Diagnosis, bool)) tea.Cmd {
	ended := func() bool { _, ended := outcome(); return ended }
	write := func() tea.Cmd {
		d, _ := outcome()
		if d == nil {
			m.Complain(o.path + " was not written: the diagnosis in Races was cancelled or failed")
			return nil
		}
		version := m.Version
		return m.writing(o, "the diagnosis in Races", func(_ context.Context, w io.Writer) error {
			return d.WriteHTML(w, version)
		})
	}
	m.turns = append(m.turns, turn{what: "writing " + filepath.Base(o.path), do: write, ready: ended})
	m.Say(o.path + " is written when the diagnosis in Races has ended")
	return nil
}

// diagnoseInto writes the page of a diagnosis, which it makes.
func (m *Model) diagnoseInto(name string, o output, req debugkern.Request, diagnosis diagnoser) tea.Cmd {
	if !m.Begin(name) {
		return nil
	}
	m.Task.Words, m.Task.Writes = races.Under, true
	m.Say("diagnosing " + request.InFull(req) + " for " + o.path)
	t, version := m.Task, m.Version
	report := func(e diagnose.Event) {
		if e.Progress != nil {
			t.Report(*e.Progress)
		}
	}
	return tea.Batch(func() tea.Msg {
		defer t.Cancel()
		msg := wroteMsg{gen: t.Gen}
		p, err := o.create() // before the work: a file that cannot be written is known at once
		if err == nil {
			p.Abandon()
			var d *diagnose.Diagnosis
			if d, err = diagnosis(t.Ctx, req, diagnose.Options{OnEvent: report}); err == nil {
				err = d.Await(t.Ctx, diagnose.SanitizerWait, nil)
			}
			if err == nil {
				msg.diagnosis, msg.of = d, req
				var n int64
				n, err = o.write(func(w io.Writer) error { return d.WriteHTML(w, version) })
				msg.said = fmt.Sprintf("wrote %s, %s: the diagnosis of %s", o.path, sizeText(n),
					request.InFull(req))
			}
		}
		if t.Ctx.Err() != nil {
			err = t.Ctx.Err()
		}
		msg.err = err
		return msg
	}, t.Listen())
}

// own is :own DIR: files of one's own that do what the embedded kernel on screen does. Nothing is replaced.
func (m *Model) own(dir string) tea.Cmd {
	man, variant := m.Manifest()
	if man == nil {
		m.Complain("no kernel to copy: " + m.Req.Target)
		return nil
	}
	list, err := build.Copy(man)
	if err != nil {
		m.Complain(":own: " + view.OneLine(err))
		return nil
	}
	dir = view.AtHome(dir)
	name := "copying " + man.Name
	options := variantOptions(man, variant)
	return m.inTurn(name, func() tea.Cmd { return m.copyInto(name, dir, options, list) })
}

// variantOptions are the options with which the file of a manifest, which opens its default variant, opens
// another: " --set USE_RMS=1"; "" for that one.
func variantOptions(man *configs.Manifest, variant string) string {
	v, usual := man.Variant(variant), man.Variant(man.Default)
	if v == nil || usual == nil || v == usual {
		return ""
	}
	var out strings.Builder
	for _, f := range man.Flags {
		value, ok := v.Flags[f.Name]
		if !ok {
			value = f.Default
		}
		normal, ok := usual.Flags[f.Name]
		if !ok {
			normal = f.Default
		}
		if value != normal {
			fmt.Fprintf(&out, " --set %s=%d", f.Name, value)
		}
	}
	for _, f := range v.Faults {
		out.WriteString(" --fault " + f)
	}
	return out.String()
}

// copyInto writes files into a directory in the background. options are what :open needs for the variant.
func (m *Model) copyInto(name, dir, options string, list []build.CopiedFile) tea.Cmd {
	if !m.Begin(name) {
		return nil
	}
	m.Task.Writes = true
	t, files := m.Task, m.Files
	return func() tea.Msg {
		defer t.Cancel()
		msg := wroteMsg{gen: t.Gen}
		if msg.err = writeAll(files, dir, list); msg.err != nil {
			return msg
		}
		msg.said = fmt.Sprintf("wrote %s: :open %s%s opens it, with a compiler",
			theme.Count(len(list), "file"), text.Shell(filepath.Join(dir, list[0].Name)), options)
		return msg
	}
}

// writeAll writes files below a directory. Where one of them exists, none is written.
func writeAll(files *file.System, dir string, list []build.CopiedFile) error {
	paths := make([]string, len(list))
	for i, f := range list {
		paths[i] = filepath.Join(dir, filepath.FromSlash(f.Name))
		if _, err := os.Lstat(paths[i]); err == nil {
			return fmt.Errorf(":own: %s exists; name another directory", paths[i])
		}
	}
	for i, f := range list {
		if err := files.Mkdir(filepath.Dir(paths[i]), 0o777); err != nil {
			return fmt.Errorf(":own: %w", err)
		}
		o := output{files: files, command: ":own", path: paths[i]}
		if _, err := o.write(func(w io.Writer) error { _, err := w.Write(f.Text); return err }); err != nil {
			return err
		}
	}
	return nil
}

// sizeText is a number of bytes as people read it.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return theme.Count(int(n), "byte")
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
