package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/join"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/tile"
)

// recall reads the state of the last session. Where that fails and the file is still in its place, this session saves nothing: it
// would replace what it has not read.
func (o *Options) recall(ctx context.Context) {
	if o.State != nil || o.StateDir == "" {
		return
	}
	o.State, o.forgot = configs.LoadState(ctx, o.StateDir)
	if kept := (*configs.StateError)(nil); errors.As(o.forgot, &kept) && kept.Aside == "" {
		o.forgot = fmt.Errorf("%w; nothing of this session is remembered", o.forgot)
		o.StateDir = ""
	}
}

// saveDueMsg says that what is remembered has not changed for a while.
type saveDueMsg struct{ seq int }

// savedMsg says that state was written, or why not.
type savedMsg struct{ err error }

// changed notes that something remembered changed; it is saved once things are quiet.
func (m *Model) changed() tea.Cmd {
	m.saved++
	if m.opt.StateDir == "" {
		return nil
	}
	seq := m.saved
	return tea.Tick(m.opt.settle, func(time.Time) tea.Msg { return saveDueMsg{seq} })
}

func (m *Model) saveDue(msg saveDueMsg) tea.Cmd {
	if msg.seq != m.saved || m.opt.StateDir == "" {
		return nil
	}
	s, dir := m.remembered(), m.opt.StateDir
	return func() tea.Msg { return savedMsg{configs.SaveState(m.opt.Files, dir, s)} }
}

func (m *Model) savedState(msg savedMsg) {
	if msg.err != nil {
		m.complain("state is not remembered: " + msg.err.Error())
	}
}

// lastSave is how long the end of the terminal waits for the state to reach the disk, which another program may keep busy.
const lastSave = 2 * time.Second

// saveLast writes the state when the terminal closes. What is not on the disk in time is given up: the earlier state stays.
func (m *Model) saveLast() error {
	task := join.Start(m.saveNow)
	select {
	case <-task.Done():
		return task.Wait()
	case <-time.After(m.opt.lastSave):
		m.opt.Files.Abandon()
		return fmt.Errorf("save state: not written within %s; the earlier state stays", m.opt.lastSave)
	}
}

// saveNow writes the state.
func (m *Model) saveNow() error {
	if m.opt.StateDir == "" {
		return nil
	}
	return configs.SaveState(m.opt.Files, m.opt.StateDir, m.remembered())
}

// remembered is a snapshot of what the next session takes up.
func (m *Model) remembered() *configs.State {
	s := &configs.State{
		Setup: setupOf(m.nextRequest()), View: strings.ToLower(m.view.String()), Cursor: remember(m.cursor),
		Bookmarks: maps.Clone(m.marks), Display: map[string]string{},
	}
	if m.pinned != nil {
		p := *m.pinned
		s.Pinned = &p
	}
	t := m.pane.tile.Settings()
	s.Display["format"], s.Display["diff"], s.Display["reference"] = t.Format.String(), t.Diff.String(), t.Ref.String()
	s.Display["heat"], s.Display["palette"], s.Display["follow"] = t.Heat.String(), m.th.Palette, onOff(m.follow)
	return s
}

func setupOf(req debugkern.Request) configs.Setup {
	return configs.Setup{
		Target: req.Target, Shape: shapeName(req), Seed: req.Seed, Gate: req.Gate.String(), Inject: req.Inject,
		Backend: req.Backend, Flags: maps.Clone(req.Set), Faults: slices.Clone(req.Faults),
	}
}

// restore takes up what was remembered. The request is, unless one was asked for; the cursor and the view only with it: what
// another kernel was last looked at in is not where a new one begins.
func (m *Model) restore(s *configs.State) {
	if s == nil {
		return
	}
	m.restoreDisplay(s.Display)
	maps.Copy(m.marks, s.Bookmarks)
	if s.Pinned != nil {
		p := *s.Pinned
		m.pinned = &p
	}
	if m.opt.Explicit || s.Target == "" || asked(m.opt.Request) {
		return
	}
	if _, _, err := m.opt.Engine.Catalogue().Lookup(s.Target); err != nil {
		return
	}
	m.req = requestOf(m.req, &s.Setup)
	if v, ok := keymap.ParseScope(s.View); ok {
		m.view = v
	}
	if c, ok := recall(s.Cursor); ok {
		m.cursor, m.restored = c, true
	}
}

// asked reports whether a request differs from one that nobody made. Its target says nothing: somebody's is Explicit.
func asked(r debugkern.Request) bool {
	return r.Shape != "" && r.Shape != "validation" || r.Seed != 0 || len(r.Set) > 0 || len(r.Faults) > 0 ||
		r.Gate != probes.GateNone || r.Inputs != ""
}

func (m *Model) restoreDisplay(d map[string]string) {
	s := m.pane.tile.Settings()
	if f, ok := cell.ParseFormat(d["format"]); ok {
		s.Format = f
	}
	if x, ok := cell.ParseDiff(d["diff"]); ok {
		s.Diff = x
	}
	if r, ok := cell.ParseRef(d["reference"]); ok {
		s.Ref = r
	}
	if h, ok := tile.ParseHeat(d["heat"]); ok {
		s.Heat = h
	}
	m.pane.tile.Set(s)
	if p := d["palette"]; p != "" {
		m.setPalette(p)
		m.status = status{}
	}
	if d["follow"] == "off" {
		m.follow = false
	}
}
