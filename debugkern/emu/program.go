package emu

import (
	"tilescope/debugkern/chip"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

type (
	row32 = [32]uint32
	row64 = [32]uint64
)

// Functions over n lanes. Operands may be the destination.
type (
	fn32   func(n int, d, a, b, c *row32)
	fn64   func(n int, d, a, b, c *row64)
	fnWide func(n int, d *row64, a, b *row32, c *row64)
	fnNarr func(n int, d *row32, a, b *row64)
	fnMix  func(n int, d, a *row64, b, c *row32)
	fnCmp  func(n int, a, b *row32) uint32
	fnCmp6 func(n int, a, b *row64) uint32
)

// flow is what the execution loop has to do with an instruction beyond calling run.
type flow uint8

const (
	flowNext    flow = iota // run, then the next instruction
	flowSync                // as flowNext, once the lanes that the instruction names are here
	flowBranch              // to target
	flowBrx                 // to one of targets
	flowBarrier             // block barrier
	flowExit
	flowCall
	flowRet
	flowTrap
	flowAlloca  // takes from the stack, or ends the block
	flowAsync   // as flowNext, where groups of lanes may change: one that waits at an mbarrier goes on
	flowTry     // mbarrier.try_wait: waits until a phase is over, or for a time
	flowCluster // barrier.cluster.wait
	// flowWarpgroup: wgmma.mma_async, which the four warps of a warpgroup meet at
	flowWarpgroup
	flowRegisters // setmaxnreg: .inc waits until the block has enough registers
)

// gathers reports whether lanes of a warp come together at the instruction.
func (f flow) gathers() bool { return f == flowBarrier || f.whole() }

// whole reports whether the instruction waits for lanes that it names before it executes.
func (f flow) whole() bool { return f == flowSync || f == flowWarpgroup || f == flowRegisters }

// inst is one decoded instruction. Slots not used are 0, the slot that holds zero. What the loop does not
// need for every instruction is in instInfo, to keep the program in the cache.
type inst struct {
	run        func(w *warp, in *inst, mask uint32)
	flow       flow
	class      target.Class
	probe      bool // belongs to the probe header
	guardNeg   bool
	negC       bool  // pc is a negated predicate
	guard      int32 // predicate slot, -1: unguarded
	d, a, b, c int32
	pd, pc     int32 // predicate destination and source, -1: none
	pd2        int32 // second predicate destination
	f32        fn32
	mem        *access
	mma        *mmaOp
	f64        fn64
	wide       fnWide
	narrow     fnNarr
	mix        fnMix
	target     int32
	loop       int32 // branch: the outermost loop whose back edge this is, -1
	*instInfo
}

// instInfo is the rest of an instruction.
type instInfo struct {
	imm     uint64
	bar     *barOp
	mbar    *mbarOp
	bulk    *bulkOp
	mapOp   *mapOp
	wgmma   *wgmmaOp
	call    *callOp
	alloca  *allocaOp
	aligned bool // all threads of a warp execute it together
	targets []int32
	around  int32 // outermost loop around the instruction, -1
	inLoop  int32 // the same where it is a walk over tiles, else -1
	src     *ptx.Instr
	fn      *ptx.Func
	index   int32 // in the function's body
}

// newInst is an instruction that does nothing yet.
func newInst(src *ptx.Instr, fn *ptx.Func, index int) inst {
	return inst{
		guard: -1, pd: -1, pd2: -1, pc: -1, loop: -1,
		instInfo: &instInfo{around: -1, inLoop: -1, src: src, fn: fn, index: int32(index)},
	}
}

// program is a decoded entry with the functions that it calls behind it.
type program struct {
	chip   *chip.Chip
	model  *fp.Model // chip's arithmetic
	module *ptx.Module
	entry  *ptx.Func
	code   []inst
	n32    int // slots of each bank
	n64    int
	npred  int
	carry  int32 // the predicate slot of CC.CF, -1: the program does not use it
	consts []constSlot
	sregs  []sregSlot
	regs   map[*ptx.Func][]regSlot
	syms   []*symbol
	sets   []symSet       // provenance of accesses, by access.set
	spaces []target.Space // the space of the accesses that use each set
	// widths: bytes of what variables declared as bytes are accessed as, one element at a time
	widths  map[*ptx.Var]int
	globals []*ptx.Var
	shared  []ptx.Symbol
	nstatic int  // static shared bytes
	dynBase int  // where dynamic shared memory starts, -1: none
	frame   int  // bytes of local memory a lane, device function parameters and the stack included
	stacks  bool // there is a stack
	stack   int  // where it begins
	locals  []localVar
	params  int // bytes of the parameter block
	nloops  int
	heap    bool // it calls malloc or free
	// waits: a strong load or an atomic that returns a value: blocks may wait for each other
	waits       bool
	async       bool              // it has mbarriers, bulk operations or wgmma
	wgmma       bool              // it has wgmma
	maxNReg     int               // the largest count of a setmaxnreg; 0: it has none
	layouts     bool              // it has tensor copies that bring tiles, and what reads their layouts
	clocks      map[regSlot]bool  // registers that follow from clocks
	cluster     bool              // it is compiled for clusters
	mapa        bool              // it has mapa
	clusterSync bool              // it has barrier.cluster
	base        map[*ptx.Func]int // first instruction of each function
	funcs       []*ptx.Func       // the functions, in that order
}

// regSlot says where a PTX register lives.
type regSlot struct {
	bank bank
	slot int32
}

type bank uint8

const (
	bankNone bank = iota
	bankPred
	bank32
	bank64
)

type constSlot struct {
	bank  bank
	slot  int32
	value uint64
}

// sregSlot is a slot filled once a warp starts.
type sregSlot struct {
	slot int32
	name string
	comp int8
	wide bool
}

// localVar is a .local or device-function .param variable in a lane's frame.
type localVar struct {
	v    *ptx.Var
	off  int
	size int
}
