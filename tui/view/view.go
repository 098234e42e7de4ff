// Package view is the seam between the terminal's root and its views.
//
// The one idea: a view is a package of its own (panes, controller, tests) that the root uses through
// View. The root routes keys, clicks and messages to it, gives it a size and a focus, and draws its
// lines; a view reads what all views share (the request, the run on screen, the cursor) from one Context
// and asks the root, through the interface Root, for what only the root can do. A new view is its package
// and one line in the root's list.
//
// It must not know any view, nor how the root lays out a screen.
package view

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
)

// Part names a pane that can have the focus; the status line writes it.
type Part string

// Moment says which execution of a line of the source is meant.
type Moment struct {
	File  string
	Line  int
	Block probes.Dim3
	// KVTile, Warp and Lane of that execution; -1 where any is meant
	KVTile, Warp, Lane int
	// Cell is one that is wrong because of the line; nil where there is none
	Cell *debugkern.Cell
}

// View is one of the terminal's views. Its methods are called by one goroutine, and none of them may do slow
// work: that belongs into a command, whose message comes back through Update.
type View interface {
	// Layer is the view's name, its tab, and its part of the key table. It never changes.
	Layer() keymap.Layer
	// Actions are what the view's actions do, each with the key or the character that came with it. An action
	// of the layer that is not among them is carried out by the root. The root reads them once.
	Actions() map[keymap.Action]func(arg string) tea.Cmd
	// SetTheme changes colours and glyphs.
	SetTheme(th *theme.Theme)
	// SetSize gives the view its place: columns and lines between the two lines at the top and the one at the
	// bottom.
	SetSize(w, h int)
	// Lines draws the view: as many lines as its height, each of its full width.
	Lines() []string
	// Parts are the panes that can have the focus, in the order of the focus key. They may change
	// with size and content.
	Parts() []Part
	// SetFocus says which part has the focus; "" or a part of another view: none.
	SetFocus(p Part)
	// Move is what the motion keys do in the focused part.
	Move(rows, cols int) tea.Cmd
	// Click chooses what is drawn at a place of the view.
	Click(x, y int) tea.Cmd
	// Wheel scrolls what is drawn at a place of the view.
	Wheel(x, y, rows, cols int) tea.Cmd
	// Update takes what the view's own commands report, and what the root and other views announce (see the
	// messages of this package). What is meant for others is ignored. A view that is not on screen
	// gets messages too.
	Update(msg tea.Msg) tea.Cmd
}

