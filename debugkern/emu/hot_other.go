//go:build !amd64

package emu

// Without vectors the loops of hot.go execute all lanes.
const vectors = false

func add32AVX2(_ *row32, _ *row32, _ *row32)              { panic("BUG: no vectors") }
func sub32AVX2(_ *row32, _ *row32, _ *row32)              { panic("BUG: no vectors") }
func mul32AVX2(_ *row32, _ *row32, _ *row32)              { panic("BUG: no vectors") }
func and32AVX2(_ *row32, _ *row32, _ *row32)              { panic("BUG: no vectors") }
func or32AVX2(_ *row32, _ *row32, _ *row32)               { panic("BUG: no vectors") }
func xor32AVX2(_ *row32, _ *row32, _ *row32)              { panic("BUG: no vectors") }
func shl32AVX2(_ *row32, _ *row32, _ *row32)              { panic("BUG: no vectors") }
func shrU32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func shrS32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func minS32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func maxS32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func mad32AVX2(_ *row32, _ *row32, _ *row32, _ *row32)    { panic("BUG: no vectors") }
func addF32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func subF32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func mulF32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func maxF32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func minF32AVX2(_ *row32, _ *row32, _ *row32)             { panic("BUG: no vectors") }
func cvtF32S32AVX2(_ *row32, _ *row32)                    { panic("BUG: no vectors") }
func cvtF32U32AVX2(_ *row32, _ *row32)                    { panic("BUG: no vectors") }
func cvtF16F32AVX2(_ *row32, _ *row32)                    { panic("BUG: no vectors") }
func cvtF32F16AVX2(_ *row32, _ *row32)                    { panic("BUG: no vectors") }
func add64AVX2(_ *row64, _ *row64, _ *row64)              { panic("BUG: no vectors") }
func shl64AVX2(_ *row64, _ *row64, _ *row32)              { panic("BUG: no vectors") }
func mulWideUAVX2(_ *row64, _ *row32, _ *row32)           { panic("BUG: no vectors") }
func madWideUAVX2(_ *row64, _ *row32, _ *row32, _ *row64) { panic("BUG: no vectors") }
func mulWideSAVX2(_ *row64, _ *row32, _ *row32)           { panic("BUG: no vectors") }
func madWideSAVX2(_ *row64, _ *row32, _ *row32, _ *row64) { panic("BUG: no vectors") }
func lt32AVX2(_ *row32, _ *row32) uint32                  { panic("BUG: no vectors") }
func eq32AVX2(_ *row32, _ *row32) uint32                  { panic("BUG: no vectors") }
