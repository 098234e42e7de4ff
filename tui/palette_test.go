package tui

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/prompt"
	"tilescope/tui/view"
)

// names are the first n lines that the palette offers for a text.
func (d *driver) names(text string, n int) []string {
	var out []string
	list, _ := d.m.palette().complete(text)
	for _, c := range list[:min(n, len(list))] {
		out = append(out, strings.TrimSpace(c.Line))
	}
	return out
}

// TestLeadingBlanks: blanks before a command and before its argument change nothing of what is offered.
func TestLeadingBlanks(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	for _, text := range []string{"theme l", "them", "cta "} {
		want, takes := d.m.palette().complete(text)
		typed := "  " + strings.Replace(text, " ", "  ", 1)
		if got, other := d.m.palette().complete(typed); len(want) == 0 || !reflect.DeepEqual(got, want) ||
			other != takes {
			t.Errorf("%q offers %+v, %q; %q %+v, %q", typed, got, other, text, want, takes)
		}
	}
}

// TestPaletteListsEveryAction: every binding of every view has a line of its own, with its key and its help,
// unless a command has its name.
func TestPaletteListsEveryAction(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	list, _ := d.m.palette().complete("")
	for _, s := range d.m.Keys.Scopes() {
		for _, b := range d.m.Keys.All() {
			if !b.Works(s) {
				continue
			}
			b = b.At(s)
			i := slices.IndexFunc(list, func(c prompt.Candidate) bool {
				return strings.TrimSpace(c.Line) == b.Name(s)
			})
			if i < 0 {
				t.Errorf("%s: %s is not listed", s, b.Name(s))
				continue
			}
			if c := list[i]; len(b.Keys) > 0 && c.Key != b.Label &&
				b.Action != keymap.Command || c.Help == "" {
				t.Errorf("%s: %+v, key %s", s, c, b.Label)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.Line] {
			t.Errorf("%s is listed twice", c.Line)
		}
		seen[c.Line] = true
	}
}

func TestPaletteRanks(t *testing.T) {
	d := started(t, 120, 40, plainLook).open(view.Tile)
	for text, want := range map[string]string{
		"heat": "heat", "tile.heat": "tile.heat", "fau": "fault", "zoom": "zoom",
		"breakp": "breakpoints", "dgn": "", "bad": "tile.next-bad", "stage": "stage",
		"page-d": "page-down",
		"FAULT":  "fault",
	} {
		got := d.names(text, 3)
		if want != "" && (len(got) == 0 || got[0] != want) {
			t.Errorf("%q finds %v, not %s first", text, got, want)
		}
	}
	// an action of the view on screen comes before those of others
	if got := d.open(view.Races).names("next-fi", 1); got[0] != "races.next-finding" {
		t.Errorf("in Races next-fi finds %v", got)
	}
	// what is only in the help is found too
	if got := d.names("osc", 3); len(got) == 0 || got[0] != "yank" {
		t.Errorf("osc finds %v", got)
	}
	// and so are words that people use for it, and the values that it takes
	for text, want := range map[string]string{
		"save": "dump report screenshot own", "dark": "theme", "light": "theme", "nvcc": "builder",
		"finish": "stepout", "backtrace": "stack", "restart": "seek", "info": "breakpoints",
	} {
		got := d.names(text, 20)
		for _, name := range strings.Fields(want) {
			if !slices.Contains(got, name) {
				t.Errorf("%s finds %v, and not %s", text, got, name)
			}
		}
	}
	list, _ := d.m.palette().complete("nxbd")
	if len(list) == 0 || len(list[0].Marks) != 4 {
		t.Fatalf("nxbd finds %+v", list)
	}
	for i, at := range list[0].Marks {
		if list[0].Line[at] != "nxbd"[i] {
			t.Errorf("%s: character %d is marked", list[0].Line, at)
		}
	}
}

// TestPaletteFindsWords: several words find what they describe, in any order, where the first is no command.
func TestPaletteFindsWords(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).open(view.Tile)
	for text, want := range map[string]string{
		"prev bad": "tile.previous-bad", "bad prev": "tile.previous-bad", "who wrote": "tile.who",
		"save picture": "screenshot", "osc 52": "yank", "Next STAGE": "next-stage",
	} {
		got := d.names(text, 3)
		if len(got) == 0 || !slices.Contains(got, want) {
			t.Errorf("%q finds %v, not %s", text, got, want)
		}
	}
	if got := d.names("break cond", 3); len(got) != 0 {
		t.Errorf("a command's argument finds %v", got)
	}
	list, none := d.m.palette().complete("prev zebra")
	if len(list) != 0 || none != "no command or action is called prev, or described by prev zebra" {
		t.Errorf("prev zebra: %v, %q", list, none)
	}
	was := d.m.Cursor
	d.press("n").press(":").typed("prev bad") // Enter takes what is marked
	if text := d.text(); !strings.Contains(text, "1/") {
		t.Errorf("none is marked:\n%s", text)
	}
	if d.press("enter"); d.m.Status.Bad {
		t.Errorf("refused: %s", d.m.Status.Text)
	}
	back := d.m.Cursor
	if d.press("n", "N"); back != d.m.Cursor {
		t.Errorf("from %+v, prev bad goes to %+v, N to %+v", was, back, d.m.Cursor)
	}
	d.press(":").typed("save picture").press("enter") // it wants a file: it is asked for
	if lead, open := d.m.prompt.Active(); !open || lead != ":" || d.m.prompt.Text() != "screenshot " {
		t.Errorf("save picture: %q", d.m.prompt.Text())
	}
	d.press("esc").command("prev zebra").hasStatus("no command \"prev\"")
}

