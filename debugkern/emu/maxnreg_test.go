package emu

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// registersKernel is an entry with some directives, around what each of three warpgroups executes. Words in
// capitals stand for instructions.
func registersKernel(directives, first, second, third string) string {
	r := strings.NewReplacer("DEC", "setmaxnreg.dec.sync.aligned.u32",
		"INC", "setmaxnreg.inc.sync.aligned.u32", "SYNC", "bar.sync 1, 128")
	return `.version 8.0
.target sm_90a
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out)
` + directives + `
{
	.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
	.shared .align 8 .b64 bar;
	mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; setp.lt.u32 %p2, %r1, 256; setp.lt.u32 %p3, %r1, 96;
	@%p1 bra A; @%p2 bra B; bra C;
A:
	` + r.Replace(first) + `
	bra E;
B:
	` + r.Replace(second) + `
	bra E;
C:
	` + r.Replace(third) + `
E:
	ret;
}
`
}

const bounds = ".maxntid 384,1,1 .minnctapersm 1" // 168 registers a thread

// registersCases are uses of setmaxnreg, with a finding that each has. On an H200 those that hang do not end
// either, a count on the wrong side is an illegal instruction, and what is right ends.
var registersCases = []struct {
	name                 string
	directives           string
	first, second, third string
	block                int
	line                 int    // of the finding
	says                 string // in the finding, its kind before the colon; "" for none
	missing              string
}{
	{name: "all of the pool", first: "DEC 40;", second: "INC 232;", third: "INC 232;"},
	{name: "given back late", first: "nanosleep.u32 1000; DEC 24;", second: "INC 240;", third: "INC 240;"},
	{name: "units of 8", directives: ".maxnreg 165", first: "DEC 24;", second: "INC 240;", third: "INC 240;"},
	{name: "the same count", first: "DEC 168;", second: "INC 168;"},
	{name: "twice", first: "DEC 40; SYNC; DEC 24;", second: "INC 240;", third: "INC 240;"},
	{name: "more than the pool", first: "DEC 40;", second: "INC 240;", third: "INC 240;", line: 18,
		says: "hang: warp 11 waits at t.ptx:18 (setmaxnreg.inc.sync.aligned.u32) for 240 registers a thread, " +
			"which nothing can give: they need 2304 more, and 256 are free; the block has 64512 (384 threads " +
			"with 168 each at first), of which warps 0, 1, 2, 3 hold 40 a thread (exited), " +
			"warps 4, 5, 6, 7, 8, 9, 10 hold 240 a thread (exited), warp 11 holds 168 a thread",
		missing: "counts of the warpgroups that add up to 504 at most: 40 + 240 + 240 are 520"},
	{name: "nothing given back", first: "ret;", second: "INC 176;", line: 15,
		says: "hang: warps 4, 5, 6, 7 wait at t.ptx:15 (setmaxnreg.inc.sync.aligned.u32) for 176 registers"},
	{name: "who would give waits", first: "bar.sync 2, 256;\nDEC 40;", line: 16,
		second: "INC 232; bar.sync 2, 256;",
		says: "hang: warps 4, 5, 6, 7 wait at t.ptx:16 (setmaxnreg.inc.sync.aligned.u32) for 232 registers a " +
			"thread, which nothing can give: they need 8192 more, and 0 are free; the block has 64512 (384 threads " +
			"with 168 each at first), of which warps 0, 1, 2, 3, 4, 5, 6, 7 hold 168 a thread, " +
			"warps 8, 9, 10, 11 hold 168 a thread (exited); a warp that exits gives nothing back; " +
			"warps 0, 1, 2, 3 at t.ptx:12 (bar.sync)"},
	{name: "who would give waits at an mbarrier", line: 21,
		first: "mov.u32 %r2, bar; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r2], 1; SYNC;\n" +
			"W:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@%p2 bra V;\nbra W;\nV:\nDEC 40;",
		second: "INC 232;", says: "hang: warps 4, 5, 6, 7 wait at"},
	{name: "half a warp waits for the rest of it", line: 19,
		first: "and.b32 %r2, %r1, 31; setp.lt.u32 %p3, %r2, 16; @%p3 bra D;\n" +
			"bar.sync 3, 160;\nbra E;\nD:\nDEC 40;",
		second: "INC 232;", says: "hang: warps 4, 5, 6, 7 wait at"},
	{name: "dec above", first: "DEC 200;", second: "INC 232;", line: 12,
		says: "wgmma: setmaxnreg.dec 200: the threads of warp 0 have 168 registers, and 200 are more"},
	{name: "inc below", first: "INC 40;", second: "INC 232;", line: 12,
		says: "wgmma: setmaxnreg.inc 40: the threads of warp 0 have 168 registers, and 40 are fewer"},
	{name: "part of a warpgroup", first: "@!%p3 bra E;\nDEC 40;", second: "INC 200;", line: 13,
		says: "wgmma: setmaxnreg.dec.sync.aligned.u32 40 is executed by warps 0, 1, 2 of the warpgroup, and " +
			"not by warp 3: all four must execute it"},
	{name: "two instructions", first: "@%p3 bra D;\nDEC 40;\nbra E;\nD:\nDEC 40;", line: 13,
		says: "wgmma: warp 3 executes setmaxnreg.dec.sync.aligned.u32 40, and warp 0 of the same warpgroup " +
			"setmaxnreg.dec.sync.aligned.u32 40 at t.ptx:16: all four must execute the same one"},
	{name: "twice without a barrier", first: "DEC 40;\nDEC 24;", line: 13,
		says: "wgmma: warp 0 executes setmaxnreg.dec.sync.aligned.u32 24, and warp 1 of the same warpgroup " +
			"has not executed the setmaxnreg.dec.sync.aligned.u32 40 before it",
		missing: "a barrier of the warpgroup between t.ptx:12 and t.ptx:13"},
	{name: "half a warpgroup", block: 64, first: "DEC 40;", line: 12,
		says: "wgmma: setmaxnreg.dec.sync.aligned.u32 is of four warps, and the last warpgroup of the block has 2"},
	{name: "part of a warp", first: "setp.ne.u32 %p3, %r1, 5;\n@%p3 DEC 40;", line: 13,
		says: "wgmma: setmaxnreg.dec.sync.aligned.u32 is executed by 31 of the 32 threads of a warp"},
	{name: "no bound", directives: ".maxntid 384", first: "DEC 200;", second: "INC 256;", line: 12,
		says:    "not-modelled: the counts of setmaxnreg are not checked",
		missing: ".maxnreg"},
}

