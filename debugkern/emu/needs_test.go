package emu

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// declared is a kernel with variables of its own in the module and in the function.
func declared(t *testing.T, module, local string) target.Kernel {
	t.Helper()
	text := ".version 8.0\n.target sm_80\n.address_size 64\n" + module +
		"\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n" + local +
		"\nld.param.u64 %rd1, [p];\nret;\n}\n"
	m, err := ptx.Parse("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(chip.SM90()).Load(t.Context(), m, "k")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestLaunchesAskForMemory: what a kernel and its launch would take is added up and refused before
// any of it is allocated.
func TestLaunchesAskForMemory(t *testing.T) {
	small := &target.Buffer{DType: probes.F32, Bytes: 64, Output: true}
	one := probes.Dim3{1, 1, 1}
	for name, c := range map[string]struct {
		module, local string
		grid, block   probes.Dim3
		buffer        *target.Buffer
		says          string // "": it is executed
	}{
		"nothing much": {"", "", one, one, small, ""},
		"a global variable": {".global .b8 g[68719476736];", "mov.u64 %rd2, g;", one, one, small,
			"module variables 64 GiB"},
		"local variables": {"", ".local .b8 l[1073741824];", probes.Dim3{4, 1, 1}, probes.Dim3{256, 1, 1},
			small, "local memory "},
		"local of 1 TiB": {"", ".local .b8 a[1099511627776]; .local .b8 b[1099511627776];", one,
			probes.Dim3{1024, 1, 1}, small, "local memory "},
		"an argument": {
			"", "", one, one, &target.Buffer{DType: probes.U8, Bytes: 1 << 38, Output: true},
			"arguments 512 GiB",
		},
		"a huge argument": {
			"", "", one, one, &target.Buffer{DType: probes.U8, Bytes: math.MaxInt64, Output: true},
			"arguments more than 8 EiB",
		},
		"a negative one": {"", "", one, one, &target.Buffer{DType: probes.U8, Bytes: -1, Output: true},
			"arguments more than 8 EiB"},
		"the largest grid": {"", "", probes.Dim3{1<<31 - 1, 65535, 65535}, one, small,
			"lists of blocks more than 8 EiB"},
		"many global ones": {"", "", one, one, small, "module variables 4 PiB"},
		"grid.y too large": {"", "", probes.Dim3{1, 65536, 1}, one, small,
			"k.ptx:5:10: launch k: a grid of 65536 blocks in y, at most 65535"},
		"block.z too large": {"", "", one, probes.Dim3{1, 1, 65}, small, "65 threads in z, at most 64"},
		"too many threads": {"", "", one, probes.Dim3{1024, 2, 1}, small,
			"2048 threads a block, at most 1024"},
		"overflowing blocks": {"", "", one, probes.Dim3{math.MaxInt64, 4, 1}, small,
			"threads in x, at most 1024"},
		"shared memory": {".shared .b8 s[4294967296];", "mov.u64 %rd2, s;", one, one, small,
			"k.ptx:4:13: launch k: 4 GiB of shared memory a block, at most 227 KiB"},
	} {
		if name == "many global ones" {
			c.module = ""
			for i := range 1 << 12 {
				c.module += fmt.Sprintf(".global .b8 g%d[1099511627776];\n", i)
				c.local += fmt.Sprintf("mov.u64 %%rd2, g%d;\n", i)
			}
			c.says = "module variables 4 PiB"
		}
		l := &target.Launch{
			Grid: c.grid, Block: c.block, Args: []target.Arg{{Name: "p", Buffer: c.buffer}},
			Memory: budget.New(256 << 20),
		}
		_, err := declared(t, c.module, c.local).Launch(t.Context(), l)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		var refused *budget.Refused
		if strings.Contains(c.says, " GiB") && !strings.HasPrefix(c.says, "k.ptx") &&
			!errors.As(err, &refused) {
			t.Errorf("%s: %T", name, err)
		}
		if l.Memory.Collect(); l.Memory.Used() != 0 {
			used := l.Memory.Used()
			t.Errorf("%s: %d bytes are still reserved", name, used)
		}
	}
}

// TestMemoryUsedUpByOthers: a launch that fits the limit and not what is left of it names what asked.
func TestMemoryUsedUpByOthers(t *testing.T) {
	k := declared(t, ".global .b8 g[100000000];", "mov.u64 %rd2, g;")
	b := budget.New(128 << 20)
	release, err := b.Reserve("other", 100<<20)
	if err != nil {
		t.Fatal(err)
	}
	l := &target.Launch{Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Memory: b,
		Args: []target.Arg{{Name: "p", Buffer: &target.Buffer{DType: probes.F32, Bytes: 64, Output: true}}}}
	var full *budget.Exhausted
	if _, err := k.Launch(t.Context(), l); !errors.As(err, &full) || full.Part != "the launch of k" {
		t.Errorf("%v", err)
	}
	release()
	res, err := k.Launch(t.Context(), l)
	if err != nil || b.Used() != 64 {
		t.Errorf("%v, %d in use: the result has 64 bytes", err, b.Used())
	}
	runtime.KeepAlive(res)
	if b.Collect(); b.Used() != 0 {
		t.Errorf("%d in use after the result is gone", b.Used())
	}
}

// TestSteppedBlocksAskForMemory: a block that is executed again has memory of its own, reserved while
// somebody has the block.
func TestSteppedBlocksAskForMemory(t *testing.T) {
	k := declared(t, ".global .b8 g[100000000];", "mov.u64 %rd2, g;").(target.Stepper)
	l := &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Memory: budget.New(256 << 20),
		Args: []target.Arg{{Name: "p", Buffer: &target.Buffer{DType: probes.F32, Bytes: 64, Output: true}}},
	}
	first, err := k.Open(l, probes.Dim3{})
	if err != nil || l.Memory.Used() < 200_000_000 {
		t.Fatalf("%v, %d in use", err, l.Memory.Used())
	}
	var full *budget.Exhausted
	if _, err := k.Open(l, probes.Dim3{}); !errors.As(err, &full) ||
		full.Part != "executing block 0,0,0 of k again" {
		t.Errorf("a second block: %v", err)
	}
	runtime.KeepAlive(first)
	first = nil
	if _, err := k.Open(l, probes.Dim3{}); err != nil {
		t.Errorf("once the first is gone: %v", err)
	}
	l.Memory = budget.New(128 << 20)
	var refused *budget.Refused
	if _, err := k.Open(l, probes.Dim3{}); !errors.As(err, &refused) || l.Memory.Used() != 0 {
		t.Errorf("more than there is: %v, %d in use", err, l.Memory.Used())
	}
}

// TestWaitingBlocksAskForMemory: blocks that wait for others become resident only while there
// is memory for them.
func TestWaitingBlocksAskForMemory(t *testing.T) {
	text := `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %q<2>;
.local .b8 l[1048576];
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
L:
ld.acquire.gpu.global.u32 %r2, [%rd1];
setp.eq.u32 %q1, %r2, 0;
@%q1 bra L;
ret;
}
`
	m, err := ptx.Parse("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(chip.SM90()).Load(t.Context(), m, "k")
	if err != nil {
		t.Fatal(err)
	}
	b := budget.New(512 << 20)
	l := &target.Launch{Grid: probes.Dim3{64, 1, 1}, Block: probes.Dim3{32, 1, 1}, Memory: b, Parallel: 1,
		Args: []target.Arg{
			{Name: "p", Buffer: &target.Buffer{DType: probes.U32, Bytes: 4, Init: make([]byte, 4)}},
		}}
	_, err = k.Launch(t.Context(), l)
	var f *target.Fault
	if !errors.As(err, &f) || f.Kind != "memory" ||
		!strings.Contains(f.Msg, "another block that waits for others") || b.Used() != 0 {
		t.Errorf("%v, %d in use", err, b.Used())
	}
}
