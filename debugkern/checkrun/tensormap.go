package checkrun

import (
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// tensorMaps makes the tensor maps among the arguments given, once every other argument has its place and its
// memory: what a map's description leaves out is the buffer's.
func (l *launch) tensorMaps(given []*arg) error {
	for _, a := range given {
		if a.value == nil || a.value.Map == nil {
			continue
		}
		v := a.value.Map
		fail := func(format string, args ...any) error {
			return report.Usagef("--arg %s=%s: "+format, append([]any{a.title(), a.text}, args...)...)
		}
		of := findArg(given, v.Of)
		if of != nil && of.buffer != nil { // of a sequence: the memory behind the parameter
			at := slices.IndexFunc(l.args, func(x *arg) bool {
				return slices.ContainsFunc(x.into, func(p target.Place) bool { return p.Arg == of.index })
			})
			of = l.args[at]
		}
		if of == nil {
			return fail("no argument %s; give its memory too, as --arg %s=randn:f16[64,64]", v.Of, v.Of)
		}
		if !of.isMemory() {
			return fail("%s is no memory that a tensor can lie in", v.Of)
		}
		m, err := v.Spec.Map(of.dtype.String(), of.dims, nil)
		if err != nil {
			return fail("%w", err)
		}
		if err := v.Spec.Within(m, v.Of, int64(of.elems()*of.dtype.Size())); err != nil {
			return fail("%w", err)
		}
		a.tensor = &target.TensorMap{Map: *m, Of: slices.Index(l.args, of), Skip: v.Offset}
	}
	return nil
}
