package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// TestLineageJSON: the document has the contract's members, its ids are those of nodes, and the first
// node is the cell's.
func TestLineageJSON(t *testing.T) {
	stdout, stderr, code := call(t, "lineage", "flashcore_fused_wmma", "S@1[3,17]", "--block", "1,2,0",
		"--address", "--control", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var raw struct {
		Schema, Cell string
		Value        *float64
		Nodes        []map[string]any
	}
	var doc report.Lineage
	if err := json.Unmarshal([]byte(stdout), &raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if raw.Schema != "tilescope.lineage/1" || raw.Cell != "S@1[3,17]" || raw.Value == nil ||
		doc.Block != [3]int{1, 2, 0} {
		t.Errorf("schema %q, cell %q, value %v, block %v", raw.Schema, raw.Cell, raw.Value, doc.Block)
	}
	kinds := map[string]int{}
	for i, n := range raw.Nodes {
		for _, key := range []string{"id", "op", "source", "warp", "lanes", "value", "kind", "of"} {
			if _, there := n[key]; !there {
				t.Errorf("node %d has no %q", i, key)
			}
		}
		kinds[doc.Nodes[i].Kind]++
		if doc.Nodes[i].ID != i {
			t.Errorf("node %d has id %d", i, doc.Nodes[i].ID)
		}
		for _, id := range doc.Nodes[i].Of {
			if id < 0 || id >= len(doc.Nodes) {
				t.Errorf("node %d is made of %d, which is no node", i, id)
			}
		}
	}
	for _, k := range []string{"value", "address", "control"} {
		if kinds[k] == 0 {
			t.Errorf("no node is reached by %s: %v", k, kinds)
		}
	}
	if !strings.HasPrefix(doc.Nodes[0].Op, "stored to sS[3][17]") {
		t.Errorf("the first node is %q", doc.Nodes[0].Op)
	}
}

// TestLineageUsage: what is not there, or cannot be read, is exit code 2 and says what is.
func TestLineageUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"stage2"}, "takes a target and a cell"},
		{[]string{"stage2", "Z@1[3,17]"}, `no stage or argument "Z"; it has stages`},
		{[]string{"stage2", "S@1[3,17]", "--block", "a"}, "--block a: expected X,Y,Z"},
		{[]string{"stage2", "S@1[3,17]", "--depth", "-1"}, "--depth -1"},
		{[]string{"stage2", "S@1[3,17]", "--dump", "x.npz"}, "--dump writes the tiles of a run"},
		{[]string{"stage2", "S@4[3,17]"}, "stage S has kv tiles 0 to 3"},
		{[]string{"stage2", "S@1[3,17]", "--stages", "O"}, "stage S is not captured in this run (--stages)"},
		{[]string{"nosuch", "S@1[3,17]"}, "nosuch"},
	} {
		stdout, stderr, code := call(t, append([]string{"lineage"}, c.args...)...)
		if code != int(report.CodeUsage) || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("lineage %v: exit %d, %q, want exit 2 and %q", c.args, code, stderr, c.want)
		}
	}
}

// TestLineageOfFault: what a planted fault did shows in the lineage of a cell that it changed.
func TestLineageOfFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fault, cell, right, wrong string }{
		{"k-scale-head", "K@0[3,17]", "Ks[1] =", "Ks[2] ="},
		{"kt-rowmajor", "S@0[3,17]", "K[0][1][17][0..63]", "K[0][1][16..31][1..49 by 16]"},
		{"reduce-lane0", "l@0[3,0]", "maximum of 33 values, 32 values",
			"maximum of 2 to 33 values, 32 values"},
		{"u-no-rescale", "U@1[3,17]", "a · b, 2 values = 0, then ",
			"loaded from U_smem[3][17] = 0, then 1.47562, sdpa_fp8_stage_c_wmma.cu:566"},
		{"v-midpoint", "V@0[3,17]", "b: 128,", "b: 0,"},
		{"scale-twice", "S@0[3,17]", "\n      ├─ a: sum of 64 products = ", "a: a · b ="},
	} {
		right, stderr, code := call(t, "lineage", "stage2", c.cell, "--block", "0,1,0")
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", c.cell, code, stderr)
		}
		wrong, stderr, code := call(t, "lineage", "stage2", c.cell, "--block", "0,1,0", "--fault", c.fault)
		if code != 0 {
			t.Fatalf("%s of %s: exit %d: %s", c.cell, c.fault, code, stderr)
		}
		if !strings.Contains(right, c.right) || strings.Contains(wrong, c.right) {
			t.Errorf("%s: %q is not what the fault takes away:\n%s\n%s", c.fault, c.right, right, wrong)
		}
		if !strings.Contains(wrong, c.wrong) || strings.Contains(right, c.wrong) {
			t.Errorf("%s: %q is not what the fault brings:\n%s", c.fault, c.wrong, wrong)
		}
	}
}

// TestLineageOfFile: a kernel's file takes the options of check, --block among them; the block that a cell
// is of is --in-block. Options of the file's own text count, and those of check alone are passed over.
func TestLineageOfFile(t *testing.T) {
	file := kernelFile(t, "reduce.ptx", "// tilescope: --grid 4 --block 256 --arg 0=randn:f32[1000]",
		"// tilescope: --arg 1=zeros:f32[4] --arg 2=1000 --backend emu")
	plain := kernelFile(t, "reduce.ptx")
	launch := []string{
		"--grid", "4", "--block", "256", "--arg", "0=randn:f32[1000]", "--arg", "1=zeros:f32[4]", "--arg",
		"2=1000",
	}
	for _, args := range [][]string{
		{file, "arg1[3]"}, {file, "arg1[3]", "--in-block", "3"},
		append([]string{plain, "arg1[3]"}, launch...),
	} {
		out, errText, code := call(t, append([]string{"lineage"}, args...)...)
		if code != 0 || !strings.Contains(out, "arg1[3] = ") || !strings.Contains(out, "arg0[768..999]") {
			t.Errorf("lineage %v: exit %d: %s%s", args[1:], code, out, errText)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{plain, "arg1[3]"}, "--grid is missing"},
		{[]string{file, "arg1[4]"}, "argument arg1 has dimensions [4], and 4 elements"},
		{[]string{file, "arg0[4]"}, "no block writes it"},
		{[]string{file, "arg1[3]", "--in-block", "9"}, "block 9,0,0 lies outside the grid"},
		{[]string{file, "arg1[3]", "--in-block", "x"}, "--in-block x: expected X,Y,Z"},
		{[]string{file, "arg1[3]", "--shape", "small"}, "--shape: "},
		{[]string{"stage2", "S@1[3,17]", "--block", "0", "--in-block", "0"}, "are the same"},
		{[]string{"stage2", "S@1[3,17]", "--grid", "4"}, "--grid: launch and arguments of a TARGET"},
	} {
		if _, errText, code := call(t, append([]string{"lineage"}, c.args...)...); code != 2 ||
			!strings.Contains(errText, c.want) {
			t.Errorf("lineage %v: exit %d, %q, want %q", c.args, code, errText, c.want)
		}
	}
}
