package op

import (
	"maps"
	"math"
	"slices"

	"tilescope/debugkern/fp"
)

// function is a function of one number: its value, and how far it moves when its argument moves by e.
type function struct {
	f    func(float64) float64
	move func(x, e float64) float64
}

// monotone moves most at an end of the interval.
func monotone(f func(float64) float64) function {
	return function{f, func(x, e float64) float64 {
		if e == 0 {
			return 0
		}
		y := f(x)
		d := max(math.Abs(f(x+e)-y), math.Abs(f(x-e)-y))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		return d
	}}
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// functions are those of one argument that an expression of map may call. abs is exact, and so has no
// instruction.
var functions = map[string]function{
	"abs":   {math.Abs, func(_, e float64) float64 { return e }},
	"exp":   monotone(math.Exp),
	"exp2":  monotone(math.Exp2),
	"log":   monotone(math.Log),
	"log2":  monotone(math.Log2),
	"sqrt":  monotone(math.Sqrt),
	"rsqrt": monotone(rsqrt),
	"tanh":  monotone(math.Tanh),
	"erf":   monotone(math.Erf),
}

// composite is a function written with others.
type composite struct {
	params []string
	body   string
}

var composites = map[string]composite{
	"gelu":      {[]string{"x"}, "0.5 * x * (1 + erf(x * 0.7071067811865476))"},
	"gelu_tanh": {[]string{"x"}, "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"},
	"silu":      {[]string{"x"}, "x / (1 + exp(-x))"},
	"sigmoid":   {[]string{"x"}, "1 / (1 + exp(-x))"},
	"relu":      {[]string{"x"}, "max(x, 0)"},
	"clamp":     {[]string{"x", "lo", "hi"}, "min(max(x, lo), hi)"},
	"softcap":   {[]string{"x", "cap"}, "cap * tanh(x / cap)"},
}

// Functions lists the functions that an expression of map may use.
func Functions() []string {
	out := []string{"max", "min"}
	out = slices.AppendSeq(out, maps.Keys(functions))
	out = slices.AppendSeq(out, maps.Keys(composites))
	slices.Sort(out)
	return out
}

// instruction is a way to evaluate a function in the type that is computed in.
type instruction struct {
	name string
	// loss is what the evaluation may be off by: of an argument x to within off, and a value of magnitude up
	// to y.
	loss func(b *cellBuilder, x, off, y float64) float64
	unit func(chip *fp.Model, x float32) float32 // as the chip evaluates it; nil: rounded once
	// reason is that of its error, where it is not what mappedKernel.Reason says of every function; else "".
	reason string
}

// evaluate computes the function as the instruction does.
func (i *instruction) evaluate(chip *fp.Model, f func(float64) float64, x float32) float32 {
	if i.unit == nil {
		return float32(f(float64(x)))
	}
	return i.unit(chip, x)
}

// fourULP is what a function loses where nothing else is known of it.
func fourULP(b *cellBuilder, _, _, y float64) float64 { return y * b.Coefs[TermUnit] * b.u / u32 }

// expLoss is that of exp: its argument's size counts too.
func expLoss(b *cellBuilder, x, off, y float64) float64 {
	return (y*b.rel(x, 0, off) + b.tiny()) * b.u / u32
}

// exp2Loss is that of exp2, whose argument is not rounded.
func exp2Loss(b *cellBuilder, _, _, y float64) float64 {
	return (y*b.Coefs[TermExpUnit] + b.tiny()) * b.u / u32
}

// logLoss is that of a logarithm by lg2.approx, which is good to an absolute error near 1; unit is how large
// the natural logarithm's 1 is in the function's.
func logLoss(unit float64) func(b *cellBuilder, x, off, y float64) float64 {
	return func(b *cellBuilder, x, off, y float64) float64 {
		e := y * b.Coefs[TermUnit]
		if x+off > 0.5 && x-off < 2 {
			e += b.Coefs[TermLog] * unit
		}
		return e * b.u / u32
	}
}

// tanhLoss is that of tanh.approx; in half its result is cut to half.
func tanhLoss(b *cellBuilder, _, _, y float64) float64 {
	e := y * b.Coefs[TermTanh]
	if b.u > u32 {
		e += 2 * b.u * y
	}
	return e
}

// by32 evaluates a function by the chip's unit, its argument and its result times a constant.
func by32(before float32, f unit32, after float32) func(chip *fp.Model, x float32) float32 {
	return func(chip *fp.Model, x float32) float32 {
		y := float32(fp.F32ToFloat64(f(chip, fp.Bits32(float32(x*before)))))
		return float32(y * after)
	}
}

// unit32 is a unit of the chip for one function of float32, on bits.
type unit32 func(chip *fp.Model, a uint32) uint32

func ex2Of(ftz bool) unit32 {
	return func(chip *fp.Model, a uint32) uint32 { return chip.Ex232(a, ftz) }
}

func lg2Of(chip *fp.Model, a uint32) uint32  { return chip.Lg232(a, false) }
func tanhOf(chip *fp.Model, a uint32) uint32 { return chip.Tanh32(a) }

// instructions are those of each function that a stage's compute may name. The first is that of a stage that
// names none: its error covers the others but tanh.approx.
var instructions = map[string][]instruction{
	"exp": {
		{"", expLoss, nil, ""}, {"ex2.approx", expLoss, by32(math.Log2E, ex2Of(false), 1), ""},
		{"ex2.approx.ftz", expLoss, by32(math.Log2E, ex2Of(true), 1), ""},
		{"expf", expLoss, nil, ""}, {"exp2f", expLoss, nil, ""},
	},
	"exp2": {
		{"", exp2Loss, nil, ""}, {"ex2.approx", exp2Loss, by32(1, ex2Of(false), 1), ""},
		{"exp2f", exp2Loss, nil, ""},
	},
	"log": {
		{"", logLoss(1), nil, ""}, {"lg2.approx", logLoss(1), by32(1, lg2Of, math.Ln2), ""},
		{"logf", fourULP, nil, "log by logf, 4 ulp"},
	},
	"log2": {
		{"", logLoss(math.Log2E), nil, ""}, {"lg2.approx", logLoss(math.Log2E), by32(1, lg2Of, 1), ""},
		{"log2f", fourULP, nil, "log2 by log2f, 4 ulp"},
	},
	"tanh": {
		{"", fourULP, nil, ""}, {"tanh.approx", tanhLoss, by32(1, tanhOf, 1), "tanh.approx to 2^-16"},
		{"tanhf", fourULP, nil, ""},
	},
}

// plainUnit evaluates every other function.
var plainUnit = instruction{"", fourULP, nil, ""}

// instructionOf is how a function is evaluated where the stage's compute names name; the first where there is
// none of that name.
func instructionOf(function, name string) *instruction {
	all := instructions[function]
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	if len(all) > 0 {
		return &all[0]
	}
	return &plainUnit
}

// Instructions lists, for each function of map that has several, the instructions that a stage's compute may
// name.
func Instructions() map[string][]string {
	out := map[string][]string{}
	for f, all := range instructions {
		for _, i := range all[1:] {
			out[f] = append(out[f], i.name)
		}
	}
	return out
}
