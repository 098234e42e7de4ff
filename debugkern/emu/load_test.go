package emu_test

import (
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// load parses a module and loads its entry t on an emulated H100.
func load(t *testing.T, text string) (*ptx.Module, target.Kernel) {
	t.Helper()
	m, err := ptx.Parse("t.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(t.Context(), m, "t")
	if err != nil {
		t.Fatal(err)
	}
	return m, k
}
