package gpu_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/gpu"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *gpu.Controller {
	return viewtest.View[*gpu.Controller](d, view.GPU)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.GPU, viewtest.Request(viewtest.Faulty)) }

// TestDoctorAlone: without a device the list of checks is what is enlarged.
func TestDoctorAlone(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty)).Press("7", "Z")
	d.Fits("the doctor alone")
	if s := d.Text(); strings.Contains(s, "NO GPU") || !strings.Contains(s, "DOCTOR") {
		t.Errorf("not the doctor alone:\n%s", s)
	}
	d.Press("G").Fits("its end")
	d.Press("Z").Says("NO GPU", "DOCTOR")
}

// pulses lets n samples be taken.
func pulses(d *viewtest.Driver, n int) *viewtest.Driver {
	for range n {
		d.Send(control(d).Pulse())
	}
	return d
}

func TestGPUScreens(t *testing.T) {
	for _, size := range viewtest.Sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := pulses(
				viewtest.Start(t, size[0], size[1], viewtest.Engine((*tuitest.Engine).TwoH200),
					viewtest.Device("cuda", 0)).Press("7"), 40)
			d.Fits("GPU")
			golden.RequireEqual(t, d.Text()+"\n")
		})
	}
}

// TestGPUFits draws every view with a device in the status bar, and every state of the GPU
// view, at every size.
func TestGPUFits(t *testing.T) {
	states := map[string]func(*viewtest.Driver){
		"sampled": func(d *viewtest.Driver) { pulses(d.Press("7"), 300) },
		"second":  func(d *viewtest.Driver) { pulses(d.Press("7", "j"), 3) },
		"no NVML": func(d *viewtest.Driver) {
			d.E.GPU.MonErr = errors.New("no NVML: " +
				strings.Repeat("this user may not talk to the driver ", 9))
			d.Press("7")
		},
		"elsewhere": func(d *viewtest.Driver) { pulses(d.Press("2"), 2) },
	}
	for name, to := range states {
		d := viewtest.Start(t, 80, 24, viewtest.Engine((*tuitest.Engine).TwoH200), viewtest.Device("cuda", 0))
		to(d)
		for _, w := range []int{80, 81, 100, 111, 112, 113, 120, 160, 200, 300} {
			for _, h := range []int{24, 25, 30, 40, 60, 90} {
				d.Resize(w, h)
				d.Fits(name)
			}
		}
	}
}

func TestTelemetryIsSampledOnlyWhereItIsShown(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Engine((*tuitest.Engine).TwoH200))
	if d.E.GPU.Asked != 0 {
		t.Error("devices were asked for though nothing shows one")
	}
	d.Press("7")
	mon := d.E.GPU.Mon
	if d.E.GPU.Asked != 1 || mon == nil || mon.N != 1 {
		t.Fatalf("asked %d times, monitor %+v", d.E.GPU.Asked, mon)
	}
	if pulses(d, 5); mon.N != 6 || control(d).Samples() != 6 {
		t.Errorf("%d samples taken, %d kept", mon.N, control(d).Samples())
	}
	d.Press("7", "tab", "tab") // nothing of this asks for a second sample beside the one awaited
	if mon.N != 6 {
		t.Errorf("%d samples: they are not coalesced", mon.N)
	}
	pulses(d.Press("1"), 3) // an emulator's run needs no device
	if !mon.Closed || mon.N != 6 {
		t.Errorf("still sampling elsewhere: %+v", mon)
	}
	pulses(d.Press("7"), 1)
	if again := d.E.GPU.Mon; again == mon || again.N != 2 || d.E.GPU.Asked != 1 {
		t.Errorf("back in the view: %+v, asked %d times", again, d.E.GPU.Asked)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	d := pulses(viewtest.Start(t, 80, 24, viewtest.Engine((*tuitest.Engine).TwoH200)).Press("7"),
		gpu.KeptPulse+25)
	if n := control(d).Samples(); n != gpu.KeptPulse {
		t.Errorf("%d samples kept", n)
	}
}

func TestStatusBarTellsOfTheDevice(t *testing.T) {
	d := pulses(viewtest.Start(t, 120, 40, viewtest.Engine((*tuitest.Engine).TwoH200),
		viewtest.Device("cuda", 0)), 2)
	bar, _, _ := strings.Cut(d.Text(), "\n")
	for _, want := range []string{"●GPU", "H200", "43°C", "348W", "51%"} {
		if !strings.Contains(bar, want) {
			t.Errorf("the bar does not say %q: %s", want, bar)
		}
	}
	if strings.Contains(bar, "NVIDIA") {
		t.Errorf("the maker's name takes room: %s", bar)
	}
	d.Resize(80, 24)
	if bar, _, _ = strings.Cut(d.Text(), "\n"); !strings.Contains(bar, "●GPU") ||
		!strings.Contains(bar, "43°C") {
		t.Errorf("at 80 columns: %s", bar)
	}
	emu := viewtest.Start(t, 80, 24)
	if bar, _, _ = strings.Cut(emu.Text(), "\n"); !strings.Contains(bar, "●emulator") {
		t.Errorf("the emulator's bar: %s", bar)
	}
}

