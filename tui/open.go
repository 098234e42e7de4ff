package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// Opened is a target, or a file with its launch, that the terminal may run.
type Opened struct {
	Request debugkern.Request
	// Reopen adopts the file anew, see Options.Reopen; nil: the request is of no file.
	Reopen func(context.Context) (debugkern.Request, error)
}

// guess notes that grid and block are as they were proposed, now and when the file is opened again.
func (o *Opened) guess() {
	o.Request.Guessed = true
	if reopen := o.Reopen; reopen != nil {
		o.Reopen = func(ctx context.Context) (debugkern.Request, error) {
			req, err := reopen(ctx)
			req.Guessed = true
			return req, err
		}
	}
}

// openedMsg is what :open has made of its words, or why it made nothing.
type openedMsg struct {
	gen    int
	words  []string
	opened Opened
	source sourceLaunch      // that the source makes itself
	chosen string            // openGuessed's
	mine   *configs.Manifest // of a manifest's path
	text   []string          // of the file, where it could not be built
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
	if len(words) == 1 {
		words = p.onlyOffered(words)
	}
	if len(words) > 0 && configs.IsHeader(words[0]) {
		return p.openHeader(words)
	}
	for i, w := range words {
		words[i] = view.AtHome(w)
	}
	return p.openWords(words)
}

// openHeader judges the fragment table of a header, which is no kernel, as :header does.
func (p palette) openHeader(words []string) tea.Cmd {
	if len(words) > 1 {
		p.Complain(fmt.Sprintf(":open: %s is a header, not a kernel: its fragment table is judged, without %s",
			filepath.Base(words[0]), strings.Join(words[1:], " ")))
		return nil
	}
	c, ok := p.find("header")
	if !ok {
		panic("BUG: no command :header")
	}
	return c.Do(words[0])
}

// onlyOffered is the one thing that is offered for a beginning of a name, which stands for it; else the words
// as they were typed. A name that is there is itself.
func (p palette) onlyOffered(words []string) []string {
	if _, err := os.Stat(view.AtHome(words[0])); err == nil {
		return words
	}
	offered := p.openable(words[0])
	if len(offered) != 1 || strings.HasSuffix(offered[0], "/") {
		return words
	}
	if full, closed := text.Words(offered[0]); closed && len(full) > 0 {
		return full
	}
	return words
}

// openWords opens what words name, in the background.
func (p palette) openWords(words []string) tea.Cmd {
	guessed := p.recent.guessed[p.recent.line(words)] || p.proposed.taken(words) &&
		strings.HasPrefix(p.proposed.line, "open "+text.JoinWords(words[:1]))
	p.proposed = proposal{}
	return p.openGuessed(words, guessed, "")
}

// openGuessed is openWords. guessed: grid or block is a guess, unless the source launches the kernel so by
// now; chosen is the one of these options that is none, "" for neither.
func (p palette) openGuessed(words []string, guessed bool, chosen string) tea.Cmd {
	if !p.Begin("open " + words[0]) {
		return nil
	}
	j, open, cat := p.Task.Job, p.opt.Open, p.Engine.Catalogue()
	last, _ := p.recent.last(words[0])
	launchOf := launchesOf(p.opt.Launched)
	p.Say("opening " + words[0])
	return func() tea.Msg {
		defer j.Cancel()
		msg := openedMsg{gen: j.Gen, words: words, chosen: chosen}
		if msg.opened, msg.err = open(j.Ctx, words); msg.err != nil {
			msg.text = textOfFailing(j.Ctx, words[0], msg.err)
			msg.source = launchOf(j.Ctx, words[0], entryOf(last))
			return msg
		}
		if launch := msg.opened.Request.Launch; len(launch) > 0 {
			msg.source = launchOf(j.Ctx, words[0], entryOf(launch))
			asSource := msg.source.options != nil && otherwise(launch, msg.source.options) == nil
			if guessed && !asSource {
				msg.opened.guess()
			}
		}
		if _, _, err := cat.Lookup(msg.opened.Request.Target); err != nil {
			msg.mine, _, msg.err = cat.Open(j.Ctx, msg.opened.Request.Target)
		}
		return msg
	}
}

