package debugkern

import (
	"fmt"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// agree holds a module against the plan: PTX knows symbols and byte sizes, the manifest names, types and dimensions, and
// where both speak they must say the same. It returns whether the entry takes the control block of a build with probes.
func agree(m *ptx.Module, p *probes.Plan) (instrumented bool, err error) {
	entry := m.Func(p.Entry)
	if entry == nil || !entry.Entry {
		return false, fmt.Errorf("%s: no entry %q (it has %s)", m.Name, p.Entry, entryNames(m))
	}
	switch len(entry.Params) {
	case len(p.Args):
	case len(p.Args) + 1:
		if last := entry.Params[len(p.Args)]; last.Size != 8 {
			return false, fmt.Errorf("%s: entry %s has one parameter more than the manifest's %d args, and it is no pointer to a control block", position(entry.Pos), p.Entry, len(p.Args))
		}
		instrumented = true
	default:
		return false, fmt.Errorf("%s: entry %s takes %d parameters, the manifest lists %d args", position(entry.Pos), p.Entry, len(entry.Params), len(p.Args))
	}
	for i, a := range p.Args {
		want := a.DType.Size()
		if a.Pointer {
			want = m.AddressSize / 8
		}
		if got := entry.Params[i].Size; got != want {
			return false, fmt.Errorf("%s: parameter %d has %d bytes, the manifest's arg %s has %d", position(entry.Params[i].Pos), i, got, a.Name, want)
		}
	}
	return instrumented, agreeShared(m, entry, p)
}

// agreeShared compares sizes of the shared arrays that both know. An array of the manifest that the compiler left out
// (nothing uses it in this build) is no disagreement; one that the manifest does not name is only unnamed.
func agreeShared(m *ptx.Module, entry *ptx.Func, p *probes.Plan) error {
	for _, sym := range m.SharedLayout(entry) {
		for _, a := range p.Shared {
			if a.Within == "" && a.Name == sym.Demangled && a.Bytes != sym.Size {
				return fmt.Errorf("%s: shared array %s has %d bytes in the PTX, %s%v in the manifest has %d", position(sym.Var.Pos), a.Name, sym.Size, a.DType, a.Dims, a.Bytes)
			}
		}
	}
	return nil
}

func entryNames(m *ptx.Module) string {
	names := "none"
	for i, e := range m.Entries() {
		if i == 0 {
			names = e.Name
		} else {
			names += ", " + e.Name
		}
	}
	return names
}

func position(p ptx.Pos) string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }
