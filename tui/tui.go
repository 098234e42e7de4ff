// Package tui is the terminal: views over a run, one cursor, and the switches that make the next run.
//
// The one idea: the root model only routes. A message becomes a change of the cursor, the request or a
// setting; panes are given what changed and keep their lines until then; everything slow (a run, a reference,
// a cell's writer, the state file) is a command that captures what it needs and answers with a past-tense
// message carrying the generation it belongs to, so that whatever was superseded is dropped on arrival.
//
// It must not know how a kernel is built, executed or judged.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
	"tilescope/tui/view"
)

// Engine is what the terminal needs of a session. *debugkern.Session is one.
type Engine = view.Engine

// Options open the terminal.
type Options struct {
	Engine   Engine
	Config   *configs.Config // nil: the built-in defaults
	State    *configs.State  // where one was; nil reads StateDir
	StateDir string          // where state is kept; "" keeps none
	Version  string          // of the program, for what it writes
	Request  debugkern.Request
	Tour     bool // begin with the tour
	Explicit bool // the request was requested: it wins over the remembered one
	// Reopen adopts the file of Request anew, by what its text now says of the launch; nil: Request is of no
	// file. It is called by one goroutine at a time, not the model's.
	Reopen func(context.Context) (debugkern.Request, error)
	// Open reads the words of a command line that opens a target or a file, and compiles the file; nil: only
	// targets of the catalogue can be chosen. It is called by one goroutine at a time, not the model's.
	Open func(ctx context.Context, words []string) (Opened, error)
	// Launched returns what a source shows of the launch that it makes of an entry itself, as options (grid,
	// block, and numbers that it passes), and its line; nil where it shows none. Itself nil: no source is
	// asked.
	Launched func(ctx context.Context, file, entry string) (options []string, line int)
	// Expectations adds to a run's document what the words of its launch state its outputs to be made of and
	// what differs; nil: nothing does.
	Expectations func(
		context.Context, debugkern.Request, *report.Run, func(debugkern.Progress)) error
	// Lacking are words for Open that Lacks says lack a launch: the terminal begins with the prompt and the
	// launch that Lacks proposes. nil: begin with the run.
	Lacking []string
	Lacks   error
	// Python are the words of :open for the file of Python whose compiled kernel Request runs; nil: none.
	Python  []string
	Input   io.Reader
	Output  io.Writer
	Environ []string     // nil: the process's
	Files   *file.System // how state is written; nil: the real file system

	// For tests: how long the terminal waits. 0 is as long as it should.
	Pace     view.Pace
	Settle   time.Duration // how long until what changed is saved; with Pace
	Pause    time.Duration // how long a question is shown before it can be answered; with Pace
	Count    time.Duration // how soon a key follows a digit that was meant as a count; with Pace
	LastSave time.Duration // how long the end waits for the state to be written

	forgot  error // why the state of the last session was not taken up, or none is saved
	unsaved bool  // another terminal saves its state in StateDir, and this one none
}

// ErrNoTerminal says that output is not a terminal.
var ErrNoTerminal = errors.New(
	"standard output is not a terminal: use `tilescope run TARGET` for text, or `tilescope run TARGET --json`")