// The interfaces below are abilities that a view may have.
type (
	// Dependent is a view that is made of the run on screen.
	Dependent interface {
		// OfRun reports whether the whole view is drawn from the run on screen, so that it is dimmed and
		// headed while the run answers another request, and whether a failed request takes its place.
		OfRun() (whole, fails bool)
	}
	// Edger goes to the first or last row or column of the focused part; without it that is a very long Move.
	Edger interface{ Edge(rows, cols int) tea.Cmd }
	// Pager moves by half a page; without it that is a Move by half the view's height.
	Pager interface{ Page(dir int) tea.Cmd }
	// Grower makes the focused part larger or smaller, and reports whether it can.
	Grower interface {
		Grow(n int) (tea.Cmd, bool)
	}
	// Zoomer draws the focused part alone, in the whole place of the view. Parts stays what it was, and the
	// focus key goes from one part drawn alone to the next.
	Zoomer interface{ Zoom(on bool) }
	// Searcher looks for text, and the action of the next match goes to what it finds.
	Searcher interface {
		// Search says what to look for; an empty text ends the search.
		Search(text string) error
		// Here returns what puts the view back to where it stands now: what is found while the text is
		// being typed is shown, and left again with the next character.
		Here() (back func() tea.Cmd)
	}
	// Filterer shows only what matches. An empty text shows all.
	Filterer interface {
		Filter(text string) error
	}
	// Counter returns how many of the listed items its filter leaves; -1 where that is not known yet.
	Counter interface{ Matching() int }
	// Copier has something under its cursor that can be copied.
	Copier interface{ Text() string }
	// Located has a source line under its cursor; ok is false where it has none now.
	Located interface {
		SourceLine() (file string, line int, ok bool)
	}
	// Editable has a source line that the editor opens, in place of the one that the screen stands for.
	Editable interface {
		EditLine() (file string, line int, ok bool)
	}
	// Worker does in the background what a person started.
	Worker interface {
		// Busy says what is under way and how far it has come, "" where nothing is, and whether the
		// view waits for it.
		Busy() (what string, waits bool)
		// Cancel ends it and reports whether there was something.
		Cancel() bool
	}
	// Closer has something to end when the terminal closes: work, also what nobody started, or a device.
	Closer interface{ Close() }
	// Covered may have something open on top of it, which Esc and the key that quits close.
	Covered interface {
		// Uncover closes it and reports whether there was something.
		Uncover() bool
	}
	// Explained has a legend: what the marks in a part mean.
	Explained interface{ Legend(p Part) []Mark }
	// Diagnoser diagnoses the run on screen.
	Diagnoser interface {
		// HasCauses reports whether causes of what is wrong with it have been found, to the last.
		HasCauses() bool
		// Found is what a diagnosis has found so far of errors and of causes; 0 where there is none.
		Found() (errors []report.Finding, causes int)
	}
	// Follower has something that follows the source that ran: what has become of it with the run on screen,
	// "" where nothing moved.
	Follower interface{ Followed() string }
	// Clocked counts the steps of the block that it has executed.
	Clocked interface{ Clock() uint64 }
	// Hinter has keys that do something else at the moment: what the hint line says of one, "" for what it
	// always says.
	Hinter interface{ Hint(a keymap.Action) string }
	// Noted has something to say at the right end of the tab line.
	Noted interface{ Note() string }
	// Gauge is what a device does at the moment: its name, and its state, "" where that is not known.
	Gauge interface{ Gauge() (name, state string) }
	// Commander adds commands to the palette.
	Commander interface{ Commands() []Command }
	// Rememberer has settings that the next session takes up.
	Rememberer interface {
		Remember(settings map[string]string)
		Recall(settings map[string]string)
	}
)

// Mark is one line of a legend.
type Mark struct{ Glyph, Text string }

// Root is what only the root can do for a view.
type Root interface {
	// Open shows a view and announces it.
	Open(name keymap.Scope) tea.Cmd
	// Switch shows a view and announces nothing: the caller has decided what it will show.
	Switch(name keymap.Scope)
	// Showing is the view on screen.
	Showing() keymap.Scope
	// Focus gives a part of the view on screen the focus; a part that it does not have now changes nothing.
	Focus(p Part)
	// Layout gives every view its size and focus again: sizes or parts have changed.
	Layout()
	// Announce hands a message to every view, in their order.
	Announce(msg tea.Msg) tea.Cmd
	// Start runs a request in the background, in place of whatever runs now.
	Start(req debugkern.Request) tea.Cmd
	// Failing reports whether the view on screen gives way to why the request could not run; NextReason goes
	// through the reasons.
	Failing() bool
	NextReason(dir int) tea.Cmd
	// SourcePlace is the source line that the screen stands for; file is "" where there is none.
	SourcePlace() (file string, line int)
	// Ask opens the prompt with a text to go on from.
	Ask(lead, text string) tea.Cmd
	// Changed notes that something remembered has changed: it is saved once nothing has changed for a moment.
	Changed() tea.Cmd
	// SeekConsent looks whether err is for want of a consent, and asks for it.
	SeekConsent(err error) tea.Cmd
}

// Engine is what the terminal needs of a session. *debugkern.Session is one. What a view needs besides is an
// interface of its own, which an engine may have.
type Engine interface {
	// Run executes and judges a request. progress may be called from any goroutine until Run returns.
	Run(ctx context.Context, req debugkern.Request, progress func(debugkern.Progress)) (*debugkern.Run, error)
	Catalogue() *configs.Catalogue
}

