package checkrun

import (
	"bytes"
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// compare executes the kernel on the GPU too, with both, and compares every argument's memory to the bit.
func (l *launch) compare() error {
	if l.emulator == nil {
		return nil
	}
	k, err := l.load(l.primary)
	if err != nil {
		return err
	}
	l.loaded = k.Resources()
	l.progress(debugkern.Progress{Phase: "run", Detail: l.primary.Info().Device})
	res, err := k.Launch(l.ctx, l.target())
	if err != nil {
		return report.LaunchError(err)
	}
	l.doc.Cost.Launches += max(1, l.req.Repeat)
	found := slices.Clone(res.Findings)
	for _, a := range l.args {
		if x, y := l.outputs[a.name], res.Outputs[a.name]; a.isMemory() && !bytes.Equal(x, y) {
			found = append(found, a.differs(x, y))
		}
	}
	if found, err = l.excused(found); err != nil {
		return err
	}
	l.doc.Findings = append(l.doc.Findings, report.FindingsOf(found)...)
	l.outputs = res.Outputs
	return nil
}

// compiled adds what the compiler says it does otherwise than the PTX.
func (l *launch) compiled() error {
	notes, err := l.s.CompilerNotes(l.ctx, l.module, l.entry.Name, l.loaded)
	l.doc.Findings = append(l.doc.Findings, notes...)
	return err
}

// differs is the finding that the emulator (x) and the GPU (y) left other bits in an argument.
func (a *arg) differs(x, y []byte) target.Finding {
	n, first, size := 0, -1, a.dtype.Size()
	for i := 0; i+size <= min(len(x), len(y)); i += size {
		if !bytes.Equal(x[i:i+size], y[i:i+size]) {
			if n++; first < 0 {
				first = i / size
			}
		}
	}
	return target.Finding{
		Kind: target.BackendDifference, Severity: target.SeverityError, Variable: a.name,
		Index: probes.Index(first, a.dims),
		Space: "global", KVTile: -1, Count: n,
		Message: fmt.Sprintf("%d of %d elements of %s differ between the emulator and the GPU", n,
			a.elems(), a.name),
	}
}

// excused makes advice of what says only that results depend on an order that nobody fixes: where the kernel
// has errors already, where it updates memory by atomics, and where the emulator's own result depends on the
// order of execution.
func (l *launch) excused(found []target.Finding) ([]target.Finding, error) {
	orderly := func(f target.Finding) bool {
		return f.Kind == target.BackendDifference || f.Kind == target.Varies
	}
	if !slices.ContainsFunc(found, orderly) {
		return found, nil
	}
	isError := func(f report.Finding) bool { return f.Severity == string(target.SeverityError) }
	why := ""
	switch {
	case l.raced || slices.ContainsFunc(l.doc.Findings, isError):
		why = "the kernel has errors above, by which its results may differ from run to run"
	case slices.ContainsFunc(l.entry.Body, func(in *ptx.Instr) bool { return in.Kind().Updates() }):
		why = "the kernel updates memory by atomics, in an order that is not fixed"
	default:
		other, err := l.reordered()
		if err != nil {
			return nil, err
		}
		if other != "" {
			why = "under --schedule " + other +
				" the emulator's result is another one too: it depends on the order of execution"
		}
	}
	for i := range found {
		if why != "" && orderly(found[i]) {
			found[i].Severity, found[i].Consequence = target.SeverityAdvice, why
		}
	}
	return found, nil
}

// reordered names a schedule under which the emulator's result is another one; "" where none of those tried
// is, and on a GPU alone.
func (l *launch) reordered() (string, error) {
	be := l.emulator
	if be == nil {
		be = l.primary
	}
	if !target.Simulated(be) {
		return "", nil
	}
	k, err := l.load(be)
	if err != nil {
		return "", err
	}
	for _, s := range l.schedule.Others(debugkern.CrossSchedules, debugkern.CopiesAsync(l.entry)) {
		again := l.target()
		again.Schedule = s
		res, err := k.Launch(l.ctx, again)
		if err != nil {
			return "", report.LaunchError(err)
		}
		for name, x := range l.outputs {
			if y, ok := res.Outputs[name]; ok && !bytes.Equal(x, y) {
				return s.String(), nil
			}
		}
	}
	return "", nil
}
