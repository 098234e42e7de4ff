package registers

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/walk"
	"tilescope/tui/theme"
)

// TestWideHasTheDigits: where all lanes are shown in short form, the value that all lanes share, or that of
// the lane at the cursor, has as many digits as where fewer lanes are shown.
func TestWideHasTheDigits(t *testing.T) {
	same := walk.Register{Name: "%f15", Type: "f32", Active: math.MaxUint32}
	each := walk.Register{Name: "%f16", Type: "f32", Active: math.MaxUint32}
	cut := walk.Register{Name: "%r1", Type: "b32", Active: math.MaxUint32}
	for i := range same.Bits {
		same.Bits[i] = uint64(math.Float32bits(2.26953))
		each.Bits[i] = uint64(math.Float32bits(1.25391 + float32(i)))
		cut.Bits[i] = 0x3c003c00 + uint64(i)<<20
	}
	p := New(theme.New(theme.Options{}))
	p.SetData(Data{Regs: []walk.Register{same, each, cut}})
	p.SetLane(3)
	for _, x := range []struct {
		w    int
		want []string
	}{
		{118, []string{"2.26953", "4.25391", "3c303c00"}},
		{198, []string{"= 2.26953", "@3 4.25391", "@3 0x3c303c00", "2.27", "4.25"}},
	} {
		p.SetSize(x.w, 12)
		s := ansi.Strip(strings.Join(p.View(), "\n"))
		for _, want := range x.want {
			if !strings.Contains(s, want) {
				t.Errorf("%d columns: no %q in\n%s", x.w, want, s)
			}
		}
	}
}
