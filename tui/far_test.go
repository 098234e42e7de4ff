package tui

import (
	"bytes"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"tilescope/tui/keymap"
	"tilescope/tui/theme"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// link is a connection in virtual time: what is written to it has arrived after the bytes before it, the time
// of its own bytes, and half a round trip.
type link struct {
	roundTrip time.Duration
	rate      float64 // bytes a second
}

// overseas is a terminal behind a slow link: 100 ms and 1 Mbit/s.
var overseas = link{100 * time.Millisecond, 1e6 / 8}

// shown is how long after a key the terminal has what n bytes draw, the program's own time aside: the key's
// way there, the bytes' way back, and a further round trip for each question that has to be answered first.
func (l link) shown(n, questions int) time.Duration {
	return l.roundTrip*time.Duration(1+questions) + time.Duration(float64(n)/l.rate*float64(time.Second))
}

// question matches what makes a terminal answer: reports of colours, modes, attributes and positions.
var question = regexp.MustCompile(
	`\x1b\][0-9;]*\?|\x1b\[[>=?]?[0-9]*[cn]|\x1b\[\??[0-9]+\$p|\x1bP\+q|\x1b\[\?u|\x1b\[[0-9]*t`)

// questions counts what of drawing has to be answered.
func questions(b []byte) int { return len(question.FindAll(b, -1)) }

// overSSH is a run with a finding on a terminal behind a link.
func overSSH(t *testing.T, name string) *driver {
	d := started(t, 200, 60, Look{Profile: colorprofile.TrueColor, Remote: true}, withRequest(faulty),
		withRaces(&tuitest.Races{}))
	d.command("theme " + name)
	d.m.Clear()
	return d
}

// TestFullRedrawFromAfar draws every view at 200×60 in every theme on an empty terminal: 25 KB is 0.2 s of
// the link.
func TestFullRedrawFromAfar(t *testing.T) {
	most := map[string]int{}
	for _, name := range theme.Names() {
		d := overSSH(t, name)
		redraw := func(what string) {
			b := newPainter(io.Discard).diff(d.m.frameNow())
			if len(b) > 25<<10 || questions(b) > 0 {
				t.Errorf("%s in %s: %d bytes and %d questions, expected at most 25 KB and none", what, name,
					len(b), questions(b))
			}
			most[what] = max(most[what], len(b))
		}
		for _, s := range append(d.m.Keys.Scopes(), view.Races) {
			d.open(s)
			switch s {
			case view.Tile:
				for _, heat := range []string{"tint", "map", "off"} {
					d.command("heat " + heat)
					redraw("Tile, heat " + heat)
				}
			case view.Races:
				d.press("d")
			}
			redraw(string(s))
		}
	}
	t.Logf("bytes of a full redraw, the most of all themes: %v", most)
}

// TestMovesFromAfar counts what a key of each kind writes to a terminal at 200×60: that of a cursor that
// stays in what is shown, and that of a choice that replaces the details next to it.
func TestMovesFromAfar(t *testing.T) {
	for _, tt := range []struct {
		view   keymap.Scope
		keys   []string
		before []string
		most   int
	}{
		{view.Tile, []string{"j", "l", "k", "h"}, []string{"n", "j", "h", "h"}, 300},
		{view.Gates, []string{"j", "k"}, []string{"j", "k"}, 300},
		{view.GPU, []string{"j", "k"}, []string{"j"}, 300},
		{view.Source, []string{"k", "j"}, []string{"j"}, 300},
		{view.Races, []string{"k", "l", "h"}, []string{"d", "j"}, 300},
		{view.Pipeline, []string{"l", "h", "l"}, []string{"a", "a", "a"}, 300},
		// choices: another stage, tile, lane or switch
		{view.Pipe, []string{"j", "k"}, nil, 3000},
		{view.Pipe, []string{"l", "l", "h"}, nil, 600},
		{view.Frag, []string{"h", "l", "j", "k"}, []string{"l"}, 1500},
		{view.Flags, []string{"j", "k"}, nil, 1500},
	} {
		d := overSSH(t, "dark").open(tt.view)
		d.m.Follow = false
		d.press(tt.before...)
		x := newPainter(io.Discard)
		draw(x, d.m)
		for _, key := range tt.keys {
			d.Manual = true // what comes later, such as a cell's writer, is a frame of its own
			d.press(key)
			b := bytes.Clone(x.diff(d.m.frameNow()))
			d.Manual = false
			d.late()
			draw(x, d.m)
			took := overseas.shown(len(b), questions(b))
			t.Logf("%s %s: %d bytes, %s", tt.view, key, len(b), took)
			if len(b) > tt.most {
				t.Errorf("%s %s: %d bytes, expected at most %d", tt.view, key, len(b), tt.most)
			}
			if took > overseas.roundTrip+time.Duration(float64(tt.most)/overseas.rate*1e9) {
				t.Errorf("%s %s: shown after %s, which is more than one round trip", tt.view, key, took)
			}
		}
	}
}
