package tui

import (
	"fmt"
	"strconv"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/pane/facts"
)

// side is the right column of very wide screens: the whole tile, its run's figures, and the device or the lane.
func (m *Model) side() []string {
	h := m.frame.body
	out := append(make([]string, 0, h), m.pane.mini.View()...)
	rest := h - len(out)
	run := min(rest, factLines)
	out = append(out, facts.View(m.th, "RUN", m.facts(), m.frame.side, run)...)
	if rest -= run; rest > 0 && m.onGPU() {
		return append(out, facts.View(m.th, "GPU", m.deviceFacts(), m.frame.side, rest)...)
	}
	if len(m.lane) == rest {
		return append(out, m.lane...)
	}
	return append(out, facts.View(m.th, "LANE", nil, m.frame.side, rest)...)
}

// gatesSpeakOf reports whether the last sweep's document is of what the request runs: a variant as it is declared, judged as it
// would be judged now.
func (m *Model) gatesSpeakOf(req debugkern.Request) bool {
	return len(req.Set) == 0 && len(req.Faults) == 0 && req.Gate == probes.GateNone && m.gateRow(req.Target, m.sweep.running).Previous == ""
}

// factLines is the height of the run's figures in the right column.
const factLines = 12

// facts are the run's figures beside a tile.
func (m *Model) facts() [][2]string {
	if m.run == nil {
		return nil
	}
	r := m.run.report
	out := [][2]string{}
	if d := r.Stage(m.cursor.Stage.String()); d != nil {
		bad := d.Local.Bad
		if d.Verdict == debugkern.Tainted {
			bad = d.Global.Bad
		}
		out = append(out, [2]string{"stage", fmt.Sprintf("%s %s, bad %d/%d", d.Name, d.Verdict, bad, d.Local.Cells)})
		if p := cell.Pattern(d); p != "" {
			out = append(out, [2]string{"pattern", p})
		}
	}
	if o := r.Output; o != nil {
		out = append(out, [2]string{"output", fmt.Sprintf("%s max %.3g mean %.3g", o.Verdict, float64(o.MaxAbs), float64(o.MeanAbs))})
	}
	if x := r.Resources; x != nil {
		out = append(out, [2]string{"ptxas", fmt.Sprintf("%d regs, %d B shared, %d B spilled", x.Registers, x.SharedBytes, x.SpillStoreBytes)})
	}
	if t := m.gateRow(m.run.request.Target, m.sweep.running).Doc; t != nil && m.gatesSpeakOf(m.run.request) {
		out = append(out, [2]string{"gates", fmt.Sprintf("PTXAS %s, correct %d/%d, speed %s", t.PTXAS.Verdict, t.Correctness.Passed, t.Correctness.Total, t.Performance.Verdict)})
	}
	out = append(out, [2]string{"cost", fmt.Sprintf("%.0f ms run, %.0f ms compare", float64(r.Cost.RunMS), float64(r.Cost.CompareMS))})
	return append(out, [2]string{"findings", strconv.Itoa(len(r.Findings))})
}
