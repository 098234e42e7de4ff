package tui

import (
	"strings"
	"testing"

	"tilescope/tui/view"
)

// TestSearchWhileTyping: each character shows the first match of the text so far, Esc goes back to where the
// search began and leaves neither a search nor a message, Enter stays at the match.
func TestSearchWhileTyping(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Source).press("g", "g", "j")
	at := d.above()
	d.press("/").typed("float s11")
	if s := d.text(); d.above() == at || !strings.Contains(s, "line 1 of 11") {
		t.Errorf("nothing is found while typing:\n%s", s)
	}
	d.press("esc")
	if s := d.above(); s != at {
		t.Errorf("Esc does not go back:\n%s\nwant\n%s", s, at)
	}
	d.press("/").typed("float s1").press("backspace", "backspace", "backspace")
	before := d.m.search[view.Source]
	d.press("enter").hasStatus(`source: "float", line 3 of`)
	if before != "float" || d.m.search[view.Source] != before {
		t.Errorf("looked for %q, then for %q", before, d.m.search[view.Source])
	}
	for _, x := range d.logged() {
		if strings.Contains(x, `"float s`) {
			t.Errorf("typing left the message %q", x)
		}
	}
	found := d.above()
	d.press("/").typed("#include").press("esc")
	if d.m.search[view.Source] != "float" || d.above() != found {
		t.Errorf("after Esc %q is looked for:\n%s", d.m.search[view.Source], d.text())
	}
	d.press("/").typed("s7").press("backspace", "backspace", "backspace")
	if _, open := d.m.prompt.Active(); open || d.above() != found {
		t.Errorf("an emptied prompt does not go back:\n%s", d.text())
	}
}

// TestSearchWhileTypingInTiles: the cursor goes to the match, tile by tile in the background, and back with
// its history.
func TestSearchWhileTypingInTiles(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Tile)
	at := d.m.Cursor
	back := d.press("u").m.Cursor
	d.press("ctrl+r", "/").typed("bad")
	if d.m.Cursor == at {
		t.Fatalf("the cursor stays: %s", d.text())
	}
	d.press("esc")
	if d.m.Cursor != at {
		t.Errorf("Esc: the cursor is at %+v, not %+v", d.m.Cursor, at)
	}
	if d.press("u"); d.m.Cursor != back {
		t.Errorf("u after Esc: the cursor is at %+v, not %+v", d.m.Cursor, back)
	}
	d.press("ctrl+r", "/").typed(">")
	if s := d.text(); !strings.Contains(s, `">" is none of`) {
		t.Errorf("a text that cannot be looked for is not refused:\n%s", s)
	}
	d.typed("0.2").press("enter").hasStatus("match for >0.2")
	if to := d.m.Cursor; to == at || d.m.search[view.Tile] != ">0.2" {
		t.Errorf("Enter: at %+v, looking for %q", to, d.m.search[view.Tile])
	}
	d.press("u")
	if d.m.Cursor != at {
		t.Errorf("u: the cursor is at %+v, not %+v", d.m.Cursor, at)
	}
}

// TestSearchWhileTypingElsewhere: in Pipe, in Flags and in the list of keys.
func TestSearchWhileTypingElsewhere(t *testing.T) {
	for keys, text := range map[string]string{"1": "digest", "4": "seed", "1?": "zoom"} {
		d := started(t, 120, 40, plainLook, withRequest(faulty))
		for _, k := range keys {
			d.press(string(k))
		}
		at := d.above()
		if d.press("/").typed(text); d.above() == at {
			t.Errorf("%s: nothing is found while typing", keys)
		}
		if d.press("esc"); d.above() != at {
			t.Errorf("%s: Esc does not go back:\n%s\nwant\n%s", keys, d.above(), at)
		}
		d.press("/").typed(text).press("enter")
		if s := d.above(); s == at || d.m.Status.Bad {
			t.Errorf("%s: Enter does not stay:\n%s", keys, s)
		}
	}
}

// logged are the messages of the session.
func (d *driver) logged() (out []string) {
	all, _ := d.m.Log.Entries()
	for _, e := range all {
		out = append(out, e.Text)
	}
	return out
}

// above is the screen without its last line.
func (d *driver) above() string {
	s := d.text()
	return s[:strings.LastIndex(s, "\n")]
}
