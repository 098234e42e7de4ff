package op

// Matrix is a dense row-major float64 matrix.
type Matrix struct {
	Rows, Cols int
	Data       []float64
}

// NewMatrix returns a zeroed matrix.
func NewMatrix(rows, cols int) Matrix { return Matrix{rows, cols, make([]float64, rows*cols)} }

// Row returns row r; it is a view.
func (m Matrix) Row(r int) []float64 { return m.Data[r*m.Cols : (r+1)*m.Cols : (r+1)*m.Cols] }

// At returns cell (r, c).
func (m Matrix) At(r, c int) float64 { return m.Data[r*m.Cols+c] }

// Scores sets s[r][j] = f · Σ_d q[r][d]·k[j][d] for r < rows, j < keys. Where prefix is not nil it receives, per cell of s
// (rows×s.Cols), the ⌈D/block⌉ unscaled partial sums after each block of products in ascending d.
func Scores(s, q, k Matrix, rows, keys int, f float64, prefix []float64, block int) {
	d := q.Cols
	if prefix == nil {
		block = d
	}
	blocks := (d + block - 1) / block
	for r := range rows {
		qr, out := q.Row(r), s.Row(r)
		var part []float64
		if prefix != nil {
			part = prefix[r*s.Cols*blocks:]
		}
		j := 0
		for ; j+4 <= keys; j += 4 {
			dot4(out[j:j+4], qr, k.Data[j*d:(j+4)*d], d, block, blocks, f, part, j)
		}
		for ; j < keys; j++ {
			kr, sum := k.Row(j), 0.0
			for b := range blocks {
				for i := b * block; i < min(d, (b+1)*block); i++ {
					sum += qr[i] * kr[i]
				}
				if part != nil {
					part[j*blocks+b] = sum
				}
			}
			out[j] = sum * f
		}
	}
}

// dot4 is four dot products of one row at once: four independent chains keep the adder busy.
func dot4(out, q, k []float64, d, block, blocks int, f float64, part []float64, j int) {
	k0, k1, k2, k3 := k[:d], k[d:2*d], k[2*d:3*d], k[3*d:4*d]
	var s0, s1, s2, s3 float64
	for b := range blocks {
		lo, hi := b*block, min(d, (b+1)*block)
		qq := q[lo:hi]
		a0, a1, a2, a3 := k0[lo:hi][:len(qq)], k1[lo:hi][:len(qq)], k2[lo:hi][:len(qq)], k3[lo:hi][:len(qq)]
		for i, x := range qq {
			s0 += x * a0[i]
			s1 += x * a1[i]
			s2 += x * a2[i]
			s3 += x * a3[i]
		}
		if part != nil {
			part[j*blocks+b], part[(j+1)*blocks+b], part[(j+2)*blocks+b], part[(j+3)*blocks+b] = s0, s1, s2, s3
		}
	}
	out[0], out[1], out[2], out[3] = s0*f, s1*f, s2*f, s3*f
}

// Accumulate adds Σ_j p[r][j]·v[j][d] to u[r][d] for r < rows, over keys [lo, hi) in ascending order.
func Accumulate(u, p, v Matrix, rows, lo, hi int) {
	n := u.Cols
	for r := range rows {
		pr, out := p.Row(r), u.Row(r)[:n]
		j := lo
		for ; j+4 <= hi; j += 4 {
			p0, p1, p2, p3 := pr[j], pr[j+1], pr[j+2], pr[j+3]
			v0, v1, v2, v3 := v.Row(j)[:len(out)], v.Row(j + 1)[:len(out)], v.Row(j + 2)[:len(out)], v.Row(j + 3)[:len(out)]
			for d := range out {
				out[d] += p0*v0[d] + p1*v1[d] + (p2*v2[d] + p3*v3[d])
			}
		}
		for ; j < hi; j++ {
			x, vr := pr[j], v.Row(j)[:len(out)]
			for d := range out {
				out[d] += x * vr[d]
			}
		}
	}
}
