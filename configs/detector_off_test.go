//go:build !race

package configs

// slower is how many times as long the tests take under Go's race detector, which does not watch them.
const slower = 1