// TestCompletionGoesOn: a name with a second word after it is completed with the blank before that word, and
// the second word is offered.
func TestCompletionGoesOn(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	d.press(":").typed("fault p-stale-m").press("tab")
	if got := d.m.prompt.Text(); got != "fault p-stale-m " {
		t.Errorf("Tab makes %q", got)
	}
	got := strings.Join(d.names("fault p-stale-m ", 9), ", ")
	if got != "fault p-stale-m on, fault p-stale-m off" {
		t.Errorf("behind it %s", got)
	}
	d.typed("on").press("enter").hasStatus("p-stale-m on")
	d.press(":").typed("fault no").press("tab")
	if got := d.m.prompt.Text(); got != "fault none" {
		t.Errorf("Tab makes %q", got)
	}
	d.press("esc").press(":").typed("flag USE_W").press("tab")
	if got := d.m.prompt.Text(); got != "flag USE_WMMA_PV " {
		t.Errorf("Tab makes %q", got)
	}
	d.press("esc").press(":").typed("schedule rev").press("tab")
	if got := d.m.prompt.Text(); got != "schedule reverse" {
		t.Errorf("Tab makes %q", got)
	}
	if got := d.names("schedule ", 9); !slices.Equal(got, []string{"schedule in-order", "schedule reverse",
		"schedule random", "schedule ahead", "schedule priority"}) {
		t.Errorf("schedules: %v", got)
	}
}

// TestPaletteCarriesOut: an action of another view shows that view and is carried out, or says why it cannot.
// TestPaletteShowsTheWholeHelp: what a row cuts of the chosen command stands below the list.
func TestPaletteShowsTheWholeHelp(t *testing.T) {
	d := started(t, 80, 24, plainLook).press(":").typed("open")
	if text := d.text(); !strings.Contains(text, "manifest (FILE.yaml)") ||
		!strings.Contains(text, "--block and --arg") {
		t.Errorf("the help is cut:\n%s", text)
	}
}

// TestPaletteKeepsTheSyntax: what a command takes stays on screen while an argument is typed that cannot be
// listed.
func TestPaletteKeepsTheSyntax(t *testing.T) {
	for line, want := range map[string]string{
		"break 65 if ": "LINE|FILE:LINE|STAGE|ARRAY[R][C]|list|clear [if EXPR] [hits OP N]",
		"seed ":        "N: run with other inputs",
		"goto 3":       "ROW,COL: go to a cell of the tile",
	} {
		d := started(t, 120, 40, plainLook).press(":").typed(line)
		if !strings.Contains(d.Text(), want) {
			t.Errorf("%s does not show %q:\n%s", line, want, d.Text())
		}
	}
}

