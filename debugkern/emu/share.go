package emu

import (
	"maps"
	"sort"

	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// Slots are shared between registers that are never live at the same time, so that a warp's registers stay in
// the cache. A register's interval runs, in the order of the text, over every place where it is live in any
// flow; lanes that have parted write their own lanes only, so an interval that is free in the text is free
// for every lane.
//
// A block that is stepped has a program without sharing: there a register keeps its value for whoever looks.

// shareSlots gives the registers of a function slots by linear scan over their intervals. Those of clocks and
// of wgmma have slots of their own.
func (d *decoder) shareSlots(g *cfg.Graph, slots []regSlot, clocks map[int32]bool) {
	iv := cfg.NewLiveness(g, d.step).Intervals(d.step)
	lasting := maps.Clone(clocks)
	maps.Copy(lasting, wgmmaRegisters(g.Func))
	for r := range slots {
		if k := slots[r].bank; lasting[int32(r)] && (k == bank32 || k == bank64) {
			slots[r].slot = d.slot(k)
		}
	}
	sort.Slice(iv, func(i, j int) bool {
		if iv[i].From != iv[j].From {
			return iv[i].From < iv[j].From
		}
		return iv[i].Reg < iv[j].Reg
	})
	type inUse struct {
		to   int
		slot int32
	}
	var active [3][]inUse // by bank
	var free [3][]int32
	for _, v := range iv {
		d.step(1 + len(active[0]) + len(active[1]) + len(active[2]))
		k := bankOf(g.Func.Regs[v.Reg])
		if k != bank32 && k != bank64 || v.To < 0 || lasting[int32(v.Reg)] {
			continue
		}
		i := int(k - bank32)
		kept := active[i][:0]
		for _, h := range active[i] {
			if h.to < v.From {
				free[i] = append(free[i], h.slot)
			} else {
				kept = append(kept, h)
			}
		}
		active[i] = kept
		var s int32
		if n := len(free[i]); n > 0 {
			s, free[i] = free[i][n-1], free[i][:n-1]
		} else {
			s = d.slot(k)
		}
		slots[v.Reg].slot = s
		active[i] = append(active[i], inUse{v.To, s})
	}
}

// bankOf says which bank a register lives in.
func bankOf(r ptx.Reg) bank {
	switch n := r.Type.Bits(); {
	case r.Vec != 0:
		return bankNone
	case r.Type == ptx.Pred:
		return bankPred
	case n <= 32:
		return bank32
	case n == 64:
		return bank64
	}
	return bankNone
}
