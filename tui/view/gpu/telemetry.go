package gpu

import (
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// telemetry is what is known of the machine's GPUs. Devices are asked for once somebody needs them, one
// monitor is open at most, and one sample is under way at most: the next is asked for when it has arrived.
type telemetry struct {
	seq      int // of the monitor: what belongs to another is dropped
	asked    bool
	looking  bool
	list     *debugkern.DeviceList
	err      error
	checks   []report.DoctorCheck
	checking bool

	monitor debugkern.Monitor
	on      int // ordinal that the monitor is for
	opening bool
	monErr  error
	going   bool // a sample or the pause before it is under way
	samples []debugkern.Telemetry
	placed  bool // the pane's cursor was put on the device that runs go to
}

func (t *telemetry) stop() {
	if t.monitor != nil {
		t.monitor.Close()
	}
	t.monitor, t.going, t.opening = nil, false, false
	t.seq++
}

// Past-tense messages of what was asked of the machine.
type (
	devicesMsg struct {
		list *debugkern.DeviceList
		err  error
	}
	checkedMsg struct{ checks []report.DoctorCheck }
	monitorMsg struct {
		seq     int
		monitor debugkern.Monitor
		err     error
	}
	sampledMsg struct {
		seq    int
		sample debugkern.Telemetry
	}
	pulseMsg struct{ seq int }
)

// watched is the device that samples are wanted of: the GPU view's, else the one the status bar shows.
func (v *Controller) watched() (debugkern.Device, bool) {
	if v.known.list == nil || !v.shown() && !v.OnGPU() {
		return debugkern.Device{}, false
	}
	if v.shown() {
		return v.pane.Selected()
	}
	for _, d := range v.known.list.Devices {
		if d.Ordinal == v.Newest().Request.Device {
			return d, true
		}
	}
	return debugkern.Device{}, false
}

// watchGPU asks for what is missing of the GPUs, as far as anything on screen needs it: devices, a monitor, a
// sample.
func (v *Controller) watchGPU() tea.Cmd {
	e, ok := v.Engine.(gpuEngine)
	if !v.shown() && !v.OnGPU() {
		v.known.stop()
		return nil
	}
	if !ok {
		v.known.err = errors.New("this program has no GPU side")
		v.showGPU()
		return nil
	}
	var cmds []tea.Cmd
	if !v.known.asked {
		v.known.asked, v.known.looking = true, true
		ctx := v.Ctx
		cmds = append(cmds, func() tea.Msg {
			list, err := e.Devices(ctx)
			return devicesMsg{list, err}
		})
	}
	if v.shown() && v.known.err != nil && v.known.checks == nil && !v.known.checking {
		v.known.checking = true
		ctx := v.Ctx
		cmds = append(cmds, func() tea.Msg { return checkedMsg{e.Doctor(ctx).Checks} })
	}
	v.showGPU()
	d, wanted := v.watched()
	if wanted && (d.Ordinal != v.known.on || v.known.monitor == nil && v.known.monErr == nil &&
		!v.known.opening) {
		v.known.stop()
		v.known.on, v.known.opening, v.known.monErr, v.known.samples = d.Ordinal, true, nil, nil
		seq := v.known.seq
		cmds = append(cmds, func() tea.Msg {
			mon, err := e.Monitor(d)
			return monitorMsg{seq, mon, err}
		})
	}
	if v.known.monitor != nil && !v.known.going {
		cmds = append(cmds, v.sample())
	}
	v.showGPU()
	return tea.Batch(cmds...)
}

func (v *Controller) sample() tea.Cmd {
	v.known.going = true
	seq, mon := v.known.seq, v.known.monitor
	return func() tea.Msg { return sampledMsg{seq, mon.Sample()} }
}

// gpuMsg takes up what the machine answered.
func (v *Controller) gpuMsg(msg tea.Msg) tea.Cmd {
	g := &v.known
	switch msg := msg.(type) {
	case devicesMsg:
		g.looking, g.list, g.err = false, msg.list, msg.err
		v.showGPU()
		v.Root.Layout() // other parts have the focus where there are devices
	case checkedMsg:
		g.checks, g.checking = msg.checks, false
	case monitorMsg:
		if msg.seq != g.seq {
			if msg.monitor != nil {
				msg.monitor.Close()
			}
			return nil
		}
		g.monitor, g.monErr, g.opening = msg.monitor, msg.err, false
	case sampledMsg:
		if msg.seq != g.seq {
			return nil
		}
		g.samples = append(g.samples, msg.sample)
		if n := len(g.samples) - keptPulse; n > 0 {
			g.samples = append([]debugkern.Telemetry{}, g.samples[n:]...)
		}
		v.showGPU()
		return v.pulse()
	case pulseMsg:
		if msg.seq != g.seq {
			return nil
		}
		g.going = false
	}
	return v.watchGPU()
}

// pulse waits until the next sample is due.
func (v *Controller) pulse() tea.Cmd {
	every := barPulse
	if v.shown() {
		every = viewPulse
	}
	if v.Pace.Pulse != 0 {
		every = v.Pace.Pulse
	}
	if every < 0 {
		return nil // a test asks for the next itself
	}
	seq := v.known.seq
	return tea.Tick(every, func(time.Time) tea.Msg { return pulseMsg{seq} })
}

// showGPU gives the pane what is known.
func (v *Controller) showGPU() {
	g := &v.known
	if !v.shown() {
		return
	}
	d := Data{Active: -1, Looking: g.looking, Checks: g.checks, Again: v.Keys.LabelIn(view.GPU, keymap.Open),
		Every: "up to 4 samples a second", Known: v.Known()}
	if e, ok := v.Engine.(linkEngine); ok {
		d.Link = linkText(e.Link())
	}
	if g.err != nil {
		d.None = g.err.Error()
	}
	if g.list != nil {
		d.Devices, d.Driver = g.list.Devices, g.list.Driver
	}
	if v.OnGPU() {
		d.Active = v.Newest().Request.Device
	}
	if at, ok := v.watched(); ok && at.Ordinal == g.on {
		d.Samples = g.samples
		if g.monErr != nil {
			d.NoNVML = g.monErr.Error()
		}
	}
	v.pane.SetData(d)
	if d.Devices != nil && !g.placed {
		g.placed = true
		v.pane.Select(v.Req.Device)
	}
}

// linkText describes the connection to another machine in words; "" where there is none.
func linkText(l debugkern.LinkStats) string {
	if l.Host == "" {
		return ""
	}
	text := fmt.Sprintf("%s · latency %.1f ms · sent %s, received %s", l.Host,
		float64(l.Latency)/float64(time.Millisecond), bytesText(l.Sent), bytesText(l.Received))
	if l.Raw > 0 {
		text += fmt.Sprintf(" (buffers of %s)", bytesText(l.Raw))
	}
	if l.Lost > 0 {
		text += fmt.Sprintf(" · %d connections lost", l.Lost)
	}
	return text
}

// openGPU is Enter in the GPU view: the same request on the device under the cursor, or another look for one.
func (v *Controller) openGPU() tea.Cmd {
	d, ok := v.pane.Selected()
	if !ok {
		if v.known.looking {
			v.Say("the driver is being queried for its devices")
			return nil
		}
		v.known = telemetry{seq: v.known.seq}
		v.Say("looking for a GPU again")
		return v.watchGPU()
	}
	req := v.NextRequest()
	req.Device = d.Ordinal
	if req.Backend == "emu" {
		req.Backend = "cuda"
	}
	return v.Choose(req, fmt.Sprintf("runs go to GPU %d, %s", d.Ordinal, d.Name))
}

// Gauge is what the status bar shows of the device: its name, then as much as is known of it now.
func (v *Controller) Gauge() (name, state string) {
	name = ShortDevice(v.Newest().Report.Backend.Device)
	g := &v.known
	if !v.OnGPU() || g.monitor == nil || len(g.samples) == 0 || g.on != v.Newest().Request.Device {
		return name, ""
	}
	t := g.samples[len(g.samples)-1]
	var parts []string
	if t.Temperature != debugkern.Unknown {
		parts = append(parts, v.Theme.Celsius(t.Temperature))
	}
	if t.Power != debugkern.Unknown {
		parts = append(parts, fmt.Sprintf("%dW", (t.Power+500)/1000))
	}
	if t.GPUUtil != debugkern.Unknown {
		parts = append(parts, fmt.Sprintf("%d%%", t.GPUUtil))
	}
	return name, strings.Join(parts, " ")
}

// Facts are the device's figures beside a tile.
func (v *Controller) Facts() [][2]string {
	name, state := v.Gauge()
	out := [][2]string{{"device", name}}
	g := &v.known
	switch {
	case state != "":
		t := g.samples[len(g.samples)-1]
		out = append(out, [2]string{"now", state}, [2]string{"clock",
			fmt.Sprintf("%d of %d MHz", t.SMClock, t.MaxSMClock)})
		reasons := "no"
		if t.Slowed {
			reasons = v.Theme.Glyph.Wrong + " " + strings.Join(t.Throttle, ", ")
		}
		out = append(out, [2]string{"throttled", reasons})
	case g.monErr != nil:
		out = append(out, [2]string{"now", g.monErr.Error()})
	}
	return out
}

// ShortDevice is a device's name without its maker's.
func ShortDevice(name string) string {
	return strings.TrimPrefix(name, "NVIDIA ")
}