// Run opens the terminal and returns when it is closed. Without a terminal on Output it returns Lacks, else
// ErrNoTerminal.
func Run(ctx context.Context, o Options) error {
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	out, ok := o.Output.(term.File)
	if !ok || !term.IsTerminal(out.Fd()) {
		if o.Lacks != nil {
			return o.Lacks
		}
		return ErrNoTerminal
	}
	defer o.recall(ctx)()
	ctx, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	look := LookOf(o.Output, o.Environ)
	if o.Config != nil {
		look = look.limited(o.Config.Colours)
	}
	m := New(ctx, o, look)
	if w, h, err := term.GetSize(out.Fd()); err == nil {
		m.resize(w, h)
	}
	m.paint = newPainter(o.Output)
	m.paint.screen = look.Screen
	ended, end := context.WithCancel(ctx)
	defer end()
	g := &guard{end: end}
	options := []tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithoutCatchPanics(),
		tea.WithInput(o.Input), tea.WithOutput(mute{out}),
		tea.WithEnvironment(o.Environ), tea.WithColorProfile(look.Profile),
		tea.WithFPS(1), // of a renderer that draws nothing: the painter has its own pace
	}
	var program *tea.Program
	if m.asker = newAsker(o.Input, m.paint); m.asker != nil {
		options = append(options, tea.WithInput(m.asker),
			tea.WithFilter(m.asker.lastAnswer(ended, func() { program.Quit() })))
		m.asker.send = func(msg tea.Msg) { program.Send(msg) }
	}
	program = tea.NewProgram(painted{m, m.paint, g}, options...)
	m.paint.start(func(p *join.Panic) { g.caught(p) })
	watching := join.Run(func() {
		g.caught(join.Catch(func() { watch(ended, o.Environ, program) }))
	})
	quitting := quitAfter(ended, program)
	var err error
	if g.caught(join.Catch(func() { _, err = program.Run() })) {
		program.Kill() // gives the terminal's settings back
	}
	end()
	watching.Wait()
	quitting.Wait()
	m.paint.close()
	m.stop()
	g.caught(join.Catch(func() {
		if saved := m.memory.saveLast(); saved != nil && err == nil {
			err = saved
		}
	}))
	g.raise()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// quitAfter ends the program when the context is cancelled. The library's own way, WithContext, closes the
// input while a goroutine of the library still reads from it.
func quitAfter(ctx context.Context, program *tea.Program) *join.Task[struct{}] {
	return join.Run(func() {
		<-ctx.Done()
		program.Quit()
	})
}

// mute is the terminal for everything but drawing: the library puts it into raw mode, asks its size and
// follows it, while the painter alone writes to it. (Without a renderer the library would do none of that.)
type mute struct{ term.File }

func (mute) Write(b []byte) (int, error) { return len(b), nil }

// variable is an environment variable's value, the last where there are several.
func variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// Look is what a terminal can show.
type Look struct {
	Profile colorprofile.Profile
	ASCII   bool
	Remote  bool   // over SSH: fewer colours, fewer bytes
	Ground  ground // by COLORFGBG, until the terminal answers
	Screen  bool   // GNU screen is the terminal, or around tmux that is
}

// limited is a look with as many colours as the configuration says; one without colours stays so.
func (l Look) limited(colours string) Look {
	profiles := map[string]colorprofile.Profile{
		"16": colorprofile.ANSI, "256": colorprofile.ANSI256, "truecolor": colorprofile.TrueColor,
	}
	if p, ok := profiles[colours]; ok && l.Profile > colorprofile.ASCII {
		l.Profile = p
	}
	return l
}

// LookOf reads the environment. NO_COLOR with any value but the empty one takes colours away but leaves bold
// and reverse; TERM=dumb takes everything away; a locale that is not UTF-8 gets ASCII.
func LookOf(out io.Writer, environ []string) Look {
	env := func(name string) string { return variable(environ, name) }
	look := Look{Profile: colorprofile.Detect(out, environ), Remote: env("SSH_CONNECTION") != "" ||
		env("SSH_TTY") != "", Ground: hinted(env("COLORFGBG"))}
	look.Screen = env("STY") != ""
	dumb := env("TERM") == "dumb"
	switch {
	case dumb:
		look.Profile = colorprofile.NoTTY
	case env("NO_COLOR") != "":
		look.Profile = colorprofile.ASCII
	case look.Profile < colorprofile.ASCII:
		look.Profile = colorprofile.ASCII
	case strings.HasSuffix(env("TERM"), "-16color"): // whatever tmux or COLORTERM say of the terminal around
		look.Profile = min(look.Profile, colorprofile.ANSI)
	}
	locale := env("LC_ALL")
	if locale == "" {
		locale = env("LC_CTYPE")
	}
	if locale == "" {
		locale = env("LANG")
	}
	locale = strings.ToLower(locale)
	utf8 := strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
	look.ASCII = dumb || !utf8 && unixLocale()
	return look
}
