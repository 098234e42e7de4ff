package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
	"tilescope/tui/tuitest"
)

// consentEngine finds compilers that it may not use: every run fails for want of consent until it is given.
type consentEngine struct {
	*tuitest.Engine
	covers trust.Dir
	agreed []*build.Consent
	refuse error // of Agree
	sweeps bool  // a sweep of the gates may not use them either
}

// Shapes is what a sweep asks first.
func (e *consentEngine) Shapes(ctx context.Context, target string) ([]string, error) {
	if e.sweeps {
		return nil, e.refusal()
	}
	return e.Engine.Shapes(ctx, target)
}

func (e *consentEngine) refusal() *trust.Refused {
	return &trust.Refused{
		Path: e.covers.Files[0].Path, Dir: e.covers.Dir,
		Reason: "the working directory provides it, and it is not trusted",
	}
}

func (e *consentEngine) Question(ctx context.Context, err error) (*build.Consent, error) {
	var r *trust.Refused
	if !errors.As(err, &r) {
		return nil, ctx.Err()
	}
	return &build.Consent{Covers: e.covers, Reason: r.Path + ": " + r.Reason}, ctx.Err()
}

func (e *consentEngine) Agree(_ context.Context, c *build.Consent) error {
	if e.refuse != nil {
		return e.refuse
	}
	e.agreed, e.Fail = append(e.agreed, c), nil
	return nil
}

// cloned is what a cloned repository brings.
func cloned(files ...string) trust.Dir {
	d := trust.Dir{Dir: "/home/ada/clone/.toolchain"}
	for i, f := range files {
		d.Files = append(d.Files, trust.File{
			Path: d.Dir + "/" + f, SHA256: strings.Repeat(fmt.Sprintf("%02x", 16*i+10), 32),
		})
	}
	return d
}

// refusing is a terminal whose first run has failed for want of consent.
func refusing(
	t testing.TB, w, h int, look Look, covers trust.Dir, change ...func(*Options),
) (*driver, *consentEngine) {
	t.Helper()
	e := &consentEngine{covers: covers}
	d := started(t, w, h, look, append([]func(*Options){func(o *Options) {
		e.Engine, o.Engine = o.Engine.(*tuitest.Engine), e
		e.Fail = &report.Error{
			Code: report.CodeUnavailable, Err: fmt.Errorf("stage2 cannot be built: %w", e.refusal()),
		}
	}}, change...)...)
	return d, e
}

func TestConsentScreens(t *testing.T) {
	covers := cloned("bin/nvcc", "bin/ptxas", "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.0",
		"nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
		"a path that is longer than the eighty columns of a small terminal and that is broken and never cut/libnvrtc.so.13")
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d, _ := refusing(t, size[0], size[1], plainLook, covers)
			golden.RequireEqual(t, d.text()+"\n")
		})
	}
	t.Run("styled", func(t *testing.T) {
		d, _ := refusing(t, 80, 24, Look{Profile: colorprofile.ANSI256}, covers)
		golden.RequireEqual(t, strings.ReplaceAll(strings.Join(d.m.screen(), "\n"), "\x1b", "\\e")+"\n")
	})
}

// TestConsentGiven: y records what was on the screen, and runs again.
func TestConsentGiven(t *testing.T) {
	d, e := refusing(t, 80, 24, plainLook, cloned("bin/nvcc"))
	if d.press("y"); len(e.agreed) != 1 || e.agreed[0].Covers.Digest() != e.covers.Digest() ||
		len(d.e.Asked()) != 2 || d.m.Fail != nil {
		t.Errorf("agreed to %v, %d runs, failure %v", e.agreed, len(d.e.Asked()), d.m.Fail)
	}
	d.hasStatus("trusted: /home/ada/clone/.toolchain, 1 file")
	if text := d.text(); !strings.Contains(text, "AGREE") || strings.Contains(text, "TRUST") {
		t.Errorf("after y:\n%s", text)
	}
	d, e = refusing(t, 80, 24, plainLook, cloned("bin/nvcc"))
	e.refuse = trust.ErrNoRecord
	d.press("y").hasStatus("not recorded: there is no place")
	if len(d.e.Asked()) != 1 {
		t.Error("it runs again without a record")
	}
}

