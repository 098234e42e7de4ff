package tui

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/view"
)

// configMsg is a configuration file that changed, or why it cannot be read.
type configMsg struct {
	config *configs.Config
	err    error
}

// watch sends the program every change to a configuration file until ctx ends.
func watch(ctx context.Context, environ []string, program *tea.Program) {
	configs.Watch(ctx, configs.LoadOptions{Env: environ, CheckKeys: CheckKeys},
		func(c *configs.Config, err error) { program.Send(configMsg{c, err}) })
}

// configured takes up what changed in a configuration file: as if it had been switched by hand, and only
// that.
func (m *Model) configured(msg configMsg) tea.Cmd {
	if msg.err != nil {
		m.Complain("configuration: " + view.OneLine(msg.err))
		return nil
	}
	old := m.opt.Config
	if old == nil {
		old = &configs.Config{Shape: "validation", Gate: "none", Theme: m.colours,
			Palette: m.Theme.Palette, Mouse: m.mouse}
	}
	m.opt.Config = msg.config
	var said []string
	var ask tea.Cmd
	if msg.config.Mouse != old.Mouse {
		m.mouse = msg.config.Mouse
		said = append(said, "mouse "+view.OnOff(m.mouse))
	}
	if msg.config.Palette != old.Palette {
		m.setPalette(msg.config.Palette)
		said = append(said, "palette "+m.Theme.Palette)
	}
	if !reflect.DeepEqual(keySettings(msg.config.Keys), keySettings(old.Keys)) {
		m.setKeys(msg.config.Keys)
		said = append(said, "keys")
	}
	if msg.config.Theme != old.Theme {
		said = append(said, "theme "+msg.config.Theme)
		ask = m.chooseTheme(msg.config.Theme)
	}
	req, changes := reconfigured(m.NextRequest(), old, msg.config)
	said = append(said, changes...)
	if said == nil {
		return nil
	}
	m.Release()
	text := "configuration: " + strings.Join(said, ", ")
	if changes == nil {
		m.Say(text)
		return tea.Batch(m.Changed(), ask)
	}
	return tea.Batch(m.Choose(req, text), ask)
}

// reconfigured applies to a request what differs between two configurations, and names it.
func reconfigured(req debugkern.Request, old, now *configs.Config) (debugkern.Request, []string) {
	var said []string
	text := func(name string, to *string, was, is string) {
		if was != is {
			*to = is
			said = append(said, name+" "+is)
		}
	}
	if now.Target != "" {
		text("target", &req.Target, old.Target, now.Target)
	}
	text("shape", &req.Shape, old.Shape, now.Shape)
	text("backend", &req.Backend, old.Backend, now.Backend)
	text("builder", &req.Builder, old.Builder, now.Builder)
	text("schedule", &req.Schedule, old.Schedule, now.Schedule)
	if now.Seed != old.Seed {
		req.Seed = now.Seed
		said = append(said, "seed")
	}
	if !maps.Equal(now.Flags, old.Flags) {
		req.Set = maps.Clone(now.Flags)
		said = append(said, "flags")
	}
	if !slices.Equal(now.Faults, old.Faults) {
		req.Faults = slices.Clone(now.Faults)
		said = append(said, "faults "+strings.Join(now.Faults, " "))
	}
	if now.Gate != old.Gate {
		req.Gate = probes.GateNamed(now.Gate)
		said = append(said, "gate "+now.Gate)
	}
	return req, said
}
