//go:build race

package check_test

// detector: Go's race detector watches the test. Blocks that race run one after another then: in the emulator
// their stores are Go's, and what the kernel does wrong would be blamed on the emulator.
const detector = true