func TestChoosingADeviceRunsThere(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Engine((*tuitest.Engine).TwoH200), viewtest.Device("emu", 0)).
		Press("7", "j", "enter")
	if got := d.Last(); got.Device != 1 || got.Backend != "cuda" {
		t.Fatalf("ran on device %d of %s", got.Device, got.Backend)
	}
	pulses(d, 1)
	for _, want := range []string{"MIG", "not reported", "✗ power limit, temperature (hardware)"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("the second device's state does not say %q:\n%s", want, d.Text())
		}
	}
	d.Send(tea.MouseClickMsg{X: 4, Y: viewtest.Top + 1, Button: tea.MouseLeft})
	if sel, _ := control(d).Pane().Selected(); sel.Ordinal != 0 {
		t.Errorf("the click chose device %d", sel.Ordinal)
	}
	d.Send(tea.MouseClickMsg{X: 4, Y: viewtest.Top + 1, Button: tea.MouseLeft})
	if got := d.Last(); got.Device != 0 || got.Backend != "cuda" {
		t.Errorf("the second click ran on device %d", got.Device)
	}
}

// TestTheViewOpensOnTheRunsDevice: the list was asked for by the status bar, before the view was seen.
func TestTheViewOpensOnTheRunsDevice(t *testing.T) {
	d := pulses(viewtest.Start(t, 80, 24, viewtest.Engine((*tuitest.Engine).TwoH200),
		viewtest.Device("cuda", 1)), 2)
	mon := d.E.GPU.Mon
	if mon == nil || mon.Device != 1 {
		t.Fatalf("the status bar watches %+v", mon)
	}
	pulses(d.Press("7"), 1)
	if sel, ok := control(d).Pane().Selected(); !ok || sel.Ordinal != 1 || d.E.GPU.Mon != mon {
		t.Errorf("the view opens on device %d, with another monitor: %v", sel.Ordinal, d.E.GPU.Mon != mon)
	}
	if pulses(d.Press("k"), 1); d.E.GPU.Mon.Device != 0 || !mon.Closed {
		t.Errorf("the cursor is on device 0, %d is watched", d.E.GPU.Mon.Device)
	}
	if pulses(d.Press("1"), 1); d.E.GPU.Mon.Device != 1 {
		t.Errorf("back in Pipe, %d is watched", d.E.GPU.Mon.Device)
	}
}

func TestNoGPUSaysWhyAndWhatElse(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Press("7")
	for _, want := range []string{
		"no CUDA driver found", "THE EMULATOR RUNS INSTEAD", "an NVIDIA driver, 525 or newer",
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.Text())
		}
	}
	d.Press("G")
	if d.Press("enter"); d.E.GPU.Asked != 2 {
		t.Errorf("Enter asked %d times", d.E.GPU.Asked)
	}
}

func TestTheDevicesStateIsCopied(t *testing.T) {
	d := pulses(viewtest.Start(t, 80, 24, viewtest.Engine((*tuitest.Engine).TwoH200)).Press("7"), 1)
	if text := d.M.Shown().(view.Copier).Text(); !strings.Contains(text, "GPU 0\tNVIDIA H200 sm_90") ||
		!strings.Contains(text, "power\t258 W of 700") || !strings.Contains(text, "throttled\tidle") {
		t.Errorf("copied %q", text)
	}
	d = viewtest.Start(t, 80, 24).Press("7")
	if text := d.M.Shown().(view.Copier).Text(); !strings.Contains(text, "no CUDA driver found") ||
		!strings.Contains(text, "NVRTC\ttrue\t12.0") {
		t.Errorf("copied %q", text)
	}
}

func TestNoNVMLSaysWhy(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Engine((*tuitest.Engine).TwoH200))
	d.E.GPU.MonErr = errors.New("no NVML: this user may not talk to the driver")
	if d.Press("7"); !strings.Contains(d.Text(),
		"no NVML: this user may not talk to the driver. Kernels run") {
		t.Errorf("the view does not say why:\n%s", d.Text())
	}
}

// TestTheHostIsShown: the connection to the machine that devices are in, with devices and without.
func TestTheHostIsShown(t *testing.T) {
	far := debugkern.LinkStats{
		Host: "me@box", Latency: 12300 * time.Microsecond, Sent: 3 << 20, Received: 40 << 20,
		Raw: 64 << 20, Lost: 2,
	}
	d := viewtest.Start(t, 160, 40, viewtest.Engine((*tuitest.Engine).TwoH200))
	d.E.GPU.Far = far
	d.Press("7")
	for _, want := range []string{
		"me@box", "latency 12.3 ms", "sent 3 MiB", "received 40", "buffers of 64 MiB", "2 connections lost",
	} {
		if text := strings.Join(strings.Fields(d.Text()), " "); !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, d.Text())
		}
	}
	d = viewtest.Start(t, 120, 40)
	d.E.GPU.Far = far
	if d.Press("7"); !strings.Contains(d.Text(), "host me@box · latency 12.3 ms") {
		t.Errorf("without a device:\n%s", d.Text())
	}
}
