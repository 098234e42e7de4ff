package emu

import "tilescope/debugkern/fp"

//go:generate go -C ../internal/asm run ./rows -pkg emu -out ../../emu/hot_amd64.s -stubs ../../emu/hot_stub_amd64.go

var vectors = fp.Vectors()
