package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// launchChecked launches with checkers attached and merges what they found with the backend's own findings. A backend that cannot be observed finds what it finds.
func launchChecked(ctx context.Context, k target.Kernel, l *target.Launch, o check.Options) (*target.Result, error) {
	if o.Set == 0 {
		return k.Launch(ctx, l)
	}
	c := check.New(o)
	watched := *l // whoever executes the launch again is not watched by these
	watched.Observe = c.Observer
	res, err := k.Launch(ctx, &watched)
	if err != nil {
		return nil, err
	}
	res.Findings = mergeFindings(res.Findings, c.Findings(), l.Grid)
	return res, nil
}

// mergeFindings puts the findings of a backend and of its checkers together, errors first. One cause is told once: of two
// findings of a kind about a variable at a line, the one that says what is missing stands, else the backend's.
func mergeFindings(own, checked []target.Finding, grid probes.Dim3) []target.Finding {
	out := slices.Clone(own)
	for _, f := range checked {
		if f.Severity == "" {
			f.Severity = f.Kind.Severity()
		}
		i := slices.IndexFunc(out, func(g target.Finding) bool { return sameCause(&f, &g) })
		switch {
		case i < 0:
			out = append(out, f)
		case out[i].Missing == "" && f.Missing != "":
			out[i] = f
		}
	}
	slices.SortStableFunc(out, func(a, b target.Finding) int {
		if a.Severity != b.Severity && (a.Severity == target.SeverityAdvice || b.Severity == target.SeverityAdvice) {
			if a.Severity == target.SeverityAdvice {
				return 1
			}
			return -1
		}
		return grid.Linear(a.Block) - grid.Linear(b.Block)
	})
	return out
}

// sameCause compares what findings are about, not how they are worded.
func sameCause(f, g *target.Finding) bool {
	line := func(s *target.Source) (string, int) {
		if s == nil {
			return "", 0
		}
		return s.File, s.Line
	}
	ff, fl := line(f.Source)
	gf, gl := line(g.Source)
	return f.Kind == g.Kind && f.Variable == g.Variable && ff == gf && fl == gl
}
