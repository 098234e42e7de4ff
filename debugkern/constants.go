package debugkern

import (
	"fmt"

	"tilescope/debugkern/ptx"
)

// UnsetConstants says of which variables in constant memory an entry uses no initialiser gives values: a host
// copies those to them before a launch, and no launch of ours executes a host's code.
func UnsetConstants(m *ptx.Module, entry *ptx.Func) (notes []string) {
	for _, v := range m.Vars {
		unset := v.Space == ptx.SpaceConst && len(v.Init) == 0 && len(v.Relocs) == 0 && v.Size > 0
		if unset && m.Uses(entry, v) {
			notes = append(notes, fmt.Sprintf("%s is constant memory (__constant__) without values in the source, and all "+
				"zeros here: what a host copies to it (cudaMemcpyToSymbol) is not executed; an initialiser gives it values",
				v.Demangled))
		}
	}
	return notes
}
