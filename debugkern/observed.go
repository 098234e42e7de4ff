package debugkern

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Registers, and arrays in shared memory, are read by the emulator alone. With --backend both its tiles stand
// for those stages; on a GPU alone they are off.

// observed reports whether a stage's tiles are read while the emulator executes the kernel, without a probe.
func observed(sp *probes.StagePlan) bool {
	return sp.Capture.Kind == probes.CaptureRegister || sp.Capture.Kind == probes.CaptureShared
}

// elsewhere reports whether a stage's tiles come from the emulator in a run on the GPU (--backend both).
func (st *runState) elsewhere(sp *probes.StagePlan) bool {
	return observed(sp) && st.traced != nil && st.backend != nil && !target.Simulated(st.backend)
}

// withoutObserved turns the capture of registers and shared arrays off where no emulator executes the
// kernel too, and says so.
func (e *execution) withoutObserved() error {
	if e.st.emulator != nil || target.Simulated(e.backend) ||
		!slices.ContainsFunc(e.r.plan.Stages, func(sp probes.StagePlan) bool { return observed(&sp) }) {
		return nil
	}
	plan := *e.r.plan
	plan.Stages = slices.Clone(plan.Stages)
	var names []string
	for i := range plan.Stages {
		if sp := &plan.Stages[i]; observed(sp) {
			names = append(names, sp.Stage.String())
			sp.Capture = probes.Capture{Kind: probes.CaptureNone}
		}
	}
	e.r.plan = &plan
	list := strings.Join(names, ", ")
	e.st.extra = append(e.st.extra, target.Finding{
		Kind: target.NotModelled, Severity: target.NotModelled.Severity(), Variable: strings.Join(names, " "),
		KVTile: -1, Count: 1,
		Message: fmt.Sprintf(
			"stages captured from registers or shared memory are off on a GPU, where nothing reads them: %s "+
				"(--backend both judges the emulator's)",
			list),
	})
	return e.r.capture(e.s.limit)
}
