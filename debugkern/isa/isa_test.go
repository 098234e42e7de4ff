package isa

import (
	"slices"
	"strings"
	"testing"
)

// TestTable checks that every row can be read: letters that exist, sets that exist, no opcode twice, and
// facts that fit the kind.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, rows := range [][]row{arithmeticRows, bitRows, selectRows, memoryRows, controlRows, matrixRows,
		otherRows} {
		for _, r := range rows {
			for _, op := range strings.Fields(r.ops) {
				if seen[op] {
					t.Errorf("%s has two rows", op)
				}
				seen[op] = true
			}
			for _, list := range []string{r.mods, r.need} {
				for _, m := range strings.Fields(list) {
					if _, ok := modSets[strings.TrimPrefix(m, "@")]; m[0] == '@' && !ok {
						t.Errorf("%s: there is no set %s", r.ops, m)
					}
				}
			}
		}
	}
	for _, op := range Opcodes() {
		for _, f := range Forms(op) {
			checkForm(t, f)
		}
	}
}

func checkForm(t *testing.T, f *Form) {
	optional := false
	for i, a := range f.Args {
		if !strings.ContainsRune("dDPQXsSpmvVilx", rune(a.Kind)) || !strings.ContainsRune("-tw1234luABCDM",
			rune(a.Class)) {
			t.Errorf("%s: operand %d is %c%c", f.Name, i+1, a.Kind, a.Class)
		}
		if optional && !a.Optional {
			t.Errorf("%s: operand %d may not be left out, one before it may", f.Name, i+1)
		}
		optional = a.Optional
		if i > 0 && strings.ContainsRune("dDPQX", rune(a.Kind)) {
			t.Errorf("%s: operand %d is a destination: only the first can be one", f.Name, i+1)
		}
	}
	for _, m := range f.when {
		if !f.HasMod(m) {
			t.Errorf("%s: .%s makes a form, but is no modifier", f.Name, m)
		}
	}
	if f.Real != nil && f.Kind != Arith && f.Kind != Special && f.Kind != Convert {
		t.Errorf("%s has a real function, but is no arithmetic", f.Name)
	}
	if f.Kind.Loads() && !f.Dest || f.Kind.Writes() && f.Dest && f.Kind != Atomic && f.Kind != CopyAsync {
		t.Errorf("%s: destination %v, but it loads %v, writes memory %v", f.Name, f.Dest, f.Kind.Loads(),
			f.Kind.Writes())
	}
}

// TestForms asks for instructions whose modifiers decide what they are.
func TestForms(t *testing.T) {
	for text, want := range map[string]struct {
		kind Kind
		dest bool
	}{
		"add.s32":        {Arith, true},
		"st.shared.f32":  {Store, false},
		"red.global.add": {Reduce, false},
		"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16": {LoadFragment, true},
		"wmma.store.d.sync.aligned.row.m16n16k16.f32":       {StoreFragment, false},
		"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32":   {Multiply, true},
		"cp.async.cg.shared.global":                         {CopyAsync, false},
		"cp.async.wait_group":                               {WaitAsync, false},
		"cp.async.bulk.wait_group":                          {WaitBulk, false},
		"cp.async.bulk.shared::cluster.global":              {BulkCopy, false},
		"mbarrier.arrive.expect_tx.shared.b64":              {MBarrier, true},
		"mbarrier.expect_tx.shared.b64":                     {MBarrier, false},
		"cp.async.commit_group":                             {CommitAsync, false},
		"bar.sync":                                          {Barrier, false},
		"bar.red.popc.u32":                                  {Barrier, true},
		"bar.warp.sync":                                     {WarpBarrier, false},
		"barrier.cluster.arrive":                            {ClusterBarrier, false},
		"mbarrier.init.shared.b64":                          {MBarrier, false},
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16": {WgmmaMultiply, true},
		"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32":      {WgmmaSparse, true},
		"wgmma.wait_group.sync.aligned":                     {WgmmaWait, false},
		"frobnicate.b32":                                    {Other, true},
	} {
		parts := strings.Split(text, ".")
		f := Lookup(parts[0], parts[1:])
		if f.Kind != want.kind || f.Dest != want.dest || f.Known() != (parts[0] != "frobnicate") {
			t.Errorf("%s: kind %d, destination %v, known %v", text, f.Kind, f.Dest, f.Known())
		}
	}
}

