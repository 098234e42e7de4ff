// Package check watches an execution and says what is wrong with it though no value shows it yet: races,
// synchronisation misused, cp.async read too early, values used before they exist, the instruction that made
// the first NaN; and, as advice, what costs time for nothing.
//
// The one idea: a checker is a target.Observer. It sees the emulator's event stream of one block and nothing
// else, so it cannot change what it watches, and every checker can be attached alone.
//
// A Checker is attached to a launch and gives each block an observer of its own; what kinds of checkers there
// are is listed in kinds (checker.go), and a kind is two functions: one makes the unit that watches a block,
// one makes findings of what the units of all blocks saw.
//
// It must not know manifests, references or verdicts; it speaks of instructions, addresses, and the names a
// launch gives to shared arrays and arguments.
package check

// Set is a set of checkers.
type Set uint16

// The checkers. Errors first, then those that only advise.
const (
	Races    Set = 1 << iota // unordered accesses, shared memory and global memory between blocks
	Async                    // cp.async read before its wait, waits that cover nothing
	Barriers                 // barriers reached by part of a block
	// Registers: registers read before they were written, where the value reaches memory or a branch
	Registers
	Overlap   // shared arrays that share bytes
	Banks     // advice: bank conflicts by line
	Sectors   // advice: uncoalesced global accesses by line
	Redundant // advice: barriers that order nothing
	Origins   // where the first NaN or infinity was made
	Precision // where a float64 shadow of the values loses most bits; one block only

	Reach    // what undefined values come to; gives Checker.Reached and no findings
	Coverage // which instructions execute and which bytes are stored; gives Checker.Covered and no findings

	// All is what diagnose attaches to every block.
	All = Races | Async | Barriers | Registers | Overlap | Banks | Sectors | Redundant
)

// Has reports whether the set contains all of t.
func (s Set) Has(t Set) bool { return s&t == t }
