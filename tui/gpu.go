package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/gpu"
)

// gpuEngine is what an engine may know of the machine's GPUs.
type gpuEngine interface {
	Devices(ctx context.Context) (*debugkern.DeviceList, error)
	Monitor(d debugkern.Device) (debugkern.Monitor, error)
	Doctor(ctx context.Context) *debugkern.DoctorDoc
}

var _ gpuEngine = (*debugkern.Session)(nil)

// Pace of telemetry: what the GPU view shows moves, the status bar only tells.
const (
	viewPulse = 250 * time.Millisecond
	barPulse  = time.Second
	keptPulse = 480 // samples: two minutes of the view
)

// telemetry is what is known of the machine's GPUs. Devices are asked for once somebody needs them, one monitor is open at
// most, and one sample is under way at most: the next is asked for when it has arrived.
type telemetry struct {
	seq      int // of the monitor: what belongs to another is dropped
	asked    bool
	looking  bool
	list     *debugkern.DeviceList
	err      error
	checks   []debugkern.DoctorCheck
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
	checkedMsg struct{ checks []debugkern.DoctorCheck }
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

// onGPU reports whether what ran last, well or not, was executed by a GPU.
func (m *Model) onGPU() bool {
	r := m.newest()
	if r == nil {
		return false
	}
	name := r.report.Backend.Name
	return name == "cuda" || name == "both"
}

// watched is the device that samples are wanted of: the GPU view's, else the one the status bar tells of.
func (m *Model) watched() (debugkern.Device, bool) {
	if m.gpu.list == nil || m.view != keymap.GPU && !m.onGPU() {
		return debugkern.Device{}, false
	}
	if m.view == keymap.GPU {
		return m.pane.gpu.Selected()
	}
	for _, d := range m.gpu.list.Devices {
		if d.Ordinal == m.newest().request.Device {
			return d, true
		}
	}
	return debugkern.Device{}, false
}

// watchGPU asks for what is missing of the GPUs, as far as anything on screen needs it: devices, a monitor, a sample.
func (m *Model) watchGPU() tea.Cmd {
	e, ok := m.opt.Engine.(gpuEngine)
	if m.view != keymap.GPU && !m.onGPU() {
		m.gpu.stop()
		return nil
	}
	if !ok {
		m.gpu.err = errors.New("this program has no GPU side")
		m.showGPU()
		return nil
	}
	var cmds []tea.Cmd
	if !m.gpu.asked {
		m.gpu.asked, m.gpu.looking = true, true
		ctx := m.ctx
		cmds = append(cmds, func() tea.Msg {
			list, err := e.Devices(ctx)
			return devicesMsg{list, err}
		})
	}
	if m.view == keymap.GPU && m.gpu.err != nil && m.gpu.checks == nil && !m.gpu.checking {
		m.gpu.checking = true
		ctx := m.ctx
		cmds = append(cmds, func() tea.Msg { return checkedMsg{e.Doctor(ctx).Checks} })
	}
	m.showGPU()
	d, wanted := m.watched()
	if wanted && (d.Ordinal != m.gpu.on || m.gpu.monitor == nil && m.gpu.monErr == nil && !m.gpu.opening) {
		m.gpu.stop()
		m.gpu.on, m.gpu.opening, m.gpu.monErr, m.gpu.samples = d.Ordinal, true, nil, nil
		seq := m.gpu.seq
		cmds = append(cmds, func() tea.Msg {
			mon, err := e.Monitor(d)
			return monitorMsg{seq, mon, err}
		})
	}
	if m.gpu.monitor != nil && !m.gpu.going {
		cmds = append(cmds, m.sample())
	}
	m.showGPU()
	return tea.Batch(cmds...)
}

func (m *Model) sample() tea.Cmd {
	m.gpu.going = true
	seq, mon := m.gpu.seq, m.gpu.monitor
	return func() tea.Msg { return sampledMsg{seq, mon.Sample()} }
}

// gpuMsg takes up what the machine answered.
func (m *Model) gpuMsg(msg tea.Msg) tea.Cmd {
	g := &m.gpu
	switch msg := msg.(type) {
	case devicesMsg:
		g.looking, g.list, g.err = false, msg.list, msg.err
		m.showGPU()
		m.resize(m.w, m.h) // other parts have the focus where there are devices
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
		m.showGPU()
		return m.pulse()
	case pulseMsg:
		if msg.seq != g.seq {
			return nil
		}
		g.going = false
	}
	return m.watchGPU()
}

// pulse waits until the next sample is due.
func (m *Model) pulse() tea.Cmd {
	every := barPulse
	if m.view == keymap.GPU {
		every = viewPulse
	}
	if m.opt.pulse != 0 {
		every = m.opt.pulse
	}
	if every < 0 {
		return nil // a test asks for the next itself
	}
	seq := m.gpu.seq
	return tea.Tick(every, func(time.Time) tea.Msg { return pulseMsg{seq} })
}

// showGPU gives the pane what is known.
func (m *Model) showGPU() {
	g := &m.gpu
	if m.view != keymap.GPU {
		return
	}
	d := gpu.Data{Active: -1, Looking: g.looking, Checks: g.checks, Again: m.keys.Label(keymap.Open), Every: "up to 4 samples a second"}
	if g.err != nil {
		d.None = g.err.Error()
	}
	if g.list != nil {
		d.Devices, d.Driver = g.list.Devices, g.list.Driver
	}
	if m.onGPU() {
		d.Active = m.newest().request.Device
	}
	if at, ok := m.watched(); ok && at.Ordinal == g.on {
		d.Samples = g.samples
		if g.monErr != nil {
			d.NoNVML = g.monErr.Error()
		}
	}
	m.pane.gpu.SetData(d)
	if d.Devices != nil && !g.placed {
		g.placed = true
		m.pane.gpu.Select(m.req.Device)
	}
}

// openGPU is Enter in the GPU view: the same request on the device under the cursor, or another look for one.
func (m *Model) openGPU() tea.Cmd {
	d, ok := m.pane.gpu.Selected()
	if !ok {
		if m.gpu.looking {
			m.say("the driver is being asked for its devices")
			return nil
		}
		m.gpu = telemetry{seq: m.gpu.seq}
		m.say("looking for a GPU again")
		return m.watchGPU()
	}
	req := m.nextRequest()
	req.Device = d.Ordinal
	if req.Backend == "emu" {
		req.Backend = "cuda"
	}
	return m.choose(req, fmt.Sprintf("runs go to GPU %d, %s", d.Ordinal, d.Name))
}

// moveGPU moves through the devices, or scrolls what has the focus.
func (m *Model) moveGPU(n int) tea.Cmd {
	if m.focused() != partDevices {
		return m.scrolled(m.pane.gpu.Scroll(n))
	}
	if !m.pane.gpu.Move(n) {
		return m.scrolled(false)
	}
	return m.watchGPU()
}

// deviceText is what the status bar tells of the device: its name, then as much as is known of it now.
func (m *Model) deviceText() (name, state string) {
	name = shortDevice(m.newest().report.Backend.Device)
	g := &m.gpu
	if !m.onGPU() || g.monitor == nil || len(g.samples) == 0 || g.on != m.newest().request.Device {
		return name, ""
	}
	t := g.samples[len(g.samples)-1]
	var parts []string
	if t.Temperature != debugkern.Unknown {
		parts = append(parts, m.th.Celsius(t.Temperature))
	}
	if t.Power != debugkern.Unknown {
		parts = append(parts, fmt.Sprintf("%dW", (t.Power+500)/1000))
	}
	if t.GPUUtil != debugkern.Unknown {
		parts = append(parts, fmt.Sprintf("%d%%", t.GPUUtil))
	}
	return name, strings.Join(parts, " ")
}

// deviceFacts are the device's figures beside a tile.
func (m *Model) deviceFacts() [][2]string {
	name, state := m.deviceText()
	out := [][2]string{{"device", name}}
	g := &m.gpu
	switch {
	case state != "":
		t := g.samples[len(g.samples)-1]
		out = append(out, [2]string{"now", state}, [2]string{"clock", fmt.Sprintf("%d of %d MHz", t.SMClock, t.MaxSMClock)})
		reasons := "no"
		if t.Slowed {
			reasons = m.th.Glyph.Wrong + " " + strings.Join(t.Throttle, ", ")
		}
		out = append(out, [2]string{"throttled", reasons})
	case g.monErr != nil:
		out = append(out, [2]string{"now", g.monErr.Error()})
	}
	return out
}

// shortDevice is a device's name without its maker's.
func shortDevice(name string) string {
	return strings.TrimPrefix(name, "NVIDIA ")
}
