package tui

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern/join"
	"tilescope/tui/theme"
)

const (
	lightAnswer = "\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\"
	darkAnswer  = "\x1b]11;rgb:1e1e/1e1e/1e1e\a"
	da1         = "\x1b[?62;4;22c"
)

// asking is an asker with a clock of its own; what it sends is kept.
func asking() (*asker, *[]ground, *time.Time) {
	now, sent := time.Unix(0, 0), []ground{}
	paint := newPainter(io.Discard)
	paint.active = true
	a := &asker{paint: paint, now: func() time.Time { return now }}
	a.send = func(m tea.Msg) { sent = append(sent, m.(groundMsg).ground) }
	return a, &sent, &now
}

// TestAnswersNeverBecomeKeys cuts input with answers in it in two at every byte, with a pause between: what
// is left is what was typed.
func TestAnswersNeverBecomeKeys(t *testing.T) {
	for _, in := range []string{
		lightAnswer + da1, darkAnswer + da1, da1, "j" + lightAnswer + "k" + da1 + "\x1b[A", da1 + lightAnswer,
		"\x1b[<0;10;2M" + da1 + "\x1b[?2026;2$y" + darkAnswer + "\x1b[1;5A",
	} {
		want := strings.NewReplacer(lightAnswer, "", darkAnswer, "", da1, "").Replace(in)
		for cut := range len(in) + 1 {
			a, sent, now := asking()
			a.ask()
			var got []byte
			for _, part := range []string{in[:cut], in[cut:]} {
				if part == "" {
					continue
				}
				got = append(got, a.filter([]byte(part))...)
				*now = now.Add(split / 2)
			}
			got = slices.Concat(got, a.filter([]byte("q")))
			if typed := string(got); typed != want+"q" {
				t.Errorf("%q cut at %d: %q is read as keys, expected %q", in, cut, typed, want+"q")
			}
			if n := strings.Count(in, "\x1b]11;"); len(*sent) != n {
				t.Errorf("%q cut at %d: %d answers were understood, expected %d", in, cut, len(*sent), n)
			}
			if a.waiting() {
				t.Errorf("%q cut at %d: an answer is still due", in, cut)
			}
		}
	}
}

// TestEscIsAKeyWhereNothingFollows: an Esc that is typed while an answer is expected is a key after a
// moment; the one that an answer begins with is none.
func TestEscIsAKeyWhereNothingFollows(t *testing.T) {
	for _, c := range []struct {
		then string
		key  bool
	}{{"", true}, {da1[1:], false}} {
		a, _, _ := asking()
		sent := make(chan tea.Msg, 1)
		a.send = func(m tea.Msg) { sent <- m }
		a.ask()
		if got := a.filter([]byte("\x1b")); len(got) > 0 {
			t.Errorf("%q is read at once, although an answer is expected", got)
		}
		if c.then != "" {
			if got := a.filter([]byte(c.then)); len(got) > 0 {
				t.Errorf("%q of an answer is read as keys", got)
			}
		}
		select {
		case m := <-sent:
			if k, ok := m.(tea.KeyPressMsg); !c.key || !ok || k.Code != tea.KeyEscape {
				t.Errorf("%v was sent after Esc and %q", m, c.then)
			}
		case <-time.After(4 * split):
			if c.key {
				t.Error("the key Esc is lost")
			}
		}
	}
}

// TestKeysAreNotTakenForAnswers: keys that begin as an answer does reach the reader at once, or with the next
// byte.
func TestKeysAreNotTakenForAnswers(t *testing.T) {
	for _, in := range []string{
		"\x1b", "\x1b[A", "\x1b]", "\x1b[", "\x1b[?1u", "\x1b]52;c;aGk=\a", "]11;", "\x1b\x1b[B",
		"\x1b[?1049;" + strings.Repeat("1", 80) + "c", "\x1b]11;" + strings.Repeat("x", 80), "héllo",
	} {
		a, sent, now := asking()
		got := string(a.filter([]byte(in)))
		*now = now.Add(time.Second)
		if got += string(a.filter([]byte("]11;rgb:0/0/0"))); got != in+"]11;rgb:0/0/0" || len(*sent) != 0 {
			t.Errorf("%q became %q, and %v was sent", in, got, *sent)
		}
	}
}