func TestPaletteCarriesOut(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	d.command("tile.heat")
	if d.m.view != view.Tile || !strings.Contains(d.m.Status.Text, "heat") {
		t.Errorf("tile.heat: %s, status %q", d.m.view, d.m.Status.Text)
	}
	d.command("flags.bisect").hasStatus("no run is pinned")
	if d.m.view != view.Flags {
		t.Errorf("flags.bisect shows %s", d.m.view)
	}
	d.press(":").typed("pg-dwn").press("enter") // by its letters: the second Enter carries it out
	if got := d.m.prompt.Text(); got != "page-down" {
		t.Errorf("pg-dwn: the prompt has %q", got)
	}
	d.press("enter")
	if _, open := d.m.prompt.Active(); open || d.m.Status.Bad {
		t.Errorf("page-down: status %q", d.m.Status.Text)
	}
	d.command("config").hasStatus("`tilescope config` shows the settings")
	d.command("set-mark k").hasStatus("bookmark k set at")
	d.command("set-mark kk").hasStatus("expected one character")
	d.press(":").typed("set-m").press("enter") // it wants a letter
	if got := d.m.prompt.Text(); got != "set-mark " {
		t.Errorf("the prompt has %q", got)
	}
	d.press("esc", ":").typed("zzzqqq")
	if s := d.text(); !strings.Contains(s, "no command or action matches zzzqqq") {
		t.Errorf("nothing matches:\n%s", s)
	}
	d.press("enter").hasStatus("no command")
	if d.press(":", "down", "down", "up").m.prompt.Text() == "" {
		t.Error("the arrows choose nothing")
	}
	fits(t, d, "palette")
	d.press("esc")
	if d.press(":").typed("q").press("enter"); !d.Quit {
		t.Error(":q does not quit")
	}
}

// TestPaletteTakesKeys: a key that is no letter finds what it does in this view, and Enter does it.
func TestPaletteTakesKeys(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).press("8", "s")
	if !contains(d.text(), "step 1206 ") {
		t.Fatalf("no step:\n%s", d.text())
	}
	d.press(":").typed("<")
	if s := d.text(); !contains(s, "source.step-back") {
		t.Errorf("the palette does not find the key:\n%s", s)
	}
	if d.press("enter"); !contains(d.text(), "step 1203 ") || d.m.Status.Bad {
		t.Errorf("it does not step back, status %q:\n%s", d.m.Status.Text, d.text())
	}
}

// TestUserKeys: help, hints and palette show a user's keys, and the keys do it.
func TestUserKeys(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty), func(o *Options) {
		o.Config = &configs.Config{Palette: "cividis", Mouse: true, Keys: []configs.KeySetting{
			{Name: "tile.heat", Keys: []string{"ctrl+t", "E"}}, {Name: "quit", Keys: []string{"Q"}},
		}}
	})
	d.open(view.Tile)
	if s := d.text(); !strings.Contains(s, "Ctrl-t E heat") || !strings.Contains(s, "Q quit") {
		t.Errorf("hints:\n%s", s)
	}
	if d.press("E"); !strings.Contains(d.m.Status.Text, "heat") {
		t.Errorf("E: status %q", d.m.Status.Text)
	}
	d.press("z").hasStatus("is not bound")
	if s := d.press("?").text(); !strings.Contains(s, "Ctrl-t E") || strings.Contains(s, " z ") {
		t.Errorf("help:\n%s", s)
	}
	if d.press("q"); d.Quit {
		t.Error("q quits though it has no meaning")
	}
	list, _ := d.m.palette().complete("tile.heat")
	if list[0].Key != "Ctrl-t E" {
		t.Errorf("palette: %+v", list[0])
	}
	if d.press("Q", "Q"); !d.Quit {
		t.Error("Q does not quit")
	}
}

