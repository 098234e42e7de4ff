package check

import "tilescope/debugkern/target"

// raceKind orders accesses by happens-before.
func raceKind() kind {
	return kind{set: Races | Async | Redundant, start: func(*block) unit { return nil }, findings: func(*Checker, []unit) []target.Finding { return nil }}
}