// TestLateAnswerChangesTheTheme: auto starts dark, and follows an answer whenever it comes; a theme that was
// chosen stays.
func TestLateAnswerChangesTheTheme(t *testing.T) {
	look := Look{Profile: 4}
	d := started(t, 80, 24, look)
	if d.m.Theme.Name != "dark" {
		t.Fatalf("it starts %s", d.m.Theme.Name)
	}
	before := strings.Join(d.m.screen(), "")
	d.send(groundMsg{lightGround})
	if d.m.Theme.Name != "light" || strings.Join(d.m.screen(), "") == before {
		t.Errorf("a light terminal is drawn %s", d.m.Theme.Name)
	}
	d.send(groundMsg{darkGround})
	if d.m.Theme.Name != "dark" || strings.Join(d.m.screen(), "") != before {
		t.Errorf("a dark terminal is drawn %s", d.m.Theme.Name)
	}
	d.command("theme high-contrast")
	if d.send(groundMsg{lightGround}); d.m.Theme.Name != "high-contrast" {
		t.Errorf("the chosen theme became %s", d.m.Theme.Name)
	}
	if d.command("theme auto"); d.m.Theme.Name != "light" {
		t.Errorf("auto is %s on a light terminal", d.m.Theme.Name)
	}
	d.hasStatus("theme: auto, light now")
	if d.send(groundMsg{darkGround}); d.m.Theme.Name != "dark" { // the answer to the question of :theme auto
		t.Errorf("auto is %s on a dark terminal", d.m.Theme.Name)
	}
	d.hasStatus("theme: auto, dark now")
	look.Ground = hinted("0;15")
	if d = started(t, 80, 24, look); d.m.Theme.Name != "light" {
		t.Errorf("COLORFGBG=0;15 starts %s", d.m.Theme.Name)
	}
	if d.send(groundMsg{darkGround}); d.m.Theme.Name != "dark" {
		t.Errorf("a hint wins over the answer: %s", d.m.Theme.Name)
	}
}

// TestThemeIsRemembered: by the next session where it was chosen by hand, and not where the configuration
// says the same.
func TestThemeIsRemembered(t *testing.T) {
	for _, tt := range []struct{ configured, chosen, remembered string }{
		{"auto", "light", "light"}, {"light", "light", ""}, {"light", "auto", "auto"},
	} {
		config := func(o *Options) { o.Config = &configs.Config{Theme: tt.configured, Shape: "validation"} }
		d := started(t, 80, 24, plainLook, config)
		d.command("theme " + tt.chosen)
		s := d.m.remembered()
		if got := s.Display["theme"]; got != tt.remembered {
			t.Errorf("%s with theme: %s is remembered as %q", tt.chosen, tt.configured, got)
		}
		if next := newDriver(t, 80, 24, plainLook, config, withState(s)); next.m.colours != tt.chosen {
			t.Errorf("%s became %s in the next session", tt.chosen, next.m.colours)
		}
	}
}

// TestConfiguredThemesExist compares the configuration's words with the themes.
func TestConfiguredThemesExist(t *testing.T) {
	if got, want := configs.Expected("theme"), "one of "+strings.Join(themeChoices(), ", "); got != want {
		t.Errorf("the configuration takes %s; there is %s", got, want)
	}
	for _, name := range theme.Names() {
		if err := configs.CheckValue("theme", name); err != nil {
			t.Error(err)
		}
	}
}

func TestHintedGround(t *testing.T) {
	for value, want := range map[string]ground{
		"": unknownGround, "15;0": darkGround, "0;15": lightGround, "0;default;7": lightGround,
		"15;8": darkGround,
		"7":    unknownGround, "0;x": unknownGround, "0;16": unknownGround, "12;4": darkGround,
	} {
		if got := hinted(value); got != want {
			t.Errorf("COLORFGBG=%s: %d, expected %d", value, got, want)
		}
	}
}

// TestEndWaitsForTheAnswer: a program that is left before the terminal has answered waits for it, and no
// other does.
func TestEndWaitsForTheAnswer(t *testing.T) {
	a, _, now := asking()
	quits := make(chan struct{}, 1)
	filter := a.lastAnswer(t.Context(), func() { quits <- struct{}{} })
	if filter(nil, tea.QuitMsg{}) == nil {
		t.Error("nothing was asked, and the end waits")
	}
	a.ask()
	if filter(nil, tea.KeyPressMsg{}) == nil {
		t.Error("a key is held back")
	}
	if filter(nil, tea.QuitMsg{}) != nil {
		t.Error("the answer is due, and the program ends")
	}
	a.filter([]byte(da1))
	<-quits
	if filter(nil, tea.QuitMsg{}) == nil {
		t.Error("the second end waits as well")
	}
	a.ask()
	*now = now.Add(answerTime)
	done := join.Run(func() { a.settled(context.Background()) })
	done.Wait() // at once: the terminal had its time
}