// TestKeysAreChecked: mistakes are reported with file and line, and near names.
func TestKeysAreChecked(t *testing.T) {
	errs := CheckKeys([]configs.KeySetting{
		{Name: "tile.heet", Keys: []string{"E"}, File: "config.yaml", Line: 3},
		{Name: "tile.heat", Keys: []string{"n"}, File: "config.yaml", Line: 4},
		{Name: "zoom", Keys: []string{"E"}, File: "config.yaml", Line: 5},
	})
	if len(errs) != 2 {
		t.Fatalf("%+v", errs)
	}
	for i, want := range []string{
		"config.yaml:3: keys.tile.heet: view Tile has no action heet: did you mean tile.heat?",
		"config.yaml:4: keys.tile.heat: key n is tile.next-bad",
	} {
		if !strings.HasPrefix(errs[i].Error(), want) {
			t.Errorf("%s", errs[i])
		}
	}
	if got := CheckKeys(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestHostIsChosen: :host has later runs executed elsewhere and runs again; a name that no machine can have
// changes nothing.
func TestHostIsChosen(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	before := len(d.e.Asked())
	d.command("host me@box").hasStatus("workers run on me@box")
	if d.e.Host() != "me@box" || len(d.e.Asked()) != before+1 {
		t.Errorf("on %q after %d runs", d.e.Host(), len(d.e.Asked())-before)
	}
	d.command("host -x").hasStatus("expected [USER@]HOST")
	if d.e.Host() != "me@box" || len(d.e.Asked()) != before+1 {
		t.Errorf("on %q after %d runs", d.e.Host(), len(d.e.Asked())-before)
	}
	d.command("host").hasStatus("workers run on this machine")
	if d.e.Host() != "" {
		t.Errorf("on %q", d.e.Host())
	}
}

// TestShortNamesTakeArguments: the beginning of a name is enough with an argument too, where the other
// command that begins so only overwrites files.
func TestShortNamesTakeArguments(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	for short, want := range map[string]string{"scr": "screenshot", "rep": "report", "du": "dump"} {
		if e, ok := d.m.palette().find(short); !ok || e.Name != want {
			t.Errorf("%s is %q, %v", short, e.Name, ok)
		}
	}
	path := t.TempDir() + "/s.svg"
	d.command("scr " + path).hasStatus("wrote " + path)
}

// TestBeginningOfAName: the beginning of a name that only one of a command's names has stands for it.
func TestBeginningOfAName(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	d.command("fault p-stale-m").hasStatus("p-stale-m on")
	d.command("fault p-stale-").hasStatus("no fault p-stale-") // p-stale-columns begins so too
	d.command("fault score off").hasStatus("score-uninit is off already")
	d.command("fault zz").hasStatus("no fault zz")
	d.command("theme da").hasStatus("dark")
	d.command("palette foo").hasStatus(`palette "foo": expected cividis, viridis, grey`)
	d.command("gate soft").hasStatus("gate softmax")
	d.command("fault none").command("flag USE_W off").hasStatus("USE_WMMA_PV=0")
	d.command("view rac")
	if d.m.view != view.Races {
		t.Errorf("rac shows %s", d.m.view)
	}
	targets := d.e.Catalogue().Targets()
	first := targets[0]
	for in, want := range map[string]string{first[:len(first)-1]: first, first: first, "zz": "zz"} {
		if got := d.m.palette().onlyOffered([]string{in}); len(got) != 1 || got[0] != want {
			t.Errorf("open %s opens %q, expected %s of %q", in, got, want, targets)
		}
	}
}

// TestGatesAreExplained: each gate that :gate offers says what runs under it, and no command has the key of
// the palette itself.
func TestGatesAreExplained(t *testing.T) {
	d := started(t, 120, 40, plainLook).press(":").typed("gate ")
	for _, want := range []string{
		"every part of the kernel runs", "the kernel stops after S", "S is fed in",
	} {
		if !strings.Contains(d.text(), want) {
			t.Errorf("gates do not say %q:\n%s", want, d.text())
		}
	}
	list, _ := d.m.palette().complete("command")
	if len(list) == 0 || strings.TrimSpace(list[0].Line) != "command" || list[0].Key != "" {
		t.Errorf("command has the key %+v", list)
	}
}

// TestLongLineIsMarked: a line of the prompt that does not fit says at its left that its beginning is cut.
func TestLongLineIsMarked(t *testing.T) {
	d := started(t, 80, 24, plainLook).press(":")
	d.typed("open k.cu --grid 8 " + strings.Repeat("--arg x=1 ", 9))
	last := func() string {
		lines := strings.Split(strings.TrimRight(d.text(), "\n"), "\n")
		return lines[len(lines)-1]
	}
	if !strings.HasPrefix(last(), ":…") || strings.Contains(last(), "k.cu") {
		t.Errorf("the line is %q", last())
	}
	if d.press("home"); !strings.HasPrefix(last(), ":open k.cu") {
		t.Errorf("at its beginning the line is %q", last())
	}
}

// TestAMistypedCommandIsNamed: a slip in a command's name carries nothing out, with an argument or without,
// and names the command that was meant.
func TestAMistypedCommandIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"opne": "did you mean open?", "opne stage1": "did you mean open?", "quti": "did you mean quit?",
		"condiiton": "did you mean condition?", "brek 40": "did you mean break?", "sched": "", "continu": "",
		"shcedule reverse": "did you mean schedule?",
	} {
		d := started(t, 120, 40, plainLook)
		runs := len(d.e.Asked())
		d.press(":").typed(line)
		if offered, _ := d.m.palette().complete(line); want != "" && !strings.Contains(line, " ") &&
			"did you mean "+strings.TrimSpace(offered[0].Line)+"?" != want {
			t.Errorf("while %s is typed, %q is offered", line, offered[0].Line)
		}
		d.press("enter")
		if want == "" {
			if strings.Contains(d.m.Status.Text, "did you mean") {
				t.Errorf(":%s: %s", line, d.m.Status.Text)
			}
			continue
		}
		d.hasStatus(want)
		if !d.m.Status.Bad || len(d.e.Asked()) != runs {
			t.Errorf(":%s ran something", line)
		}
	}
}