// TestSetMaxNReg: each misuse is found, at its line and with its numbers where warps run in order, and right
// uses are silent.
func TestSetMaxNReg(t *testing.T) {
	for _, c := range registersCases {
		t.Run(c.name, func(t *testing.T) {
			directives := c.directives
			if directives == "" {
				directives = bounds
			}
			k := load8(t, "t.ptx", registersKernel(directives, c.first, c.second, c.third))
			for _, policy := range []string{"in-order", "reverse", "random"} {
				l := &target.Launch{
					Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{384, 1, 1}, Args: inOut(nil, 4),
				}
				if l.Schedule.Policy = policy; c.block > 0 {
					l.Block[0] = c.block
				}
				r, err := k.Launch(t.Context(), l)
				if err != nil {
					t.Fatal(err)
				}
				if c.says == "" {
					if len(r.Findings) > 0 {
						t.Errorf("%s: %+v", policy, r.Findings)
					}
					continue
				}
				for _, f := range r.Findings {
					counted, raises := strings.Contains(f.Message, "the threads of warp"),
						strings.Contains(f.Consequence, "illegal")
					if counted != raises || strings.Contains(f.Message, "need -") {
						t.Errorf("%s: %+v", policy, f)
					}
				}
				kind, _, _ := strings.Cut(c.says, ":")
				i := slices.IndexFunc(r.Findings, func(f target.Finding) bool {
					return string(f.Kind) == kind && (policy != "in-order" ||
						strings.Contains(kind+": "+f.Message, c.says))
				})
				if i < 0 {
					t.Errorf("%s: %+v", policy, r.Findings)
					continue
				}
				f := &r.Findings[i]
				if policy == "in-order" && (f.Source == nil || f.Source.Line != c.line ||
					!strings.Contains(f.Missing, c.missing)) {
					t.Errorf("at %v, want line %d; missing %q, want %q", f.Source, c.line, f.Missing,
						c.missing)
				}
			}
		})
	}
}

// TestEntryRegisters compares with what ptxas allots (testdata/registers.txt; TestAssembleRegisters of
// package cuda compares that with a ptxas).
func TestEntryRegisters(t *testing.T) {
	text, err := os.ReadFile("testdata/registers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		number, directives, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number == "#" {
			continue
		}
		want, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		k := load8(t, "t.ptx", registersKernel(directives, "DEC 40;", "INC 232;", ""))
		if got := k.p.entryRegisters(); got != (want+7)/8*8 {
			t.Errorf("%q: %d registers, want %d", directives, got, want)
		}
	}
}
