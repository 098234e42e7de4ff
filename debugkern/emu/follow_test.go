package emu

import (
	"context"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// follower adds up what instructions with a destination left in it.
type follower struct {
	t     *testing.T
	view  target.View
	seen  map[string]int
	told  *target.Event
	wants target.ClassSet
}

func (f *follower) View(v target.View)         { f.view = v }
func (f *follower) Interests() target.ClassSet { return f.wants }
func (f *follower) Follows() target.ClassSet   { return f.wants }

func (f *follower) Event(e *target.Event) {
	if e.Class == target.ClassBarrierDone { // no instruction of its own
		return
	}
	c := *e
	f.told = &c
}

// After checks results that can be told from the lane alone.
func (f *follower) After(e *target.Event) {
	if f.told == nil || f.told.Step != e.Step || f.told.Warp != e.Warp || f.told.Instr != e.Instr ||
		f.told.Mask != e.Mask {
		f.t.Errorf("told after %s of warp %d, before it of %+v", e.Instr.Opcode(), e.Warp, f.told)
	}
	f.told = nil
	want := map[string]func(lane int) uint64{
		"add": func(lane int) uint64 { return uint64(lane + 5) },
		"mul": func(lane int) uint64 { return uint64(3 * (lane + 5)) },
		"ld":  func(lane int) uint64 { return uint64(3 * (lane + 5)) },
	}[e.Instr.Op]
	if want == nil || !e.Instr.HasDest() || e.Instr.Has("param") {
		return
	}
	f.seen[e.Instr.Op]++
	r := f.view.Register(e.Warp, e.Func, e.Instr.Args[0].Registers(nil)[0])
	for lane, v := range r {
		if e.Mask>>lane&1 != 0 && v != want(lane) {
			f.t.Errorf("%s leaves %d in lane %d, want %d", e.Instr.Opcode(), v, lane, want(lane))
		}
	}
}

const followed = `.version 8.0
.target sm_80
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out)
{
	.shared .align 4 .b8 s[128];
	.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %laneid;
	add.u32 %r1, %r1, 5;
	mul.lo.u32 %r2, %r1, 3;
	setp.lt.u32 %p1, %r1, 20;
	@%p1 bra LOW;
	mov.u32 %r3, s;
	sub.u32 %r4, %r1, 5;
	shl.b32 %r4, %r4, 2;
	or.b32 %r3, %r3, %r4;
	st.shared.u32 [%r3], %r2;
	ld.shared.u32 %r5, [%r3];
LOW:
	bar.sync 0;
	ret;
}
`

// TestFollow: whoever asks is told of an instruction again when its result is there, before anything else
// executes, also where registers share slots and lanes have parted.
func TestFollow(t *testing.T) {
	k := load8(t, "follow.ptx", followed)
	for _, wants := range []target.ClassSet{
		target.AllClasses, target.Classes(target.ClassALU, target.ClassLoad),
	} {
		f := &follower{t: t, seen: map[string]int{}, wants: wants}
		l := &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{64, 1, 1}, Args: inOut(make([]byte, 4), 4),
		}
		l.Observe = func(probes.Dim3) target.Observer { return f }
		if _, err := k.Launch(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		if f.seen["add"] != 2 || f.seen["mul"] != 2 || f.seen["ld"] != 2 {
			t.Errorf("seen %v, want each once a warp", f.seen)
		}
	}
}