// TestCommandsWithoutArgumentsRefuseThem: a command that takes none is not carried out with one.
func TestCommandsWithoutArgumentsRefuseThem(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	n := 0
	for _, e := range d.m.palette().entries() {
		if e.Arg != "" || e.Name == "frag" { // frag m16n8k16 is fragment
			continue
		}
		n++
		at, runs := d.m.view, len(d.e.Asked())
		d.command(e.Name + " now").hasStatus(e.Name + " takes no argument, as \"now\"")
		if !d.m.Status.Bad || d.m.view != at || len(d.e.Asked()) != runs {
			t.Errorf(":%s now is carried out", e.Name)
		}
	}
	if n < 50 {
		t.Errorf("%d commands", n)
	}
}

// TestViewsByName: the name of a view, or its tab where no command is called so, shows the view and does
// nothing in it; the list offers it as selected, with its key.
func TestViewsByName(t *testing.T) {
	for typed, want := range map[string]keymap.Scope{
		"pipe": view.Pipe, "tile": view.Tile, "frag": view.Frag, "flags": view.Flags, "races": view.Races,
		"gates": view.Gates, "gpu": view.GPU, "source": view.Source, "pipeline": view.Pipeline,
		"race": view.Races, "src": view.Source, "til": view.Tile, "rac": view.Races, "TILE": view.Tile,
	} {
		d := started(t, 120, 40, plainLook, withRequest(faulty))
		d.open(view.Flags)
		if want == view.Flags {
			d.open(view.Pipe)
		}
		at := d.m.Cursor
		list, _ := d.m.palette().complete(typed)
		if len(list) == 0 || list[0].Line != strings.ToLower(string(want)) || !list[0].Taken ||
			list[0].Key != d.key(want) {
			t.Errorf("%s offers %+v first", typed, list[:min(1, len(list))])
		}
		if d.command(typed); d.m.view != want || d.m.Cursor != at || d.m.Status.Bad {
			t.Errorf("%s shows %s, status %q", typed, d.m.view, d.m.Status.Text)
		}
	}
	d := started(t, 120, 40, plainLook).command("tile heat")
	if d.m.view != view.Tile || !strings.Contains(d.m.Status.Text, "heat") {
		t.Errorf("tile heat: %s, status %q", d.m.view, d.m.Status.Text)
	}
	d.command("tile zebra").hasStatus(`tile takes no argument, as "zebra"`)
	d.press(":").typed("frag ldmatrix.x4").press("enter").hasStatus("ldmatrix")
}

