package check

import (
	"reflect"
	"testing"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/target"
)

// TestNeeds: the factors are those of the state that is kept, and no product wraps.
func TestNeeds(t *testing.T) {
	if n := reflect.TypeFor[cell]().Size(); n != cellBytes {
		t.Errorf("a cell takes %d bytes, %d are counted", n, cellBytes)
	}
	if n := reflect.TypeFor[globalLine]().Size(); n > lineBytes {
		t.Errorf("a line takes %d bytes, %d are counted", n, lineBytes)
	}
	for name, have := range map[string]struct{ size, counted uintptr }{
		"a place":               {reflect.TypeFor[memoryAt]().Size(), placeBytes},
		"a register's key":      {reflect.TypeFor[registerAt]().Size(), registerPlace},
		"an undefined register": {reflect.TypeFor[undefined]().Size(), undefinedRegister - registerPlace},
		"origins of a register": {reflect.TypeFor[[32][unitsMax]int32]().Size(),
			originRegister - registerPlace},
		"shades of a register": {reflect.TypeFor[[32][unitsMax]shade]().Size(),
			shadeRegister - registerPlace},
		"a page of bytes":       {reflect.TypeFor[[pageBytes / 64]uint64]().Size() + 16*7/4, coveredPage},
		"sources of a register": {reflect.TypeFor[[32]uint64]().Size(), reachRegister - registerPlace},
	} {
		if have.size > have.counted {
			t.Errorf("%s takes %d bytes, %d are counted", name, have.size, have.counted)
		}
	}
	for _, c := range []struct {
		set  Set
		load Load
		want int64
	}{
		{
			Banks | Sectors | Barriers, Load{
				Shared: 1 << 40, Writable: 1 << 40, Threads: 1024, Registers: 1 << 20, AtOnce: 4, Blocks: 4,
			}, 0,
		},
		{Races, Load{Shared: 1000, AtOnce: 2, Blocks: 8}, 2 * 1000 * (cellBytes + nameBytes)},
		{Async, Load{Shared: 1000, AtOnce: 1, Blocks: 8}, 1000 * (cellBytes + nameBytes)},
		{Races, Load{Writable: 1600, Threads: 64, AtOnce: 2, Blocks: 4}, 1600*globalBytes/2 + 2*4*64*64},
		{Overlap, Load{Shared: 1000, AtOnce: 2, Blocks: 8}, 2 * 1000 * writerBytes},
		{Registers, Load{Threads: 33, Registers: 10, AtOnce: 2, Blocks: 8}, 2 * 2 * 10 * undefinedRegister},
		{Reach, Load{Shared: 100, Local: 10, Writable: 40, Threads: 32, Registers: 1, AtOnce: 3, Blocks: 4},
			3 * (reachRegister + 120*reachBytes)},
		{Origins, Load{Shared: 100, Writable: 40, Threads: 32, Registers: 1, AtOnce: 3, Blocks: 4},
			3*(originRegister+110*originBytes) + 40*originBytes},
		{Precision, Load{Shared: 100, Threads: 32, Registers: 1, AtOnce: 3, Blocks: 4},
			shadeRegister + 100*shadeBytes},
		{
			Coverage, Load{
				Shared: 100, Writable: 8 * pageBytes, Threads: 32, Registers: 1, AtOnce: 3, Blocks: 4,
			},
			(3*3 + 9) * coveredPage,
		},
		{Races, Load{Shared: 1 << 62, Writable: 1 << 62, AtOnce: 1 << 30, Blocks: 1}, budget.Huge},
		{Races, Load{Writable: 16, AtOnce: 1}, 16 * globalBytes},
		{
			Reach | Origins | Precision, Load{
				Local: budget.Huge, Threads: 1, Registers: 1, AtOnce: 1, Blocks: 1,
			}, budget.Huge,
		},
	} {
		if got := Needs(c.set, c.load); got != c.want {
			t.Errorf("%+v: %d, want %d", c, got, c.want)
		}
	}
}

// TestEndedBlocksKeepNothing: what checkers keep for a block is gone once it has ended, as Needs counts it.
func TestEndedBlocksKeepNothing(t *testing.T) {
	for _, u := range []interface{ End() }{
		&overlapUnit{writers: make([]int32, 8)}, &registerUnit{warps: make([]registerState, 1)},
		&reachUnit{regs: map[registerAt]*[32]uint64{{}: {}}, mem: map[memoryAt]uint64{{}: 1}},
		&precisionUnit{tags: newTags[shade]()},
	} {
		u.End()
		v := reflect.ValueOf(u).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); (f.Kind() == reflect.Slice || f.Kind() == reflect.Map ||
				f.Kind() == reflect.Pointer) && !f.IsNil() {
				t.Errorf("%T keeps %s", u, v.Type().Field(i).Name)
			}
		}
	}
	u := &originUnit{tags: newTags[int32]()}
	u.tags.regs[registerAt{}] = &[32][unitsMax]int32{}
	u.tags.mem[memoryAt{space: target.SpaceShared}] = 1
	u.tags.mem[memoryAt{space: target.SpaceGlobal}] = 1
	if u.End(); u.tags.regs != nil || len(u.tags.mem) != 1 {
		t.Errorf("registers %v, memory %v", u.tags.regs, u.tags.mem)
	}
}
