package tile

import (
	"fmt"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/request"
	"tilescope/tui/view"
	"tilescope/tui/view/tile/facts"
	"tilescope/tui/view/tile/rail"
)

// side is the right column of very wide screens: the whole tile, its run's figures, and the device or the
// lane.
func (v *Controller) side() []string {
	h := v.frame.body
	out := append(make([]string, 0, h), v.mini.View()...)
	rest := h - len(out)
	run := min(rest, factLines)
	out = append(out, facts.View(v.Theme, "RUN", v.facts(), v.Side, run)...)
	if rest -= run; rest > 0 && v.OnGPU() {
		return append(out, facts.View(v.Theme, "GPU", v.others.Device.Facts(), v.Side, rest)...)
	}
	if v.Stageless() {
		return append(out, facts.View(v.Theme, "FINDINGS", v.findings(), v.Side, rest)...)
	}
	if len(v.lane) == rest {
		return append(out, v.lane...)
	}
	return append(out, facts.View(v.Theme, "LANE", nil, v.Side, rest)...)
}

// findings are those of the run, a line each.
func (v *Controller) findings() [][2]string {
	if v.Run == nil {
		return nil
	}
	var out [][2]string
	for _, f := range v.Run.Report.Findings {
		text := f.Variable
		if f.Source != nil {
			text += " " + f.Source.At()
		}
		out = append(out, [2]string{f.Kind, text})
	}
	if out == nil {
		out = [][2]string{{"none", ""}}
	}
	return out
}

// factLines is the height of the run's figures in the right column.
const factLines = 12

// facts are the run's figures beside a tile.
func (v *Controller) facts() [][2]string {
	if v.Run == nil {
		return nil
	}
	r := v.Run.Report
	out := [][2]string{}
	if d := r.Stage(v.Cursor.Stage.String()); d != nil && d.Reference.None() {
		out = append(out, [2]string{"tile", v.Formula(v.Cursor.Stage) + ", no reference"})
	} else if d != nil {
		bad := d.Local.Bad
		if d.Verdict == report.Tainted {
			bad = d.Global.Bad
		}
		out = append(out, [2]string{"stage", fmt.Sprintf("%s %s, bad %d/%d", d.Name, d.Verdict, bad,
			d.Local.Cells)})
		if p := cell.Pattern(d); p != "" {
			out = append(out, [2]string{"pattern", p})
		}
	}
	if o := r.Output; o != nil {
		errors := fmt.Sprintf("max %s mean %s", o.Most(), o.Size(o.MeanAbs, "%.3g"))
		if odd := o.Odd(); odd != "" {
			errors = odd
		}
		out = append(out, [2]string{
			strings.TrimSpace("output " + o.Of),
			fmt.Sprintf("%s %s, by %s", o.Verdict, errors, o.AgainstShort()),
		})
	}
	if x := r.Resources; x != nil {
		out = append(out, [2]string{"ptxas", fmt.Sprintf("%d regs, %d B shared, %d B spilled", x.Registers,
			x.SharedBytes, x.SpillStoreBytes)})
	}
	if text := v.others.Gates.Judged(v.Run.Request); text != "" {
		out = append(out, [2]string{"gates", text})
	}
	out = append(out, [2]string{"cost", fmt.Sprintf("%.0f ms run, %.0f ms compare", float64(r.Cost.RunMS),
		float64(r.Cost.CompareMS))})
	found := strconv.Itoa(len(r.Findings))
	if v.Run.Request.Check != debugkern.EveryChecker {
		found += ", races not checked"
	}
	return append(out, [2]string{"findings", found})
}

// showLane draws the lane at the cursor in the right column: only once the cursor rests, for its lines all
// change at once.
func (v *Controller) showLane() {
	if v.Side == 0 || v.Root.Showing() != view.Tile {
		return
	}
	rest := v.frame.body - v.miniHeight()
	v.lane = v.others.Lanes.Lane(v.Side, rest-min(rest, factLines))
}

// miniHeight is the minimap's share of the right column.
func (v *Controller) miniHeight() int { return min(34, v.frame.body*3/5) }

// showRail gives the rail the run on screen, with that run's own request: the rail is dimmed with it.
func (v *Controller) showRail() {
	req := v.Req
	if v.Run != nil {
		req = v.Run.Request
	}
	r := rail.Data{Stage: v.Cursor.Stage, Run: v.Outcome(), Faults: v.FaultsOn(req)}
	if v.Run != nil && v.Run.Plan != nil {
		r.Injected = v.Run.Plan.Gate.Injected
	}
	r.Facts = [][2]string{{"target", request.TargetName(req)}, {"shape", request.ShapeName(req)},
		{"seed", fmt.Sprint(req.Seed)}, {"gate", req.Gate.String()}}
	if v.Stageless() && v.Run != nil {
		r.Facts = [][2]string{
			{"target", request.TargetName(req)}, {"grid", v.Run.Plan.Grid.String()},
			{"block", v.Run.Plan.Block.String()}, {"seed", fmt.Sprint(req.Seed)},
		}
	}
	if man, variant := v.ManifestOf(req.Target); man != nil {
		if sel, err := man.Select(variant, req.Set, nil, probes.GateNone); err == nil {
			for _, f := range man.Flags {
				r.Flags = append(r.Flags, fmt.Sprintf("%s %d", f.Name, sel.Flags[f.Name]))
			}
		}
	}
	v.rail.SetData(r)
}
