// Package viewtest is for the tests of views: it drives one view in the whole terminal, over an engine that
// executes nothing.
package viewtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/tui"
	"tilescope/tui/keymap"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// Top is the number of lines above a view.
const Top = 2

// Sizes are those at which every view is drawn.
var Sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// Faulty is a request whose run goes wrong in stage P from the second kv tile on.
var Faulty = debugkern.Request{Target: "stage2", Faults: []string{"p-stale-m"}}

// Terminal is how a terminal is opened.
type Terminal struct {
	tui.Options
	Look tui.Look
}

// Option changes how the terminal is opened.
type Option func(*Terminal)

// Look opens a terminal that can show more, or less, than text with attributes.
func Look(look tui.Look) Option { return func(o *Terminal) { o.Look = look } }

// ASCII is a terminal with neither UTF-8 nor attributes, Colour one with all colours.
var (
	ASCII  = Look(tui.Look{Profile: colorprofile.NoTTY, ASCII: true})
	Colour = Look(tui.Look{Profile: colorprofile.TrueColor})
)

// Request opens it with a request.
func Request(req debugkern.Request) Option { return func(o *Terminal) { o.Request = req } }

// Device opens it with the catalogue's kernel on a device.
func Device(backend string, device int) Option {
	return Request(debugkern.Request{Target: "stage2", Backend: backend, Device: device})
}

// Races makes the engine one that can diagnose. It comes after options that change the engine.
func Races(f *tuitest.Races) Option {
	return func(o *Terminal) { o.Engine = tuitest.Investigated{Engine: o.Engine.(*tuitest.Engine), Races: f} }
}

// Engine changes the engine.
func Engine(change func(e *tuitest.Engine)) Option {
	return func(o *Terminal) { change(o.Engine.(*tuitest.Engine)) }
}

// Driver is a terminal whose commands are carried out at once.
type Driver struct {
	*tuitest.Driver
	M *tui.Model
	E *tuitest.Engine
	t testing.TB

	w, h int
}

// New is a terminal whose first run has not begun.
func New(t testing.TB, w, h int, options ...Option) *Driver {
	t.Helper()
	e := tuitest.NewEngine(t)
	o := Terminal{Options: tui.Options{Engine: e, Pace: view.Pace{Quiet: 1, Pulse: -1}, Settle: 1},
		Look: tui.Look{Profile: colorprofile.ASCII}}
	for _, change := range options {
		change(&o)
	}
	m := tui.New(context.Background(), o.Options, o.Look)
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return &Driver{Driver: &tuitest.Driver{T: t, Screen: m}, M: m, E: e, t: t, w: w, h: h}
}

// Start is a terminal whose first run has ended.
func Start(t testing.TB, w, h int, options ...Option) *Driver {
	d := New(t, w, h, options...)
	d.Do(d.M.Init())
	return d
}

// View is a view of the terminal by its name, as its own type.
func View[T view.View](d *Driver, name keymap.Scope) T {
	was := d.M.Showing()
	d.M.Switch(name)
	v := d.M.Shown().(T)
	d.M.Switch(was)
	return v
}

// Press sends keys by name.
func (d *Driver) Press(keys ...string) *Driver {
	d.Driver.Press(keys...)
	return d
}

// Type sends a text's characters.
func (d *Driver) Type(text string) *Driver {
	d.Driver.Type(text)
	return d
}

// Command types a palette command.
func (d *Driver) Command(text string) *Driver { return d.Press(":").Type(text).Press("enter") }

// Open shows a view by its number key.
func (d *Driver) Open(name keymap.Scope) *Driver { return d.Press(fmt.Sprint(d.M.Keys.Number(name))) }

// Resize changes the terminal's size.
func (d *Driver) Resize(w, h int) *Driver {
	d.w, d.h = w, h
	d.Send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// Last is the request that ran last.
func (d *Driver) Last() debugkern.Request {
	d.t.Helper()
	all := d.E.Asked()
	if len(all) == 0 {
		d.t.Fatal("nothing ran")
	}
	return all[len(all)-1]
}

// HasStatus fails unless the status line contains text.
func (d *Driver) HasStatus(text string) {
	d.t.Helper()
	if !strings.Contains(d.M.Status.Text, text) {
		d.t.Errorf("status %q does not say %q", d.M.Status.Text, text)
	}
}

// Says fails unless the screen contains every text.
func (d *Driver) Says(texts ...string) {
	d.t.Helper()
	for _, want := range texts {
		if !strings.Contains(d.Text(), want) {
			d.t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
}

// Fits fails unless the screen has the terminal's size, measured by the library that will draw it.
func (d *Driver) Fits(what string) {
	d.t.Helper()
	lines, w, h := d.Lines(), d.w, d.h
	if len(lines) != h {
		d.t.Fatalf("%dx%d %s: %d lines", w, h, what, len(lines))
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != w {
			d.t.Fatalf("%dx%d %s: line %d is %d columns wide: %q", w, h, what, i, n, ansi.Strip(l))
		}
	}
}

// Late carries out the commands that were kept.
func (d *Driver) Late() {
	kept := d.Kept
	d.Kept, d.Manual = nil, false
	for _, c := range kept {
		d.Do(c)
	}
}

// Screens compares the whole screen of a view, once the first run has ended, with the golden files of every
// size: its text, and its styles on terminals of several kinds.
func Screens(t *testing.T, name keymap.Scope, options ...Option) {
	for _, size := range Sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := Start(t, size[0], size[1], options...).Open(name)
			d.Fits(string(name))
			golden.RequireEqual(t, d.Text()+"\n")
		})
		t.Run(fmt.Sprintf("%dx%d-styles", size[0], size[1]), func(t *testing.T) {
			golden.RequireEqual(t, Styles(t, func(more ...Option) *Driver {
				return Start(t, size[0], size[1], slices.Concat(options, more)...).Open(name)
			}))
		})
	}
}
