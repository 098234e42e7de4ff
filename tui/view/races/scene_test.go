package races

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// TestMeeting: the line below the strip of warps has no variable where the finding has none.
func TestMeeting(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	for name, want := range map[string]string{
		"":   "the whole block",
		"sP": "the whole block; nothing of sP is touched from this line",
	} {
		sc := &scene.Scene{Pair: [2]int{-1, -1}}
		sc.Request.Variable = name
		if got := p.meeting(sc, true); got != want {
			t.Errorf("variable %q: %q", name, got)
		}
	}
	flight := &scene.Scene{Pair: [2]int{-1, -1}, Writers: &scene.Writers{Flight: true}}
	flight.Request.Variable = "sK"
	if got := p.meeting(flight, true); strings.Contains(got, "nothing") ||
		!strings.Contains(got, "asynchronous") {
		t.Errorf("asynchronous accesses from other lines: %q", got)
	}
	sc := &scene.Scene{Pair: [2]int{-1, -1}, Accesses: make([]scene.Access, 2)}
	if got := p.meeting(sc, true); got != "the two sides do not meet in this execution" {
		t.Errorf("two accesses: %q", got)
	}
}

// TestLegendClaimsNoContest: the mark of contested cells is explained where there are any; of a race between
// lanes of one warp there are none.
func TestLegendClaimsNoContest(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	w := &scene.Writers{Cells: make([]scene.CellWriters, 3)}
	for _, wide := range []bool{true, false} {
		w.Cells[1].Contested = false
		if got := p.legend(w, wide, 60); strings.Contains(got, "contested") {
			t.Errorf("no cell: %q", got)
		}
		w.Cells[1].Contested = true
		if got := ansi.Strip(p.legend(w, wide, 60)); !strings.Contains(got, "! contested (1 cell)") {
			t.Errorf("one cell: %q", got)
		}
	}
}

