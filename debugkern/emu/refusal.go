package emu

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
)

// Refusals returns what a kernel has, in its entry and the functions that it calls, that the emulator does
// not model: all of it, in text order. What comes behind an error that is about no single instruction is not
// looked at.
func Refusals(ctx context.Context, c *chip.Chip, m *ptx.Module, entry string) ([]*ptx.Error, error) {
	var out []*ptx.Error
	_, err := decode(ctx, c, m, entry, true, &out)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var one *ptx.Error
	if errors.As(err, &one) && !slices.Contains(out, one) {
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b *ptx.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return slices.CompactFunc(out, func(a, b *ptx.Error) bool { return *a == *b }), nil
}

// collect decodes an instruction; with refused set, one that is not modelled is noted there, and does
// nothing.
func (d *decoder) collect(i int, in *ptx.Instr) {
	if d.refused == nil {
		d.instruction(i, in)
		return
	}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*ptx.Error)
			if !ok {
				panic(r)
			}
			*d.refused = append(*d.refused, e)
			*d.out = newInst(in, d.fn, i)
			d.nothing()
		}
	}()
	d.instruction(i, in)
}
