package probes

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// The control block is what an instrumented kernel's extra last parameter points to. tilescope.cuh declares
// the same struct; both are little endian and naturally aligned. A slot's address is
//
//	buffer + stage.offset + ((block - lo) linear in n · stage.tiles + kv_tile - stage.tile_lo) · stage.stride
//
// and a slot is a 16-byte header followed by the tile, row-major and dense, padded to 16 bytes. The header is
// written by one thread of the block once the probe is reached. That says nothing about the other threads:
// which cells were stored is worked out by the backend (Missing), and a slot without header and without a
// stored cell was never reached.
const (
	controlMagic  = 0x31435354 // "TSC1"
	slotMagic     = 0x314c5354 // "TSL1"
	SlotHeader    = 16         // bytes: magic, stage, kv tile, rows<<16|cols (each u32)
	controlHeader = 64
	controlStage  = 32
	MaxSlots      = 16                                      // stage ids
	ControlBytes  = controlHeader + 2*MaxSlots*controlStage // capture and inject descriptors by stage id
	ParamName     = "ts_ctl"
)

// Range is what is captured: blocks [Lo, Lo+N) in each dimension and kv tiles [TileLo, TileLo+TileN).
type Range struct {
	Lo, N         Dim3
	TileLo, TileN int
}

// Contains reports whether the block lies in the range.
func (r Range) Contains(b Dim3) bool {
	for i := range 3 {
		if b[i] < r.Lo[i] || b[i] >= r.Lo[i]+r.N[i] {
			return false
		}
	}
	return true
}

// Block returns the i-th captured block, x fastest.
func (r Range) Block(i int) Dim3 {
	b := r.N.At(i)
	return Dim3{b[0] + r.Lo[0], b[1] + r.Lo[1], b[2] + r.Lo[2]}
}

// Index is the inverse of Block.
func (r Range) Index(b Dim3) int {
	return r.N.Linear(Dim3{b[0] - r.Lo[0], b[1] - r.Lo[1], b[2] - r.Lo[2]})
}

// LoopTiles returns the first tile of the loop that is captured of a block, and how many follow.
func (r Range) LoopTiles(p *Plan, block Dim3) (lo, n int) {
	return r.TileLo, max(0, min(r.TileN, p.Work.Tiles.At(block, 0)-r.TileLo))
}

// Tiles returns the first captured tile of a stage in a block and how many follow: 0 and 1 for a stage
// taken once a block.
func (r Range) Tiles(p *Plan, sp *StagePlan, block Dim3) (lo, n int) {
	if !sp.PerTile {
		return 0, 1
	}
	return r.LoopTiles(p, block)
}

// slots describes where one stage's slots lie in a buffer.
type slots struct {
	offset     uint64
	stride     uint32 // bytes of one slot
	tiles      uint32 // slots a block: 1, or the range's kv tiles
	tileLo     uint32
	rows, cols uint16
	elem       uint16
	once       bool // one slot a block
	present    bool
}

// Layout places every captured and injected tile of a launch. It is computed before the launch,
// from the plan alone.
type Layout struct {
	Range   Range
	whole   Range           // the grid: injection is never partial
	stages  [MaxSlots]Stage // by slot; "" where the plan has no such stage
	capture [MaxSlots]slots // by slot, as is inject
	inject  [MaxSlots]slots
	past    *StagePlan
	// CaptureBytes and InjectBytes are the sizes of the two buffers; math.MaxUint64 where one does not fit.
	CaptureBytes, InjectBytes uint64
}

