package emu

// decoderOf returns the decoder of an opcode's first component, nil where it is not modelled.
func decoderOf(op string) func(*decoder) {
	switch op {
	case "add", "sub", "mul", "mul24", "mad", "mad24", "sad", "div", "rem", "abs", "neg", "min", "max", "fma":
		return (*decoder).arith
	case "and", "or", "xor", "not", "cnot", "shl", "shr":
		return (*decoder).logic
	case "lop3", "shf", "prmt", "bfe", "bfi", "bfind", "popc", "clz", "brev", "bmsk", "szext", "dp4a", "dp2a", "fns":
		return (*decoder).bitField
	case "setp", "set":
		return (*decoder).compare
	case "testp":
		return (*decoder).testp
	case "selp", "slct":
		return (*decoder).selects
	case "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "copysign":
		return (*decoder).special1
	case "mov":
		return (*decoder).mov
	case "cvt":
		return (*decoder).cvt
	case "cvta":
		return (*decoder).cvta
	case "isspacep":
		return (*decoder).isspacep
	case "ld", "ldu":
		return (*decoder).ld
	case "st":
		return (*decoder).st
	case "atom", "red":
		return (*decoder).atom
	case "bra":
		return (*decoder).bra
	case "brx":
		return (*decoder).brx
	case "call":
		return (*decoder).callOp
	case "ret":
		return (*decoder).ret
	case "exit":
		return (*decoder).exit
	case "trap", "brkpt":
		return (*decoder).trap
	case "bar", "barrier":
		return (*decoder).barrier
	case "membar", "fence":
		return (*decoder).fence
	case "shfl":
		return (*decoder).shfl
	case "vote", "match", "activemask", "redux", "elect":
		return (*decoder).vote
	case "cp":
		return (*decoder).cp
	case "wmma":
		return (*decoder).wmma
	case "mma":
		return (*decoder).mmaSync
	case "ldmatrix", "stmatrix":
		return (*decoder).ldmatrix
	case "nanosleep", "prefetch", "prefetchu", "pmevent", "discard", "applypriority":
		return (*decoder).nothing
	}
	return nil
}
