package probes

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"testing"
)

// deviceLayout reads what tilescope.cuh asserts about its structs; the compiler holds the header to its
// assertions, this test holds the host to them.
func deviceLayout(t *testing.T) (offset, size map[string]int) {
	t.Helper()
	offset, size = map[string]int{}, map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^TS_AT\((\w+), (\w+), (\d+)\);$`).
		FindAllStringSubmatch(Header, -1) {
		offset[m[1]+"."+m[2]], _ = strconv.Atoi(m[3])
	}
	for _, m := range regexp.MustCompile(`(?m)^TS_SIZE\((\w+), (\d+)\);$`).FindAllStringSubmatch(Header, -1) {
		size[m[1]], _ = strconv.Atoi(m[2])
	}
	if len(offset) < 20 || len(size) != 3 {
		t.Fatalf("tilescope.cuh asserts %d offsets and %d sizes", len(offset), len(size))
	}
	return offset, size
}

func deviceConstant(t *testing.T, name string) uint32 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^#define ` + name + ` (0x[0-9a-f]+)u$`).FindStringSubmatch(Header)
	if m == nil {
		t.Fatalf("tilescope.cuh does not define %s", name)
	}
	v, err := strconv.ParseUint(m[1], 0, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(v)
}

func TestControlBlockIsWhereTheKernelReadsIt(t *testing.T) {
	offset, size := deviceLayout(t)
	if size["ts_control"] != ControlBytes || size["ts_stage"] != controlStage ||
		size["ts_slot"] != SlotHeader {
		t.Errorf("sizes %v; the host has control %d, stage %d, slot %d", size, ControlBytes,
			controlStage, SlotHeader)
	}
	l := &Layout{
		Range: Range{Lo: Dim3{3, 4, 5}, N: Dim3{6, 7, 8}, TileLo: 9, TileN: 10}, CaptureBytes: 11 << 33,
	}
	l.capture[7] = slots{
		offset: 12 << 33, stride: 13, tiles: 14, tileLo: 15, rows: 16, cols: 17, elem: 18, present: true,
	}
	l.inject[5] = slots{
		offset: 19 << 33, stride: 20, tiles: 21, tileLo: 22, rows: 23, cols: 24, elem: 25, present: true,
		once: true,
	}
	b := l.Control(26<<33, 27<<33)
	if len(b) != ControlBytes {
		t.Fatalf("%d bytes", len(b))
	}
	at := func(base int, field string) []byte {
		o, ok := offset[field]
		if !ok {
			t.Fatalf("tilescope.cuh asserts nothing about %s", field)
		}
		return b[base+o:]
	}
	le := binary.LittleEndian
	u32 := func(base int, field string, i int, want uint32) {
		t.Helper()
		if got := le.Uint32(at(base, field)[4*i:]); got != want {
			t.Errorf("%s[%d] = %d, want %d", field, i, got, want)
		}
	}
	u64 := func(base int, field string, want uint64) {
		t.Helper()
		if got := le.Uint64(at(base, field)); got != want {
			t.Errorf("%s = %#x, want %#x", field, got, want)
		}
	}
	u32(0, "ts_control.magic", 0, deviceConstant(t, "TS_CONTROL_MAGIC"))
	u64(0, "ts_control.capture", 26<<33)
	u64(0, "ts_control.capture_bytes", 11<<33)
	u64(0, "ts_control.inject", 27<<33)
	for i := range 3 {
		u32(0, "ts_control.lo", i, uint32(3+i))
		u32(0, "ts_control.n", i, uint32(6+i))
	}
	u32(0, "ts_control.tile_lo", 0, 9)
	u32(0, "ts_control.tile_n", 0, 10)
	for _, s := range []struct {
		base  int
		first uint32
		flags uint32
	}{
		{offset["ts_control.stage"] + 7*size["ts_stage"], 12, 1},
		{offset["ts_control.inject_stage"] + 5*size["ts_stage"], 19, 3},
	} {
		u64(s.base, "ts_stage.offset", uint64(s.first)<<33)
		u32(s.base, "ts_stage.stride", 0, s.first+1)
		u32(s.base, "ts_stage.tiles", 0, s.first+2)
		u32(s.base, "ts_stage.tile_lo", 0, s.first+3)
		u32(s.base, "ts_stage.rows_cols", 0, (s.first+4)<<16|(s.first+5))
		u32(s.base, "ts_stage.elem", 0, s.first+6)
		u32(s.base, "ts_stage.flags", 0, s.flags)
	}
}

func TestSlotHeaderIsWhatTheKernelWrites(t *testing.T) {
	offset, _ := deviceLayout(t)
	l := &Layout{Range: Range{N: Dim3{1, 1, 1}, TileN: 4}}
	l.stages[6] = "P"
	l.capture[6] = slots{stride: 32, tiles: 4, rows: 2, cols: 4, elem: 2, present: true}
	buf := make([]byte, 4*32)
	if err := l.Put(Buffer(buf), "P", Dim3{}, 3, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	le, slot := binary.LittleEndian, buf[3*32:]
	for field, want := range map[string]uint32{
		"magic": deviceConstant(t, "TS_SLOT_MAGIC"), "stage": 6, "kv_tile": 3, "rows_cols": 2<<16 | 4,
	} {
		if got := le.Uint32(slot[offset["ts_slot."+field]:]); got != want {
			t.Errorf("%s = %#x, want %#x", field, got, want)
		}
	}
}