// TestConsentToOpen: what could not be opened for want of consent is opened after y; after n and a run of
// something else, a yes is about that run.
func TestConsentToOpen(t *testing.T) {
	for _, answer := range []string{"y", "n"} {
		var asked [][]string
		e := &consentEngine{covers: cloned("bin/nvcc")}
		d := started(t, 80, 24, plainLook, func(o *Options) {
			e.Engine, o.Engine = o.Engine.(*tuitest.Engine), e
			o.Open = func(_ context.Context, words []string) (Opened, error) {
				if asked = append(asked, words); len(e.agreed) == 0 {
					return Opened{}, e.refusal()
				}
				return Opened{Request: debugkern.Request{Target: "stage1"}}, nil
			}
		})
		if d.command("open 'my k.cu' --grid 4"); !d.m.asking() || d.m.Req.Target != "stage2" {
			t.Fatalf("asking %t, target %s", d.m.asking(), d.m.Req.Target)
		}
		if answer == "n" {
			e.Fail = e.refusal()
			e.covers.Files[0].SHA256 = strings.Repeat("ff", 32)
			if d.press("n", "x", "y"); len(e.agreed) != 1 || len(asked) != 1 || d.m.Req.Target != "stage2" {
				t.Errorf("after n: agreed %v, opened %q, target %s", e.agreed, asked, d.m.Req.Target)
			}
			continue
		}
		d.press("y").hasStatus("opened my k.cu")
		if got := d.m.Req; len(asked) != 2 || !slices.Equal(asked[1], asked[0]) || got.Target != "stage1" {
			t.Errorf("after y: opened %q, runs %+v", asked, got)
		}
	}
}

// TestConsentRefused: n, Esc and every other way out leave the reason in the pane, record nothing, and do not
// quit. The same is not asked again in the session; other content is, and so does :trust.
func TestConsentRefused(t *testing.T) {
	for _, key := range []string{"n", "esc", "q", "ctrl+c"} {
		d, e := refusing(t, 80, 24, plainLook, cloned("bin/nvcc"))
		if d.press(key); d.Quit || d.m.asking() || len(e.agreed) != 0 {
			t.Fatalf("%s: quit %t, asking %t, agreed %v", key, d.Quit, d.m.asking(), e.agreed)
		}
		if text := strings.Join(strings.Fields(strings.ReplaceAll(d.text(), "│", " ")),
			" "); !strings.Contains(text, "bin/nvcc is not used: the working directory provides it") {
			t.Errorf("%s: the reason is not in the pane:\n%s", key, d.text())
		}
		if d.press("x"); len(d.e.Asked()) != 2 || d.m.asking() {
			t.Errorf("%s: %d runs, asked again: %t", key, len(d.e.Asked()), d.m.asking())
		}
		e.covers.Files[0].SHA256 = strings.Repeat("ff", 32)
		if d.press("x"); !d.m.asking() {
			t.Errorf("%s: not asked about other content", key)
		}
		if d.press("n").command("trust"); !d.m.asking() {
			t.Errorf("%s: :trust does not ask again: %s", key, d.m.Status.Text)
		}
	}
	d := started(t, 80, 24, plainLook)
	d.command("trust").hasStatus("nothing was found that needs consent")
}

// opened is a question that has just come up, and is not ready to be answered.
func opened(t *testing.T, before func(*driver)) (*driver, *consentEngine) {
	d, e := refusing(t, 80, 24, plainLook, cloned("bin/nvcc"))
	d.press("n")
	e.covers.Files[0].SHA256 = strings.Repeat("ee", 32)
	before(d)
	d.Manual = true
	q, err := e.Question(t.Context(), e.refusal())
	if err != nil {
		t.Fatal(err)
	}
	d.send(questionMsg{seq: d.m.consent.seq, consent: q})
	return d, e
}

// ready lets the question be answered.
func (d *driver) ready() { d.send(questionDueMsg{d.m.consent.number}) }

// TestConsentIsNoAccident: keys typed for something else while the question opens, Enter, pasted text and
// clicks do not answer it.
func TestConsentIsNoAccident(t *testing.T) {
	d, e := opened(t, func(*driver) {})
	d.press("y")
	if !d.m.asking() || len(e.agreed) != 0 || len(d.Kept) != 2 || strings.Contains(d.text(), "trust them") {
		t.Errorf("y before it is ready: asking %t, agreed %v:\n%s", d.m.asking(), e.agreed, d.text())
	}
	d.send(questionDueMsg{d.m.consent.number - 1}) // of an earlier question
	if d.press("y"); !d.m.asking() {
		t.Error("an earlier question's time makes this one ready")
	}
	d.ready()
	for _, key := range []string{"enter", "space", "Y", "x", "4", "?", "m", "tab"} {
		if d.press(key); !d.m.asking() || d.m.over != nil || d.m.pending != "" {
			t.Errorf("%s: asking %t, help %t", key, d.m.asking(), d.m.over != nil)
		}
	}
	d.send(tea.PasteMsg{Content: "y"})
	d.send(tea.MouseClickMsg{X: 3, Y: 18, Button: tea.MouseLeft})
	if !d.m.asking() {
		t.Error("pasted text or a click answers")
	}
	d.press("f", "a", "u", "l", "t")
	if d.typed("key-end on"); !d.m.asking() || len(e.agreed) != 0 || d.m.consent.ready {
		t.Errorf("letters of a command: asking %t, agreed %v", d.m.asking(), e.agreed)
	}
	if d.ready(); !d.m.consent.ready {
		t.Error("it cannot be answered after a pause")
	}
	d.Manual = false
	if d.send(alt('y')); d.m.asking() || len(e.agreed) != 0 { // Esc, then y
		t.Errorf("Esc then y: asking %t, agreed %v", d.m.asking(), e.agreed)
	}
}

