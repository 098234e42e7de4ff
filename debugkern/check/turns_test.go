package check_test

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestNamedBarriers: two pairs of warps that use one named barrier without order between them are found, and
// those that take turns, or have a barrier each, are silent; so is one that all lanes of a warp come to.
func TestNamedBarriers(t *testing.T) {
	for _, c := range []struct{ name, first, second, says string }{
		{"one number", "bar.sync 1, 64; bar.sync 1, 64;", "bar.sync 1, 64;",
			"under another order both count for one phase"},
		{"a number each", "bar.sync 1, 64; bar.sync 1, 64;", "bar.sync 2, 64;", ""},
		{"one number in turn", "bar.sync 1, 64; bar.sync 3, 128;", "bar.sync 3, 128; bar.sync 1, 64;", ""},
		{"other counts", "bar.sync 1, 64;", "bar.sync 1, 128;", "is for 128 threads at"},
		{"other counts, each of which is reached", "bar.sync 1, 64;", "@%p4 bar.sync 1, 32;", "barrier 1 "},
		{"other counts in turn", "bar.sync 1, 64; bar.sync 3, 128;",
			"bar.sync 3, 128; @%p4 bar.sync 1, 32;", ""},
		{"a number that is none", "bar.sync 16, 64;", "", "at barrier 16: a block has barriers 0 to 15"},
		{"switched off, and going on", "@%p2 bar.sync 1, 32; bar.sync 2, 64;", "", "do not execute it"},
		{"switched off, and exiting", "@%p2 bar.sync 1, 32;", "", "do not execute it"},
		{"exited before", "@%p2 ret; bar.sync 1, 32;", "", ""},
		{"an arrival at another number", "bar.sync 1, 128;", "bar.arrive 2, 128;",
			"only 64 come: warps 2, 3 have arrived at barrier 2"},
		{"its own arrival", "bar.arrive 1, 128; bar.sync 1, 128;", "", "has arrived at t.ptx"},
		{"no arrival", "bar.sync 1, 128;", "", "only 64 come: warps 2, 3 have exited"},
		{"whole warps switched off", "@%p3 bar.sync 1, 32;", "", ""},
	} {
		eachSchedule(t, check.Races|check.Barriers, `
	.reg .pred %p<5>; .reg .b32 %r<4>;
	mov.u32 %r0, %tid.x; setp.lt.u32 %p4, %r0, 96; and.b32 %r1, %r0, 31;
	setp.lt.u32 %p1, %r0, 64; setp.lt.u32 %p2, %r1, 16; setp.lt.u32 %p3, %r0, 32;
	@%p1 bra A;
	`+c.second+`
	ret;
A:
	`+c.first, func(s target.Schedule, found []target.Finding) {
			hit := slices.ContainsFunc(found, func(f target.Finding) bool {
				return f.Kind == target.Barrier && strings.Contains(f.Message, c.says)
			})
			if c.says == "" && len(found) > 0 || c.says != "" && !hit {
				t.Errorf("%s, %s: %+v", c.name, s, found)
			}
		})
	}
}

// eachSchedule executes a kernel of one block of 128 threads under every schedule, and calls visit with what
// is found in it. text is what its body has before the last return.
func eachSchedule(
	t *testing.T, set check.Set, text string, visit func(s target.Schedule, found []target.Finding),
) {
	t.Helper()
	k := loaded(t, `.version 8.0
.target sm_80
.address_size 64
.visible .entry t()
{`+text+`
	ret;
}
`)
	for _, s := range schedules {
		o := check.New(check.Options{Set: set})
		r, err := k.Launch(t.Context(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{128, 1, 1}, Schedule: s, Observe: o.Observer,
			Discard: o.Discard,
		})
		if err != nil {
			t.Fatal(err)
		}
		visit(s, append(r.Findings, o.Findings()...))
	}
}

// TestBypassedBarrier: a barrier of all threads that some of the block go round is found wherever they write
// something behind it; a thread that returned early, before the barrier or behind it, has bypassed none.
func TestBypassedBarrier(t *testing.T) {
	const write = "st.shared.u32 [s], %r0;"
	for _, c := range []struct{ name, text, says string }{
		{"lanes", "@!%p1 bra L; bar.sync 0; L: " + write,
			"72 of 128 reach it: lanes 8-31 of warp 2 and warp 3 bypass it"},
		{"warps", "@!%p2 bra L; bar.sync 0; L: " + write,
			"64 of 128 reach it: warps 2, 3 bypass it and go on at"},
		{"exchanged behind it", "@!%p2 bra L; bar.sync 0; L: shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;",
			"64 of 128 reach it: warps 2, 3 bypass it and go on at"},
		{"no thread", "@!%p3 bra L; bar.sync 0; L: " + write, ""},
		{"nothing behind it", "@!%p1 bra L; bar.sync 0; L:", ""},
		{"written in front of it", write + "@!%p1 bra L; bar.sync 0; L:", ""},
		{"returned early", "@!%p1 ret; bar.sync 0; " + write, ""},
		{"returned in a turn", "L: bar.sync 0; " + write + " @!%p1 ret; add.u32 %r1, %r1, 1; " +
			"setp.lt.u32 %p4, %r1, 3; @%p4 bra L; " + write, ""},
		{"fewer turns",
			"L: bar.sync 0; add.u32 %r1, %r1, 64; setp.lt.u32 %p4, %r1, %r0; @%p4 bra L; " + write,
			"63 of 128 reach it: lane 0 of warp 2 and warps 0, 1 bypass it"},
		{"as many turns",
			"L: bar.sync 0; add.u32 %r1, %r1, 64; setp.lt.u32 %p4, %r1, 200; @%p4 bra L; " + write, ""},
		{"as many arrivals", "@!%p1 bra L; bar.sync 0; L: @%p1 bra M; bar.sync 0; M: " + write,
			"is reached at different places"},
	} {
		eachSchedule(t, check.Barriers, `
	.reg .pred %p<5>; .reg .b32 %r<4>; .shared .align 4 .b8 s[4];
	mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
	setp.lt.u32 %p1, %r0, 72; setp.lt.u32 %p2, %r0, 64; setp.ge.u32 %p3, %r0, 128;
	`+c.text, func(s target.Schedule, found []target.Finding) {
			hit := slices.ContainsFunc(found, func(f target.Finding) bool {
				return f.Kind == target.Barrier && strings.Contains(f.Message, c.says)
			})
			if c.says == "" && len(found) > 0 || c.says != "" && (!hit || len(found) != 1) {
				t.Errorf("%s, %s: %+v", c.name, s, found)
			}
		})
	}
}
