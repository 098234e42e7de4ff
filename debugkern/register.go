package debugkern

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Registers are gathered by the emulator alone. With --backend both its tiles stand for those stages; on a
// GPU alone they are off.

// ofRegisters reports whether a stage's tiles come from registers.
func ofRegisters(sp *probes.StagePlan) bool { return sp.Capture.Kind == probes.CaptureRegister }

// elsewhere reports whether a stage's tiles come from the emulator in a run on the GPU (--backend both).
func (st *runState) elsewhere(sp *probes.StagePlan) bool {
	return ofRegisters(sp) && st.traced != nil && st.backend != nil && !target.Simulated(st.backend)
}

// withoutRegisters turns the capture of registers off where no emulator executes the kernel too, and says so.
func (e *execution) withoutRegisters() error {
	if e.st.emulator != nil || target.Simulated(e.backend) ||
		!slices.ContainsFunc(e.r.plan.Stages, func(sp probes.StagePlan) bool { return ofRegisters(&sp) }) {
		return nil
	}
	plan := *e.r.plan
	plan.Stages = slices.Clone(plan.Stages)
	var names []string
	for i := range plan.Stages {
		if sp := &plan.Stages[i]; ofRegisters(sp) {
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
			"stages captured from registers are off on a GPU, where nothing reads them: %s (--backend both judges the emulator's)",
			list),
	})
	return e.r.capture(e.s.limit)
}
