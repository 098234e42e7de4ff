package checkrun

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/checked"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// mostPolled is how many warp instructions a launch executes at most that is executed in other orders too.
const mostPolled = 8 << 20

// otherOrders executes a kernel whose blocks poll memory under other schedules as well, where the user has
// given none: what they find is added to the findings, and what they execute to what is covered.
func (l *launch) otherOrders(k target.Kernel, o check.Options) error {
	if l.req.Schedule != "" || l.only != nil || l.req.Grid.Count() < 2 ||
		l.doc.Cost.WarpInstructions > mostPolled || !debugkern.Polls(l.entry) {
		return nil
	}
	for _, name := range debugkern.PollingOrders {
		s, err := debugkern.ParseSchedule(name)
		if err != nil {
			return err
		}
		again := l.target()
		again.Schedule = s
		l.progress(debugkern.Progress{Phase: "run", Detail: "in another order of its blocks"})
		res, c, err := checked.Launch(l.ctx, k, again, o)
		if l.ctx.Err() != nil {
			return l.ctx.Err()
		}
		if err != nil {
			l.doc.Build.Notes = append(l.doc.Build.Notes,
				fmt.Sprintf("under --schedule %s it fails: %v", name, report.LaunchError(err)))
			continue
		}
		for _, f := range debugkern.NamePlaced(report.FindingsOf(res.Findings), l.entry, l.text) {
			f.KVTile = -1
			known := slices.ContainsFunc(l.doc.Findings, func(g report.Finding) bool {
				return f.Kind == g.Kind && f.Variable == g.Variable && sameLine(f.Source, g.Source)
			})
			if known || f.Severity != string(target.SeverityError) {
				continue
			}
			f.Message += "; under --schedule " + name
			l.doc.Findings = append(l.doc.Findings, f)
		}
		for i, done := range c.Covered().Executed {
			l.covered.Executed[i] = l.covered.Executed[i] || done
		}
		l.orders++
	}
	return nil
}

func sameLine(a, b *report.Source) bool {
	return a != nil && b != nil && a.File == b.File && a.Line == b.Line
}
