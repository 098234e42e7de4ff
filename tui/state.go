package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/join"
	"tilescope/probes"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// stateLock in the state's folder is locked by the terminal that saves there, as long as it is open.
const stateLock = "state.lock"

// errOtherTerminal says why a session saves nothing.
var errOtherTerminal = errors.New("another terminal is open: this one starts from the state that was last " +
	"saved, and remembers nothing of its own")

// recall reads the state of the last session, and reserves its file until the returned function is called.
// Another terminal that has it reserved would overwrite what this one saves, and this one what it saves: so
// this one saves nothing. Nor does it where the file cannot be read and is still in its place: it would
// replace what it has not read.
func (o *Options) recall(ctx context.Context) (leave func()) {
	leave = func() {}
	if o.State != nil || o.StateDir == "" {
		return leave
	}
	unlock, locked := lockState(ctx, o.Files, o.StateDir)
	if unlock != nil {
		leave = unlock
	}
	var read error
	o.State, read = configs.LoadState(ctx, o.StateDir)
	if kept := (*configs.StateError)(nil); errors.As(read, &kept) && kept.Aside == "" {
		read = fmt.Errorf("%w; nothing of this session is remembered", read)
		o.StateDir = ""
	}
	if errors.Is(locked, file.ErrLocked) {
		locked, o.unsaved = errOtherTerminal, true
	}
	o.forgot = errors.Join(locked, read)
	return leave
}

// lockState locks a state folder. It gives up when ctx ends, for a file system may not answer.
func lockState(ctx context.Context, files *file.System, dir string) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	task := join.Start(func() (r result) {
		if r.err = files.Mkdir(dir, 0o755); r.err == nil {
			r.unlock, r.err = files.Lock(filepath.Join(dir, stateLock))
		}
		return r
	})
	select {
	case <-task.Done():
		r := task.Wait()
		unlock, err = r.unlock, r.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("the state is not protected from other terminals: %w", err)
	}
	return unlock, err
}

// saveDueMsg says that what is remembered has not changed for a while.
type saveDueMsg struct{ seq int }

// savedMsg says that state was written, or why not.
type savedMsg struct{ err error }

// Changed implements view.Root.
func (m *Model) Changed() tea.Cmd {
	return m.memory.changed()
}

// memory writes what the next session takes up: once nothing has changed for a moment, and when the terminal
// closes.
type memory struct {
	*view.Context
	settle, last time.Duration // how long it waits for quiet, and at the end for the disk
	saved        int           // generation of the last change
	state        func() *configs.State
	unsaved      bool // another terminal saves its own
}

// off reports whether nothing is remembered.
func (m *memory) off() bool { return m.StateDir == "" || m.unsaved }

// changed notes a change.
func (m *memory) changed() tea.Cmd {
	m.saved++
	if m.off() {
		return nil
	}
	seq := m.saved
	return tea.Tick(m.settle, func(time.Time) tea.Msg { return saveDueMsg{seq} })
}

func (m *memory) saveDue(msg saveDueMsg) tea.Cmd {
	if msg.seq != m.saved || m.off() {
		return nil
	}
	s, dir := m.state(), m.StateDir
	return func() tea.Msg { return savedMsg{configs.SaveState(m.Files, dir, s)} }
}

func (m *memory) savedState(msg savedMsg) {
	if msg.err != nil {
		m.Complain("state is not remembered: " + msg.err.Error())
	}
}

// lastSave is how long the end of the terminal waits for the state to reach the disk, which another program
// may keep busy.
const lastSave = 2 * time.Second

// saveLast writes the state when the terminal closes. What is not on the disk in time is given up: the
// earlier state stays.
func (m *memory) saveLast() error {
	task := join.Start(m.saveNow)
	select {
	case <-task.Done():
		return task.Wait()
	case <-time.After(m.last):
		m.Files.Abandon()
		return fmt.Errorf("save state: not written within %s; the earlier state stays", m.last)
	}
}

// saveNow writes the state.
func (m *memory) saveNow() error {
	if m.off() {
		return nil
	}
	return configs.SaveState(m.Files, m.StateDir, m.state())
}