// opened runs what :open has opened. A file is shown in Pipe, which names the first wrong cell, or why the
// file cannot run, with its source; a target of the catalogue in the view that is open.
func (m *Model) opened(msg openedMsg) tea.Cmd {
	if msg.gen != m.Task.Gen {
		return nil
	}
	m.Task.Stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		if failingLine(msg.words[0], msg.err) > 0 {
			return m.unopened(msg)
		}
		if m.propose(msg.words, msg.source, msg.err) {
			return nil
		}
		cmd := m.SeekConsent(msg.err)
		m.consent.opening = msg.words
		return cmd
	}
	m.Mine, m.Fail = msg.mine, nil
	m.ForgetOrigin()
	m.file.reopen, m.file.opened = msg.opened.Reopen, msg.opened.Request
	m.file.compiledFrom(msg.words)
	m.file.chosen = msg.chosen
	var without []string
	for _, f := range m.Req.Faults {
		if !slices.Contains(msg.opened.Request.Faults, f) {
			without = append(without, f)
		}
	}
	cmd := m.Start(msg.opened.Request)
	if m.file.python == "" {
		m.recent.add(msg.opened.Request, msg.source.options)
	} else {
		m.recent.addLine(msg.words)
	}
	if msg.mine != nil || len(msg.opened.Request.Launch) > 0 {
		cmd = tea.Batch(cmd, m.Root.Open(view.Pipe))
	}
	cmd = tea.Batch(cmd, m.Changed())
	text := "opened " + msg.words[0]
	if len(without) > 0 {
		text += ", without " + strings.Join(without, ", ")
	}
	m.SayChosen(text)
	return cmd
}

// unopened makes a file that could not be built the request on screen, which has failed: its reasons and its
// source stand in the place of the view, and what ran before is a previous run. A save of the file opens it
// again, and so does whatever asks for a run.
func (m *Model) unopened(msg openedMsg) tea.Cmd {
	file := msg.words[0]
	m.Job.Stop()
	m.Job.Gen++ // what runs is of the request before
	req := debugkern.Request{Target: file}
	m.Requested(req)
	m.Announce(view.RequestChanged{})
	return m.ranBadly(ranMsg{err: fmt.Errorf("open: %w", msg.err), run: &view.Run{
		Name: request.Title(req), Request: req, Edition: m.Edition, Opening: msg.words,
		Report: &report.Run{Target: file, Verdict: report.Failed, Error: report.FailureOf(msg.err)},
		Source: func(name string) []string {
			if name == "" || filepath.Base(name) == filepath.Base(file) {
				return msg.text
			}
			return nil
		},
	}})
}

// awaitLaunch makes a file that was named without its launch the request on screen: nothing runs, which the
// screen says, and the prompt has the launch that is proposed.
func (m *Model) awaitLaunch(words []string, err error) tea.Cmd {
	req := debugkern.Request{Target: words[0]}
	m.Requested(req)
	m.Announce(view.RequestChanged{})
	m.Fail = &view.Run{
		Name: request.Title(req), Request: req, Edition: m.Edition, Opening: words, Asked: true,
		Report: &report.Run{Target: words[0], Verdict: report.Failed, Error: &report.Failure{
			Message: fmt.Sprintf("%s is not opened yet: %v", words[0], err)}},
	}
	cmd := m.Announce(view.Failed{})
	m.draw()
	last, _ := m.recent.last(words[0])
	m.offerLaunch(words, launchesOf(m.opt.Launched)(m.Ctx, words[0], entryOf(last)), err)
	return cmd
}

