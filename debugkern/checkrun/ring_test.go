package checkrun

import (
	"encoding/binary"
	"fmt"
	"testing"

	"tilescope/debugkern/fp"
)

// TestRing: a ring buffer that tensor copies fill, of Gluon's compiler (docs/check/ring.py), is clean and
// right, and each of its six defects is found as what it is, at its lines.
func TestRing(t *testing.T) {
	for bug, want := range []struct {
		kind string
		line int // of one of its places
	}{{}, {"race", 45}, {"race", 45}, {"race", 45}, {"proxy-fence", 51}, {"race", 51}, {"hang", 41}} {
		req := request(fmt.Sprintf("ring/%d.ptx", bug), 1, 128, "x=randn:f16[512,64]", "y=zeros:f16[512,64]",
			"0=tensormap{of: x, box: [64,64], swizzle: 128B}", "1=512", "2=64", "3=64", "4=1",
			"5=tensormap{of: y, box: [64,64], swizzle: 128B}", "6=512", "7=64", "8=64", "9=1", "10=8",
			"11=null", "12=null")
		req.Shared = 24592
		c := run(t, req)
		if bug == 0 {
			ringIsRight(t, c)
			continue
		}
		found := false
		for _, f := range c.Doc.Findings {
			found = found || f.Kind == want.kind &&
				(f.Source.Line == want.line || f.Other != nil && f.Other.Line == want.line)
			if f.Kind == "hang" &&
				(f.ExpectedBytes == nil || *f.ExpectedBytes != 16384 || *f.ArrivedBytes != 8192) {
				t.Errorf("bug %d: %+v", bug, f)
			}
		}
		if !found {
			t.Errorf("bug %d: no %s at line %d: %+v", bug, want.kind, want.line, c.Doc.Findings)
		}
	}
}

// ringIsRight checks y = 2x, and that nothing was found.
func ringIsRight(t *testing.T, c *Result) {
	t.Helper()
	if c.Doc.ExitCode() != 0 || len(c.Doc.Findings) > 0 {
		t.Errorf("%+v", c.Doc.Findings)
	}
	d := dumpOf(t, c)
	x, y := d["x"], d["y"]
	for at := 0; at < len(x); at += 2 {
		a := fp.F16ToFloat64(binary.LittleEndian.Uint16(x[at:]))
		b := fp.F16ToFloat64(binary.LittleEndian.Uint16(y[at:]))
		if 2*a != b || a == 0 {
			t.Fatalf("y[%d] is %v, x %v", at/2, b, a)
		}
	}
}
