//go:build !race

package cli

const oneOf = 1
