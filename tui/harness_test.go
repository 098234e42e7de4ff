package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/tui/keymap"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// driver is a model whose commands are carried out at once, in order.
type driver struct {
	*tuitest.Driver
	t testing.TB
	m *Model
	e *tuitest.Engine
}

var plainLook = Look{Profile: colorprofile.ASCII}

func newDriver(t testing.TB, w, h int, look Look, change ...func(*Options)) *driver {
	t.Helper()
	e := tuitest.NewEngine(t)
	o := Options{Engine: e, Pace: view.Pace{Quiet: 1, Pulse: -1}, Settle: 1}
	for _, c := range change {
		c(&o)
	}
	m := New(context.Background(), o, look)
	m.resize(w, h)
	return &driver{Driver: &tuitest.Driver{T: t, Screen: m}, t: t, m: m, e: e}
}

// started is a driver whose first run has ended.
func started(t testing.TB, w, h int, look Look, change ...func(*Options)) *driver {
	d := newDriver(t, w, h, look, change...)
	d.Do(d.m.Init())
	return d
}

// press sends keys by name.
func (d *driver) press(keys ...string) *driver {
	d.Press(keys...)
	return d
}

// typed sends a text's characters.
func (d *driver) typed(text string) *driver {
	d.Type(text)
	return d
}

// command types a palette command.
func (d *driver) command(text string) *driver { return d.press(":").typed(text).press("enter") }

// open shows a view by its number key.
func (d *driver) open(s keymap.Scope) *driver { return d.press(d.key(s)) }

// key is a view's number key.
func (d *driver) key(s keymap.Scope) string { return string(rune('0' + d.m.Keys.Number(s))) }

// hasStatus fails unless the status line contains text.
func (d *driver) hasStatus(text string) {
	d.t.Helper()
	if !strings.Contains(d.m.Status.Text, text) {
		d.t.Errorf("status %q does not say %q", d.m.Status.Text, text)
	}
}

// do and send carry out a command, and hand the model a message.
func (d *driver) do(cmd tea.Cmd)   { d.Do(cmd) }
func (d *driver) send(msg tea.Msg) { d.Send(msg) }

// text is the screen without styles.
func (d *driver) text() string { return d.Text() }

func withRequest(req debugkern.Request) func(*Options) {
	return func(o *Options) { o.Request = req }
}

func withState(s *configs.State) func(*Options) {
	return func(o *Options) { o.State = s }
}

// twoH200 puts two devices into the machine.
func twoH200(o *Options) { o.Engine.(*tuitest.Engine).TwoH200() }

var faulty = debugkern.Request{Target: "stage2", Faults: []string{"p-stale-m"}}

// allViews are the views that the golden screens show.
var allViews = []keymap.Scope{view.Pipe, view.Tile, view.Frag, view.Flags, view.Gates, view.GPU, view.Source}

func withRaces(f *tuitest.Races) func(*Options) {
	return func(o *Options) { o.Engine = tuitest.Investigated{Engine: o.Engine.(*tuitest.Engine), Races: f} }
}

func onDevice(backend string, device int) func(*Options) {
	return withRequest(debugkern.Request{Target: "stage2", Backend: backend, Device: device})
}

// late carries out the commands that were kept, and keeps none of what follows from them.
func (d *driver) late() {
	kept, was := d.Kept, d.Manual
	d.Kept, d.Manual = nil, false
	for _, c := range kept {
		d.Do(c)
	}
	d.Manual = was
}
