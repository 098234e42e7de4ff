package fragment

import (
	"fmt"
	"strings"

	"tilescope/probes"
)

// AccumulatorHeader is the C++ header that kernels include: the float accumulator's map as WMMA_ACCUM_LUT.
func (m *Maps) AccumulatorHeader() (string, error) {
	f, err := m.Accumulator(probes.F32)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(
		"// wmma16x16_accum_lut.h: which cells of a 16x16 tile the lanes of a warp hold in a WMMA float accumulator (16x16x16), in element\n" +
			"// order: WMMA_ACCUM_LUT[lane][element] is {row, column}. Introspected by accum_lut.cu; every cell occurs exactly once.\n" +
			"#pragma once\n\nstatic __device__ const unsigned char WMMA_ACCUM_LUT[32][8][2] = {\n")
	for l, elems := range f {
		cells := make([]string, len(elems))
		for e, c := range elems {
			cells[e] = fmt.Sprintf("{%d, %d}", c/16, c%16)
		}
		fmt.Fprintf(&b, "    {%s},  // lane %d\n", strings.Join(cells, ", "), l)
	}
	b.WriteString("};\n")
	return b.String(), nil
}
