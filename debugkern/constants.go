package debugkern

import (
	"fmt"

	"tilescope/debugkern/ptx"
)

// UnsetConstants names the variables in constant memory that an entry uses and that hold zeros alone: a host
// may copy values to them before a launch, and a kernel is launched here without its host's code. Those that
// executing that code shows are compiled in (build.Outline.Initial).
func UnsetConstants(m *ptx.Module, entry *ptx.Func) (notes []string) {
	for _, v := range m.Vars {
		unset := v.Space == ptx.SpaceConst && len(v.Init) == 0 && len(v.Relocs) == 0 && v.Size > 0
		if unset && m.Uses(entry, v) {
			notes = append(
				notes,
				fmt.Sprintf(
					"%s is constant memory (__constant__) and all zeros here: the source does not show "+
						"which numbers a host copies to it (cudaMemcpyToSymbol); an initialiser in the source gives it values",
					v.Demangled,
				),
			)
		}
	}
	return notes
}
