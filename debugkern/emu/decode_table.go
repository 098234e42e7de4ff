package emu

import "strings"

// decoders decode an instruction by the first component of its opcode. It is never changed.
var decoders = table(map[string]func(*decoder){
	"add sub mul mul24 mad mad24 sad div rem abs neg min max fma":    (*decoder).arith,
	"and or xor not cnot shl shr":                                    (*decoder).logic,
	"lop3 shf prmt bfe bfi bfind popc clz brev bmsk szext dp4a dp2a": (*decoder).bitField,
	"setp set":  (*decoder).compare,
	"testp":     (*decoder).testp,
	"selp slct": (*decoder).selects,
	"rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign": (*decoder).special1,
	"mov":                               (*decoder).mov,
	"cvt":                               (*decoder).cvt,
	"cvta":                              (*decoder).cvta,
	"isspacep":                          (*decoder).isspacep,
	"ld ldu":                            (*decoder).ld,
	"st":                                (*decoder).st,
	"atom red":                          (*decoder).atom,
	"bra":                               (*decoder).bra,
	"brx":                               (*decoder).brx,
	"call":                              (*decoder).callOp,
	"ret":                               (*decoder).ret,
	"exit":                              (*decoder).exit,
	"trap brkpt":                        (*decoder).trap,
	"bar barrier":                       (*decoder).barrier,
	"membar fence":                      (*decoder).fence,
	"shfl":                              (*decoder).shfl,
	"vote match activemask redux elect": (*decoder).vote,
	"cp":                                (*decoder).cp,
	"wmma":                              (*decoder).wmma,
	"mma":                               (*decoder).mmaSync,
	"ldmatrix stmatrix":                 (*decoder).ldmatrix,
	"nanosleep prefetch prefetchu pmevent discard applypriority": (*decoder).nothing,
})

// table splits keys that name several opcodes.
func table(rows map[string]func(*decoder)) map[string]func(*decoder) {
	t := map[string]func(*decoder){}
	for ops, f := range rows {
		for _, op := range strings.Fields(ops) {
			t[op] = f
		}
	}
	return t
}
