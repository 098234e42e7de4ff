package tui

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/tui/pane/failure"
	"tilescope/tui/pane/source"
	"tilescope/tui/request"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// Parts of a failure.
const (
	partReasons view.Part = "reasons"
	partFailing view.Part = "failing source"
)

var failureParts = []view.Part{partReasons, partFailing}

// failed is what stands in place of a view where the request on screen could not run: every reason, and the
// source that the one under the cursor points into.
type failed struct {
	*view.Context
	w, body int
	closed  bool // the previous run is looked at instead
	at      view.Part
	zoomed  bool
	pane    *failure.Pane
	source  *source.Pane // below it
}

func newFailed(c *view.Context) *failed {
	return &failed{Context: c, pane: failure.New(c.Theme), source: source.New(c.Theme)}
}

func (f *failed) setTheme(th *theme.Theme) {
	f.pane.SetTheme(th)
	f.source.SetTheme(th)
}

// setSize gives both parts their place.
func (f *failed) setSize(w, body int) {
	f.w, f.body = w, body
	h := f.height()
	if f.zoomed && f.pane.Located() {
		f.pane.SetSize(w, body)
		f.source.SetSize(w, body)
		return
	}
	f.pane.SetSize(w, h)
	f.source.SetSize(w, body-h)
}

// height is the height of the reasons: as much as they take, up to two thirds of the view. Where no reason
// names a place of the source, the reasons have the whole view.
func (f *failed) height() int {
	if !f.pane.Located() {
		return f.body
	}
	return max(5, min(f.pane.Need(f.w), f.body*2/3))
}

func (f *failed) setFocus(p view.Part) {
	f.at = p
	switch p {
	case partReasons:
		f.pane.SetFocus(failure.Reasons)
	case partFailing:
		f.pane.SetFocus(failure.Source)
	default:
		f.pane.SetFocus(-1)
	}
	f.source.SetFocus(p == partFailing)
}

// show gives the panes the failed request: every reason, what can be done, and what became of the run before.
func (f *failed) show() {
	if f.Fail == nil {
		return
	}
	e := f.Fail.Report.Error
	d := failure.Data{Stage: e.Stage, Asked: f.Fail.Asked, Reasons: view.Reasons(e), Hints: f.Remedies(e),
		Before: f.Outcome()}
	if !d.Asked {
		d.Of = request.InFull(f.Fail.Request)
	}
	f.pane.SetData(d)
	f.setSize(f.w, f.body)
	f.follow()
}

// open reports whether the request on screen has failed and the previous run is not looked at instead,
// whether or not the view on screen shows the failure.
func (f *failed) open() bool { return f.Fail != nil && !f.closed }

// close shows the previous run, dimmed, in place of the reasons, and reports whether there is one.
func (f *failed) close() bool {
	if f.Run == nil {
		return false
	}
	f.closed = true
	f.Root.Layout()
	f.Say("the previous run; :failure shows again why the last request could not run")
	return true
}

// reopen is :failure.
func (f *failed) reopen(string) tea.Cmd {
	if f.Fail == nil {
		f.Complain("the request on screen has not failed")
		return nil
	}
	f.closed = false
	f.Root.Layout()
	if !f.Root.Failing() { // a view that shows no failure
		return f.Root.Open(view.Pipe)
	}
	return nil
}

// text is a source's text as the failed request's run has it.
func (f *failed) text(file string) []string {
	if f.Fail == nil || f.Fail.Source == nil {
		return nil
	}
	return f.Fail.Source(file)
}

// patch is what patches have changed of a source, as the failed request has it.
func (f *failed) patch(file string) source.Patch {
	if f.Fail == nil || f.Fail.Patch == nil {
		return source.Patch{}
	}
	return f.Fail.Patch(file)
}

// follow points the source at the reason under the cursor.
func (f *failed) follow() {
	r, ok := f.pane.Selected()
	if !ok {
		return
	}
	note := "failed here"
	if r.File == "" {
		note = ""
	}
	f.source.Show(r.File, f.text(r.File), r.Line, note)
	f.source.SetPatch(f.patch(r.File))
}

// move moves through what went wrong, or the source below.
func (f *failed) move(n int) tea.Cmd {
	if f.at == partFailing {
		return f.Scrolled(f.source.Scroll(n))
	}
	moved := f.pane.Move(n)
	f.follow()
	return f.Scrolled(moved)
}

// lines are the reasons above the source.
func (f *failed) lines() []string {
	switch {
	case f.zoomed && f.pane.Located() && f.at == partFailing:
		return f.source.View()
	case f.zoomed:
		return f.pane.View()
	}
	out := append(make([]string, 0, f.body), f.pane.View()...)
	if f.pane.Located() {
		out = append(out, f.source.View()...)
	}
	return out
}

// click chooses a reason, or the source below.
func (f *failed) click(y int) {
	if f.zoomed && f.at == partFailing {
		return
	}
	if y >= f.height() && !f.zoomed {
		f.Root.Focus(partFailing)
		return
	}
	f.Root.Focus(partReasons)
	if f.pane.Hit(y) {
		f.follow()
	}
}

// wheel goes through the reasons, or scrolls the source.
func (f *failed) wheel(y, rows int) {
	if y >= f.height() && !f.zoomed || f.zoomed && f.at == partFailing {
		f.source.Scroll(rows)
		return
	}
	f.pane.Move(view.Sign(rows))
	f.follow()
}
