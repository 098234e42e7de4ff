package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/theme"
)

// autoTheme is the choice of a theme by the terminal's ground.
const autoTheme = "auto"

// themeChoices are what :theme and the configuration take.
func themeChoices() []string { return append([]string{autoTheme}, theme.Names()...) }

// ground is what is known of the terminal's background.
type ground uint8

const (
	unknownGround ground = iota
	darkGround
	lightGround
)

// groundMsg says that the terminal answered what its ground is.
type groundMsg struct{ ground ground }

// grounded takes the terminal's answer, which may come at any time.
func (m *Model) grounded(msg groundMsg) {
	was := m.autoText()
	if m.ground = msg.ground; m.themeName() != m.Theme.Name {
		m.setTheme(m.Theme.Palette)
		if m.Status.Text == was { // it was reported before the terminal answered
			m.Say(m.autoText())
		}
	}
}

// autoText reports which theme the terminal's background has chosen.
func (m *Model) autoText() string { return fmt.Sprintf("theme: auto, %s now", m.Theme.Name) }

// themeName is the theme that the choice comes to: auto is dark until the terminal is known to be light.
func (m *Model) themeName() string {
	switch {
	case m.colours != autoTheme && slices.Contains(theme.Names(), m.colours):
		return m.colours
	case m.ground == lightGround:
		return "light"
	}
	return "dark"
}

func (m *Model) themeNow(palette string) *theme.Theme {
	return theme.New(theme.Options{Profile: m.look.Profile, ASCII: m.look.ASCII, Name: m.themeName(),
		Palette: palette, Sparing: m.look.Remote})
}

// setTheme makes a new theme and gives it to everything that draws.
func (m *Model) setTheme(palette string) {
	th := m.themeNow(palette)
	m.Theme = th
	for _, v := range m.views {
		v.SetTheme(th)
	}
	m.list.SetTheme(th)
	m.prompt.SetTheme(th)
	m.failure.setTheme(th)
	m.consent.pane.SetTheme(th)
}

// noColours follows the name of colours that a terminal without colours does not show.
const noColours = "; this terminal is shown no colours"

func (m *Model) setPalette(name string) tea.Cmd {
	m.setTheme(name)
	text := "palette: " + m.Theme.Palette
	if !m.Theme.Colours() {
		text += noColours
	}
	m.Say(text)
	return m.Changed()
}

// chooseTheme changes the theme by hand. For auto the terminal is asked again: its ground may have changed.
func (m *Model) chooseTheme(name string) tea.Cmd {
	m.colours = name
	m.setTheme(m.Theme.Palette)
	switch {
	case !m.Theme.Colours():
		m.Say("theme: " + name + noColours)
	case name == autoTheme:
		m.Say(m.autoText())
	default:
		m.Say(fmt.Sprintf("theme: %s, in every terminal from now on; :theme %s follows a terminal's background again",
			name, autoTheme))
	}
	return tea.Batch(m.Changed(), m.askGround())
}

// askGround asks the terminal for its ground where the answer matters.
func (m *Model) askGround() tea.Cmd {
	if m.colours != autoTheme || !m.Theme.Colours() || m.asker == nil {
		return nil
	}
	return func() tea.Msg {
		m.asker.ask()
		return nil
	}
}

// hinted is the ground that COLORFGBG states: foreground and background, by number among the sixteen colours
// (rxvt, Konsole). It is inherited by programs that run in another terminal, so that it is a guess.
func hinted(value string) ground {
	fields := strings.Split(value, ";")
	n, err := strconv.Atoi(fields[len(fields)-1])
	switch {
	case err != nil || len(fields) < 2 || n < 0 || n > 15:
		return unknownGround
	case n == 7 || n > 8:
		return lightGround
	}
	return darkGround
}
