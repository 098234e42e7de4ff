package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/tui/keymap"
)

// driver is a model whose commands are carried out at once, in order.
type driver struct {
	t      testing.TB
	m      *Model
	e      *fakeEngine
	quit   bool
	msgs   []tea.Msg // everything commands answered
	manual bool      // commands are kept instead
	kept   []tea.Cmd
}

var plainLook = Look{Profile: colorprofile.ASCII}

func newDriver(t testing.TB, w, h int, look Look, change ...func(*Options)) *driver {
	t.Helper()
	e := newEngine(t)
	o := Options{Engine: e, viewer: view, quiet: 1, settle: 1, pulse: -1}
	for _, c := range change {
		c(&o)
	}
	d := &driver{t: t, e: e, m: New(context.Background(), o, look)}
	d.m.resize(w, h)
	return d
}

// started is a driver whose first run has ended.
func started(t testing.TB, w, h int, look Look, change ...func(*Options)) *driver {
	d := newDriver(t, w, h, look, change...)
	d.do(d.m.Init())
	return d
}

// do carries out a command and whatever follows from it. A command that waits for time or progress is not waited for
// longer than a moment: what it would say is asked for by the tests that want it.
func (d *driver) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if d.manual {
		d.kept = append(d.kept, cmd)
		return
	}
	answer := make(chan tea.Msg, 1)
	go func() { answer <- cmd() }()
	select {
	case msg := <-answer:
		d.send(msg)
	case <-time.After(2 * time.Second):
		d.t.Fatal("a command did not end")
	}
}

func (d *driver) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, c := range msg {
			d.do(c)
		}
		return
	case tea.QuitMsg:
		d.quit = true
		return
	}
	d.msgs = append(d.msgs, msg)
	_, cmd := d.m.Update(msg)
	d.do(cmd)
}

// special are keys that are not their own text.
var special = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "space": {Code: tea.KeySpace, Text: " "},
	"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft},
	"right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgup": {Code: tea.KeyPgUp},
	"pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
	"ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+p": {Code: 'p', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
}

// press sends keys by name.
func (d *driver) press(keys ...string) *driver {
	for _, k := range keys {
		msg, ok := special[k]
		if !ok {
			r := []rune(k)
			msg = tea.KeyPressMsg{Code: r[0], Text: k}
		}
		d.send(msg)
	}
	return d
}

// type1 sends a text's characters.
func (d *driver) typed(text string) *driver {
	for _, r := range text {
		if r == ' ' {
			d.press("space")
		} else {
			d.press(string(r))
		}
	}
	return d
}

// command types a palette command.
func (d *driver) command(text string) *driver { return d.press(":").typed(text).press("enter") }

// text is the screen without styles.
func (d *driver) text() string { return ansi.Strip(strings.Join(d.m.screen(), "\n")) }

// hasStatus fails unless the status line contains text.
func (d *driver) hasStatus(text string) {
	d.t.Helper()
	if !strings.Contains(d.m.status.text, text) {
		d.t.Errorf("status %q does not say %q", d.m.status.text, text)
	}
}

func withRequest(req debugkern.Request) func(*Options) {
	return func(o *Options) { o.Request = req }
}

func withState(s *configs.State) func(*Options) {
	return func(o *Options) { o.State = s }
}

var faulty = debugkern.Request{Target: "stage2", Faults: []string{"p-stale-m"}}

// allViews are the views that are complete.
var allViews = []keymap.Scope{keymap.Pipe, keymap.Tile, keymap.Frag, keymap.Flags, keymap.Gates, keymap.GPU, keymap.Source}
