package ptx

import "fmt"

// Mutant is a module's entry with one synchronisation changed: what a checker has to notice,
// or to prove harmless.
type Mutant struct {
	Edit Edit
	What string // "without bar.sync 0", "wait_group 1 waits for all but 2"
}

// Mutants lists the mutants of f: each of Syncs(skip) removed in turn, and each wait for cp.async moved by
// one group either way. A barrier with a result (bar.red) is not removed: what its result would be is open.
func (f *Func) Mutants(skip func(file string) bool) []Mutant {
	var ms []Mutant
	for _, at := range f.Syncs(skip) {
		in := f.Body[at]
		if !in.Has("red") {
			ms = append(ms, Mutant{Edit{Kind: Remove, Func: f.Name, At: at}, "without " + f.InstrString(in)})
		}
		if !in.asyncWait() {
			continue
		}
		n := in.waitsFor()
		ms = append(ms, Mutant{
			Edit{Kind: SetWait, Func: f.Name, At: at, N: n + 1},
			fmt.Sprintf("%s for all but %d", f.InstrString(in), n+1),
		})
		if n > 0 {
			ms = append(ms, Mutant{
				Edit{Kind: SetWait, Func: f.Name, At: at, N: n - 1},
				fmt.Sprintf("%s for all but %d", f.InstrString(in), n-1),
			})
		}
	}
	return ms
}

// waitsFor is how many of the latest groups a wait leaves pending.
func (in *Instr) waitsFor() uint64 {
	if in.Has("wait_group") && len(in.Args) > 0 && in.Args[0].Kind == OpInt {
		return in.Args[0].Imm
	}
	return 0
}
