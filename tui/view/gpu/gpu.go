// Package gpu is the GPU view's pane: the machine's devices, one device's state with its history, the
// processes on it; and where there is no device, why, what the emulator does instead, and what to install.
//
// The one idea: it draws samples it is given and never asks for one, so how often a device is looked at is
// decided in one place, outside.
//
// It must not know sessions, NVML or keys.
package gpu

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// Panes of the view, as focus counts them.
const (
	Devices   = iota // the list of devices
	Processes        // what runs on the one under the cursor
	Checks           // where there is no device: what was looked for
)

// Data is what is shown.
type Data struct {
	Devices []debugkern.Device
	Driver  string // CUDA version
	Active  int    // ordinal of the device that runs go to, -1 for none
	Samples []debugkern.Telemetry
	Every   string // how often samples are taken, in words
	NoNVML  string // why there are no samples
	None    string // why there is no device
	Looking bool   // the devices are being asked for
	Checks  []report.DoctorCheck
	Link    string      // the connection to another machine, whose devices these are; "" where there is none
	Again   string      // the key that looks once more
	Known   []view.Fact // what the run on screen has shown
}

// Pane draws the view.
type Pane struct {
	theme.Frame[int]
	data   Data
	at     int      // the device under the cursor
	scroll int      // first process, or first check
	checks []string // drawn, where there is no device
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, 0)} }

// SetData shows other samples or devices.
func (p *Pane) SetData(d Data) {
	p.data, p.Changed = d, true
	p.at = max(0, min(p.at, len(d.Devices)-1))
}

// Selected is the device under the cursor.
func (p *Pane) Selected() (debugkern.Device, bool) {
	if p.at < len(p.data.Devices) {
		return p.data.Devices[p.at], true
	}
	return debugkern.Device{}, false
}

// Select puts the cursor on a device by its ordinal.
func (p *Pane) Select(ordinal int) {
	for i, d := range p.data.Devices {
		if d.Ordinal == ordinal && i != p.at {
			p.at, p.Changed = i, true
		}
	}
}

// Move moves the cursor through the devices and reports whether it moved.
func (p *Pane) Move(n int) bool {
	to := max(0, min(p.at+n, len(p.data.Devices)-1))
	moved := to != p.at
	p.at, p.Changed = to, p.Changed || moved
	return moved
}

// Text is the device under the cursor and its state, or why there is none, as plain text for copying.
func (p *Pane) Text() string {
	d, ok := p.Selected()
	if !ok {
		out := p.data.None + "\n"
		for _, c := range p.data.Checks {
			out += fmt.Sprintf("%s\t%v\t%s\n", c.Name, c.OK, strings.TrimSpace(c.Version+" "+c.Detail))
		}
		return out
	}
	out := fmt.Sprintf("GPU %d\t%s %s %s, CUDA %s\n", d.Ordinal, d.Name, d.Arch, d.PCI, p.data.Driver)
	t := p.last()
	if t == nil {
		return out + p.data.NoNVML + "\n"
	}
	for _, g := range p.gauges(t) {
		out += g.name + "\t" + g.text + "\n"
	}
	return out + "throttled\t" + strings.Join(t.Throttle, ", ") + "\n"
}

// Scroll moves the processes, or the checks where there is no device, and reports whether they moved.
func (p *Pane) Scroll(n int) bool {
	total, shown := len(p.checks), p.checksHeight()
	if len(p.data.Devices) > 0 {
		total, shown = len(p.processes()), p.processesHeight()
	}
	to := max(0, min(p.scroll+n, total-shown))
	moved := to != p.scroll
	p.scroll, p.Changed = to, p.Changed || moved
	return moved
}

// last is the newest sample, nil where there is none.
func (p *Pane) last() *debugkern.Telemetry {
	if n := len(p.data.Samples); n > 0 {
		return &p.data.Samples[n-1]
	}
	return nil
}

func (p *Pane) processes() []debugkern.GPUProcess {
	if t := p.last(); t != nil {
		return t.Processes
	}
	return nil
}

// wideFrom is the width from which devices stand beside the state.
const wideFrom = 112

// listWidth is the width of the column of devices, the whole pane's where it is narrow.
func (p *Pane) listWidth() int {
	if p.W < wideFrom || p.Zoomed {
		return p.W
	}
	return max(46, p.W*2/5)
}

// listHeight is the height of the list of devices, borders included.
func (p *Pane) listHeight() int {
	n := len(p.data.Devices)
	if p.Zoomed {
		return min(n, p.H/2) + 2
	}
	if p.W < wideFrom {
		return min(n, max(1, p.H-stateLines-5)) + 2
	}
	return min(n, p.H/3) + 2
}

// stateLines is the height of a device's state, without borders.
const stateLines = 11

// processesHeight is how many processes are shown.
func (p *Pane) processesHeight() int {
	if p.Zoomed && p.Focus == Processes {
		return max(0, p.H-2)
	}
	h := p.H - stateLines - 2 - 2
	if p.W < wideFrom {
		h -= p.listHeight()
	}
	return max(0, h)
}

// Hit maps a place on the pane to the part there, and selects the device drawn there.
func (p *Pane) Hit(x, y int) (part int, ok bool) {
	switch {
	case len(p.data.Devices) == 0:
		return Checks, false
	case p.Zoomed && p.Focus == Processes:
		return Processes, false
	case x < p.listWidth() && y < p.listHeight():
		i := p.first() + y - 1
		ok = y >= 1 && y < p.listHeight()-1 && i < len(p.data.Devices)
		if ok && i != p.at {
			p.at, p.Changed = i, true
		}
		return Devices, ok
	}
	return Processes, false
}

// first is the first device shown.
func (p *Pane) first() int { return max(0, p.at-(p.listHeight()-2)+1) }