// TestFragments: the lanes of a warp hold every cell of a matrix once, and their registers have room for the
// elements.
func TestFragments(t *testing.T) {
	check := func(name string, f *Fragment) {
		if f.Registers*f.PerRegister < f.Elements {
			t.Errorf("%s: %d registers for %d elements", name, f.Registers, f.Elements)
		}
		if f.Distinct() > f.Registers || f.Registers%f.Distinct() != 0 {
			t.Errorf("%s: %d registers for %d different ones", name, f.Registers, f.Distinct())
		}
		count := map[[2]int]int{}
		for lane := range 32 {
			for e := range f.Elements {
				row, col := f.Cell(lane, e)
				count[[2]int{row, col}]++
			}
		}
		for row := range f.Rows {
			for col := range f.Cols {
				if n := count[[2]int{row, col}]; n != 1 {
					t.Errorf("%s: cell (%d,%d) is in %d elements", name, row, col, n)
				}
			}
		}
		if len(count) != f.Rows*f.Cols {
			t.Errorf("%s: %d cells of %d×%d", name, len(count), f.Rows, f.Cols)
		}
	}
	for s, f := range fragments() {
		check(s.op+" "+s.shape+" "+s.element+" "+string(s.role), f)
	}
	check("8×8", Matrix8(false))
	check("8×8 transposed", Matrix8(true))
}

// TestFragmentOfOperand looks up fragments by the operands that hold them.
func TestFragmentOfOperand(t *testing.T) {
	for _, c := range []struct {
		instr     string
		class     ArgClass
		registers int
	}{
		{"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", ClassA, 8},
		{"wmma.load.c.sync.aligned.row.m16n16k16.shared.f32", ClassC, 8},
		{"wmma.store.d.sync.aligned.row.m16n16k16.f16", ClassD, 4},
		{"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", ClassD, 4},
		{"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", ClassC, 8},
		{"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", ClassA, 4},
		{"wmma.load.b.sync.aligned.col.m32n8k16.global.bf16", ClassB, 2},
		{"wmma.load.a.sync.aligned.row.m32n8k16.global.s8", ClassA, 4},
		{"wmma.load.b.sync.aligned.row.m16n16k8.global.tf32", ClassB, 4},
		{"wmma.load.c.sync.aligned.row.m8n8k4.f64", ClassC, 2},
		{"wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32", ClassD, 8},
		{"mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", ClassA, 4},
		{"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", ClassB, 2},
		{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ClassA, 4},
		{"mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16", ClassC, 2},
		{"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", ClassA, 8},
		{"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ClassA, 4},
		{"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ClassB, 4},
		{"mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ClassA, 2},
		{"mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.u4.s32", ClassB, 4},
		{"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32", ClassD, 4},
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", ClassA, 4},
		{"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", ClassD, 2},
		{"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", ClassA, 2},
		{"ldmatrix.sync.aligned.m8n8.x4.shared.b16", ClassMatrices, 4},
		{"ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", ClassMatrices, 0},
	} {
		parts := strings.Split(c.instr, ".")
		f := Lookup(parts[0], parts[1:])
		if n := f.Registers(c.class, parts[1:]); n != c.registers {
			t.Errorf("%s, %c: %d registers, want %d", c.instr, c.class, n, c.registers)
		}
	}
}

// TestNeeds: what an instruction needs is written for a message.
func TestNeeds(t *testing.T) {
	for op, want := range map[string]string{"mul": ".lo, .hi or .wide",
		"rcp": ".approx or a rounding modifier", "div": ".approx, .full or a rounding modifier"} {
		f := Lookup(op, nil)
		if len(f.Also()) != 1 || f.Also()[0].Text != want {
			t.Errorf("%s: %v", op, f.Also())
		}
	}
	if f := Lookup("fma", nil); !slices.Equal(f.Need(), []string{"rn", "rz", "rm", "rp", "oob"}) {
		t.Errorf("fma needs %v", f.Need())
	}
}