// remembered is a snapshot of what the next session takes up.
func (m *Model) remembered() *configs.State {
	if then := m.opt.State; m.Fail != nil && m.Fail.Asked && m.Run == nil && then != nil {
		// The file is no target before it has a launch: the last session's stays, with the place in it.
		s := &configs.State{Setup: then.Setup, View: then.View, Cursor: then.Cursor, Pinned: then.Pinned}
		m.rememberSettings(s)
		return s
	}
	req := m.NextRequest()
	if m.Fail != nil && m.Fail.Opening != nil && m.Run != nil {
		req = m.Run.Request // what could not be opened is no target
	}
	if m.tour != nil {
		req = m.tour.before.req
	}
	s := &configs.State{
		Setup: request.SetupOf(req), View: strings.ToLower(string(m.view)),
		Cursor: remember(m.Cursor),
	}
	if m.Pinned != nil && m.sameKernel(m.Pinned.Target, req.Target) {
		p := *m.Pinned
		s.Pinned = &p
	}
	m.rememberSettings(s)
	return s
}

// rememberSettings adds to a state what does not depend on the target: settings of the display, bookmarks,
// and the files that were opened.
func (m *Model) rememberSettings(s *configs.State) {
	s.Bookmarks, s.Display = maps.Clone(m.marks.all), map[string]string{}
	s.Opened, s.Guessed, s.Launches = slices.Clone(m.recent.lines), m.recent.guesses(), m.recent.launches()
	for _, v := range able[view.Rememberer](m.views) {
		v.Remember(s.Display)
	}
	if m.opt.Config == nil || m.colours != m.opt.Config.Theme {
		s.Display["theme"] = m.colours
	}
	s.Display["palette"], s.Display["follow"] = m.Theme.Palette, view.OnOff(m.Follow)
}

// restore takes up what was remembered. The request is, unless one was asked for; the cursor and the view
// only with it: what another kernel was last looked at in is not where a new one begins.
func (m *Model) restore(s *configs.State) {
	if s == nil {
		return
	}
	m.restoreDisplay(s.Display)
	maps.Copy(m.marks.all, s.Bookmarks)
	m.recent.restore(s.Opened, s.Guessed, s.Launches)
	m.restoreRequest(s)
	if s.Pinned != nil && m.sameKernel(s.Pinned.Target, m.Req.Target) {
		p := *s.Pinned
		m.Pinned = &p
	}
}

func (m *Model) restoreRequest(s *configs.State) {
	if m.opt.Explicit || m.opt.Lacks != nil || s.Target == "" || asked(m.opt.Request) {
		return
	}
	if _, _, err := m.Engine.Catalogue().Lookup(s.Target); err != nil {
		return
	}
	m.Req = request.With(m.Req, &s.Setup)
	if v, ok := m.Keys.ParseScope(s.View); ok {
		m.view = v
	}
	if c, ok := recall(s.Cursor); ok {
		m.Cursor, m.restored = c, true
	}
}

// sameKernel reports whether two targets are variants of one kernel.
func (m *Model) sameKernel(a, b string) bool {
	ka, _, errA := m.Engine.Catalogue().Lookup(a)
	kb, _, errB := m.Engine.Catalogue().Lookup(b)
	return errA == nil && errB == nil && ka == kb
}

// asked reports whether a request differs from one that nobody made. Its target says nothing: somebody's is
// Explicit.
func asked(r debugkern.Request) bool {
	return r.Shape != "" && r.Shape != "validation" || r.Seed != 0 || len(r.Set) > 0 || len(r.Faults) > 0 ||
		r.Gate != probes.GateNone || r.Inputs != ""
}

func (m *Model) restoreDisplay(d map[string]string) {
	for _, v := range able[view.Rememberer](m.views) {
		v.Recall(d)
	}
	if name := d["theme"]; slices.Contains(themeChoices(), name) {
		m.colours = name
		m.setTheme(m.Theme.Palette)
	}
	if p := d["palette"]; p != "" {
		m.setTheme(p)
	}
	if d["follow"] == "off" {
		m.Follow = false
	}
}