// TestBeginningsOfCommands: a beginning stands for the command with whose name all that begin so begin, and
// keeps its argument; a beginning of several says which, and carries nothing out.
func TestBeginningsOfCommands(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	for typed, want := range map[string]string{
		"br 3": "break 3", "bre 65 if lane==3": "break 65 if lane==3", "brea 3": "break 3",
		"b 487": "break 487", "contin": "continue", "nex": "next", "disp red[0]": "display red[0]",
		"cond 1 lane==3": "condition 1 lane==3", "reverse-s 2": "reverse-step 2", "gat qk": "gate qk",
		"frag m16n8k16": "fragment m16n8k16", "487": "line 487", "next 3": "next 3",
		"next bad": "pipe.next-bad", "prev bad": "pipe.previous-bad", "next stage": "next-stage",
		"step back": "source.step-back", "FAULT none": "fault none",
		"copy": "", "st": "", "bl": "", "i r": "", "brea": "break", "who": "tile.who", "heat map": "heat map",
	} {
		l := d.m.palette().read(typed)
		if got := strings.TrimSpace(l.Name + " " + l.arg); !l.ok && want != "" || l.ok && got != want {
			t.Errorf("%q is %q (%t), expected %q", typed, got, l.ok, want)
		}
	}
	for typed, want := range map[string]string{
		"st":   "st could be stage, step, stepout or stack",
		"bl":   "bl could be previous-block or next-block",
		"un 1": "un could be until, unit or unwatch",
		"re": "re could be reverse-step, reverse-next, reverse-stepout, reverse-continue, " +
			"reverse-event, redo and 3 more",
		"i r":    `no command "i", nor an action`,
		"page":   "page could be page-down or page-up",
		"next x": `"x": expected how many times`,
	} {
		runs, at, cursor := len(d.e.Asked()), d.m.view, d.m.Cursor
		d.command(typed).hasStatus(want)
		if !d.m.Status.Bad || len(d.e.Asked()) != runs || d.m.view != at || d.m.Cursor != cursor {
			t.Errorf(":%s is carried out", typed)
		}
	}
	d.open(view.Tile).press("n").command("next bad")
	next := d.m.Cursor
	if d.press("N", "n"); d.m.Cursor != next || d.m.Status.Bad {
		t.Errorf("next bad goes to %+v, n to %+v, status %q", next, d.m.Cursor, d.m.Status.Text)
	}
}

// TestWhatEnterTakes: what Enter carries out is shown as selected while it is typed, and nothing else is:
// what scattered letters find is written into the line for a second Enter.
func TestWhatEnterTakes(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	for _, typed := range []string{
		"tile", "br", "br 3", "st", "bl", "nxbd", "save picture", "next bad", "osc", "zzz", "reverse st",
		"seed ",
	} {
		list, _ := d.m.palette().complete(typed)
		taken := len(list) > 0 && list[0].Taken
		l := d.m.palette().read(typed)
		if described := l.ok && l.arg == "" && typed != "seed "; taken != described {
			t.Errorf("%q: carried out %t, shown as selected %t", typed, described, taken)
		}
		if slices.ContainsFunc(list[min(1, len(list)):], func(c prompt.Candidate) bool { return c.Taken }) {
			t.Errorf("%q: another line is selected", typed)
		}
	}
	cursor := d.m.Cursor
	d.press(":").typed("nxbd").press("enter")
	if got := d.m.prompt.Text(); got != "pipe.next-bad" || d.m.Cursor != cursor {
		t.Errorf("nxbd: the prompt has %q", got)
	}
	if list, _ := d.m.palette().complete(d.m.prompt.Text()); !list[0].Taken {
		t.Error("the whole name is not selected")
	}
}