// Messages that the root announces to every view.
type (
	// Shown says that a view has been opened: which one, Root.Showing says.
	Shown struct{}
	// Moved says that the cursor has moved.
	Moved struct{}
	// NewRun says that another run is on screen, or that one is compared with another run now; nothing that
	// was looked up for the last one holds.
	NewRun struct{ Gen int }
	// Drawn says that the run on screen, or what stands in its place, has to be drawn again.
	Drawn struct{}
	// Second: another second has passed in which something runs.
	Second struct{}
	// Ran says that a run has ended well and is on screen.
	Ran struct{ Gen int }
	// Failed says that a request could not run.
	Failed struct{}
	// RequestChanged says that the request on screen, or how the run on screen stands to it, has changed.
	RequestChanged struct{}
	// HostChanged says that workers run on another machine from now on.
	HostChanged struct{}
	// Started says that a run has been started.
	Started struct{}
	// Paired says that the run on screen is compared with another now, or no longer is: its tiles
	// have to be read again.
	Paired struct{}
	// NumbersChanged says that cells are written or judged in another way.
	NumbersChanged struct{}
	// TileRead says that a tile of the run on screen has been read, or cannot be.
	TileRead struct{}
	// WriterFound says that more is known of who wrote the cell under the cursor.
	WriterFound struct{}
	// FragmentsRead says that fragment maps or a kernel's table have been read.
	FragmentsRead struct{}
	// CausesFound says that a diagnosis has found causes, or that they are of another run.
	CausesFound struct{}
	// Walked says that the block in view Source stands at another moment, or that more is known of it.
	Walked struct{}
	// SourceChanged says that a person's own source has changed.
	SourceChanged struct{}
	// Reset says that a person has requested defaults: what a view has of its own that the request does not
	// have goes back too. A view calls Back with the name of what it took back.
	Reset struct{ Back func(what string) }
)

// Groups of the palette's commands, in the order in which they are offered.
const (
	PlaceCommands = iota
	RunCommands
	DisplayCommands
	ScreenCommands
	FragmentCommands
	ProgramCommands
	NumGroups
)

// Command is one line of the palette.
type Command struct {
	Group           int
	Name, Arg, Help string
	Short           string          // another name, that completion does not offer; "" for none
	Also            string          // words that find it and that Help has not
	Values          func() []string // completions of its argument, each with help behind a tab; nil: none
	// Named is set where the first word of the argument is one of Values: a beginning that only one of them
	// has stands for it.
	Named bool
	// Fits reports whether a text can be the argument; nil: any can. Where it cannot, and the words of the
	// line name an action, as those of "next bad", that is carried out.
	Fits func(arg string) bool
	// Then returns completions of the argument's second word, after the first; nil: it has none.
	Then func(first string) []string
	// Complete offers arguments for what has been typed of one, where they depend on it: names of files.
	Complete func(typed string) []string
	// None returns the text that the prompt shows where Complete returns no candidates; nil: it shows none.
	None func(typed string) string
	Do   func(arg string) tea.Cmd
}

// Words is what Command.Values is for an argument that is one of a few words.
func Words(words ...string) func() []string { return func() []string { return words } }

// GateNoneHelp is what gate none does.
const GateNoneHelp = "every part of the kernel runs"

// Names of the views that others open.
const (
	Pipe   keymap.Scope = "Pipe"
	Tile   keymap.Scope = "Tile"
	Frag   keymap.Scope = "Frag"
	Flags  keymap.Scope = "Flags"
	Races  keymap.Scope = "Races"
	Gates  keymap.Scope = "Gates"
	GPU    keymap.Scope = "GPU"
	Source keymap.Scope = "Source"
	// Pipeline follows the block that Source steps
	Pipeline keymap.Scope = "Pipeline"
)
