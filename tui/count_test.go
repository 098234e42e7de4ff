package tui

import (
	"testing"
	"time"

	"tilescope/tui/view"
)

// clocked is a driver with a clock of its own, on which a motion within a second of a digit looks like a
// count.
func clocked(t *testing.T, change ...func(*Options)) (*driver, *time.Time) {
	d := started(t, 120, 40, plainLook, change...)
	now := time.Unix(0, 0)
	d.m.now, d.m.window = func() time.Time { return now }, time.Second
	return d, &now
}

// TestCounts: # and a number before a motion is the motion that often.
func TestCounts(t *testing.T) {
	d, _ := clocked(t, withRequest(faulty))
	d.open(view.Tile).press("g", "g", "0")
	at := d.m.Cursor
	d.press("#", "5")
	d.hasStatus("#5 …")
	if d.press("j"); d.m.view != view.Tile || d.m.Cursor.Row != at.Row+5 || d.m.Cursor.Col != at.Col {
		t.Errorf("#5j: %s, from %+v to %+v", d.m.view, at, d.m.Cursor)
	}
	if d.press("#", "1", "2", "l"); d.m.view != view.Tile || d.m.Cursor.Col != at.Col+12 {
		t.Errorf("#12l: %s at %+v", d.m.view, d.m.Cursor)
	}
	if d.press("#", "1", "0", "h"); d.m.Cursor.Col != at.Col+2 {
		t.Errorf("#10h: at %+v", d.m.Cursor)
	}
	if d.press("#", "2", "5", "backspace", "h"); d.m.Cursor.Col != at.Col {
		t.Errorf("#25, a digit back, h: at %+v", d.m.Cursor)
	}
	d.press("#", "9", "9", "9", "9").hasStatus("#9999 …  then a motion")
	d.press("8").hasStatus("#9999 …  then a motion; 8 is left out, a count is at most 9999")
	if d.press("k"); d.m.Cursor.Row != 0 || d.m.view != view.Tile {
		t.Errorf("#99999k: %s at %+v", d.m.view, d.m.Cursor)
	}
	was := d.m.Cursor // the digits count for one motion
	if d.press("j"); d.m.Cursor.Row != was.Row+1 {
		t.Errorf("j after a count: %+v", d.m.Cursor)
	}
	was = d.m.Cursor
	if d.press("#", "3", "esc", "k"); d.m.Cursor.Row != was.Row-1 || d.m.view != view.Tile {
		t.Errorf("#3 Esc k: %s at %+v", d.m.view, d.m.Cursor)
	}
	d.press("#", "3", "q")
	d.hasStatus("q takes no count")
}

// TestADigitShowsItsView: at once, and whatever follows it, however soon, is carried out there. Somebody who
// types a count as in other programs is taught how, once.
func TestADigitShowsItsView(t *testing.T) {
	d, now := clocked(t, withRequest(faulty))
	if d.press("2"); d.m.view != view.Tile {
		t.Errorf("2 shows %s", d.m.view)
	}
	*now = now.Add(2 * time.Second)
	row := d.m.Cursor.Row
	if d.press("j"); d.m.view != view.Tile || d.m.Cursor.Row != row+1 || d.m.Status.Text != "" {
		t.Errorf("a late j: %s, row %d, status %q", d.m.view, d.m.Cursor.Row, d.m.Status.Text)
	}
	if d.press("4", "a"); d.m.view != view.Flags {
		t.Errorf("4a is in %s", d.m.view)
	}
	if d.press("1", "2", "k"); d.m.view != view.Tile || d.m.Cursor.Row != row {
		t.Errorf("12k is in %s, row %d", d.m.view, d.m.Cursor.Row)
	}
	d.hasStatus("2 shows view Tile; a count is typed with #: #2k")
	if d.press("1", "2", "j"); d.m.view != view.Tile || d.m.Status.Text != "" {
		t.Errorf("taught twice: %q", d.m.Status.Text)
	}
	if d.press("1", ":").typed("goto 1,2").press("enter"); d.m.view != view.Pipe {
		t.Errorf("1 and a command: %s", d.m.view)
	}
	if d.press("9"); d.m.Status.Bad || d.m.view != view.Pipeline {
		t.Errorf("9: %s, status %q", d.m.view, d.m.Status.Text)
	}
}

// TestACountIsTaughtWhereTheMotionEnds: where the motion after a view's digit goes nowhere, the status says
// both that and how a count is typed.
func TestACountIsTaughtWhereTheMotionEnds(t *testing.T) {
	d, _ := clocked(t, withRequest(faulty))
	d.press("4", "k")
	d.hasStatus("nothing further that way; 4 shows view Flags; a count is typed with #: #4k")
}

// TestCountsOfSearches: bad cells are looked for in the background, one after the other.
func TestCountsOfSearches(t *testing.T) {
	d, _ := clocked(t, withRequest(faulty))
	d.open(view.Tile)
	one := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Tile)
	for range 4 {
		one.press("n")
	}
	d.press("#", "4", "n")
	if d.m.Cursor != one.m.Cursor || d.m.view != view.Tile || d.m.repeat != nil {
		t.Errorf("#4n is %+v, n n n n is %+v", d.m.Cursor, one.m.Cursor)
	}
	if list, _ := d.m.Log.Entries(); len(list) > 0 { // what lies between is no message
		n := 0
		for _, e := range list {
			if contains(e.Text, "bad cell: ") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d messages of one motion: %+v", n, list)
		}
	}
	d.Manual = true // the search is under way
	d.press("#", "9", "n")
	if d.m.repeat == nil || d.m.repeat.left != 8 {
		t.Errorf("still to come: %+v", d.m.repeat)
	}
	if d.press("k"); d.m.repeat != nil {
		t.Error("another key does not end it")
	}
}

// TestCountsInSource: steps are repeated.
func TestCountsInSource(t *testing.T) {
	d, _ := clocked(t, withRequest(faulty))
	d.open(view.Source).press("s")
	one := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Source)
	one.press("s", "s", "s", "s")
	if d.press("#", "3", "s"); d.m.view != view.Source || d.m.Status.Text != one.m.Status.Text {
		t.Errorf("s#3s: %s, %q; s s s s: %q", d.m.view, d.m.Status.Text, one.m.Status.Text)
	}
}

// TestPages: Ctrl-f and Ctrl-b go twice as far as Ctrl-d and Ctrl-u.
func TestPages(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty)).open(view.Tile).press("g", "g")
	d.press("ctrl+d", "ctrl+d")
	half := d.m.Cursor.Row
	if d.press("g", "g", "ctrl+f"); d.m.Cursor.Row != half || half == 0 {
		t.Errorf("a page is %d rows, two halves %d", d.m.Cursor.Row, half)
	}
	if d.press("ctrl+b"); d.m.Cursor.Row != 0 {
		t.Errorf("back at row %d", d.m.Cursor.Row)
	}
}
