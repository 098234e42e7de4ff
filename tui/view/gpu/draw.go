package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	switch {
	case p.W < 20 || p.H < 8:
		return p.Theme.Blank(p.W, p.H)
	case len(p.data.Devices) == 0:
		return p.without()
	case p.Zoomed && p.Focus == Devices:
		out := p.list(p.W, p.listHeight())
		return append(out, p.about(p.W, p.H-len(out))...)
	case p.Zoomed && p.Focus == Processes:
		return p.procs(p.W, p.H)
	case p.W < wideFrom:
		out := p.list(p.W, p.listHeight())
		out = append(out, p.state(p.W, min(stateLines+2, p.H-len(out)))...)
		return append(out, p.procs(p.W, p.H-len(out))...)
	}
	left := p.list(p.listWidth(), p.listHeight())
	left = append(left, p.about(p.listWidth(), p.H-len(left))...)
	right := p.state(p.W-p.listWidth(), min(stateLines+2, p.H))
	right = append(right, p.procs(p.W-p.listWidth(), p.H-len(right))...)
	return theme.Beside(left, right)
}

// list is the devices, the one that runs go to marked.
func (p *Pane) list(w, h int) []string {
	var lines []string
	first := p.first()
	for i := first; i < min(first+h-2, len(p.data.Devices)); i++ {
		d := p.data.Devices[i]
		l := p.Theme.Line(w - 2)
		style := p.Theme.Text
		l.Pointer(i == p.at)
		if i == p.at {
			style = p.Theme.Strong
		}
		if d.Ordinal == p.data.Active {
			l.Glyph(p.Theme.OK, p.Theme.Glyph.Dot)
		} else {
			l.Glyph(p.Theme.Off, p.Theme.Glyph.Ring)
		}
		l.Add(style, fmt.Sprintf(" %d %s", d.Ordinal, d.Name)).
			Add(p.Theme.Dim, fmt.Sprintf("  %s  %s", d.Arch, bytesText(int64(d.Memory))))
		if p.W < wideFrom {
			l.Add(p.Theme.Dim, fmt.Sprintf("  %d SMs  %s", d.SMs, d.PCI))
		}
		lines = append(lines, l.Done())
	}
	title := fmt.Sprintf("GPUS %d", len(p.data.Devices))
	return p.Theme.Box(title, p.Theme.Glyph.Dot+" runs go here · CUDA "+p.data.Driver, lines, w, h,
		p.Focus == Devices)
}

// about is what does not change of the device under the cursor.
func (p *Pane) about(w, h int) []string {
	d, _ := p.Selected()
	facts := [][2]string{
		{"name", d.Name}, {"driver", "supports CUDA " + p.data.Driver}, {"arch", d.Arch}, {"PCI", d.PCI},
		{"memory", bytesText(int64(d.Memory))},
		{"SMs", fmt.Sprintf("%d at up to %d MHz", d.SMs, d.ClockKHz/1000)},
		{
			"a block", fmt.Sprintf("%d threads, %d KiB of shared memory", d.ThreadsPerBlock,
				d.SharedPerBlock>>10),
		},
		{"registers", fmt.Sprintf("%d an SM", d.RegistersPerSM)}, {"L2", bytesText(int64(d.L2))},
	}
	if p.data.Link != "" {
		facts = append(facts, [2]string{"host", p.data.Link})
	}
	if isMIG(d, p.last()) {
		facts = append(facts, [2]string{"MIG", migText(d)})
	}
	var lines []string
	for _, f := range facts {
		for i, s := range p.Theme.Wrap(f[1], w-2-12) {
			name := f[0]
			if i > 0 {
				name = ""
			}
			lines = append(lines, p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, name).Pad(12).
				Add(p.Theme.Text, s).Done())
		}
	}
	return p.Theme.Box(fmt.Sprintf("GPU %d", d.Ordinal), "", lines, w, h, false)
}

func isMIG(d debugkern.Device, t *debugkern.Telemetry) bool {
	return strings.Contains(d.Name, " MIG ") || t != nil && t.MIG
}

// migText says what a card cut into instances means here.
func migText(d debugkern.Device) string {
	if strings.Contains(d.Name, " MIG ") {
		return "an instance: a slice of the card. Telemetry is that of the whole card, and utilisation is not reported"
	}
	return "is on: kernels need an instance (nvidia-smi -L lists them, CUDA_VISIBLE_DEVICES=MIG-... chooses one); telemetry is that of the whole card"
}

// procs is what runs on the device.
func (p *Pane) procs(w, h int) []string {
	if h < 2 {
		return p.Theme.Blank(w, h)
	}
	all := p.processes()
	p.scroll = max(0, min(p.scroll, len(all)-(h-2)))
	var lines []string
	for _, x := range all[min(p.scroll, len(all)):] {
		memory := "-"
		if x.Memory != debugkern.Unknown {
			memory = bytesText(x.Memory)
		}
		l := p.Theme.Line(w-2).Right(p.Theme.Text, strconv.Itoa(x.PID), 9).Space(2).Add(p.Theme.Dim, x.Kind).
			Pad(20).Right(p.Theme.Text, memory, 30)
		lines = append(lines, l.Space(2).Add(p.Theme.Text, p.Theme.Fit(x.Name, l.Left())).Done())
	}
	if t := p.last(); len(lines) == 0 && t != nil {
		text := "none"
		if !t.ProcessesKnown {
			text = "the driver lists none here (in a container it may hide them)"
		}
		lines = append(lines, p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, text).Done())
	}
	return p.Theme.Box(fmt.Sprintf("PROCESSES %d", len(all)), "", lines, w, h, p.Focus == Processes)
}

