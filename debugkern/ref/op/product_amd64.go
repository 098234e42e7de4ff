package op

import "golang.org/x/sys/cpu"

// addProductsAVX is addProductsGo for n numbers of x.
//
//go:noescape
func addProductsAVX(sums, x, m *float64, n int)

// addFoursAVX is addFoursGo for sixteen numbers of u and n fours of p.
//
//go:noescape
func addFoursAVX(u, p, v *float64, n, stride int)

func addProducts(sums *[panelWidth]float64, x, m []float64) {
	if !cpu.X86.HasAVX || len(x) == 0 {
		addProductsGo(sums, x, m)
		return
	}
	_ = m[len(x)*panelWidth-1]
	addProductsAVX(&sums[0], &x[0], &m[0], len(x))
}

func addFours(u, p, v []float64, stride int) {
	d := 0
	if cpu.X86.HasAVX {
		_ = v[(len(p)-1)*stride+len(u)-1]
		for ; d+16 <= len(u); d += 16 {
			addFoursAVX(&u[d], &p[0], &v[d], len(p)/4, stride)
		}
	}
	if d < len(u) {
		addFoursGo(u[d:], p, v[d:], stride)
	}
}
