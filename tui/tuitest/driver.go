package tuitest

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/join"
)

// Screen is what a driver drives.
type Screen interface {
	Init() tea.Cmd
	Update(tea.Msg) (tea.Model, tea.Cmd)
	View() tea.View
}

// Driver carries out a model's commands at once, in order.
type Driver struct {
	T      testing.TB
	Screen Screen
	Quit   bool
	Msgs   []tea.Msg // everything commands answered
	Manual bool      // commands are kept instead
	Kept   []tea.Cmd
}

// Do carries out a command and whatever follows from it. A command that waits for time or progress is not
// waited for longer than a moment: what it would say is asked for by the tests that want it.
func (d *Driver) Do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if d.Manual {
		d.Kept = append(d.Kept, cmd)
		return
	}
	answer := make(chan tea.Msg, 1)
	join.Run(func() { answer <- cmd() })
	select {
	case msg := <-answer:
		d.Send(msg)
	case <-time.After(2 * time.Second):
		d.T.Fatal("a command did not end")
	}
}

// Send hands the model a message and carries out what it answers.
func (d *Driver) Send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, c := range msg {
			d.Do(c)
		}
		return
	case tea.QuitMsg:
		d.Quit = true
		return
	}
	d.Msgs = append(d.Msgs, msg)
	_, cmd := d.Screen.Update(msg)
	d.Do(cmd)
}

// special are keys that are not their own text.
var special = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
	"space":     {Code: tea.KeySpace, Text: " "},
	"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left":  {Code: tea.KeyLeft},
	"right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"pgup":   {Code: tea.KeyPgUp},
	"pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl},
	"ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
	"ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+p": {Code: 'p', Mod: tea.ModCtrl},
	"ctrl+f": {Code: 'f', Mod: tea.ModCtrl}, "ctrl+b": {Code: 'b', Mod: tea.ModCtrl},
	"ctrl+j": {Code: 'j', Mod: tea.ModCtrl}, "ctrl+n": {Code: 'n', Mod: tea.ModCtrl}, "ctrl+t": {Code: 't',
		Mod: tea.ModCtrl},
	"ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
}

// Press sends keys by name.
func (d *Driver) Press(keys ...string) {
	for _, k := range keys {
		msg, ok := special[k]
		if !ok {
			r := []rune(k)
			msg = tea.KeyPressMsg{Code: r[0], Text: k}
		}
		d.Send(msg)
	}
}

// Type sends a text's characters.
func (d *Driver) Type(text string) {
	for _, r := range text {
		if r == ' ' {
			d.Press("space")
		} else {
			d.Press(string(r))
		}
	}
}

// Click presses the left button at a place of the screen.
func (d *Driver) Click(x, y int) { d.Send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }

// Lines are the screen's lines, with styles.
func (d *Driver) Lines() []string { return strings.Split(d.Screen.View().Content, "\n") }

// Text is the screen without styles.
func (d *Driver) Text() string { return ansi.Strip(d.Screen.View().Content) }
