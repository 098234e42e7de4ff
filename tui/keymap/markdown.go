package keymap

import (
	"fmt"
	"strings"
)

// Markdown returns the table as a document, docs/keys.md: what all views have, then each view's own.
func (m *Map) Markdown() []byte {
	var b strings.Builder
	b.WriteString("# Keys\n\nWritten by `make docs` from the table of keys; a test fails when it is stale.\n\n" +
		"`?` lists the keys and the legend of the pane in focus: `/` searches the list, Enter carries out the line. `:` or Ctrl-p is the\n" +
		"palette: every command and every action by name, found by the beginning of a word, by a part, or by letters in their order\n" +
		"(`nxbd` finds `tile.next-bad`); several words find what they describe, in any order (`prev bad`, `next bad`). Enter carries out the\n" +
		"line that the list shows as selected: a name, or a beginning of one command's name, with its argument (`br 42` is `break 42`). What\n" +
		"only a part or scattered letters find is written into the line first, for a second Enter; a beginning of several names lists them.\n" +
		"`:tile` shows view Tile, and so does every view's name. An action of another view shows that view and is carried out there, or says\n" +
		"why it cannot be; so does a command that the kernel on screen has no use for.\n" +
		"`Z` gives the pane in focus the whole screen. `q` and Esc close what is open on top; only the bare screen quits on `q`.\n" +
		"`/` shows the first match while its text is typed: Enter stays there, Esc goes back to where the search began.\n" +
		"`:messages` lists every message of the session in full, `:tour` (or `tilescope tour`) is a tutorial of two minutes.\n\n" +
		"**The mouse** gives a pane the focus and moves the cursor; a second click opens what is there, the wheel scrolls. Tabs and the hints\n" +
		"of the bottom line do what they say. `:mouse off` leaves it to the terminal's own selection.\n\n" +
		"**Counts**: " + CountHelp + ".\n\n" +
		"**Your own keys** are set in the configuration (`tilescope config path`, or `./tilescope.yaml`), by the names below:\n\n" +
		"```yaml\nkeys:\n  zoom: [Z, f11]           # in every view\n  tile.heat: ctrl+t        # in view Tile alone\n" +
		"  bottom: \"g e\"            # two keys, one after the other\n  races.replay: []         # no key: the palette has it\n```\n\n" +
		"What is set replaces the keys that the action has. A key is a character, `enter`, `tab`, `space`, `backspace`, `delete`, `insert`,\n" +
		"`up`, `down`, `left`, `right`, `home`, `end`, `pgup`, `pgdown` or `f1` to `f12`, with `ctrl+`, `alt+` or `shift+`. Digits, Esc and\n" +
		"Ctrl-C cannot be set. A key that would mean two things in one view, an unknown action or key is refused with file and line.\n" +
		"`tilescope config set keys.tile.heat ctrl+t` sets one action, `config get` prints its keys and `config unset` takes them out; `TILESCOPE_KEYS=tile.heat=ctrl+t,zoom=Z` does for a session.\n")
	row := func(b2 Binding, name string) {
		keys := code(b2.Keys)
		if keys == "" {
			keys = "none"
		}
		count := ""
		if b2.Counts {
			count = "yes"
		}
		if b2.Fixed {
			name += " (fixed)"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", keys, escape(b2.Help), name, count)
	}
	const head = "| keys | what they do | name | count |\n|---|---|---|---|\n"
	b.WriteString("\n## In every view\n\n" + head)
	for _, x := range m.all {
		if !x.Some {
			row(x, string(x.Action))
		}
	}
	for _, s := range m.Scopes() {
		fmt.Fprintf(&b, "\n## %d %s\n\n", m.Number(s), s)
		n := 0
		for _, x := range m.all {
			if !x.Works(s) || !x.Own(s) {
				continue
			}
			if n == 0 {
				b.WriteString(head)
			}
			n++
			row(x.At(s), x.Name(s))
		}
		if n == 0 {
			b.WriteString("No keys of its own.\n")
		}
	}
	return []byte(b.String())
}

// code writes keys as Markdown, as the configuration takes them.
func code(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = "`" + strings.ReplaceAll(k, " "+Any, " LETTER") + "`"
	}
	return strings.ReplaceAll(strings.Join(out, " "), "|", "\\|")
}

func escape(s string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(s) }
