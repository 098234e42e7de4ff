package op

import "math/bits"

// philox is Philox4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1,
// 2, 3, 2011): four random words of a counter and a key.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	const m0, m1, w0, w1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
	for range 10 {
		hi0, lo0 := bits.Mul32(m0, counter[0])
		hi1, lo1 := bits.Mul32(m1, counter[2])
		counter = [4]uint32{hi1 ^ counter[1] ^ key[0], lo1, hi0 ^ counter[3] ^ key[1], lo0}
		key[0] += w0
		key[1] += w1
	}
	return counter
}
