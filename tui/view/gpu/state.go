package gpu

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/tui/theme"
)

// gauge is one number of a device over time.
type gauge struct {
	name string
	text string
	of   func(*debugkern.Telemetry) int // Unknown where it is not reported
	top  int                            // full scale; 0: the largest seen
}

// gauges are the lines of a device's state.
func (p *Pane) gauges(t *debugkern.Telemetry) []gauge {
	of := func(n, limit int, unit string) string {
		switch {
		case n == debugkern.Unknown:
			return "not reported"
		case limit > 0:
			return fmt.Sprintf("%d %s of %d", n, unit, limit)
		}
		return fmt.Sprintf("%d %s", n, unit)
	}
	watts := func(mw int) int {
		if mw == debugkern.Unknown {
			return mw
		}
		return (mw + 500) / 1000
	}
	used := int(debugkern.Unknown)
	if t.MemUsed >= 0 && t.MemTotal > 0 {
		used = int(100 * t.MemUsed / t.MemTotal)
	}
	memory := "not reported"
	if used >= 0 {
		memory = fmt.Sprintf("%s of %s", bytesText(t.MemUsed), bytesText(t.MemTotal))
	}
	temperature := "not reported"
	if t.Temperature != debugkern.Unknown {
		temperature = p.Theme.Celsius(t.Temperature)
	}
	return []gauge{
		{"SM clock", of(t.SMClock, t.MaxSMClock, "MHz"),
			func(t *debugkern.Telemetry) int { return t.SMClock }, t.MaxSMClock},
		{"memory clock", of(t.MemClock, t.MaxMemClock, "MHz"),
			func(t *debugkern.Telemetry) int { return t.MemClock }, t.MaxMemClock},
		{"power", of(watts(t.Power), watts(t.PowerLimit), "W"),
			func(t *debugkern.Telemetry) int { return t.Power }, t.PowerLimit},
		{"temperature", temperature, func(t *debugkern.Telemetry) int { return t.Temperature }, 100},
		{"busy", of(t.GPUUtil, 0, "%"), func(t *debugkern.Telemetry) int { return t.GPUUtil }, 100},
		{"memory busy", of(t.MemUtil, 0, "%"), func(t *debugkern.Telemetry) int { return t.MemUtil }, 100},
		{"memory used", memory, func(t *debugkern.Telemetry) int {
			if t.MemUsed < 0 || t.MemTotal <= 0 {
				return debugkern.Unknown
			}
			return int(100 * t.MemUsed / t.MemTotal)
		}, 100},
	}
}

// state is the numbers of the device under the cursor, each with its history.
func (p *Pane) state(w, h int) []string {
	t := p.last()
	d, _ := p.Selected()
	title := fmt.Sprintf("STATE OF GPU %d", d.Ordinal)
	if t == nil {
		text := p.data.NoNVML
		if text == "" {
			text = "waiting for the first sample"
		} else {
			text += ". Kernels run and are timed without it; clocks, power and temperature during them are what is missing."
		}
		var lines []string
		for _, s := range p.Theme.Wrap(text, w-4) {
			lines = append(lines, p.Theme.Line(w-2).Space(1).Add(p.Theme.Text, s).Done())
		}
		return p.Theme.Box(title, "", lines, w, h, false)
	}
	var lines []string
	for _, g := range p.gauges(t) {
		l := p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, g.name).Pad(15).
			Add(p.Theme.Text, p.Theme.Fit(g.text, 24)).Pad(40)
		p.history(l, g)
		lines = append(lines, l.Done())
	}
	lines = append(lines, p.fact(w-2, "speed state", performance(t.PerformanceState), p.Theme.Text))
	lines = append(lines, p.slowed(w-2, t))
	if isMIG(d, t) {
		for i, s := range p.Theme.Wrap(migText(d), w-2-16) {
			name := "MIG"
			if i > 0 {
				name = ""
			}
			lines = append(lines, p.fact(w-2, name, s, p.Theme.Taint))
		}
	}
	return p.Theme.Box(title, p.data.Every, lines, w, h, false)
}

func (p *Pane) fact(w int, name, text string, s theme.Style) string {
	return p.Theme.Line(w).Space(1).Add(p.Theme.Dim, name).Pad(15).Add(s, p.Theme.Fit(text, w-16)).Done()
}

func performance(state int) string {
	switch {
	case state < 0 || state > 15:
		return "not reported"
	case state == 0:
		return "P0, the fastest"
	}
	return fmt.Sprintf("P%d (P0 is the fastest)", state)
}

// slowed says why the clock is lower than it could be, and whether that is a slowdown: a slow clock
// is not a slow kernel.
func (p *Pane) slowed(w int, t *debugkern.Telemetry) string {
	reasons := strings.Join(t.Throttle, ", ")
	switch {
	case t.Slowed:
		return p.fact(w, "throttled", p.Theme.Glyph.Wrong+" "+reasons, p.Theme.Wrong)
	case reasons != "":
		return p.fact(w, "throttled", p.Theme.Glyph.OK+" no: "+reasons, p.Theme.Text)
	}
	return p.fact(w, "throttled", p.Theme.Glyph.OK+" no", p.Theme.OK)
}

// history draws a gauge's last samples, one a column, newest at the right; what was not
// reported leaves a gap.
func (p *Pane) history(l *theme.Line, g gauge) {
	n := l.Left() - 1
	if n < 4 {
		return
	}
	all := p.data.Samples
	all = all[max(0, len(all)-n):]
	top := g.top
	for i := range all {
		top = max(top, g.of(&all[i]))
	}
	l.Space(n - len(all))
	bars := p.Theme.Glyph.Spark
	for i := range all {
		v := g.of(&all[i])
		if v < 0 || top <= 0 {
			l.Space(1)
			continue
		}
		level := (v*(len(bars)-1) + top/2) / top
		l.Glyph(p.Theme.Accent, bars[max(1, min(level, len(bars)-1))])
	}
}
