package diagnose

import (
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// neverRead says which inputs of the launch the build reads nothing of, where another argument is read out of
// bounds: their elements may be what belongs there; "" where it reads of all.
func (q *inquiry) neverRead(s *suspect) string {
	if s.cause.Kind != outOfBounds || q.run.Plan.Arg(s.cause.Place.Variable) == nil ||
		q.run.Plan.Gate.Name != probes.GateNone {
		return ""
	}
	fn := q.run.Entry()
	var out []string
	for i := range q.run.Plan.Args {
		a := &q.run.Plan.Args[i]
		p := q.parameter(a.Name)
		if !a.Pointer || a.Role != probes.RoleInput || a.Into != nil || p == nil {
			continue
		}
		if !slices.ContainsFunc(fn.Body, func(in *ptx.Instr) bool {
			return in.Kind() == isa.Load && in.Space() == ptx.SpaceParam && len(in.Args) > 1 &&
				isOf(&in.Args[1], p)
		}) {
			out = append(out, a.Name)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "the kernel reads nothing of " + strings.Join(out, " and ")
}
