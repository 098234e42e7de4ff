package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/target"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
	"tilescope/tui/pane/source"
	"tilescope/tui/request"
	"tilescope/tui/theme"
)

// Pace is how long the terminal waits for what.
type Pace struct {
	Quiet time.Duration // how long the cursor rests before anything is looked up for its cell
	Pulse time.Duration // between two looks at a device or a file; 0: each its own, < 0: never by itself
}

// Context is what views share: what the terminal was opened with, the request and the run on screen, the
// cursor, and what was looked up for the run. The root makes it, and it is used by the goroutine of Update
// alone; a command captures what it needs.
type Context struct {
	Status // the bottom line

	Ctx      context.Context // ends with the terminal
	Root     Root
	Engine   Engine
	Keys     *keymap.Map
	Theme    *theme.Theme
	Pace     Pace
	Now      func() time.Time
	StateDir string       // where results are kept; "" keeps none
	Version  string       // of the program
	Files    *file.System // how files are written; nil: the real file system

	Req   debugkern.Request // the request on screen
	Mine  *configs.Manifest // of a target given by its path
	Run   *Run              // the last run that ended well; see Current
	Gen   int               // of the run on screen
	Fail  *Run              // why the request on screen could not run; nil where it has run, or runs
	Job   Job               // the run in the background
	Task  Task              // other work in the background
	Stamp string            // of a person's own source: when it was last seen to be settled

	Edition int // of a person's own source: how often a save was seen

	Cursor debugkern.Cell
	Fresh  bool // the run put the cursor on its first bad cell and nobody has moved it
	Follow bool // source, PTX and kv tile follow what the cursor is on

	Side    int // columns at the right of the Tile view, 0 where it has none
	Numbers Numbers
	Tiles   Tiles
	Writers Writers
	Pinned  *configs.Setup // the run that others are compared with, A

	chosen    string // see Chosen
	origin    Origin // from where switches of faults took the request
	replaying replay
	past      history
	hunt      hunt
	listed    listings
}

// Numbers are how a cell is written and judged on screen.
type Numbers struct {
	Format cell.Format
	Ref    cell.Ref
	Bound  cell.Bound
}

// Tiles are tiles of the run on screen that have been compared with their references, and why others could
// not be.
type Tiles struct {
	Views map[debugkern.Place]*debugkern.TileView
	Errs  map[debugkern.Place]error
}

// Writers are what wrote cells of the run on screen, and why it is not known of others.
type Writers struct {
	Known map[debugkern.Cell]*target.WriteSite
	Errs  map[debugkern.Cell]string
}

// replay is the schedule and backend to return to after a replay, which lasts for one run, and the keys and
// commands that end it.
type replay struct {
	on                      bool
	schedule, backend, ends string
}

// NextRequest is the request that the next run is made from: the one on screen, without what was asked for
// one run only.
func (x *Context) NextRequest() debugkern.Request {
	req := request.Clone(x.Req)
	if x.replaying.on {
		req.Schedule, req.Backend = x.replaying.schedule, x.replaying.backend
	}
	return req
}

// Once starts a run under another schedule and backend; the run after it has those of before again. ends
// names the keys and commands that end it, said is what the status line says of it.
func (x *Context) Once(schedule, backend, ends, said string) tea.Cmd {
	req := x.NextRequest()
	was := replay{true, req.Schedule, req.Backend, ends}
	req.Schedule, req.Backend = schedule, backend
	cmd := x.Choose(req, said)
	if cmd != nil {
		x.replaying = was
		x.Root.Announce(RequestChanged{})
	}
	return cmd
}

// EndReplay starts a run under the schedule and backend from before the replay.
func (x *Context) EndReplay() tea.Cmd {
	req := x.NextRequest()
	return x.Choose(req, "the replay is over: "+request.InFull(req))
}

// Replaying reports whether the request on screen stands for one run only.
func (x *Context) Replaying() bool { return x.replaying.on }

// ReplayEnds names the keys and commands that end the replay on screen.
func (x *Context) ReplayEnds() string { return x.replaying.ends }

