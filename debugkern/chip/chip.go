// Package chip describes the GPUs that the emulator can be: what differs from chip to chip where the PTX ISA
// leaves it open, or leaves it to the architecture. Everything that is the same on all of them is in isa, fp
// and emu.
//
// To add a chip: its arithmetic in fp (a constructor of fp.Model, with what was measured on it), its
// description here.
package chip

import "tilescope/debugkern/fp"

// Chip is one GPU. It is immutable and safe for concurrent use.
type Chip struct {
	Arch       string    // "sm_90"
	Arithmetic *fp.Model // approximations and tensor core

	// Limits of a launch (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").

	SharedPerBlock  int // bytes, opted in
	ThreadsPerBlock int
	Grid, Block     [3]int // extents

	// What decides how many blocks are resident at once.

	SMs, BlocksPerSM, ThreadsPerSM int
	RegistersPerSM                 int // of which a thread has 255 at most
	SharedPerSM, SharedReserve     int // bytes; the reserve is what the system takes of each block

	// FragmentRows is what the distance of two rows of a wmma matrix in memory must be a multiple of, in
	// bytes. The ISA asks for the bytes of a lane's fragment; hardware takes less.
	FragmentRows int
}

// SM90 returns the NVIDIA H200.
func SM90() *Chip {
	return &Chip{
		Arch: "sm_90", Arithmetic: fp.SM90(),
		SharedPerBlock: 227 << 10, ThreadsPerBlock: 1024,
		Grid: [3]int{1<<31 - 1, 65535, 65535}, Block: [3]int{1024, 1024, 64},
		SMs: 132, BlocksPerSM: 32, ThreadsPerSM: 2048, RegistersPerSM: 64 << 10,
		SharedPerSM: 228 << 10, SharedReserve: 1 << 10,
		FragmentRows: 16,
	}
}

// Resident returns how many blocks of a launch are resident at once: threads and bytes of shared memory are
// those of a block.
func (c *Chip) Resident(threads, shared int) int {
	threads = (threads + 31) &^ 31
	return c.SMs * max(1, min(c.BlocksPerSM, c.ThreadsPerSM/threads, c.SharedPerSM/(shared+c.SharedReserve)))
}

// How an SM gives out registers.
const (
	RegisterUnit = 8 // a thread has a multiple of so many
	WarpUnit     = 4 // a block is given registers for a multiple of so many warps
)

// Registers returns how many registers a thread may have so that a number of blocks are resident on an SM:
// 255 at most.
func (c *Chip) Registers(threads, blocks int) int {
	blocks = min(max(blocks, 1), c.BlocksPerSM)
	warps := (min(max(threads, 1), c.ThreadsPerSM) + 31) / 32
	warps = (warps + WarpUnit - 1) / WarpUnit * WarpUnit
	return min(255, c.RegistersPerSM/(32*warps*blocks)/RegisterUnit*RegisterUnit)
}
