package diagnose

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// picture is a tile as an image: a pixel a cell, to be shown enlarged.
type picture struct {
	Caption string
	URI     string // data:image/png;base64,…
	W, H    int    // on screen, in CSS pixels
	Scale   string // the values of the tile, and what dark and bright mean
}

// tilePictures draws the first bad tile of a stage: the kernel's, the reference's on the same scale, and the
// error over its bound.
func tilePictures(v *debugkern.TileView, local bool) ([]picture, error) {
	ref, bound := v.Global, v.GlobalBound
	if local {
		ref, bound = v.Local, v.LocalBound
	}
	g := grid{rows: v.ValidRows, cols: v.ValidCols, stride: v.Plan.Cols}
	got := func(i int) float64 { return v.Got.At(i/g.stride, i%g.stride) }
	want := func(i int) float64 { return ref[i] }
	lo, hi := g.extent(want)
	scale := func(of func(int) float64) string {
		return fmt.Sprintf("%s; colours from %.4g to %.4g, the reference's range", g.rangeText(of), lo, hi)
	}
	value := func(of func(int) float64) func(int) color.RGBA {
		return func(i int) color.RGBA { return ramp((of(i) - lo) / (hi - lo)) }
	}
	over := func(i int) color.RGBA { return errorColour(math.Abs(got(i)-ref[i]), bound[i], got(i)) }
	var out []picture
	for _, p := range []struct {
		caption, scale string
		colour         func(int) color.RGBA
	}{
		{"kernel", scale(got), value(got)}, {"reference", scale(want), value(want)},
		{"error", "grey within its bound, red over it, brighter is more, magenta NaN or Inf", over},
	} {
		pic, err := g.draw(p.colour)
		if err != nil {
			return nil, err
		}
		pic.Caption, pic.Scale = p.caption, p.scale
		out = append(out, *pic)
	}
	return out, nil
}

// grid is the part of a tile that is compared.
type grid struct{ rows, cols, stride int }

// finite is the range of the finite values, and how many others there are; lo > hi where none is finite.
func (g grid) finite(at func(int) float64) (lo, hi float64, others int) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for r := range g.rows {
		for c := range g.cols {
			v := at(r*g.stride + c)
			if math.IsInf(v, 0) || math.IsNaN(v) {
				others++
				continue
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi, others
}

// rangeText is the range of the values: "-7.401 to 7.518, 3 NaN or Inf".
func (g grid) rangeText(at func(int) float64) string {
	lo, hi, others := g.finite(at)
	switch {
	case lo > hi:
		return "all NaN or Inf"
	case others > 0:
		return fmt.Sprintf("%.4g to %.4g, %d NaN or Inf", lo, hi, others)
	}
	return fmt.Sprintf("%.4g to %.4g", lo, hi)
}

// extent is the range of the finite values for a scale, which is never empty.
func (g grid) extent(at func(int) float64) (lo, hi float64) {
	lo, hi, _ = g.finite(at)
	switch {
	case lo > hi:
		return 0, 1
	case lo == hi:
		return lo, lo + 1
	}
	return lo, hi
}

// draw makes the image; a column of values lies on its side.
func (g grid) draw(colour func(int) color.RGBA) (*picture, error) {
	w, h := g.cols, g.rows
	if g.cols == 1 {
		w, h = g.rows, 1
	}
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for r := range g.rows {
		for c := range g.cols {
			x, y := c, r
			if g.cols == 1 {
				x, y = r, 0
			}
			img.SetRGBA(x, y, colour(r*g.stride+c))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("draw tile: %w", err)
	}
	cell := max(2, min(10, 320/max(1, w)))
	return &picture{
		URI: "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), W: w * cell,
		H: max(h*cell, 10),
	}, nil
}

// ramp goes from dark blue over teal to yellow, evenly in lightness; NaN is magenta.
func ramp(x float64) color.RGBA {
	if math.IsNaN(x) {
		return color.RGBA{0xd0, 0x20, 0xd0, 0xff}
	}
	x = max(0, min(1, x))
	stops := [...][3]float64{
		{0x35, 0x1c, 0x62}, {0x2f, 0x5f, 0x8a}, {0x25, 0x9a, 0x89}, {0x7f, 0xc8, 0x55}, {0xf7, 0xe3, 0x3c},
	}
	f := x * float64(len(stops)-1)
	i := min(int(f), len(stops)-2)
	mix := func(k int) uint8 { return uint8(stops[i][k] + (stops[i+1][k]-stops[i][k])*(f-float64(i))) }
	return color.RGBA{mix(0), mix(1), mix(2), 0xff}
}

// errorColour is grey for an error within its bound, and from dark to bright red for 1 to 10⁶ times over.
func errorColour(e, bound, got float64) color.RGBA {
	switch {
	case math.IsNaN(e) || math.IsInf(got, 0) && e > bound:
		return color.RGBA{0xd0, 0x20, 0xd0, 0xff}
	case e <= bound:
		return color.RGBA{0x70, 0x74, 0x78, 0xff}
	}
	x := 1.0
	if bound > 0 {
		x = min(1, math.Log10(e/bound)/6)
	}
	return color.RGBA{uint8(0x90 + 0x6f*x), uint8(0x10 + 0x80*x), uint8(0x10 + 0x20*x), 0xff}
}

// firstBadTile lays out the tile in which a stage first went wrong, and says whether by its local error.
func firstBadTile(run *debugkern.Run, doc *report.Stage) (*debugkern.TileView, bool, error) {
	s := probes.Stage(doc.Name)
	if doc.FirstBad == nil {
		return nil, false, nil
	}
	kv := doc.FirstBad.KVTile
	if sp := run.Plan.Stage(s); sp == nil || !sp.PerTile {
		kv = 0
	}
	v, err := run.View(debugkern.Place{Stage: s, Block: doc.FirstBad.Block, KVTile: kv})
	if err != nil || !v.Got.Reached() {
		return nil, false, err
	}
	return v, doc.Verdict == report.Wrong, nil
}
