package emu

import (
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Addresses. A global allocation i starts at allocBase(i): windows of 64 GiB apart, so that the number of the
// allocation can be read off an address and a stray offset of any plausible size still lands in a gap. Shared
// and local memory have generic windows whose low 32 bits are the address in the space itself.
const (
	windowBits   = 36
	allocOffset  = 1 << 32
	sharedWindow = uint64(1) << 46
	localWindow  = uint64(1)<<46 + 1<<40
	constWindow  = uint64(1)<<46 + 2<<40
	paramWindow  = uint64(1)<<46 + 3<<40
	windowSize   = uint64(1) << 32
)

// allocBase is the address of global allocation i.
func allocBase(i int) uint64 { return uint64(i+1)<<windowBits + allocOffset }

// allocOf is the allocation whose window holds addr; it may not exist.
func allocOf(addr uint64) int { return int(addr>>windowBits) - 1 }

// symbol is something an address can start from: a variable, or the pointer in a kernel parameter.
type symbol struct {
	name  string
	space target.Space
	v     *ptx.Var // nil for a parameter
	addr  uint64   // in its own space; a parameter's is known at launch
	size  int
	param int // byte offset in the parameter block, -1 for a variable
	alloc int // global variables: number of the allocation
}

// symSet is a set of symbols, bit i for program.syms[i]. Empty: not known.
type symSet uint64

const maxSymbols = 64

// spaceOf maps a PTX state space to the seam's.
func spaceOf(s ptx.Space) target.Space {
	switch s {
	case ptx.SpaceGlobal:
		return target.SpaceGlobal
	case ptx.SpaceShared:
		return target.SpaceShared
	case ptx.SpaceLocal:
		return target.SpaceLocal
	case ptx.SpaceParam:
		return target.SpaceParam
	case ptx.SpaceConst:
		return target.SpaceConst
	}
	return target.SpaceNone
}

// generic returns the generic address of addr in a space.
func generic(s target.Space, addr uint64) uint64 {
	switch s {
	case target.SpaceShared:
		return sharedWindow | addr&(windowSize-1)
	case target.SpaceLocal:
		return localWindow | addr&(windowSize-1)
	case target.SpaceConst:
		return constWindow | addr&(windowSize-1)
	case target.SpaceParam:
		return paramWindow | addr&(windowSize-1)
	}
	return addr
}

// ungeneric splits a generic address into space and address. A bare shared address used generically stays
// what it is: an address in no space.
func ungeneric(addr uint64) (target.Space, uint64) {
	if addr>>46 == 0 {
		return target.SpaceGlobal, addr
	}
	switch addr &^ (windowSize - 1) {
	case sharedWindow:
		return target.SpaceShared, addr & (windowSize - 1)
	case localWindow:
		return target.SpaceLocal, addr & (windowSize - 1)
	case constWindow:
		return target.SpaceConst, addr & (windowSize - 1)
	case paramWindow:
		return target.SpaceParam, addr & (windowSize - 1)
	}
	return target.SpaceGlobal, addr
}
