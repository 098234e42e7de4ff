package emu

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/target"
)

// Exchanges of registers between the lanes of a warp (shfl, vote, match, redux, elect) name their lanes in a
// member mask. PTX ISA, "shfl.sync": behaviour is undefined where the executing lane is not in the mask,
// where a lane that the mask names does not execute the instruction (it waits for those that have not
// exited), and what a lane reads from one that is inactive or not in the mask is undefined. Each is a finding
// of kind shuffle.

// members checks the mask of an exchange that the lanes of m execute, all that it waits for being here.
func (w *warp) members(in *inst, m uint32) {
	here := w.groups[w.cur].mask
	if w.u32[in.c]&stUniform != 0 {
		if mask := w.r32[in.c][0]; m&^mask|mask&here&^m == 0 {
			return
		}
	}
	masks := w.full32(in.c)
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		mask := masks[lane]
		if mask>>lane&1 == 0 {
			w.exchange(in, lane,
				fmt.Sprintf("lane %d executes %s with the mask %s, which leaves it out; lanes %s execute it",
					lane, in.src.Opcode(), maskText(mask), laneRanges(m)))
		}
		if off := mask & here &^ m; off != 0 {
			w.exchange(in, lane,
				fmt.Sprintf("the mask %s of %s names lanes %s, which skip it; lanes %s execute it",
					maskText(mask), in.src.Opcode(), laneRanges(off), laneRanges(m)))
		}
	}
}

// strangers reports the lanes of bad, which take their value from a lane (from) that is not in their mask or
// does not take part.
func (w *warp) strangers(in *inst, bad, m uint32, from *[32]uint32) {
	masks := w.full32(in.c)
	for l := bad; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		j := from[lane] & 31
		why := "which does not execute it"
		switch {
		case w.exists>>j&1 == 0:
			why = "which the block does not have"
		case w.alive>>j&1 == 0:
			why = "which has exited without it"
		case m>>j&1 != 0:
			why = "which the mask leaves out"
		}
		w.exchange(in, lane,
			fmt.Sprintf("lane %d reads a register of lane %d, %s: the mask is %s; lanes %s execute %s",
				lane, j, why, maskText(masks[lane]), laneRanges(m), in.src.Opcode()))
	}
}

// exchange adds one lane's wrong exchange: those of an instruction are one cause.
func (w *warp) exchange(in *inst, lane int, msg string) {
	if w.blk.again(target.Shuffle, w, in, lane) {
		return
	}
	w.blk.report(w, in, lane, target.Shuffle, variable{}, place{}, msg, "")
}

// absent names, for a message, the lanes that an exchange waits for and that can never come; "" where
// no lane waits at one.
func (b *block) absent() string {
	for _, w := range b.warps {
		for i := range w.groups {
			g := &w.groups[i]
			in := &b.p.code[g.pc]
			if gone := g.need & w.alive &^ g.mask; g.wait == waitLanes &&
				in.class == target.ClassShuffle && gone != 0 {
				return fmt.Sprintf("; the mask of %s at %s names lanes %s of warp %d, which never execute it",
					in.src.Opcode(), in.where(),
					laneRanges(gone), w.id)
			}
		}
	}
	return ""
}

func maskText(mask uint32) string {
	return fmt.Sprintf("%#08x (lanes %s)", mask, laneRanges(mask))
}

// laneRanges writes a mask as ranges: "0-15, 20"; "none" for 0.
func laneRanges(mask uint32) string {
	s := ""
	for i := 0; i < 32; {
		if mask>>i&1 == 0 {
			i++
			continue
		}
		n := bits.TrailingZeros32(^(mask >> i))
		if s != "" {
			s += ", "
		}
		if s += fmt.Sprint(i); n > 1 {
			s += fmt.Sprintf("-%d", i+n-1)
		}
		i += n
	}
	if s == "" {
		return "none"
	}
	return s
}
