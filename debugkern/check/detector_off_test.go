//go:build !race

package check_test

const detector = false