// NewLayout lays out the stages in set (those the plan has and that are captured by a probe) over r, and the
// gate's injected stages over the whole grid.
func NewLayout(p *Plan, set StageSet, r Range) *Layout {
	l := &Layout{Range: r, whole: Range{N: p.Grid, TileN: p.Work.MaxTiles}}
	l.past = pastStage(p, set, r)
	for i := range p.Stages {
		sp := &p.Stages[i]
		if sp.Slot >= MaxSlots { // no block captures it
			continue
		}
		l.stages[sp.Slot] = sp.Stage
		if set.Has(sp.Stage) && sp.Capture.Kind != CaptureOutput {
			n := r.TileN
			if sp == l.past {
				n++
			}
			l.capture[sp.Slot] = place(sp, r, n, &l.CaptureBytes)
		}
		if p.Gate.Injected.Has(sp.Stage) {
			l.inject[sp.Slot] = place(sp, l.whole, l.whole.TileN, &l.InjectBytes)
		}
	}
	return l
}

// pastStage chooses the stage that gets a slot for the kv tile past the last, so that a loop that runs on is
// seen: of those that are computed in every kv tile (what is loaded may be loaded ahead), the one with the
// smallest tiles; nil where the range ends before the last kv tile.
func pastStage(p *Plan, set StageSet, r Range) *StagePlan {
	var best *StagePlan
	if r.TileLo+r.TileN < p.Work.MaxTiles {
		return nil
	}
	for i := range p.Stages {
		sp := &p.Stages[i]
		taken := set.Has(sp.Stage) && sp.Capture.Kind != CaptureOutput && sp.Capture.Kind != CaptureNone
		if taken && sp.PerTile && !sp.Loaded && (best == nil || sp.bytes() < best.bytes()) {
			best = sp
		}
	}
	return best
}

func (sp *StagePlan) bytes() int { return sp.Rows * sp.Cols * sp.DType.Size() }

// Past returns the stage that is captured one kv tile past the range's last, so that a loop that does not end
// there is seen; nil where none is.
func (l *Layout) Past() *StagePlan { return l.past }

func place(sp *StagePlan, r Range, tiles int, total *uint64) slots {
	if !sp.PerTile {
		tiles = 1
	}
	bytes := (sp.bytes() + 15) &^ 15
	s := slots{
		offset: *total, stride: uint32(SlotHeader + bytes), tiles: uint32(tiles), rows: uint16(sp.Rows),
		cols: uint16(sp.Cols), elem: uint16(sp.DType.Size()), once: !sp.PerTile, present: true,
	}
	if sp.PerTile {
		s.tileLo = uint32(r.TileLo)
	}
	over, n := bits.Mul64(uint64(s.stride)*uint64(s.tiles), uint64(r.N.Count()))
	sum, carry := bits.Add64(*total, n, 0)
	if *total = sum; over != 0 || carry != 0 {
		*total = math.MaxUint64
	}
	return s
}

// Control encodes the control block for buffers at the given device addresses.
func (l *Layout) Control(capture, inject uint64) []byte {
	b := make([]byte, ControlBytes)
	le := binary.LittleEndian
	le.PutUint32(b[0:], controlMagic)
	le.PutUint64(b[8:], capture)
	le.PutUint64(b[16:], l.CaptureBytes)
	le.PutUint64(b[24:], inject)
	for i := range 3 {
		le.PutUint32(b[32+4*i:], uint32(l.Range.Lo[i]))
		le.PutUint32(b[44+4*i:], uint32(l.Range.N[i]))
	}
	le.PutUint32(b[56:], uint32(l.Range.TileLo))
	le.PutUint32(b[60:], uint32(l.Range.TileN))
	for i := range MaxSlots {
		l.capture[i].encode(b[controlHeader+i*controlStage:])
		l.inject[i].encode(b[controlHeader+(MaxSlots+i)*controlStage:])
	}
	return b
}

// encode writes one descriptor: offset u64, stride, tiles, tile_lo, rows<<16|cols, elem,
// present|once<<1 u32 each.
func (s slots) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint64(b[0:], s.offset)
	le.PutUint32(b[8:], s.stride)
	le.PutUint32(b[12:], s.tiles)
	le.PutUint32(b[16:], s.tileLo)
	le.PutUint32(b[20:], uint32(s.rows)<<16|uint32(s.cols))
	le.PutUint32(b[24:], uint32(s.elem))
	if s.present {
		flags := uint32(1)
		if s.once {
			flags |= 2
		}
		le.PutUint32(b[28:], flags)
	}
}

