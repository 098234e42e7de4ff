//go:build race

package cli

// oneOf: Go's race detector watches the test, under which everything takes about ten times as long. Tests
// that do the same over many inputs take one of so many then: the goroutines and what they share are the same
// for all, and the tests without it take every input.
const oneOf = 4