// failingLine is the first line of a file for which it could not be built; 0 where the error is another one,
// or in another file.
func failingLine(file string, err error) int {
	f := report.FailureOf(err)
	if f == nil || !slices.Contains([]string{".cu", ".ptx", pythonExt}, filepath.Ext(file)) {
		return 0
	}
	for _, r := range view.Reasons(f) {
		if filepath.Base(r.File) == filepath.Base(file) && r.Line > 0 {
			return r.Line
		}
	}
	return 0
}

// launchesOf is what reads the launch that a file's source makes of an entry, by Options.Launched.
func launchesOf(launched func(context.Context, string, string) ([]string, int),
) func(ctx context.Context, file, entry string) sourceLaunch {
	return func(ctx context.Context, file, entry string) sourceLaunch {
		out := sourceLaunch{entry: entry}
		if launched != nil {
			out.options, out.line = launched(ctx, file, entry)
		}
		return out
	}
}

// textOfFailing is the text of a file that could not be built; nil where an error is another one.
func textOfFailing(ctx context.Context, file string, err error) []string {
	if failingLine(file, err) == 0 {
		return nil
	}
	b, err := build.ReadText(ctx, file, "a source")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// propose says why words could not be opened, and puts them into the prompt with a launch where they lack
// one; it reports whether they do.
func (m *Model) propose(words []string, source sourceLaunch, err error) bool {
	m.ComplainOf(fmt.Errorf("open: %w", err), false)
	return m.offerLaunch(words, source, err)
}

// offerLaunch puts words into the prompt with a launch where they lack one; it reports whether they do.
// source is what the file's source launches now.
func (m *Model) offerLaunch(words []string, source sourceLaunch, err error) bool {
	own, was := m.recent.last(words[0])
	p, line := propose(words, own, was, source, err)
	if line == "" {
		return false
	}
	m.proposed = p
	m.Ask(":", line)
	return true
}

// declineLaunch is Esc at the prompt that has a proposed launch.
func (m *Model) declineLaunch() {
	if m.proposed.asks {
		name := strings.TrimPrefix(m.proposed.line, "open ")
		m.Say(fmt.Sprintf("%s is not opened: :open %[1]s asks again", name))
	}
	m.proposed = proposal{}
}

// openable completes the words of :open: what was opened before, with its launch; then files and targets of
// the catalogue. Other options are those of the command line.
func (p palette) openable(typed string) []string {
	again := p.recent.matching(typed)
	words, closed := text.Words(typed)
	if !closed || len(words) > 1 || len(words) == 1 && strings.HasSuffix(typed, " ") {
		return again
	}
	var out []string
	for _, name := range p.Engine.Catalogue().Targets() {
		if strings.HasPrefix(name, typed) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	var files, headers []string
	for _, name := range p.Paths(typed) {
		switch {
		case configs.IsHeader(name):
			headers = append(headers, name)
		case strings.HasSuffix(name, "/") || slices.Contains(openableTypes, filepath.Ext(name)):
			files = append(files, name)
		}
	}
	return slices.Concat(again, files, out, headers)
}

// unopenable says why nothing is offered for a line of :open.
func (p palette) unopenable(typed string) string {
	words, closed := text.Words(typed)
	switch {
	case !closed:
		return ""
	case p.proposed.line != "" && strings.HasPrefix("open "+typed, p.proposed.line+" "):
		return p.proposed.why
	case len(words) == 1 && !strings.HasSuffix(typed, " "):
		return fmt.Sprintf("nothing that can be opened begins with %s (%s, a header with a fragment table, "+
			"or a kernel of the catalogue)", typed, strings.Join(openableTypes, " "))
	}
	return "options are those of the command line: --grid X[,Y[,Z]] --block X[,Y[,Z]] --arg NAME=VALUE …; " +
		"without them a launch to begin with is proposed"
}

// openableTypes are the names' ends of files that can be opened.
var openableTypes = []string{".yaml", ".yml", ".cu", ".ptx", ".tsl", pythonExt}

// pythonExt is the end of the name of a file of Python, whose kernels Triton compiles.
const pythonExt = ".py"
