package emu

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// twoStages is a layout of four blocks: K of 16 bytes in each of 3 iterations, Q of 8 bytes once.
func twoStages() (*probes.Plan, *probes.Layout) {
	p := &probes.Plan{
		Grid: probes.Dim3{4, 1, 1}, Work: probes.Work{MaxTiles: 3},
		Stages: []probes.StagePlan{
			{Stage: "K", Slot: 1, DType: probes.F32, Rows: 2, Cols: 2, PerTile: true, Loaded: true,
				Capture: probes.Capture{Kind: probes.CaptureProbe}},
			{Stage: "Q", Slot: 2, DType: probes.U8, Rows: 1, Cols: 8,
				Capture: probes.Capture{Kind: probes.CaptureProbe}},
		},
	}
	return p, probes.NewLayout(p, probes.StagesOf("K", "Q"), probes.Range{N: p.Grid, TileN: 3})
}

// TestWhatRepeatsIsKeptOnce: blocks whose slots of a stage hold the same share the memory of them; a block
// that comes after begins with empty slots and changes nobody else's.
func TestWhatRepeatsIsKeptOnce(t *testing.T) {
	p, lay := twoStages()
	l := &target.Launch{Grid: p.Grid, Probe: &target.Probe{Layout: lay}}
	b := &block{l: l, mem: &memory{capture: &alloc{name: "capture", base: allocBase(3)}}}
	c := newCaptures(lay)
	values := []byte{1, 1, 2, 1} // of K, by block
	for i, v := range values {
		b.id = probes.Dim3{i, 0, 0}
		b.slots.begin(b)
		for _, a := range b.slots.spans {
			if slices.Max(a.data) != 0 || slices.Max(a.written) != 0 {
				t.Fatalf("block %d begins with what an earlier one left", i)
			}
		}
		for kv := range 3 {
			if err := lay.Put(&b.slots, "K", b.id, kv, bytes.Repeat([]byte{v + byte(16*kv)},
				16)); err != nil {
				t.Fatal(err)
			}
		}
		if err := lay.Put(&b.slots, "Q", b.id, 0, bytes.Repeat([]byte{byte(i)}, 8)); err != nil {
			t.Fatal(err)
		}
		c.take(&b.slots)
	}
	first := make([]*byte, len(values))
	for i, v := range values {
		id := probes.Dim3{i, 0, 0}
		for kv := range 3 {
			k := lay.Tile(c.pieces, &p.Stages[0], id, kv)
			if !bytes.Equal(k.Data, bytes.Repeat([]byte{v + byte(16*kv)}, 16)) {
				t.Errorf("K of block %d in iteration %d: %x", i, kv, k.Data)
			}
			if kv == 0 {
				first[i] = &k.Data[0]
			}
		}
		if q := lay.Tile(c.pieces, &p.Stages[1], id, 0); !bytes.Equal(q.Data,
			bytes.Repeat([]byte{byte(i)}, 8)) {
			t.Errorf("Q of block %d: %x", i, q.Data)
		}
	}
	if first[0] != first[1] || first[0] != first[3] || first[0] == first[2] {
		t.Error("blocks 0, 1 and 3 hold the same K, and have to share its memory; block 2 does not")
	}
}

// slotWriter is a kernel that stores the block's number to byte N of the slots of K, through the pointer
// in the control block.
const slotWriter = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 ts_ctl)
{
.reg .b32 %r<5>;
.reg .b64 %rd<6>;
ld.param.u32 %r1, [n];
ld.param.u64 %rd1, [ts_ctl];
ld.global.u64 %rd2, [%rd1+8];
cvt.u64.u32 %rd3, %r1;
add.u64 %rd4, %rd2, %rd3;
mov.u32 %r2, %ctaid.x;
add.u32 %r2, %r2, 7;
st.global.u32 [%rd4], %r2;
ret;
}
`

// TestSlotsAreOneBlocks: a store to another block's slots is out of bounds and leaves them as they are; the
// block's own is captured, with the cells that it stored alone, on any number of cores.
func TestSlotsAreOneBlocks(t *testing.T) {
	p, lay := twoStages()
	m, err := ptx.Parse("k.ptx", []byte(slotWriter))
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(chip.SM90()).Load(t.Context(), m, "k")
	if err != nil {
		t.Fatal(err)
	}
	second, ok := lay.Slot("K", probes.Dim3{2, 0, 0}, 1)
	if !ok {
		t.Fatal("no slot")
	}
	for _, parallel := range []int{1, 4} {
		l := &target.Launch{
			Grid: p.Grid, Block: probes.Dim3{1, 1, 1}, Parallel: parallel,
			Probe: &target.Probe{Layout: lay, Control: true},
			Args:  []target.Arg{{Name: "n", Scalar: []byte{byte(second + 8), byte((second + 8) >> 8), 0, 0}}},
		}
		r, err := k.Launch(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 1 || r.Findings[0].Kind != target.OutOfBounds || r.Findings[0].Count != 3 ||
			!strings.HasPrefix(r.Findings[0].Message, "write of 4 bytes at global address") {
			t.Errorf("findings %+v", r.Findings)
		}
		for i := range 4 {
			id := probes.Dim3{i, 0, 0}
			for kv := range 3 {
				got := lay.Tile(r.Capture, &p.Stages[0], id, kv)
				if want := i == 2 && kv == 1; got.Reached() != want {
					t.Errorf("block %d, iteration %d: captured %v", i, kv, got.Reached())
				} else if want &&
					!bytes.Equal(got.Data, []byte{0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}) {
					t.Errorf("captured %x", got.Data)
				}
			}
		}
		if want := []bool{true, true, false, true}; len(r.Missing) != 1 ||
			!slices.Equal(r.Missing[second], want) {
			t.Errorf("missing %v, expected %v", r.Missing, want)
		}
	}
}
