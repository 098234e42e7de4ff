package tui

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

// hostileTexts do something to a terminal that obeys them.
var hostileTexts = []string{
	"\x1b]52;c;ZXZpbA==\x07", "\x1b]0;owned\x07", "\x1b[2J\x1b[Hm", "\x1b[8mconceal", "\u009b31m",
	"a\rb\bc\x00\x7f", "\u202egnp.exe", "a\u200bb\u2066c", "\ufeff\u00ad\u2028", "\U000e0041", "\xff\xfe",
	"日本\U0001f600",
}

// hostileEngine answers with documents in which every text is hostile.
type hostileEngine struct {
	*tuitest.Engine
	evil string
}

func (e hostileEngine) Run(
	ctx context.Context, req debugkern.Request, progress func(debugkern.Progress),
) (*debugkern.Run, error) {
	progress(debugkern.Progress{Phase: e.evil, Detail: e.evil})
	run, err := e.Engine.Run(ctx, req, progress)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.evil, err)
	}
	r, x := run.Report, e.evil
	place := &report.Source{File: x, Line: 3, Function: x, Text: x}
	r.Backend.Device, r.Backend.Builder, r.Printed, r.Build.Notes = x, x, []string{x}, []string{x}
	r.Findings = append(r.Findings, report.Finding{
		Kind: "race", Severity: "error", Message: x, Variable: x, Source: place, Other: place, Missing: &x,
		Neighbour: x, Consequence: x,
	})
	for i := range r.Stages {
		r.Stages[i].Fingerprints = []report.Fingerprint{{Name: x, Value: x, Evidence: x}}
		r.Stages[i].FirstBad = &report.BadCell{Source: place}
	}
	return run, nil
}

var (
	sgrSequence   = regexp.MustCompile("\x1b\\[[0-9;:]*m")
	drawnSequence = regexp.MustCompile("\x1b\\[[?0-9;:]*[A-Za-z]|\x1b\\]2;[^\x07\x1b]*\x07")
)

// obeyed is the first thing in s that is not shown.
func obeyed(s string) string {
	for i, r := range s {
		if text.Hidden(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return fmt.Sprintf("%.20q", s[i:])
		}
	}
	return ""
}

// TestNothingHostileIsObeyed: foreign text in every document, in a refusal, in the target and as an error, in
// every view at 80×24: lines have their width and nothing but visible characters and styles, and so has what
// is written to the terminal.
func TestNothingHostileIsObeyed(t *testing.T) {
	for _, evil := range hostileTexts {
		for _, fail := range []error{
			nil, &report.Error{
				Code: report.CodeFailed, Err: fmt.Errorf("build: %s", evil), Diagnostics: []report.Diagnostic{
					{File: evil, Line: 1, Col: 1, Severity: "error", Message: evil, Text: evil}},
			},
		} {
			for _, look := range []Look{plainLook, {Profile: colorprofile.TrueColor}} {
				d := started(t, 80, 24, look, withRequest(faulty), func(o *Options) {
					e := o.Engine.(*tuitest.Engine)
					e.Fail, o.Engine = fail, hostileEngine{e, evil}
				})
				d.m.Complain(evil + strings.Repeat(" long", 30) + evil)
				for n := range 8 {
					d.press(fmt.Sprint(n + 1))
					harmless(t, d, fmt.Sprintf("%q, view %s, error %t", evil, d.m.view, fail != nil))
				}
				d.m.Req.Target = evil
				harmless(t, d, fmt.Sprintf("%q as the target", evil))
				d.m.view = view.Flags
				if got := d.m.yanked(); !strings.Contains(got, text.Shell(evil)) {
					t.Errorf("%q is copied as %q", evil, got)
				}
			}
		}
	}
}

// harmless fails unless screen and painter show what they draw.
func harmless(t *testing.T, d *driver, what string) {
	t.Helper()
	for y, line := range d.m.screen() {
		plain := sgrSequence.ReplaceAllString(line, "")
		if x := obeyed(plain); x != "" || d.m.Theme.Width(plain) != 80 {
			t.Fatalf("%s: line %d has %s, %d columns: %q", what, y, x, d.m.Theme.Width(plain), line)
		}
	}
	if x := obeyed(drawnSequence.ReplaceAllString(string(newPainter(nil).diff(d.m.frameNow())),
		"")); x != "" {
		t.Fatalf("%s: the terminal is sent %s", what, x)
	}
}

// TestPainterIsTheLastToLook: a line that comes to the painter with hostile text in it is drawn as visible
// cells, one a character.
func TestPainterIsTheLastToLook(t *testing.T) {
	for _, evil := range hostileTexts {
		var out bytes.Buffer
		p := newPainter(&out)
		line := "\x1b[1mab" + evil + "\x1b[0mz"
		b := p.diff(frame{lines: []string{line}, w: 40, modes: modes{title: evil, cursorX: -1}})
		if x := obeyed(drawnSequence.ReplaceAllString(string(b), "")); x != "" {
			t.Errorf("%q: the terminal is sent %s in %q", evil, x, b)
		}
		if n := len(p.cells[0]); n != 40 {
			t.Errorf("%q: %d cells", evil, n)
		}
		if p.cells[0][0].r != 'a' || p.cells[0][1].r != 'b' {
			t.Errorf("%q: begins with %c%c", evil, p.cells[0][0].r, p.cells[0][1].r)
		}
	}
}