// without is the view on a machine with no device: why, what there is instead, what to install.
func (p *Pane) without() []string {
	if p.Zoomed {
		return p.doctor(p.H)
	}
	w := p.W - 2
	var why []string
	text := p.data.None
	if p.data.Looking {
		text = "asking the driver for its devices"
	}
	for _, s := range p.Theme.Wrap(text, w-3) {
		why = append(why, p.Theme.Line(w).Space(1).Add(p.Theme.Text, s).Done())
	}
	if p.data.Link != "" {
		why = append([]string{p.Theme.Line(w).Space(1).Add(p.Theme.Dim, "host ").
			Add(p.Theme.Text, p.Theme.Fit(p.data.Link, w-8)).Done()}, why...)
	}
	if p.data.Again != "" && !p.data.Looking {
		why = append(why, p.Theme.Line(w).Space(1).Add(p.Theme.Key, p.data.Again).
			Add(p.Theme.Dim, " looks again").Done())
	}
	why = why[:min(len(why), max(2, p.H/4))]
	out := p.Theme.Box("NO GPU", "", why, p.W, len(why)+2, false)
	for i, s := range p.Theme.Wrap(emulator, w-3) {
		if i == 0 {
			out = append(out, p.Theme.Rule(p.Theme.Glyph.TL, p.Theme.Glyph.TR, "THE EMULATOR RUNS INSTEAD",
				"", p.W, false))
		}
		out = append(out, p.Theme.Line(p.W).Glyph(p.Theme.Border, p.Theme.Glyph.V).
			Raw(p.Theme.Line(w).Space(1).Add(p.Theme.Text, s).Done(), w).
			Glyph(p.Theme.Border, p.Theme.Glyph.V).Done())
	}
	out = append(out, p.Theme.Rule(p.Theme.Glyph.BL, p.Theme.Glyph.BR, "", "", p.W, false))
	if h := p.H - len(out); h >= 3 {
		out = append(out, p.doctor(h-p.knownHeight(h))...)
		return append(out, p.known(p.H-len(out))...)
	}
	return append(out, p.Theme.Blank(p.W, p.H)...)[:p.H]
}

// knownHeight is how many of h lines the run on screen takes: all that it needs, or none where the list of
// checks would have no room.
func (p *Pane) knownHeight(h int) int {
	if n := len(p.data.Known) + 2; n > 2 && h >= n+2*len(p.data.Checks)+2 {
		return n
	}
	return 0
}

// known is what the run on screen has shown.
func (p *Pane) known(h int) []string {
	if h < 3 {
		return nil
	}
	var lines []string
	for _, f := range p.data.Known {
		lines = append(lines, p.Theme.Line(p.W-2).Space(1).Add(p.Theme.Dim, f.Name).Pad(12).
			Add(p.Theme.Text, p.Theme.Fit(f.Text, p.W-15)).Done())
	}
	return p.Theme.Box("THE RUN ON SCREEN", "", lines, p.W, h, false)
}

const emulator = "It executes the kernel's own PTX, instruction by instruction, with every lane visible, and computes what an H200 " +
	"computes, to the bit: tensor core, approximations, NaN and rounding rules. It is no model of time: no clocks, no power, nothing to sample here."

// doctor is what was looked for on this machine and what it found.
func (p *Pane) doctor(h int) []string {
	w := p.W - 2
	p.checks = p.checks[:0]
	missing := 0
	checks := slices.Clone(p.data.Checks)
	slices.SortStableFunc(checks, func(a, b report.DoctorCheck) int { return rank(a.OK) - rank(b.OK) })
	for _, c := range checks {
		mark, style := p.Theme.Glyph.OK, p.Theme.OK
		if !c.OK {
			mark, style = p.Theme.Glyph.Wrong, p.Theme.Wrong
			missing++
		}
		text := slices.DeleteFunc([]string{c.Version, c.Detail}, func(s string) bool { return s == "" })
		if !c.OK && c.Install != "" {
			text = append(text, "to have it: "+c.Install)
		} else if c.Enables != "" {
			text = append(text, c.Enables)
		}
		for i, s := range p.Theme.Wrap(strings.Join(text, " · "), w-24) {
			l := p.Theme.Line(w)
			if i == 0 {
				l.Space(1).Glyph(style, mark).Space(1).Add(p.Theme.Strong, p.Theme.Fit(c.Name, 18))
			}
			p.checks = append(p.checks, l.Pad(22).Add(p.Theme.Text, s).Done())
		}
	}
	note := ""
	if n := len(p.data.Checks); n > 0 {
		note = fmt.Sprintf("%d of %d found", n-missing, n)
	}
	if len(p.checks) == 0 {
		p.checks = append(p.checks, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, "looking").Done())
	}
	p.scroll = max(0, min(p.scroll, len(p.checks)-(h-2)))
	if rest := len(p.checks) - (h - 2); rest > 0 {
		note += fmt.Sprintf(" · line %d of %d", p.scroll+1, len(p.checks))
	}
	return p.Theme.Box("DOCTOR", note, p.checks[p.scroll:], p.W, h, p.Focus == Checks)
}

// rank puts what is missing before what is there.
func rank(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// checksHeight is how many lines of checks are shown: what the boxes above and below them leave.
func (p *Pane) checksHeight() int {
	why := len(p.Theme.Wrap(p.data.None, p.W-5))
	if p.data.Again != "" && !p.data.Looking {
		why++
	}
	why = min(why, max(2, p.H/4))
	h := p.H - why - 2 - len(p.Theme.Wrap(emulator, p.W-5)) - 2
	return max(0, h-p.knownHeight(h)-2)
}

// bytesText writes a size: 139.8 GiB.
func bytesText(n int64) string {
	switch {
	case n < 0:
		return "not reported"
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
