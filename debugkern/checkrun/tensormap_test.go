package checkrun

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
)

// tensorArgs are those of tensor.ptx, with a map of x.
func tensorArgs(m string) []string {
	return []string{"y=unwritten:i32[32,32]", "x=iota:i32[40,64]", "tx=tensormap{of: x, " + m + "}"}
}

// TestTensorMap: a tensor map is of memory that is no parameter, its tensor that memory's, and what the
// kernel copies by it is in the outputs, of check and of a run of the same launch.
func TestTensorMap(t *testing.T) {
	req := request("tensor.ptx", 1, 1024, tensorArgs("box: [32,32], swizzle: 128B")...)
	c := run(t, req)
	d := c.Doc
	if d.Verdict != report.Clean || len(d.Findings) > 0 || len(d.Args) != 3 ||
		d.Args[1].DType != "tensormap" || !slices.Equal(d.Args[1].Dims, []int{40, 64}) ||
		*d.Outputs[0].Written != 1024 {
		t.Errorf("%+v", d)
	}
	y := dumpOf(t, c)["arg0"]
	for i := range 1024 {
		row, at := i/32, 4*(i%32)
		chunk := at/16 ^ row%8
		want := uint32(64*row + 32 + (16*chunk+at%16)/4)
		if got := binary.LittleEndian.Uint32(y[4*i:]); got != want {
			t.Fatalf("y[%d] is %d, want %d", i, got, want)
		}
	}
	if r := adopted(t, debugtest.Open(t), req); r.Report.Digest != d.Digest {
		t.Errorf("a run's digest %s, check's %s", r.Report.Digest, d.Digest)
	}
}

// TestTensorMapMistakes: what no map can be is refused before anything is executed.
func TestTensorMapMistakes(t *testing.T) {
	s := debugtest.Open(t)
	for says, args := range map[string][]string{
		"no argument x; give its memory too": slices.Delete(tensorArgs("box: [32,32]"), 1, 2),
		"no such parameter":                  append(tensorArgs("box: [32,32]"), "z=zeros:i32[4]"),
		"at most 64 with swizzle 64B":        tensorArgs("box: [32,32], swizzle: 64B"),
		"a box of 1 extents":                 tensorArgs("box: [32]"),
		"ends at byte 10256, and x has":      tensorArgs("box: [32,32], offset: 16"),
		"is no memory that a tensor": {
			"y=zeros:i32[4]", "x=null", "tx=tensormap{of: x, box: [4,4]}",
		},
		"a tensor map is a parameter of 128 bytes": {
			"y=tensormap{of: x, box: [4,4]}", "x=zeros:i32[8,8]", "tx=tensormap{of: x, box: [4,4]}",
		},
		"which is no tensor map: give it as tensormap{of": {"y=zeros:i32[1024]", "tx={0: 1:i32}"},
	} {
		c, err := Kernel(t.Context(), s, request("tensor.ptx", 1, 1024, args...), nil)
		switch {
		case err == nil && (c.Doc.Error == nil || !strings.Contains(c.Doc.Error.Message, says)):
			t.Errorf("want %q: %+v", says, c.Doc.Error)
		case err != nil && !strings.Contains(err.Error(), says):
			t.Errorf("want %q: %v", says, err)
		}
	}
}
