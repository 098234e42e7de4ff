//go:build !amd64

package op

func addProducts(sums *[panelWidth]float64, x, m []float64) { addProductsGo(sums, x, m) }

func addFours(u, p, v []float64, stride int) { addFoursGo(u, p, v, stride) }