// TestConsentWaitsForThePrompt: a line that is being typed is finished first, and its keys answer nothing.
func TestConsentWaitsForThePrompt(t *testing.T) {
	d, e := opened(t, func(d *driver) { d.press(":") })
	d.ready()
	if d.typed("y"); d.m.prompt.Text() != "y" || d.m.consent.ready {
		t.Errorf("typed %q, ready %t", d.m.prompt.Text(), d.m.consent.ready)
	}
	if d.press("esc", "y"); !d.m.asking() || len(e.agreed) != 0 {
		t.Errorf("after the prompt: asking %t, agreed %v", d.m.asking(), e.agreed)
	}
	if d.m.resize(60, 20); d.m.asking() || !strings.Contains(d.text(), "too small") {
		t.Errorf("on a small screen:\n%s", d.text())
	}
	d.m.resize(80, 24)
	if d.ready(); d.m.consent.ready {
		t.Error("ready as soon as it is back on the screen")
	}
	d.ready()
	d.Manual = false
	if d.press("y"); len(e.agreed) != 1 {
		t.Errorf("agreed %v", e.agreed)
	}
}

// TestConsentToPassedOver: a run that ended well without a compiler that was found asks as well, and says so.
func TestConsentToPassedOver(t *testing.T) {
	e := &consentEngine{covers: cloned("bin/ptxas")}
	d := started(t, 80, 24, plainLook, func(o *Options) {
		e.Engine, o.Engine = o.Engine.(*tuitest.Engine), e
		e.Warning = e.refusal()
		e.Document = func(r *report.Run) { r.Backend.Builder = "nvrtc" }
	})
	if !d.m.asking() || d.m.Run == nil {
		t.Fatalf("not asked:\n%s", d.text())
	}
	if d.press("n", "x"); d.m.asking() || len(d.e.Asked()) != 2 {
		t.Errorf("asked again: %t, %d runs", d.m.asking(), len(d.e.Asked()))
	}
}

// TestPrebuiltAsksNothing: a kernel that needs no compiler does not ask for one that something else, such as
// the diagnosis of the run before, has looked for.
func TestPrebuiltAsksNothing(t *testing.T) {
	e := &consentEngine{covers: cloned("bin/nvcc")}
	d := started(t, 80, 24, plainLook, func(o *Options) {
		e.Engine, o.Engine = o.Engine.(*tuitest.Engine), e
	})
	e.Warning = e.refusal()
	if d.press("x"); d.m.asking() || d.m.Status.Bad {
		t.Errorf("asked:\n%s", d.text())
	}
	e.Document = func(r *report.Run) { r.Backend.Builder = "nvrtc" }
	if d.press("x"); !d.m.asking() {
		t.Errorf("not asked by a run that compiles:\n%s", d.text())
	}
}

// TestConsentListScrolls: no file that a yes covers is out of reach, and hostile names are spelled out on
// lines of their own.
func TestConsentListScrolls(t *testing.T) {
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf("bin/tool%02d", i))
	}
	files = append(files, "bin/nvcc\ny    nothing\u202e\x1b[2J")
	d, _ := refusing(t, 80, 24, plainLook, cloned(files...))
	seen := ""
	for range len(files) {
		harmless(t, d, "a question")
		seen += d.text()
		d.press("j")
	}
	for i := range 40 {
		if !strings.Contains(seen, fmt.Sprintf("bin/tool%02d", i)) {
			t.Errorf("tool %d is never shown", i)
		}
	}
	if !strings.Contains(seen, `bin/nvcc\ny    nothing\u202e\x1b[2J`) {
		t.Errorf("the hostile name is not spelled out:\n%s", d.text())
	}
	if !strings.Contains(seen, "lines 1-") {
		t.Errorf("the list does not say that it goes on:\n%s", d.text())
	}
}

// TestConsentForTheGates: a sweep that found a tool and could not use it asks too.
func TestConsentForTheGates(t *testing.T) {
	d, e := refusing(t, 80, 24, plainLook, cloned("bin/ptxas"))
	d.press("n")
	e.covers.Files[0].SHA256 = strings.Repeat("dd", 32)
	e.sweeps = true
	if d.press("6", "x"); !d.m.asking() {
		t.Fatal("not asked")
	}
	runs := len(d.e.Asked())
	if d.press("y").hasStatus("judges again"); len(e.agreed) != 1 || len(d.e.Asked()) != runs {
		t.Errorf("agreed %v, %d runs", e.agreed, len(d.e.Asked())-runs)
	}
}
