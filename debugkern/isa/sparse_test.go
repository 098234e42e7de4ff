package isa

import (
	"strings"
	"testing"
)

// TestMetadata: for every selector the four bits of all chunks have a place of their own, in the lanes that
// the selector names, and all elements of A different columns.
func TestMetadata(t *testing.T) {
	for text, want := range map[string]struct{ chunk, chunks, selectors int }{
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":                     {4, 4, 4},
		"mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32":                   {4, 8, 2},
		"mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":                    {2, 4, 4},
		"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32": {2, 8, 2},
		"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32":                       {4, 8, 2},
		"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32":                       {4, 16, 1},
		"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32":                       {8, 8, 2},
		"mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.u4.s32":                      {8, 16, 1},
		"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32":                   {4, 16, 1},
	} {
		parts := strings.Split(text, ".")
		f := Lookup(parts[0], parts[1:])
		m := f.Metadata(parts[1:])
		if m == nil || m.Chunk != want.chunk || m.Chunks != want.chunks || m.Selectors() != want.selectors {
			t.Errorf("%s: %+v", text, m)
			continue
		}
		seen := map[[2]int]bool{}
		for selector := range m.Selectors() {
			for row := range 16 {
				for chunk := range m.Chunks {
					lane, bit := m.At(row, chunk, selector)
					if lane>>2 != row&7 || lane&3/m.Lanes != selector || bit&3 != 0 ||
						seen[[2]int{lane, bit}] {
						t.Fatalf("%s: row %d, chunk %d, selector %d: lane %d, bit %d", text, row, chunk,
							selector, lane, bit)
					}
					seen[[2]int{lane, bit}] = true
				}
			}
		}
		if len(seen) != 32*8 {
			t.Errorf("%s: %d places of %d", text, len(seen), 32*8)
		}
		a := f.Fragment(ClassA, parts[1:])
		for bits := range uint32(16) {
			if !m.Defined(bits) {
				continue
			}
			columns := map[int]bool{}
			for e := range a.Cols {
				columns[m.Column(e, bits)] = true
			}
			if len(columns) != a.Cols {
				t.Errorf("%s: positions %04b: %d columns of %d", text, bits, len(columns), a.Cols)
			}
		}
	}
	for text, want := range map[string]int{
		"sp.m16n8k16.f32.f16.f16.f32": 12, "sp::ordered_metadata.m16n8k16.f32.f16.f16.f32": 6,
		"sp.m16n8k8.f32.tf32.tf32.f32": 2,
	} {
		mods, n := strings.Split(text, "."), 0
		m := Lookup("mma", mods).Metadata(mods)
		for bits := range uint32(16) {
			if m.Defined(bits) {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d of 16 positions are defined, want %d", text, n, want)
		}
	}
	if m := Lookup("mma", nil).Metadata([]string{"m16n8k16", "f32", "f16", "f16", "f32"}); m != nil {
		t.Errorf("a dense product has metadata: %+v", m)
	}
}
