// Package emu executes PTX kernels on the CPU, instruction by instruction, and computes what the GPU
// computes, to the bit.
//
// # The machine
//
// A kernel is decoded once into a flat program of compact instructions (inst). Registers become slots in two
// banks, one of [32]uint32 for everything up to 32 bits (16-bit values zero-extended), one of [32]uint64;
// immediates, symbol addresses and special registers are slots too, so that an instruction's operands are
// three slot numbers and nothing else. A predicate is one word, a bit a lane. What an instruction does is a
// function over whole slots,
//
//	func(n int, d, a, b, c *[32]uint32)
//
// which computes n lanes. n is 1 where every operand is known to hold one value in all lanes: each slot
// carries two bits, "lane 0 stands for all" and "all lanes are filled in", so loop counters, parameters and
// most address arithmetic cost one lane instead of 32. Lanes switched off by a guard or by divergence are
// computed too and thrown away.
//
// A warp is a list of groups, each a PC and a mask of lanes. The group with the lowest PC runs, groups that
// meet merge, and a group that has taken a backward branch 64 times lets the others go first, so a spinning
// lane cannot starve the one it waits for. A block runs its warps one after the other, each until it waits or
// ends, or as its schedule says.
//
// Memory is bytes and, for each byte, whether it was ever written. Decoding follows addresses back to the
// symbols they were computed from (provenance), and an access must stay inside those: running from one shared
// array into the next is out of bounds although the address is valid. Such accesses are findings, and
// execution goes on: a read yields 0xFF bytes, a write is dropped.
//
// One block is the seam: it can be stepped, observed, saved and restored. The package must not know
// manifests, references or verdicts.
//
// # The order of blocks
//
// What a launch leaves is a function of the kernel, the launch's data and its schedule, on any number of
// cores. It is defined by this order (order.go): blocks become resident in launch order, as many as the chip
// holds (or Launch.Resident); one of them executes at a time, until it ends or waits, and then the resident
// block goes on that began first and can; where none can, the next one begins. A block waits where it goes
// round in a circle reading global memory (wait.go); it can go on when a byte that it reads there has another
// value. A block that polls or runs for very long without being in a circle lets the others go first. Where
// no resident block can go on and none can begin, the launch is a deadlock. Schedules other than in-order
// take the blocks in another order: reversed, or shuffled by the seed (random, priority, ahead), and with
// random and priority a block's turn also ends after a random number of instructions.
//
// Blocks that share no byte of memory give the same in any order, so a launch first executes them over all
// cores and notes which bytes each reads and writes (footprint.go). Only where these conflict, or a block
// waits, is that execution discarded and the launch executed again in the defined order; a kernel with strong
// loads or atomics that return values is so at once.
package emu

import (
	"context"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Backend is the emulator. It holds no state but its chip and may be used from any goroutine.
type Backend struct {
	chip *chip.Chip
}

// New returns an emulator of a chip.
func New(c *chip.Chip) *Backend { return &Backend{chip: c} }

// Info describes the emulator.
func (b *Backend) Info() target.Info {
	arch := b.chip.Arch
	return target.Info{Name: "emu", Device: "emulator (" + arch + " numerics)", Arch: arch}
}

// Load decodes an entry and every function that it calls. An instruction that the emulator does not model is
// a *ptx.Error at its place in the PTX.
func (b *Backend) Load(ctx context.Context, m *ptx.Module, entry string) (target.Kernel, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := load(ctx, b.chip, m, entry, true)
	if err != nil {
		return nil, err
	}
	return &Kernel{p: p}, nil
}

// Simulates returns the chip's architecture (target.Simulator).
func (b *Backend) Simulates() string { return b.chip.Arch }

// Close releases nothing: an emulator holds nothing.
func (b *Backend) Close() error { return nil }