// slot returns the byte offset of a slot's header in its buffer. kv is ignored for stages taken once a block.
func (s slots) slot(r Range, block Dim3, kv int) (off uint64, ok bool) {
	if !s.present || !r.Contains(block) {
		return 0, false
	}
	t := 0
	if !s.once {
		if t = kv - int(s.tileLo); t < 0 || t >= int(s.tiles) {
			return 0, false
		}
	}
	return s.offset + (uint64(r.Index(block))*uint64(s.tiles)+uint64(t))*uint64(s.stride), true
}

// of returns the descriptor of a stage in capture or inject; an empty one where the layout has none.
func (l *Layout) of(descriptors *[MaxSlots]slots, s Stage) slots {
	for i, name := range l.stages {
		if name == s && name != "" {
			return descriptors[i]
		}
	}
	return slots{}
}

// Stages lists the plan's stages by slot.
func (l *Layout) Stages() []Stage {
	var out []Stage
	for _, s := range l.stages {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// id returns the stage's number in the control block and in slot headers.
func (l *Layout) id(s Stage) int { return max(0, slices.Index(l.stages[:], s)) }

// Slot returns the offset in the capture buffer of a stage's tile data, past the slot's header; ok is false
// where the layout does not capture it.
func (l *Layout) Slot(s Stage, block Dim3, kv int) (off uint64, ok bool) {
	off, ok = l.of(&l.capture, s).slot(l.Range, block, kv)
	return off + SlotHeader, ok
}

// Captures reports whether the layout has slots for the stage.
func (l *Layout) Captures(s Stage) bool { return l.of(&l.capture, s).present }

// Tile decodes one captured tile from the capture buffer; its Data is a view. A tile that was not reached, or
// is not captured, has no Data.
func (l *Layout) Tile(capture Captured, sp *StagePlan, block Dim3, kv int) Tile {
	t := Tile{DType: sp.DType, Rows: sp.Rows, Cols: sp.Cols}
	if sp.Slot >= MaxSlots {
		return t
	}
	off, ok := l.capture[sp.Slot].slot(l.Range, block, kv)
	if !ok {
		return t
	}
	n := uint64(sp.Rows * sp.Cols * sp.DType.Size())
	slot := capture.Bytes(off, off+SlotHeader+n)
	if slot == nil || binary.LittleEndian.Uint32(slot) != slotMagic {
		return t
	}
	t.Data = slot[SlotHeader:]
	return t
}

// Put writes a tile and its slot header into the capture buffer, as a probe would: what a backend that
// captures without probes calls.
func (l *Layout) Put(capture Captured, s Stage, block Dim3, kv int, data []byte) error {
	return l.put(capture, &l.capture, l.Range, s, block, kv, data)
}

// PutInjected writes the tile that the kernel reads in place of its own stage.
func (l *Layout) PutInjected(inject []byte, s Stage, block Dim3, kv int, data []byte) error {
	return l.put(Buffer(inject), &l.inject, l.whole, s, block, kv, data)
}

func (l *Layout) put(
	buf Captured, descriptors *[MaxSlots]slots, r Range, st Stage, block Dim3, kv int, data []byte,
) error {
	s := l.of(descriptors, st)
	off, ok := s.slot(r, block, kv)
	if !ok {
		return fmt.Errorf("stage %s, block %s, kv tile %d: no slot in this layout", st, block, kv)
	}
	if want := int(s.rows) * int(s.cols) * int(s.elem); len(data) != want {
		return fmt.Errorf("stage %s, block %s, kv tile %d: %d bytes for a slot of %d", st, block, kv,
			len(data), want)
	}
	slot := buf.Bytes(off, off+SlotHeader+uint64(len(data)))
	s.head(slot, l.id(st), kv)
	copy(slot[SlotHeader:], data)
	return nil
}