// TestPhasesOfADiagnosis: each phase is listed once, with its last progress, and the one under way is marked.
func TestPhasesOfADiagnosis(t *testing.T) {
	v := &Controller{Context: &view.Context{Theme: theme.New(theme.Options{})}}
	if got := v.phasesText(); got != "" {
		t.Errorf("before the first: %q", got)
	}
	for _, p := range []debugkern.Progress{
		{Phase: "build"}, {Phase: "run", Detail: "emulator"},
		{Phase: "edits of the source", Done: 1, Total: 90},
		{Phase: "run", Detail: "plain build"}, {Phase: "edits of the source", Done: 31, Total: 90},
	} {
		v.race.progressed(p)
	}
	const want = "\n\n✓ building\n✓ running plain build\n▸ edits of the source 31/90"
	if got := v.phasesText(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAPhaseIsTickedWhenItIsComplete: the last progress of a phase is not lost where the next phase reports
// before the program has read it; a phase that stopped before its end has no tick.
func TestAPhaseIsTickedWhenItIsComplete(t *testing.T) {
	v := &Controller{Context: &view.Context{Theme: theme.New(theme.Options{})}}
	events := &unread{wake: make(chan struct{}, 1)}
	read := func() {
		for _, p := range listenDiagnosis(t.Context(), events, 0)().(progressMsg).progress {
			v.race.progressed(p)
		}
	}
	say := func(p debugkern.Progress) { events.add(diagnose.Event{Progress: &p}) }
	say(debugkern.Progress{Phase: "compare", Detail: "blocks", Done: 15, Total: 16})
	read()
	say(debugkern.Progress{Phase: "compare", Detail: "blocks", Done: 16, Total: 16})
	say(debugkern.Progress{Phase: "explain", Detail: "edits of the source", Done: 31, Total: 90})
	read()
	want := "\n\n✓ comparing blocks 16/16\n▸ explaining errors edits of the source 31/90"
	if got := v.phasesText(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	say(debugkern.Progress{Phase: "schedules"})
	read()
	want = "\n\n✓ comparing blocks 16/16\n– explaining errors edits of the source 31/90\n▸ trying schedules"
	if got := v.phasesText(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPTXStandsForASourceThatIsNotThere: of a kernel given as PTX without its sources, a side is the access
// of its line, else the first instruction; where that is not known it says what is not available.
func TestPTXStandsForASourceThatIsNotThere(t *testing.T) {
	ptx := strings.Split(".entry k()\n{\n.loc 2 5 1\nmov.u32 %r9, 7;\n"+
		".loc\t1 5 3, function_name $x\nadd.u32 %r1, %r1, 1;\nld.shared.u32 %r2, [sP];\nst.shared.u32 [sP], %r1;\nret;\n}\n.file 1 \"made/in/k.cu\"\n.file 2 \"other.cuh\", 1, 2", "\n")
	for _, c := range []struct {
		file  string
		line  int
		doing string
		want  string
		not   string
	}{
		{"k.cu", 5, "warp 2 writes", "k.cu:5 in k.ptx:8", "is not available"},
		{"k.cu", 5, "warp 2 writes", "▸   8 st.shared.u32", "is not available"},
		{"k.cu", 5, "warp 0 reads", "▸   7 ld.shared.u32", "is not available"},
		{"other.cuh", 5, "", "▸   4 mov.u32", "is not available"},
		{"k.cu", 77, "", "k.cu is not available", "st.shared"},
		{"third.cu", 5, "", "third.cu is not available", "st.shared"},
	} {
		p := NewPane(theme.New(theme.Options{}))
		p.data.Source = func(string) []string { return nil }
		p.data.PTX = func() (string, []string) { return "k.ptx", ptx }
		side := p.side("A", &report.Source{File: "made/in/" + c.file, Line: c.line}, c.doing, 70, 14)
		text := ansi.Strip(strings.Join(side, "\n"))
		if !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
			t.Errorf("%s:%d, no %q:\n%s", c.file, c.line, c.want, text)
		}
	}
}

// TestStripExplainsWhatIsDrawn: the legend has the marks that are on screen alone, and an access is drawn
// over a barrier in its column.
func TestStripExplainsWhatIsDrawn(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	sc := &scene.Scene{Pair: [2]int{-1, -1}, Warps: 8, Steps: 10000,
		Stretches: []scene.Stretch{{Warp: 0, From: 0, To: 10000}},
		Syncs:     []scene.Sync{{Kind: scene.SyncDone, Step: 5000}},
		Accesses:  []scene.Access{{Warp: 7, Step: 5001}, {Warp: 7, Step: 5002}}}
	sc.Request.Variable, sc.Request.Sides[0] = "sP", &report.Source{File: "k.cu", Line: 5}
	p.look.Scene = sc
	text := ansi.Strip(strings.Join(p.strip(70, 12), "\n"))
	for _, want := range []string{"x: 2 accesses of line 5 to sP", "─ runs · │ barrier · x access "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if w7 := text[strings.Index(text, "w7"):]; !strings.Contains(strings.Split(w7, "\n")[0], "x") {
		t.Errorf("no x in the row of warp 7:\n%s", text)
	}
	for _, not := range []string{"> at it", "warp sync", "async wait"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is explained and not drawn:\n%s", not, text)
		}
	}
	text = ansi.Strip(strings.Join(p.strip(90, 8), "\n")) // 4 of 8 warps
	if strings.Contains(text, "x: ") || strings.Contains(text, "x access") ||
		!strings.Contains(text, "2 accesses of line 5 to sP, by warps that are not on screen") {
		t.Errorf("no access is on screen:\n%s", text)
	}
	sc.Accesses = sc.Accesses[:1]
	text = ansi.Strip(strings.Join(p.strip(70, 12), "\n"))
	if !strings.Contains(text, "x: 1 access of line 5") {
		t.Errorf("one access:\n%s", text)
	}
}
