package theme

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

var sixteen = map[string]*[16]uint32{"VGA": &VGA, "xterm": &Xterm}

// grounds are what a theme takes the terminal's ground to be. Sixteen colours stand on their own black or
// white: a terminal with another ground has other colours as well.
func grounds(th *Theme) []uint32 {
	switch {
	case th.Profile == colorprofile.ANSI && th.Light():
		return []uint32{0xffffff}
	case th.Profile == colorprofile.ANSI:
		return []uint32{0x000000}
	case th.Light():
		return []uint32{0xffffff, 0xfafafa, 0xf5f5f5, 0xeff1f5, 0xfdf6e3}
	}
	return []uint32{0x000000, 0x0d1117, 0x1a1b26, 0x1e1e1e, 0x282a36, 0x282c34}
}

// painted are the colours that a terminal shows for a style; -1 is its own.
func painted(t *testing.T, s Style, few *[16]uint32) (fg, bg int64) {
	t.Helper()
	k := ReadRendition(string(s))
	if !k.faithful {
		t.Fatalf("%q is not understood", s)
	}
	f, b, hasFG, hasBG := k.Colours(few)
	if fg, bg = int64(f), int64(b); !hasFG {
		fg = -1
	}
	if !hasBG {
		bg = -1
	}
	return fg, bg
}

// stylesOf are a theme's styles by name: its roles and every level of its heat maps.
func stylesOf(th *Theme) map[string]Style {
	out := map[string]Style{}
	v := reflect.ValueOf(*th)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Type == reflect.TypeFor[Style]() {
			out[f.Name] = Style(v.Field(i).String())
		}
	}
	for i, s := range th.Syntax() {
		out[fmt.Sprintf("Syntax-%d", i)] = s
	}
	for i, s := range th.Value {
		out[fmt.Sprintf("Value[%d]", i)] = s
	}
	for side := range 2 {
		for i, s := range th.near[side] {
			out[fmt.Sprintf("near[%d][%d]", side, i)] = s
		}
		for i, s := range th.beyond[side] {
			out[fmt.Sprintf("beyond[%d][%d]", side, i)] = s
		}
	}
	return out
}

// everyTheme calls do for each theme, profile and value palette, and each meaning of the sixteen colours.
func everyTheme(t *testing.T, do func(t *testing.T, th *Theme, few *[16]uint32)) {
	for _, name := range Names() {
		for _, p := range []colorprofile.Profile{
			colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor,
		} {
			for _, palette := range Palettes() {
				for _, sparing := range []bool{false, true} {
					th := New(Options{Profile: p, Name: name, Palette: palette, Sparing: sparing})
					for nominal, few := range sixteen {
						t.Run(fmt.Sprintf("%s/%s/%s/%t/%s", name, p, palette, sparing, nominal),
							func(t *testing.T) { do(t, th, few) })
						if p != colorprofile.ANSI {
							break
						}
					}
				}
			}
		}
	}
}

// TestContrast: every pair of text and ground that can occur has a contrast of 4.5 at least, 7 where the
// theme says so and the terminal has the colours for it. Text in the terminal's own colour on its own ground
// is the terminal's affair.
func TestContrast(t *testing.T) {
	pairs := 0
	everyTheme(t, func(t *testing.T, th *Theme, few *[16]uint32) {
		for name, s := range stylesOf(th) {
			fg, bg := painted(t, s, few)
			if fg < 0 && bg >= 0 {
				t.Errorf("%s %q: the terminal's own text on a ground of the theme's", name, s)
			}
			if fg < 0 {
				continue
			}
			least := 4.5
			if strings.HasPrefix(th.Name, "high-contrast") && th.Profile > colorprofile.ANSI &&
				!strings.Contains(name, "[") {
				least = 7
			}
			on := grounds(th)
			if bg >= 0 {
				on = []uint32{uint32(bg)}
			}
			for _, g := range on {
				pairs++
				if c := Contrast(uint32(fg), g); c < least {
					t.Errorf("%s: #%06x on #%06x has a contrast of %.2f, expected at least %.1f", name, fg, g, c,
						least)
				}
			}
		}
	})
	if pairs < 5000 {
		t.Errorf("only %d pairs were looked at", pairs)
	}
}

// TestValuesOfLightThemes: in 256 colours and more the text of a value map is dark on every ground, and no
// two neighbouring steps of the full ramp look the same.
func TestValuesOfLightThemes(t *testing.T) {
	everyTheme(t, func(t *testing.T, th *Theme, few *[16]uint32) {
		if !th.Light() || th.Profile == colorprofile.ANSI {
			return
		}
		for i, s := range th.Value {
			fg, bg := painted(t, s, few)
			if c := Contrast(uint32(fg), uint32(bg)); fg != 0 || c < 4.5 {
				t.Errorf("Value[%d]: #%06x on #%06x, contrast %.2f", i, fg, bg, c)
			}
			if full := len(th.Value) == levels && th.Profile == colorprofile.TrueColor; full && i > 0 &&
				s == th.Value[i-1] {
				t.Errorf("Value[%d] is Value[%d]: %q", i, i-1, s)
			}
		}
	})
}

// TestGoodErrorsRecedeAndBadOnesLead: an error within its bound has no ground of its own; beyond it the
// ground stands out from the terminal's, more so the larger the error.
func TestGoodErrorsRecedeAndBadOnesLead(t *testing.T) {
	everyTheme(t, func(t *testing.T, th *Theme, few *[16]uint32) {
		for _, r := range []float64{0, 0.1, -0.4, 0.9, -1, 1} {
			if _, bg := painted(t, th.ErrorHeat(r), few); bg >= 0 {
				t.Errorf("an error of %g times its bound is on #%06x", r, bg)
			}
		}
		if th.ErrorHeat(0) != th.Dim {
			t.Error("no error is not dim")
		}
		for _, sign := range []float64{-1, 1} {
			for _, g := range grounds(th) {
				was := 0.0
				for _, a := range []float64{1.01, 2, 4, 8, 16, 32, 64, 1e9} {
					_, bg := painted(t, th.ErrorHeat(sign*a), few)
					if bg < 0 {
						t.Fatalf("an error of %g times its bound has no ground", sign*a)
					}
					c := Contrast(uint32(bg), g)
					if c < 2.4 || c < was-1e-9 {
						t.Errorf("%g times the bound: #%06x on #%06x, contrast %.2f after %.2f", sign*a, bg, g, c,
							was)
					}
					was = c
				}
				if was < 5 {
					t.Errorf("the largest error has a contrast of %.2f to #%06x", was, g)
				}
			}
		}
	})
}

func TestContrastOfKnownPairs(t *testing.T) {
	for _, tt := range []struct {
		a, b uint32
		want float64
	}{{0, 0xffffff, 21}, {0x777777, 0xffffff, 4.48}, {0x123456, 0x123456, 1}, {0xff0000, 0, 5.25}} {
		if got := Contrast(tt.a, tt.b); got < tt.want-0.01 || got > tt.want+0.01 {
			t.Errorf("#%06x, #%06x: %.3f, expected %.2f", tt.a, tt.b, got, tt.want)
		}
	}
}
