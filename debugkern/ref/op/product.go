package op

// Sums of products in float64, the most of what judging computes. Every product and every sum is rounded
// once, in one order on every machine: the float64 conversions keep a compiler from fusing them. On amd64
// with AVX the innermost loops are in assembly (product_amd64.s), for the compiler makes no vector
// instructions of these: four numbers at a time, the same roundings, and the same bits.

// panelWidth is how many sums an innermost loop makes at once: four vectors of four.
const panelWidth = 16

// Panels is a matrix prepared as the right operand of products A·Bᵀ: for each sixteen rows, their first
// numbers side by side, then their second ones, and so on; missing rows are 0.
type Panels struct {
	depth int
	data  []float64
}

// Pack fills p with the first rows rows of m. It keeps p's memory.
func (p *Panels) Pack(m Matrix, rows int) {
	n := (rows + panelWidth - 1) / panelWidth
	p.depth, p.data = m.Cols, resize(p.data, n*panelWidth*m.Cols)
	if rows%panelWidth != 0 {
		clear(p.panel(n - 1))
	}
	for r := range rows {
		panel, at := p.panel(r/panelWidth), r%panelWidth
		for d, x := range m.Row(r) {
			panel[d*panelWidth+at] = x
		}
	}
}

func (p *Panels) panel(i int) []float64 {
	return p.data[i*panelWidth*p.depth : (i+1)*panelWidth*p.depth]
}

// Scores sets s[r][j] = f · Σ_d q[r][d]·k[j][d] for r < rows, j < keys, in ascending d.
func Scores(s, q Matrix, k *Panels, rows, keys int, f float64) {
	var sums [panelWidth]float64
	for j := 0; j < keys; j += panelWidth {
		panel := k.panel(j / panelWidth)
		for r := range rows {
			clear(sums[:])
			addProducts(&sums, q.Row(r), panel)
			out := s.Row(r)[j:min(j+panelWidth, keys)]
			for i := range out {
				out[i] = sums[i] * f
			}
		}
	}
}

// dotRow sets sums[b·keys+j], for each row j < keys of k, to the sum of its products with q over blocks 0 to
// b of block products each. One block has all products.
func dotRow(sums, q []float64, k *Panels, keys, blocks, block int) {
	if blocks == 1 {
		block = len(q)
	}
	for j := 0; j < keys; j += panelWidth {
		panel := k.panel(j / panelWidth)
		var acc [panelWidth]float64
		for b := range blocks {
			lo, hi := b*block, min(len(q), (b+1)*block)
			addProducts(&acc, q[lo:hi], panel[lo*panelWidth:])
			copy(sums[b*keys+j:(b+1)*keys], acc[:])
		}
	}
}

// addProductsGo adds x[d]·m[d·panelWidth+i] to sums[i], in ascending d.
func addProductsGo(sums *[panelWidth]float64, x, m []float64) {
	for i := 0; i < panelWidth; i += 8 { // eight sums stay in registers
		s0, s1, s2, s3 := sums[i], sums[i+1], sums[i+2], sums[i+3]
		s4, s5, s6, s7 := sums[i+4], sums[i+5], sums[i+6], sums[i+7]
		for d, v := range x {
			a := (*[8]float64)(m[d*panelWidth+i:])
			s0 += float64(v * a[0])
			s1 += float64(v * a[1])
			s2 += float64(v * a[2])
			s3 += float64(v * a[3])
			s4 += float64(v * a[4])
			s5 += float64(v * a[5])
			s6 += float64(v * a[6])
			s7 += float64(v * a[7])
		}
		sums[i], sums[i+1], sums[i+2], sums[i+3] = s0, s1, s2, s3
		sums[i+4], sums[i+5], sums[i+6], sums[i+7] = s4, s5, s6, s7
	}
}

// keysAtOnce is how many rows of V Accumulate reads for all rows of P before it goes on: they stay in the
// first cache.
const keysAtOnce = 32

// Accumulate adds Σ_j p[r][j]·v[j][d] to u[r][d] for r < rows, over keys [lo, hi): ascending, four at a time.
func Accumulate(u, p, v Matrix, rows, lo, hi int) {
	for ; lo < hi; lo += keysAtOnce {
		for r := range rows {
			sumRow(u.Row(r), p.Row(r), v, lo, min(lo+keysAtOnce, hi))
		}
	}
}

// sumRow is Accumulate for one row.
func sumRow(u, p []float64, v Matrix, lo, hi int) {
	n := (hi - lo) / 4
	if n > 0 {
		addFours(u, p[lo:lo+4*n], v.Data[lo*v.Cols:(lo+4*n)*v.Cols], v.Cols)
	}
	for j := lo + 4*n; j < hi; j++ {
		x, row := p[j], v.Row(j)[:len(u)]
		for d := range u {
			u[d] += float64(x * row[d])
		}
	}
}

// addFoursGo adds, for each four rows of v, their products with the next four numbers of p to u; stride is
// the length of v's rows.
func addFoursGo(u, p, v []float64, stride int) {
	for j := 0; j+4 <= len(p); j += 4 {
		p0, p1, p2, p3 := p[j], p[j+1], p[j+2], p[j+3]
		v0, v1 := v[j*stride:][:len(u)], v[(j+1)*stride:][:len(u)]
		v2, v3 := v[(j+2)*stride:][:len(u)], v[(j+3)*stride:][:len(u)]
		for d := range u {
			u[d] += float64(p0*v0[d]) + float64(p1*v1[d]) + (float64(p2*v2[d]) + float64(p3*v3[d]))
		}
	}
}
