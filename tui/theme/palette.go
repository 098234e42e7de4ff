package theme

import (
	"fmt"
	"math"
	"slices"

	"github.com/charmbracelet/colorprofile"
)

// Anchors of the value palettes, low to high, evenly spaced. cividis (Nuñez, Anderton, Renslow 2018) reads
// the same with and without red-green blindness.
var anchors = map[string][]uint32{
	"cividis": {0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173, 0x8a8678, 0xa59c74, 0xc3b369,
		0xe1cc55, 0xfee838},
	"viridis": {0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6dcd59,
		0xb4de2c, 0xfde725},
	"grey": {0x1a1a1a, 0xe6e6e6},
}

// Palettes lists the names of value palettes, default first.
func Palettes() []string { return []string{"cividis", "viridis", "grey"} }

// NextPalette is the palette after name.
func NextPalette(name string) string {
	all := Palettes()
	return all[(slices.Index(all, paletteName(name))+1)%len(all)]
}

func paletteName(name string) string {
	if slices.Contains(Palettes(), name) {
		return name
	}
	return Palettes()[0]
}

// cubes are palettes among the 256 colours, whose nearest entries would lose the hue.
var cubes = map[string][]int{
	"cividis": {17, 60, 242, 102, 143, 179, 221, 227},
}

// fewValues is the ramp of values among the sixteen colours: each is as far from black or from white in every
// usual palette as text has to be.
var fewValues = []int{0, 4, 6, 7, 11}

// Number of levels: of values, and where bytes are dear; of errors beyond the bound on each side.
const (
	levels        = 32
	sparingLevels = 8
	errorLevels   = 8
)

// heat precomputes one style a level. Sixteen colours have few steps of each ramp; without colours there is
// none, and panes write a shade glyph instead.
func (t *Theme) heat(sparing bool) {
	n, fine := levels, t.Profile == colorprofile.TrueColor
	values := anchors[t.Palette]
	if sparing {
		n, fine = sparingLevels, false
	}
	cube := cubes[t.Palette]
	if t.Light() { // dark text on light grounds, as everywhere else on the screen
		cube, values = nil, lightened(values)
	}
	switch {
	case !t.Colours():
		t.Value = []Style{t.Text}
	case t.Profile == colorprofile.ANSI:
		t.Value = t.fewRamp(fewValues)
	case !fine && cube != nil:
		t.Value = t.cubeRamp(cube)
	default:
		t.Value = t.ramp(values, n, fine)
	}
	for side := range 2 {
		t.near[side] = []Style{t.Dim, t.style("", t.table.near[side], plain)}
		switch {
		case !t.Colours():
			t.beyond[side] = []Style{t.Wrong}
		case t.Profile == colorprofile.ANSI:
			t.beyond[side] = t.fewRamp(t.table.few[side])
		default:
			t.beyond[side] = t.ramp(t.table.beyond[side], errorLevels, fine)
		}
	}
}

// lightened are anchors with as much white in them that black text can be read on each.
func lightened(at []uint32) []uint32 {
	out := make([]uint32, len(at))
	for i, c := range at {
		out[i] = Blend(c, 0xffffff, 0.5)
	}
	return out
}

// ErrorHeat is the style of an error by how many times its bound it is, negative below: text without a ground
// up to the bound, then grounds by powers of two, to the last at 64 times the bound and for NaN.
func (t *Theme) ErrorHeat(ratio float64) Style {
	side, a := 0, math.Abs(ratio)
	if !(ratio < 0) {
		side = 1
	}
	near, beyond := t.near[side], t.beyond[side]
	switch {
	case math.IsNaN(ratio):
		return beyond[len(beyond)-1]
	case a <= 1:
		return near[min(len(near)-1, int(a*float64(len(near))))]
	}
	f := min(1, math.Log2(a)/6)
	return beyond[int(f*float64(len(beyond)-1)+0.5)]
}

func (t *Theme) fewRamp(back []int) []Style {
	out := make([]Style, len(back))
	for i, b := range back {
		fore := colour{ansi: 15, rgb: 0xffffff}
		if b >= 6 && b != 12 { // what both VGA and xterm have light
			fore = colour{ansi: 0}
		}
		out[i] = t.style("", fore, colour{rgb: 1, ansi: b})
	}
	return out
}

func (t *Theme) cubeRamp(cube []int) []Style {
	out := make([]Style, len(cube))
	for i, c := range cube {
		out[i] = onGround(xterm(c), fmt.Sprintf("48;5;%d", c))
	}
	return out
}

// ramp is n steps between the anchors, in 24 bits where fine.
func (t *Theme) ramp(at []uint32, n int, fine bool) []Style {
	out := make([]Style, n)
	for i := range out {
		back := mix(at, float64(i)/float64(n-1))
		if fine {
			out[i] = onGround(back, fmt.Sprintf("48;2;%d;%d;%d", back>>16, back>>8&255, back&255))
		} else {
			c := nearest256(back)
			out[i] = onGround(xterm(c), fmt.Sprintf("48;5;%d", c))
		}
	}
	return out
}

// onGround is black or white text on a ground, whichever is further from it.
func onGround(back uint32, sgr string) Style {
	fore := 231
	if Contrast(back, 0) > Contrast(back, 0xffffff) {
		fore = 16
	}
	return Style(fmt.Sprintf("\x1b[0;38;5;%d;%sm", fore, sgr))
}

// mix interpolates the anchors at x in [0, 1].
func mix(at []uint32, x float64) uint32 {
	pos := x * float64(len(at)-1)
	i := min(int(pos), len(at)-2)
	f := pos - float64(i)
	var out uint32
	for shift := 0; shift <= 16; shift += 8 {
		a, b := float64(at[i]>>shift&255), float64(at[i+1]>>shift&255)
		out |= uint32(a+(b-a)*f+0.5) << shift
	}
	return out
}

// Blend is a colour with a part of another mixed into it, 0 to 1.
func Blend(rgb, other uint32, part float64) uint32 { return mix([]uint32{rgb, other}, part) }

// Contrast is the contrast ratio of two colours, 1 to 21 (WCAG 2.2, 1.4.3).
func Contrast(a, b uint32) float64 {
	x, y := Luminance(a)+0.05, Luminance(b)+0.05
	return max(x, y) / min(x, y)
}

// Luminance is a colour's relative luminance, 0 to 1 (WCAG 2.2).
func Luminance(rgb uint32) float64 {
	linear := func(v uint32) float64 {
		c := float64(v&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(rgb>>16) + 0.7152*linear(rgb>>8) + 0.0722*linear(rgb)
}

// cubeSteps are the values of a channel in the 6×6×6 cube of a 256-colour terminal.
var cubeSteps = [6]uint32{0, 95, 135, 175, 215, 255}

// xterm is the RGB of an entry from 16 on of xterm's 256 colours.
func xterm(i int) uint32 {
	if i >= 232 {
		return uint32(8+10*(i-232)) * 0x010101
	}
	i -= 16
	return cubeSteps[i/36]<<16 | cubeSteps[i/6%6]<<8 | cubeSteps[i%6]
}

// nearest256 is the closest entry of the cube or the grey ramp.
func nearest256(rgb uint32) int {
	best, least := 16, math.MaxInt
	for i := 16; i < 256; i++ {
		c, d := xterm(i), 0
		for shift := 0; shift <= 16; shift += 8 {
			n := int(c>>shift&255) - int(rgb>>shift&255)
			d += n * n
		}
		if d < least {
			best, least = i, d
		}
	}
	return best
}
