package tui

import (
	"tilescope/configs"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// Keymap returns the terminal's key table without a user's settings.
func Keymap() *keymap.Map {
	return tableOf(views(&view.Context{Theme: theme.New(theme.Options{})}))
}

// tableOf is the table of views.
func tableOf(all []view.View) *keymap.Map {
	layers := make([]keymap.Layer, 0, len(all))
	for _, v := range all {
		layers = append(layers, v.Layer())
	}
	return keymap.New(layers...)
}

// CheckKeys returns the mistakes in a user's settings of keys: unknown actions and keys, and keys that would
// mean two things in one view. It is configs.LoadOptions.CheckKeys.
func CheckKeys(list []configs.KeySetting) []*configs.Error {
	table := Keymap()
	_, bad := table.With(keySettings(list))
	out := make([]*configs.Error, 0, len(bad))
	for _, b := range bad {
		s, text := list[b.Setting], b.Text
		if b.Unknown {
			text += configs.Suggest(s.Name, table.Names())
		}
		out = append(out, s.Mistake(text))
	}
	return out
}

func keySettings(list []configs.KeySetting) []keymap.Setting {
	out := make([]keymap.Setting, len(list))
	for i, s := range list {
		out[i] = keymap.Setting{Name: s.Name, Keys: s.Keys}
	}
	return out
}

// setKeys takes up a user's keys. They were checked when the configuration was read; what is wrong even so
// keeps the table's keys.
func (m *Model) setKeys(list []configs.KeySetting) {
	m.Keys, _ = tableOf(m.views).With(keySettings(list))
	m.pending = ""
}
