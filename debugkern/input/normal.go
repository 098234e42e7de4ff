package input

import "math"

// Input data must be the same bits on every platform. So nothing here may fuse a product into a sum
// (float64(a*b) forbids it) and nothing calls a math function that some platforms implement in assembly with
// other roundings; Sqrt and Frexp are exact everywhere.

// splitmix is the finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection on 64 bits that
// scatters a counter.
func splitmix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// normalAt is the index-th standard normal number of a stream.
func normalAt(seed uint64, stream, index int) float64 {
	return quantile(float64(float64(bitsAt(seed, stream, index)>>11)+0.5) * (1.0 / (1 << 53)))
}

// horner evaluates c[0] + c[1]x + … with one rounding a step and a product.
func horner(x float64, c []float64) float64 {
	v := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		v = float64(v*x) + c[i]
	}
	return v
}

// Coefficients of Wichura's algorithm AS 241 (PPND16), Applied Statistics 37 (1988): numerator and
// denominator for the centre, the near tail and the far tail.
var (
	centreNum = []float64{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
	}
	centreDen = []float64{
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
		3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
	}
	nearNum = []float64{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
		3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
		7.74545014278341407640e-4,
	}
	nearDen = []float64{
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
		1.05075007164441684324e-9,
	}
	farNum = []float64{
		6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
		2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
		2.01033439929228813265e-7,
	}
	farDen = []float64{
		1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
		2.04426310338993978564e-15,
	}
)

// quantile is the inverse of the standard normal distribution function for 0 < p < 1, to about 16 digits.
func quantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return float64(q*horner(r, centreNum)) / horner(r, centreDen)
	}
	r := p
	if q > 0 {
		r = 1 - p
	}
	r = math.Sqrt(-naturalLog(r))
	var v float64
	if r <= 5 {
		v = horner(r-1.6, nearNum) / horner(r-1.6, nearDen)
	} else {
		v = horner(r-5, farNum) / horner(r-5, farDen)
	}
	if q < 0 {
		return -v
	}
	return v
}

// atanhSeries is 1, 1/3, 1/5, …: atanh(z) = z·Σ z^2k/(2k+1); |z| ≤ 0.1716 here, so 12 terms
// leave less than 2^-60.
var atanhSeries = []float64{
	1, 1. / 3, 1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23,
}

// naturalLog is ln x for finite x > 0: ln m + e·ln 2 with m in [√½, √2), ln m = 2·atanh((m−1)/(m+1)).
func naturalLog(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	z := (m - 1) / (m + 1)
	return float64(float64(2*z)*horner(float64(z*z), atanhSeries)) + float64(float64(e)*math.Ln2)
}
