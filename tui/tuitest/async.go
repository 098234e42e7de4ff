package tuitest

import (
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// The asynchronous part of a fake block: a ring of two tiles of 8 KiB, filled every 600 steps by a tensor
// copy and read by a product, each told by an mbarrier.
const (
	copies   = 12
	ringTile = 8192
	barriers = 4 * ringTile // where the mbarriers lie
)

// mbarrierNames are those of the mbarriers, in the order of their addresses.
var mbarrierNames = []string{"k_full[0]", "k_full[1]", "k_empty[0]", "k_empty[1]"}

// Record makes the timeline.
func (w *Walk) Record(context.Context) (*walk.Timeline, error) {
	t := &walk.Timeline{Block: w.block, Steps: End, End: "end", Buffers: make([]walk.Buffer, 2)}
	for i := range 4 {
		x := walk.WarpTime{Ended: true, Runs: []walk.Span{{From: uint64(i) * turn, To: uint64(i+1) * turn}}}
		if i > 0 {
			x.Waits = []walk.Wait{{
				Span: walk.Span{To: uint64(i) * turn}, At: "k_full[0]", MBarrier: barriers, Barrier: -1,
				Source: &target.Source{File: file, Line: 61},
			}}
		}
		t.Warps = append(t.Warps, x)
	}
	for i, name := range mbarrierNames {
		t.MBarriers = append(t.MBarriers, walk.MBarrierTime{Addr: uint64(barriers + 8*i), Name: name})
	}
	for k := range copies {
		at, buffer := uint64(600*k), k%2
		lo := uint64(buffer * ringTile)
		tile := []target.Range{{Lo: lo, Hi: lo + ringTile}}
		layout := target.TileLayout{
			Base: lo, Swizzle: 128, Rows: 64, RowBytes: 128, Element: 2, By: "tensor map k_map",
			Address: func(row, i int) uint64 {
				x := lo + uint64(128*row+i)
				return x ^ x>>7&7<<4
			},
		}
		line := &target.Source{File: file, Line: 70 + k%2}
		t.Flights = append(t.Flights, walk.Flight{
			Operation: target.Operation{
				ID: uint64(2 * k), Kind: target.OpTensorCopy, Of: fmt.Sprintf("k_map[0, %d, 0]", 64*k),
				Writes: tile, Bytes: ringTile, MBarrier: barriers + 8*buffer, Source: line,
				Layouts: []target.TileLayout{layout},
			},
			Issued: at + 100, Landed: at + 400, Buffer: buffer,
			Name: fmt.Sprintf("tensor copy k_map[0, %d, 0] → sK[%d] (line %d)", 64*k, buffer, line.Line),
		}, walk.Flight{
			Operation: target.Operation{
				ID: uint64(2*k + 1), Kind: target.OpWgmma, Lane: -1, Reads: tile, MBarrier: -1, Source: line,
			},
			Issued: at + 450, Landed: at + 560, Buffer: -1, Name: "wgmma of warpgroup 0 (line 75)",
		})
		full, empty := &t.MBarriers[buffer], &t.MBarriers[2+buffer]
		full.Phases, empty.Phases = append(full.Phases, at+400), append(empty.Phases, at+580)
		s := &t.Buffers[buffer]
		s.Name, s.Lo, s.Hi = fmt.Sprintf("sK[%d]", buffer), lo, lo+ringTile
		s.Full, s.Empty = full.Name, empty.Name
		s.Layout, s.Reader = &layout, &layout
		s.Owned = append(s.Owned, walk.Owned{From: at + 100, Owner: walk.Filling},
			walk.Owned{From: at + 400, Owner: walk.Full}, walk.Owned{From: at + 450, Owner: walk.InUse},
			walk.Owned{From: at + 580, Owner: walk.Empty})
	}
	return t, nil
}

// Async is what the timeline has under way.
func (w *Walk) Async() (s target.AsyncState, ok bool) {
	if w.sync {
		return s, false
	}
	t, _ := w.Record(context.Background())
	now := uint64(w.at)
	for i, m := range t.MBarriers {
		n, _ := slices.BinarySearch(m.Phases, now+1)
		x := target.MBarrierState{Addr: m.Addr, Phase: uint64(n), Expected: 1, Pending: 1}
		if i < 2 && t.Buffers[i].At(now).Owner == walk.Filling {
			x.Pending, x.Promised = 0, ringTile
		}
		s.MBarriers = append(s.MBarriers, x)
	}
	for _, f := range t.Flights {
		if f.Issued <= now && now < f.Landed {
			s.Operations = append(s.Operations, f.Operation)
		}
	}
	return s, true
}

// event goes n asynchronous events on, or back.
func (w *Walk) event(n int) (walk.Position, error) {
	if w.sync {
		return w.seek(max(0, n)*End, "end", "")
	}
	t, _ := w.Record(context.Background())
	moments := []int{0, End}
	for _, f := range t.Flights {
		moments = append(moments, int(f.Issued), int(f.Landed))
	}
	for _, m := range t.MBarriers {
		for _, step := range m.Phases {
			moments = append(moments, int(step))
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	i, found := slices.BinarySearch(moments, w.at)
	if !found && n > 0 {
		i--
	}
	return w.seek(moments[max(0, min(i+n, len(moments)-1))], "asynchronous event", "")
}

var _ walk.Asynchronous = (*Walk)(nil)