// Requested makes req the request on screen: nothing is known to be wrong with it yet.
func (x *Context) Requested(req debugkern.Request) {
	x.Req, x.Fail, x.replaying = req, nil, replay{}
}

// Current reports whether the run on screen answers the request on screen. Where it does not (another run is
// under way, was cancelled, or could not be made), everything that is drawn of it is dimmed and headed by its
// own request.
func (x *Context) Current() bool {
	return x.Run != nil && !x.Job.Active && x.Fail == nil && request.Same(x.Run.Request, x.Req)
}

// Outcome is the run on screen as panes are given it.
func (x *Context) Outcome() outcome.Outcome {
	if x.Run == nil {
		return outcome.Outcome{}
	}
	return outcome.New(request.InFull(x.Run.Request), x.Run.Report, !x.Current())
}

// Newest is what the last request came to: its failure, else the run on screen; nil before the first has
// ended.
func (x *Context) Newest() *Run {
	if x.Fail != nil {
		return x.Fail
	}
	return x.Run
}

// OnGPU reports whether what ran last, well or not, was executed by a GPU.
func (x *Context) OnGPU() bool {
	r := x.Newest()
	return r != nil && (r.Report.Backend.Name == "cuda" || r.Report.Backend.Name == "both")
}

// Standing is how the request on screen stands, "" where the run on screen answers it.
func (x *Context) Standing() string {
	switch {
	case x.Job.Active:
		return "running"
	case x.Fail != nil && x.Fail.Asked:
		return "not opened"
	case x.Fail != nil:
		return "failed"
	case x.Run != nil && !x.Current():
		return "not run"
	}
	return ""
}

// Idle is what an empty screen says.
func (x *Context) Idle() string {
	if x.Job.Active {
		return "running " + request.Title(x.Req)
	}
	if x.Status.Bad {
		return x.Status.Text
	}
	return "nothing has run yet: " + x.Keys.Label(keymap.Again) + " runs"
}

// BuiltNote is the note next to a source where files have been saved since the run on screen was built: what
// is shown is the text that was built. Else it is "".
func (x *Context) BuiltNote() string {
	if x.Run == nil || x.Run.Edition == x.Edition {
		return ""
	}
	return "as built, not the file on disk"
}

// PatchOf is what the patches of planted faults have changed of a source, as the run on screen has it.
func (x *Context) PatchOf(file string) source.Patch {
	if x.Run == nil {
		return source.Patch{}
	}
	run, ok := x.Run.Viewer.(interface {
		Changes(file string) (faults []string, lines []int)
	})
	if !ok {
		return source.Patch{}
	}
	faults, lines := run.Changes(file)
	return source.Patch{By: strings.Join(faults, ", "), Lines: lines}
}

// SourceOf is a source's text as the run on screen has it.
func (x *Context) SourceOf(file string) []string {
	if x.Run == nil {
		return nil
	}
	return x.Run.Viewer.Source(file)
}

// Begin starts a task, unless one is under way.
func (x *Context) Begin(what string) bool {
	if x.Task.Active {
		x.Complain(fmt.Sprintf("%s is running: try again when it has ended, or %s cancels it", x.Task.What,
			x.Keys.Label(keymap.Cancel)))
		return false
	}
	x.Task.What, x.Task.Words, x.Task.Writes = what, nil, false
	x.Task.Job.task = true
	x.Task.Job.Begin(x.Ctx, x.Now())
	return true
}

// CancelTask ends the task under way; whatever it still reports is stale, but for what it has finished.
func (x *Context) CancelTask() {
	x.Task.Stop()
	x.Say(x.Task.What + " cancelled")
}

// NothingYet says why there is nothing to move in.
func (x *Context) NothingYet() tea.Cmd {
	if x.Job.Active {
		x.Say("nothing to move in yet: the first run is on its way")
	} else {
		x.Say("nothing to move in: no run has ended well; " + x.Keys.Label(keymap.Again) + " runs again")
	}
	return nil
}

// NothingHere says that the motion keys do nothing in the view on screen.
func (x *Context) NothingHere() tea.Cmd {
	x.Say(fmt.Sprintf("nothing to move to in %s", x.Root.Showing()))
	return nil
}
