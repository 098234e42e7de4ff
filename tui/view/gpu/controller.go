package gpu

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// gpuEngine is what an engine may know of the machine's GPUs.
type gpuEngine interface {
	Devices(ctx context.Context) (*debugkern.DeviceList, error)
	Monitor(d debugkern.Device) (debugkern.Monitor, error)
	Doctor(ctx context.Context) *report.Doctor
}

// linkEngine is an engine whose workers may run on another machine.
type linkEngine interface{ Link() debugkern.LinkStats }

var (
	_ gpuEngine  = (*debugkern.Session)(nil)
	_ linkEngine = (*debugkern.Session)(nil)
)

// Pace of telemetry: what the GPU view shows moves, the status bar changes less often.
const (
	viewPulse = 250 * time.Millisecond
	barPulse  = time.Second
	keptPulse = 480 // samples: two minutes of the view
)

// Parts of the view, as the pane counts them.
const (
	partDevices   view.Part = "devices"
	partProcesses view.Part = "processes"
	partChecks    view.Part = "doctor"
)

var parts = []view.Part{Devices: partDevices, Processes: partProcesses, Checks: partChecks}

// Controller is the GPU view.
type Controller struct {
	*view.Context
	view.OnePane
	pane  *Pane
	known telemetry
}

// New returns the GPU view.
func New(c *view.Context) *Controller {
	p := NewPane(c.Theme)
	return &Controller{Context: c, OnePane: view.NewOnePane(p, parts), pane: p}
}

// Layer implements view.View.
func (v *Controller) Layer() keymap.Layer {
	return keymap.Layer{Name: view.GPU, Uses: []keymap.Use{{Action: keymap.Open,
		Help: "run on this device; where there is none, look for one again", Hint: "run or look again"}}}
}

// Actions implements view.View.
func (v *Controller) Actions() map[keymap.Action]func(string) tea.Cmd {
	return map[keymap.Action]func(string) tea.Cmd{keymap.Open: func(string) tea.Cmd { return v.openGPU() }}
}

// Parts implements view.View: the checks stand in the place of devices and their processes.
func (v *Controller) Parts() []view.Part {
	if v.known.list == nil {
		return []view.Part{partChecks}
	}
	return []view.Part{partDevices, partProcesses}
}

// Move moves through the devices, or scrolls what has the focus.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	if v.Focused() != partDevices {
		return v.Scrolled(v.pane.Scroll(rows + cols))
	}
	if !v.pane.Move(rows + cols) {
		return v.Scrolled(false)
	}
	return v.watchGPU()
}

// Click chooses a device; a second click on the same one runs there.
func (v *Controller) Click(x, y int) tea.Cmd {
	was, _ := v.pane.Selected()
	where, ok := v.pane.Hit(x, y)
	v.Root.Focus(parts[where])
	if now, _ := v.pane.Selected(); ok && was == now {
		return v.openGPU()
	}
	return v.watchGPU()
}

// Wheel implements view.View.
func (v *Controller) Wheel(_, _, rows, _ int) tea.Cmd {
	v.pane.Scroll(rows)
	return nil
}

// Text implements view.Copier.
func (v *Controller) Text() string { return v.pane.Text() }

// Close implements view.Closer.
func (v *Controller) Close() { v.known.stop() }

// shown reports whether the view is on screen.
func (v *Controller) shown() bool { return v.Root.Showing() == view.GPU }

// Update implements view.View.
func (v *Controller) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case view.Shown, view.Ran, view.Failed:
		return v.watchGPU()
	case view.Drawn, view.RequestChanged:
		v.showGPU()
	case view.HostChanged:
		v.known.stop()
		v.known = telemetry{seq: v.known.seq}
		return v.watchGPU()
	case devicesMsg, checkedMsg, monitorMsg, sampledMsg, pulseMsg:
		return v.gpuMsg(msg)
	}
	return nil
}
