package emu

import (
	"strings"
	"testing"
)

// descriptor assembles a matrix descriptor; mode is the swizzle as the ISA numbers it.
func descriptor(start, leading, stride, offset, mode uint64) uint64 {
	return start>>4 | leading>>4<<16 | stride>>4<<32 | offset<<49 | mode<<62
}

// TestTileElements pins where elements lie, worked out by hand from the layouts of the ISA.
func TestTileElements(t *testing.T) {
	type at struct {
		row, k int
		want   uint64
	}
	for _, c := range []struct {
		name  string
		bits  uint64
		size  int
		major bool
		at    []at
	}{
		{"K none", descriptor(0x100, 128, 256, 0, 0), 2, false, []at{
			{0, 0, 0x100}, {0, 7, 0x10e}, {0, 8, 0x180}, {1, 0, 0x110}, {7, 15, 0x100 + 112 + 128 + 14},
			{8, 0, 0x200}, {9, 9, 0x100 + 256 + 16 + 128 + 2},
		}},
		{"K 32", descriptor(0x400, 16, 256, 0, 3), 2, false, []at{
			// lines of 32 bytes: bit 7 of the address, lines 4 to 7 of 8, exchanges the two units
			{0, 0, 0x400}, {0, 8, 0x410}, {3, 0, 0x460}, {4, 0, 0x490}, {4, 8, 0x480}, {7, 9, 0x4e2},
			{8, 0, 0x500},
		}},
		{"K 64", descriptor(0x400, 16, 512, 0, 2), 2, false, []at{
			// lines of 64 bytes: bits 7 and 8 exchange four units
			{0, 0, 0x400}, {1, 0, 0x440}, {2, 0, 0x490}, {2, 8, 0x480}, {4, 0, 0x520}, {4, 8, 0x530},
			{6, 0, 0x5b0}, {6, 8, 0x5a0}, {8, 0, 0x600},
		}},
		{"K 128", descriptor(0x400, 16, 1024, 0, 1), 2, false, []at{
			{0, 0, 0x400}, {1, 0, 0x490}, {1, 8, 0x480}, {2, 0, 0x520}, {5, 8, 0x6c0}, {7, 0, 0x7f0},
			{8, 0, 0x800}, {9, 1, 0x892},
		}},
		{"K 128, second step of k", descriptor(0x420, 16, 1024, 0, 1), 2, false, []at{
			{0, 0, 0x420}, {1, 0, 0x4b0}, {1, 8, 0x4a0}, {2, 0, 0x500}, {7, 8, 0x7c0},
		}},
		{"K 128, base offset", descriptor(0x480, 16, 1024, 1, 1), 2, false, []at{
			{0, 0, 0x480}, {1, 0, 0x510}, {7, 0, 0x870},
		}},
		{"K 128, bytes", descriptor(0, 16, 1024, 0, 1), 1, false, []at{
			{1, 0, 0x90}, {1, 16, 0x80}, {3, 31, 0x1af},
		}},
		{"K 128, words", descriptor(0, 16, 1024, 0, 1), 4, false, []at{{1, 3, 0x9c}, {1, 4, 0x80}}},
		{"MN none", descriptor(0x100, 1024, 128, 0, 0), 2, true, []at{
			{0, 0, 0x100}, {7, 0, 0x10e}, {0, 1, 0x110}, {8, 0, 0x180}, {0, 8, 0x500},
			{9, 9, 0x100 + 128 + 2 + 1024 + 16},
		}},
		{"MN 32", descriptor(0x400, 512, 256, 0, 3), 2, true, []at{
			{0, 0, 0x400}, {8, 0, 0x410}, {0, 4, 0x490}, {8, 4, 0x480}, {16, 0, 0x600}, {0, 8, 0x500},
		}},
		{"MN 64", descriptor(0x400, 2048, 512, 0, 2), 2, true, []at{
			{24, 0, 0x430}, {0, 2, 0x490}, {8, 6, 0x5a0}, {32, 0, 0xc00}, {0, 8, 0x600},
		}},
		{"MN 128", descriptor(0x400, 4096, 1024, 0, 1), 2, true, []at{
			{0, 0, 0x400}, {63, 0, 0x47e}, {0, 1, 0x490}, {8, 1, 0x480}, {64, 0, 0x1400}, {0, 8, 0x800},
			{63, 7, 0x40e + 7*128},
		}},
	} {
		x := newTile(c.bits, c.size, c.major)
		for _, a := range c.at {
			if got := x.element(a.row, a.k); got != a.want {
				t.Errorf("%s: element %d, %d at %#x, want %#x", c.name, a.row, a.k, got, a.want)
			}
		}
	}
}

// TestTileRead: reading a tile as a whole gives the elements at their addresses, and no two share a byte.
func TestTileRead(t *testing.T) {
	shared := make([]byte, 1<<16)
	for i := range shared {
		shared[i] = byte(i*167 + i>>8*31)
	}
	for mode := range uint64(4) {
		for _, major := range []bool{false, true} {
			for _, size := range []int{1, 2, 4} {
				if major && size != 2 {
					continue
				}
				leading, stride := uint64(128), uint64(256)
				span := [4]uint64{16, 128, 64, 32}[mode]
				if mode != 0 {
					leading, stride = 8192, 8*span
				}
				x := newTile(descriptor(2048, leading, stride, 0, mode), size, major)
				rows := make([][32]byte, 64)
				x.read(rows, shared)
				seen := map[uint64]bool{}
				for r := range rows {
					for k := range 32 / size {
						at := x.element(r, k)
						if seen[at] {
							t.Fatalf("%s: two elements at %#x", &x, at)
						}
						seen[at] = true
						for i := range size {
							if rows[r][k*size+i] != shared[at+uint64(i)] {
								t.Fatalf("%s: element %d, %d differs", &x, r, k)
							}
						}
					}
				}
			}
		}
	}
}

func TestTileFaults(t *testing.T) {
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{descriptor(0x400, 16, 1024, 0, 1), ""},
		{descriptor(0x420, 16, 1024, 0, 1), ""},
		{descriptor(0x480, 16, 1024, 0, 1), "the pattern of the swizzle starts: that is a multiple of 1024"},
		{descriptor(0x480, 16, 1024, 1, 1), ""},
		{descriptor(0x480, 16, 512, 0, 2), "a multiple of 512"},
		{descriptor(0x480, 16, 256, 0, 3), "a multiple of 256"},
		{descriptor(0x480, 128, 256, 0, 0), ""},
		{descriptor(0xf000, 128, 256, 0, 0), "ends at 63488, and shared memory has 61440 bytes"},
		{
			descriptor(0, 16, 16384, 0, 1),
			"8 lines of 128 bytes are 1024, and a stride offset of 16384 is 16 times that",
		},
		{descriptor(0x400, 128, 256, 0, 0) | 1<<14, "bits that are reserved"},
	} {
		x := newTile(c.bits, 2, false)
		got := x.fault(c.bits, 64, 60<<10)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", &x, got, c.want)
		}
	}
}
