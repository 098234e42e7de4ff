package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/probes"
	"tilescope/tui/theme"
)

// crumb is one part of the top line's left end.
type crumb struct {
	style theme.Style
	text  string
}

// corner is a form of the top line's right end, and which deviations of the request it shows itself.
type corner struct {
	text  string
	shows []string
}

// crumbs: ts▸stage2▸p-stale-m▸S=QKᵀ▸cta 3,1▸kv 2            mission seed 0  ✗ diverge P  ●emu
//
// Everything that changes what runs and differs from the default is there at every width: in full while there is room, then in
// short forms, and what even so does not fit is counted.
func (m *Model) crumbs() string {
	left, right := m.arranged()
	l := m.th.Line(m.w).Add(m.th.BarStrong, "ts")
	for _, c := range left {
		l.Add(m.th.BarDim, m.th.Glyph.Crumb).Add(c.style, c.text)
	}
	if n := m.th.Width(right); n+1 < l.Left() {
		l.Repeat(m.th.Bar, " ", l.Left()-n-1)
		l.Add(m.th.Bar, right)
	}
	return l.DoneIn(m.th.Bar)
}

// arranged are the top line's two ends in the longest forms that fit the width together.
func (m *Model) arranged() (left []crumb, right string) {
	corners := m.corners()
	for _, form := range []struct{ state, place bool }{{false, false}, {false, true}, {true, true}} {
		for _, c := range corners {
			left = m.leftEnd(form.state, form.place, c.shows)
			if m.fits(left, c.text) {
				return left, c.text
			}
		}
	}
	c := corners[len(corners)-1]
	return m.cutLeft(c), c.text
}

func (m *Model) fits(left []crumb, right string) bool {
	n := 2 + len(left)
	for _, c := range left {
		n += m.th.Width(c.text)
	}
	return n+2+m.th.Width(right) <= m.w
}

// leftEnd is target, state and place, the latter two in short forms where that is asked for; what the right
// end shows is left out.
func (m *Model) leftEnd(shortState, shortPlace bool, shown []string) []crumb {
	out := []crumb{{m.th.Bar, shortTarget(m.req.Target)}}
	return append(append(out, m.stateCrumbs(shortState, shown)...), m.placeCrumbs(shortPlace)...)
}

// cutLeft is the shortest left end with as much of the state as fits on the line with c, and a count of the rest.
func (m *Model) cutLeft(c corner) []crumb {
	target := crumb{m.th.Bar, m.th.Fit(shortTarget(m.req.Target), 16)}
	state, place := m.stateCrumbs(true, c.shows), m.placeCrumbs(true)
	for n := len(state) - 1; n >= 0; n-- {
		more := crumb{m.th.BarStrong, m.th.Glyph.Ellipsis + "+" + strconv.Itoa(len(state)-n)}
		out := append(append([]crumb{target}, state[:n]...), more)
		if with := append(slices.Clone(out), place...); m.fits(with, c.text) {
			return with
		}
		if n == 0 {
			return out
		}
	}
	return append([]crumb{target}, place...)
}

// stateCrumbs are the request's deviations from the default.
func (m *Model) stateCrumbs(short bool, shown []string) []crumb {
	var out []crumb
	for _, d := range deviations(m.req) {
		if slices.Contains(shown, d.name) {
			continue
		}
		if d.name == "schedule" && m.replaying.on { // it leads: nobody asked for it by name
			out = slices.Insert(out, 0, crumb{m.th.BarStrong, "replay " + d.short})
			continue
		}
		text := d.long
		if short {
			text = d.short
		}
		out = append(out, crumb{m.th.BarStrong, text})
	}
	return out
}

// placeCrumbs are where the cursor is in the run on screen.
func (m *Model) placeCrumbs(short bool) []crumb {
	if m.run == nil {
		return nil
	}
	style := m.th.Bar
	if !m.current() {
		style = m.th.BarDim
	}
	at := m.at()
	stage, cta, kv := m.formula(at.Stage), "cta ", "kv "
	if short {
		stage, cta, kv = at.Stage.String(), "", "kv"
	}
	out := []crumb{{style, stage}, {style, cta + shortBlock(at.Block, m.run.plan.Grid)}}
	if sp := m.run.plan.Stage(at.Stage); sp != nil && sp.PerTile {
		out = append(out, crumb{style, kv + strconv.Itoa(at.KVTile)})
	}
	return out
}

// corners are the forms of the right end, longest first: shape and seed, how the request stands, backend,
// device and its state. The verdict is the request's own, never an earlier run's, and is in every form.
func (m *Model) corners() []corner {
	shape := shapeName(m.req)
	long := shape + " seed " + strconv.FormatUint(m.req.Seed, 10)
	both, one := []string{"shape", "seed"}, []string{"shape"}
	o := m.outcome()
	if o.Report() == nil && m.fail == nil {
		return []corner{{long, both}, {shape, one}, {"", nil}}
	}
	if m.w < 100 {
		long = shape
		both = one
	}
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
	}
	verdict := m.state()
	if m.fail != nil {
		verdict = m.th.Glyph.Wrong + " failed"
	}
	r := o.Current()
	if r == nil { // what the run on screen ran on is not known to be what the request runs on
		return []corner{{join(long, verdict), both}, {join(shape, verdict), one}, {verdict, nil}}
	}
	verdict = m.th.VerdictMark(r.Verdict) + " " + r.Verdict
	if len(r.Guilty) > 0 {
		verdict += " " + r.Guilty[0].Stage
	}
	backend := m.th.Glyph.Dot + r.Backend.Name
	device, state := m.deviceText()
	if !m.onGPU() { // the emulator's name is long, and says nothing that its mark does not
		out := []corner{{join(long, verdict, backend), both}, {join(shape, verdict, backend), one}, {join(verdict, backend), nil}}
		if m.w >= 110 {
			out = append([]corner{{join(long, verdict, backend+" "+device), both}}, out...)
		}
		return out
	}
	whole := join(strings.TrimSpace(device + " " + state))
	return []corner{
		{join(long, verdict, backend, whole), both}, {join(shape, verdict, backend, whole), one}, {join(verdict, backend, whole), nil},
		{join(verdict, backend, state), nil}, {join(verdict, backend), nil},
	}
}

// shortTarget is a target's name, of a path its last part.
func shortTarget(target string) string {
	return target[strings.LastIndexAny(target, `/\`)+1:]
}

func shortBlock(b, grid probes.Dim3) string {
	if grid[2] <= 1 {
		return fmt.Sprintf("%d,%d", b[0], b[1])
	}
	return b.String()
}
