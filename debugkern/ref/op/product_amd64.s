#include "textflag.h"

// Products and sums are rounded apart (no VFMADD), in the order of addProductsGo and addFoursGo: the bits are theirs.

// LOAD_SUMS and STORE_SUMS move the sixteen sums at DI to Y0 to Y3, where they stay in a loop, and back.
#define LOAD_SUMS \
	VMOVUPD 0(DI), Y0  \
	VMOVUPD 32(DI), Y1 \
	VMOVUPD 64(DI), Y2 \
	VMOVUPD 96(DI), Y3

#define STORE_SUMS \
	VMOVUPD Y0, 0(DI)  \
	VMOVUPD Y1, 32(DI) \
	VMOVUPD Y2, 64(DI) \
	VMOVUPD Y3, 96(DI)

// func addProductsAVX(sums, x, m *float64, n int)
//
// For each number of x: sums += x · (the next sixteen numbers of m).
TEXT ·addProductsAVX(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ m+16(FP), BX
	MOVQ n+24(FP), CX
	LOAD_SUMS

next:
	VBROADCASTSD (SI), Y4
	VMULPD 0(BX), Y4, Y5
	VMULPD 32(BX), Y4, Y6
	VMULPD 64(BX), Y4, Y7
	VMULPD 96(BX), Y4, Y8
	VADDPD Y5, Y0, Y0
	VADDPD Y6, Y1, Y1
	VADDPD Y7, Y2, Y2
	VADDPD Y8, Y3, Y3
	ADDQ $8, SI
	ADDQ $128, BX
	DECQ CX
	JNZ next

	STORE_SUMS
	VZEROUPPER
	RET

// FOUR adds, to the four sums in SUM, (p0·v0 + p1·v1) + (p2·v2 + p3·v3) at byte OFF of the rows of v.
#define FOUR(OFF, SUM) \
	VMULPD OFF(BX), Y4, Y8   \
	VMULPD OFF(R8), Y5, Y9   \
	VMULPD OFF(R9), Y6, Y10  \
	VMULPD OFF(R10), Y7, Y11 \
	VADDPD Y9, Y8, Y8        \
	VADDPD Y11, Y10, Y10     \
	VADDPD Y10, Y8, Y8       \
	VADDPD Y8, SUM, SUM

// func addFoursAVX(u, p, v *float64, n, stride int)
//
// Sixteen numbers of u are the sums; four of p are spread over Y4 to Y7, four rows of v begin at BX, R8, R9, R10.
TEXT ·addFoursAVX(SB), NOSPLIT, $0-40
	MOVQ u+0(FP), DI
	MOVQ p+8(FP), SI
	MOVQ v+16(FP), BX
	MOVQ n+24(FP), CX
	MOVQ stride+32(FP), DX
	SHLQ $3, DX
	LOAD_SUMS

next:
	VBROADCASTSD 0(SI), Y4
	VBROADCASTSD 8(SI), Y5
	VBROADCASTSD 16(SI), Y6
	VBROADCASTSD 24(SI), Y7
	LEAQ (BX)(DX*1), R8
	LEAQ (BX)(DX*2), R9
	LEAQ (R8)(DX*2), R10
	FOUR(0, Y0)
	FOUR(32, Y1)
	FOUR(64, Y2)
	FOUR(96, Y3)
	ADDQ $32, SI
	LEAQ (R9)(DX*2), BX
	DECQ CX
	JNZ next

	STORE_SUMS
	VZEROUPPER
	RET
