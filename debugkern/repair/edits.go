package repair

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// size is a number of the plan.
type size struct {
	n    int
	name string
}

// sizes lists the numbers of a plan that an index, a bound or a stride may be.
func sizes(p *probes.Plan) []size {
	var out []size
	note := func(n int, name string) {
		if n > 1 && !slices.ContainsFunc(out, func(x size) bool { return x == size{n, name} }) {
			out = append(out, size{n, name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Consts)) {
		note(p.Consts[name], name)
	}
	for i, d := range p.Shape.Names() {
		note(p.Shape.Extents()[i], d)
	}
	note(p.Block.Count(), "the threads of a block")
	note(p.Block.Count()/32, "the warps of a block")
	note(32, "the lanes of a warp")
	for _, a := range p.Shared {
		for _, d := range a.Dims {
			note(d, "an extent of "+a.Name)
		}
	}
	return out
}

// sizesOf are the sizes of the plan that a number is, or is a small multiple of.
func (m *menu) sizesOf(v int64) []Size {
	var out []Size
	for _, f := range multiples {
		for _, x := range m.sizes {
			if int64(x.n)*f == v {
				out = append(out, Size{Name: x.name, Factor: int(f)})
			}
		}
	}
	return out
}

// sized gives the candidates from a place of the list on the sizes that their number is.
func (m *menu) sized(from, operand int, list []Size) {
	for i := from; i < len(m.out); i++ {
		m.out[i].sizes, m.out[i].operand = list, operand
	}
}

// multiples are what a size may be multiplied with: elements of one, two and four bytes.
var multiples = []int64{1, 2, 4}

// constants collects the numbers that immediates may be in place of others: the plan's, and those
// that arithmetic has.
func (m *menu) constants(run *debugkern.Run) {
	p := run.Plan
	m.sizes = sizes(p)
	for _, x := range m.sizes {
		if !slices.Contains(m.whole, int64(x.n)) {
			m.whole = append(m.whole, int64(x.n))
		}
	}
	slices.Sort(m.whole)
	m.real, m.given = append(m.real, constantsOf(p)...), argumentsOf(p)
}

// Constants lists the numbers that arithmetic has, and those of a plan, by name.
func Constants(p *probes.Plan) []needed.Known {
	var out []needed.Known
	for _, c := range constantsOf(p) {
		out = append(out, needed.Known{Name: c.name, X: c.x})
	}
	return out
}

// simple are numbers that an argument often is, and that say nothing of it in the place of a constant.
var simple = []float64{0, 1, -1, 2, 0.5}

// argumentsOf are the real numbers that the kernel is called with, apart from simple ones.
func argumentsOf(p *probes.Plan) (out []constant) {
	for i := range p.Args {
		a := &p.Args[i]
		if a.Pointer || a.Data != nil || a.Map != nil || !a.DType.Float() {
			continue
		}
		if x := a.DType.Value(a.Bits); !slices.Contains(simple, x) {
			out = append(out, constant{x, a.Name})
		}
	}
	return out
}

func constantsOf(p *probes.Plan) []constant {
	scale := p.Scale
	scaled := scale != 0 && scale != 1
	out := append(argumentsOf(p), constant{math.Log2E, "log2(e)"}, constant{math.Ln2, "ln 2"})
	if scaled {
		out = append(out, constant{scale, "the scale"},
			constant{scale * math.Log2E, "the scale times log2(e)"})
	}
	out = append(out, []constant{
		{1, "1"}, {0, "0"}, {-1, "-1"},
		{math.Inf(-1), "-inf"}, {math.Inf(1), "inf"}, {0.5, "0.5"}, {2, "2"}, {-math.MaxFloat32, "-FLT_MAX"},
		{math.Sqrt2, "sqrt(2)"}, {1 / math.Sqrt2, "1/sqrt(2)"}, {math.Sqrt(2 / math.Pi), "sqrt(2/pi)"},
		{2 / math.Sqrt(math.Pi), "2/sqrt(pi)"}, {math.Pi, "pi"}, {1 / math.Pi, "1/pi"}, {math.Ln10, "ln 10"},
	}...)
	for i, d := range p.Shape.Names() {
		if n := float64(p.Shape.Extents()[i]); n > 1 {
			out = append(out, constant{n, d}, constant{1 / n, "1/" + d})
		}
	}
	if q := p.Quant; q != nil {
		levels, most, zero := float64(q.Levels), float64(q.Max), float64(q.Zero)
		out = append(out, constant{most / levels, "max / levels"},
			constant{levels, "the quantiser's levels"}, constant{zero, "the quantiser's zero"},
			constant{most, "the quantiser's max"}, constant{1 / levels, "1 / levels"})
	}
	if scaled {
		out = append(out, constant{1 / scale, "1 / the scale"}, constant{
			scale * scale, "the scale squared",
		})
	}
	return out
}

// immediates lists other numbers in place of an instruction's.
func (m *menu) immediates(n, i int) {
	in := m.fn.Body[i]
	first := 0
	if in.HasDest() {
		first = 1
	}
	for k := first; k < len(in.Args); k++ {
		o := &in.Args[k]
		switch o.Kind {
		case ptx.OpF32, ptx.OpF64:
			m.float(rankFirst+n/4, i, k)
		case ptx.OpInt:
			if in.Kind() == isa.WgmmaMultiply {
				m.layoutOfProduct(n, i, k)
				continue
			}
			switch x, may := bitsOfFloat(in, k); {
			case may && x != 0:
				m.float(rankFirst+n/4, i, k)
			case may:
				m.integer(n, i, k)
				m.float(rankSecond+n/4, i, k)
			default:
				m.integer(n, i, k)
			}
		case ptx.OpAddr:
			if in.Space() != ptx.SpaceParam && o.Base != ptx.BaseImm {
				m.offset(n, i, k)
			}
		}
	}
}

// layoutOfProduct lists, of wgmma's numbers behind scale-d, the other sign of a factor and the other order of
// a matrix in shared memory (PTX ISA, "wgmma.mma_async"): imm-scale-a, imm-scale-b, and of 16-bit elements
// imm-trans-a, where A is no fragment, and imm-trans-b.
func (m *menu) layoutOfProduct(n, i, k int) {
	in := m.fn.Body[i]
	names := []string{"imm-scale-a", "imm-scale-b", "imm-trans-a", "imm-trans-b"}
	if in.Args[1].Kind == ptx.OpVec {
		names = slices.Delete(names, 2, 3)
	}
	const first = 4 // behind d, a, b and scale-d
	if k < first || k-first >= len(names) {
		return
	}
	name, was := names[k-first], int64(int32(in.Args[k].Imm))
	to, rank := 1-was, rankFirst-1000 // there are few: before all others
	if strings.HasPrefix(name, "imm-scale") {
		to, rank = -was, rankFirst
	}
	m.add(rank+n/8, Number, i, "", "", fmt.Sprintf("%s %d of wgmma in place of %d", name, to, was),
		func(in *ptx.Instr, _ int) bool {
			in.Args[k].Imm = uint64(to)
			return true
		})
}

// bitsOfFloat is the float whose bits an integer operand of a store or move may be: instructions without a
// type of their own have a float as its bits. Integers that a kernel counts with are far less, two equal
// halves are a pair of 16-bit floats, and 0 may be a float or an integer.
func bitsOfFloat(in *ptx.Instr, k int) (x float64, may bool) {
	t := in.Type()
	v := uint32(in.Args[k].Imm)
	if in.Kind() != isa.Store && in.Kind() != isa.Move || t.Bits() != 32 || t == ptx.S32 ||
		v != 0 && v>>16 == v&0xffff {
		return 0, false
	}
	x = float64(math.Float32frombits(v))
	size := math.Abs(x)
	return x, x == 0 || math.IsInf(x, 0) || size > 1e-9 && size < 1e9 || size == math.MaxFloat32
}

// float lists other constants of a floating-point type, from a rank on.
func (m *menu) float(rank, i, k int) {
	o := m.fn.Body[i].Args[k]
	x := float64(math.Float32frombits(uint32(o.Imm)))
	bits := func(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }
	show := func(x float64) string { return fmt.Sprintf("%.9g", x) }
	if o.Kind == ptx.OpF64 {
		x, bits = math.Float64frombits(o.Imm), math.Float64bits
	}
	list := slices.Clone(m.real)
	if x != 0 && !math.IsInf(x, 0) {
		list = append(list, constant{-x, ""}, constant{2 * x, ""}, constant{x / 2, ""}, constant{1 / x, ""},
			constant{x * x, ""}, constant{math.Sqrt(math.Abs(x)), ""},
			constant{x + 1, ""}, constant{x - 1, ""})
	}
	// What is nearest is the likeliest: a digit that is wrong. In the place of what a sum, a product or a
	// maximum begins with it is what another of them begins with.
	away := func(c constant) float64 {
		if slices.Contains(neutral, x) && slices.Contains(neutral, c.x) {
			return -1
		}
		return math.Abs(c.x - x)
	}
	slices.SortStableFunc(list, func(a, b constant) int { return sign(away(a) - away(b)) })
	if m.factor != 0 && x != 0 && !math.IsInf(x, 0) {
		list = append([]constant{m.nearby(x / m.factor), m.nearby(x * m.factor)}, list...)
	}
	done := map[uint64]bool{o.Imm: true}
	for at, c := range list {
		to := bits(c.x)
		if done[to] {
			continue
		}
		done[to] = true
		now := show(c.x)
		written := now
		switch {
		case slices.Contains(m.given, c):
			now, written = fmt.Sprintf("%s (%s here)", c.name, strconv.FormatFloat(c.x, 'g', -1, 32)), c.name
		case c.name != "" && c.name != now:
			now += " (" + c.name + ")"
		}
		from := len(m.out)
		m.addFrom(rank+6*at, Constant, i, [2]string{show(x), written}, show(x), now, "",
			func(in *ptx.Instr, _ int) bool {
				if k >= len(in.Args) || in.Args[k].Kind != o.Kind || in.Args[k].Imm != o.Imm {
					return false // it has the first constant of i, and not this one
				}
				in.Args[k].Imm = to
				return true
			})
		name, inverse := strings.CutPrefix(c.name, "1/")
		if o.Kind != ptx.OpInt && slices.ContainsFunc(m.sizes, func(s size) bool { return s.name == name }) {
			m.sized(from, k, []Size{{name, 1, inverse}})
		}
	}
}

// nearby is the constant that is meant by a number worked out from rounded cells: one that arithmetic has, or
// a quotient of a whole number and one of the plan or a power of two; the number itself where none is near.
func (m *menu) nearby(x float64) constant {
	const near = 1e-4
	for _, c := range m.real {
		if math.Abs(c.x-x) <= near*math.Abs(x) {
			return c
		}
	}
	for _, d := range append([]int64{1, 2, 4, 8, 16}, m.whole...) {
		if n := math.Round(x * float64(d)); n != 0 && math.Abs(n-x*float64(d)) <= near*math.Abs(n) &&
			math.Abs(n) <= 1<<16 {
			return constant{x: n / float64(d)}
		}
	}
	return constant{x: x}
}

// neutral is what sums, products, maxima and minima begin with.
var neutral = []float64{0, 1, math.Inf(-1), math.Inf(1), -math.MaxFloat32}

func sign(x float64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// integer lists other constants of an integer type: a step further, a factor of two, a number of the plan.
func (m *menu) integer(n, i, k int) {
	in := m.fn.Body[i]
	v := int64(in.Args[k].Imm)
	if in.Type() != ptx.U64 && in.Type() != ptx.S64 && in.Type() != ptx.B64 {
		v = int64(int32(v))
	}
	var near, far []int64
	switch {
	case in.Kind() == isa.Shuffle:
		if k == 3 {
			m.width(n, i)
		}
		if k != 2 {
			return // the mask of members
		}
		near = []int64{1, 2, 4, 8, 16}
	case in.Op == "and":
		near = otherMasks(v)
	case in.Op == "shl" || in.Op == "shr":
		near = []int64{v + 1, v - 1, v + 2, v - 2, v + 3, v - 3}
	case in.Op == "bfe" || in.Op == "bfi":
		near = []int64{v + 1, v - 1, v + 2, v - 2}
	case in.Op == "prmt" || in.Op == "lop3" || in.Kind() == isa.Barrier:
		return
	case in.Op == "xor":
		near = []int64{1, 2, 3, 4, 7, 8, 16, 0}
	default:
		near = []int64{v + 1, v - 1, 2 * v, v / 2, 0}
		if in.Op == "add" || in.Op == "sub" || in.Kind() == isa.Compare {
			near = append(near, -v, v+2, v-2, v+4, v-4, v+8, v-8, v+16, v-16, v+32, v-32)
		}
		far = m.planned(v)
	}
	done := map[int64]bool{v: true}
	for at, to := range append(near, far...) {
		if done[to] || to < 0 && v >= 0 && in.Kind() == isa.Arith && in.Op != "add" {
			continue
		}
		done[to] = true
		rank := rankFirst + n/2 + 8*at
		if at >= len(near) {
			rank = rankSecond + n + 8*(at-len(near))
		}
		from := len(m.out)
		was, now := fmt.Sprint(v), m.called(to)
		if power := powers[in.Op]; power != "" && v >= 0 && to >= 0 && max(v, to) < 32 {
			was, now = fmt.Sprint(power, 1<<v), fmt.Sprint(power, 1<<to)
		}
		if in.Op == "and" && in.Args[1].Kind == ptx.OpReg {
			was, now = m.maskedBy(in.Args[1].Reg, v), m.maskedBy(in.Args[1].Reg, to)
		}
		m.add(rank, Number, i, was, now, "", func(in *ptx.Instr, _ int) bool {
			in.Args[k].Imm, in.Args[k].Unsigned = uint64(to), false
			return true
		})
		m.sized(from, k, m.sizesOf(to))
	}
}

// maskedBy is a number with a mask as the source may have it: "threadIdx.x % 8", "& 24".
func (m *menu) maskedBy(r int32, mask int64) string {
	name := m.threadNumber(r)
	if name != "" {
		name += " "
	}
	if mask < 0 && -mask&(-mask-1) == 0 {
		if mask == -1 {
			return "the number itself"
		}
		return fmt.Sprintf("the next lower multiple of %d", -mask)
	}
	if mask > 0 && mask&(mask+1) == 0 && mask < 1<<16 {
		return fmt.Sprintf("%s%% %d", name, mask+1)
	}
	return fmt.Sprintf("%s& %d", name, mask)
}

// otherMasks lists masks that may be meant by a mask: of a remainder those of other powers of two, of any one
// those with a bit less, or with a bit more next to its own.
func otherMasks(v int64) []int64 {
	if v < 0 && -v&(-v-1) == 0 { // a multiple of a power of two
		return []int64{-1, 2 * v, v / 2, 4 * v, v / 4}
	}
	if v < 0 || v >= 1<<16 {
		return []int64{31, 15, 7, 3, 1, -2, -4, -8, -16, -32}
	}
	out := []int64{v >> 1, v<<1 | 1, v >> 2, v<<2 | 3}
	if v&(v+1) != 0 {
		out = nil
	}
	for b := int64(1); b <= v; b <<= 1 {
		if v&b != 0 && v != b {
			out = append(out, v&^b)
		}
	}
	for b := int64(1); b < 1<<16; b <<= 1 {
		if v&b == 0 && (v&(b<<1) != 0 || v&(b>>1) != 0) {
			out = append(out, v|b)
		}
	}
	return append(out, 31, 15, 7, 3, 1)
}

// powers name what a shift by a number of bits does: the source has a multiplication or a division.
var powers = map[string]string{"shl": "factor ", "shr": "divisor "}

// width lists a lane exchange over the whole warp in place of one over a part of it (PTX ISA 9.7.9.6: c has
// the clamp in its low five bits and the mask of a segment from bit 8 on).
func (m *menu) width(n, i int) {
	c := m.fn.Body[i].Args[3].Imm
	if c>>8&31 == 0 {
		return
	}
	m.add(rankFirst+n/4, Number, i, fmt.Sprintf("a width of %d lanes", 32-c>>8&31),
		"one of 32 lanes", "", func(in *ptx.Instr, _ int) bool {
			in.Args[3].Imm &= 31
			return true
		})
}

// clamped gives an exchange between lanes the bounds that its mode has: where lanes are taken from below, the
// clamp is the first lane of a segment, else its last.
func (m *menu) clamped(in *ptx.Instr, mode string) bool {
	if len(in.Args) < 4 {
		return false
	}
	c := &in.Args[3]
	if c.Kind == ptx.OpReg && len(m.defs[c.Reg]) == 1 {
		if def := m.fn.Body[m.defs[c.Reg][0]]; def.Kind() == isa.Move && len(def.Args) == 2 {
			*c = def.Args[1]
		}
	}
	if c.Kind != ptx.OpInt {
		return false
	}
	if c.Imm &^= 31; mode != "up" {
		c.Imm |= 31
	}
	return true
}

// planned lists the numbers of the plan, in elements and in bytes of two and four, nearest in size first.
func (m *menu) planned(v int64) []int64 {
	var out []int64
	for _, w := range m.whole {
		for _, f := range multiples {
			if !slices.Contains(out, w*f) {
				out = append(out, w*f)
			}
		}
	}
	away := func(w int64) float64 {
		return math.Abs(math.Log2(float64(w)) - math.Log2(math.Max(1, math.Abs(float64(v)))))
	}
	slices.SortStableFunc(out, func(a, b int64) int { return sign(away(a) - away(b)) })
	return out[:min(len(out), 10)]
}

// called is a number with the name that the plan has for it.
func (m *menu) called(v int64) string {
	if v > 1 {
		for _, x := range m.sizes {
			if int64(x.n) == v {
				return fmt.Sprintf("%d (%s)", v, x.name)
			}
		}
	}
	return fmt.Sprint(v)
}

// offset lists other offsets of an address.
func (m *menu) offset(n, i, k int) {
	in := m.fn.Body[i]
	off := in.Args[k].Off
	size := int64(max(1, in.Type().Bytes()*in.Vec()))
	list := []int64{off - size, off + size, 0, off / 2, 2 * off, off - 16, off + 16, off - 32, off + 32}
	done := map[int64]bool{off: true}
	for at, to := range list {
		if done[to] {
			continue
		}
		done[to] = true
		m.add(rankThird+n+10*at, Number, i, "", "", fmt.Sprintf("an address %d bytes %s", abs(to-off),
			map[bool]string{true: "further", false: "less far"}[to > off]), func(in *ptx.Instr, _ int) bool {
			in.Args[k].Off = to
			return true
		})
	}
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// twins are modifiers that stand for another thing and are as easily written.
var twins = map[string][]string{
	"lt": {"le", "gt"}, "le": {"lt", "ge"}, "gt": {"ge", "lt"}, "ge": {"gt", "le"}, "eq": {"ne"},
	"ne": {"eq"}, "lo": {"ls"}, "ls": {"lo"}, "hi": {"hs"}, "hs": {"hi"}, "rz": {"rn"}, "rm": {"rn"},
	"rp": {"rn"}, "rzi": {"rni", "rmi"}, "rni": {"rzi", "rmi"}, "rmi": {"rni", "rzi"},
	"bfly": {"down", "up"}, "down": {"bfly"},
	"up": {"bfly", "down"}, "row": {"col"}, "col": {"row"}, "s32": {"u32"}, "u32": {"s32"}, "s8": {"u8"},
	"u8": {"s8"}, "s16": {"u16"}, "u16": {"s16"}, "e4m3x2": {"e5m2x2"}, "e5m2x2": {"e4m3x2"},
}

// oneOff are comparisons that differ in whether equal numbers meet them.
var oneOff = map[string]string{
	"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "lo": "ls", "ls": "lo", "hi": "hs", "hs": "hi",
}

// words are how the source writes a modifier or an opcode.
var words = map[string]string{
	"rz": "rounding toward zero", "rm": "rounding down", "rp": "rounding up",
	"rn": "rounding to nearest", "rzi": "cutting off", "rni": "rounding to nearest", "rmi": "rounding down",
	"bfly": "__shfl_xor_sync", "down": "__shfl_down_sync", "up": "__shfl_up_sync", "row": "row-major",
	"col": "column-major", "s8": "signed bytes", "u8": "unsigned bytes", "s16": "signed numbers",
	"u16": "unsigned numbers", "s32": "signed numbers", "u32": "unsigned numbers",
	"max": "maximum", "min": "minimum", "add": "addition (+)",
	"sub": "subtraction (-)", "mul": "multiplication (*)", "div": "division (/)", "rcp": "1/x",
	"sqrt":  "sqrt(x)",
	"rsqrt": "1/sqrt(x)", "ex2": "2^x", "exp": "exp(x)", "lg2": "log2(x)", "shl": "<<", "shr": ">>",
	"and": "&", "or": "|", "ld": "load", "cp": "copy", "cvt": "conversion", "selp": "choice (?:)",
}

// Word is how the source writes a modifier or an opcode, the same where it has no word of its own.
func Word(s string) string {
	if w := words[s]; w != "" {
		return w
	}
	return s
}

// others are operations in place of an operation, on the same operands.
var others = map[string][]string{
	"max": {"min"}, "min": {"max"}, "add": {"sub", "mul"}, "sub": {"add"}, "shl": {"shr"}, "shr": {"shl"},
	"and": {"or"}, "or": {"and"}, "mul": {"div", "add"}, "div": {"mul"}, "rsqrt": {"rcp", "sqrt"},
	"rcp": {"rsqrt", "sqrt"}, "sqrt": {"rsqrt", "rcp"}, "sin": {"cos"}, "cos": {"sin"},
}

// modifiers lists other modifiers, and another opcode with the same operands.
func (m *menu) modifiers(n, i int) {
	in := m.fn.Body[i]
	for k, mod := range in.Mods {
		compares := in.Kind() == isa.Compare
		for at, to := range twins[mod] {
			kind, rank := Operation, rankSecond
			switch mod {
			case "rz", "rm", "rp", "rzi", "rni", "rmi":
				if kind, rank = Rounding, rankFirst; mod == "rzi" || mod == "rni" || mod == "rmi" {
					rank = rankThird
				}
			case "lt", "le", "gt", "ge", "eq", "ne", "lo", "ls", "hi", "hs":
				if !compares {
					continue
				}
				kind, rank = Comparison, rankFirst
			case "s32", "u32":
				if in.Op != "shr" && in.Op != "bfe" && (in.Op != "cvt" || !in.Type().Float()) {
					continue
				}
			case "s8", "u8", "s16", "u16":
				rank = rankFirst
			case "row", "col":
				if in.Kind() != isa.LoadFragment && in.Kind() != isa.StoreFragment {
					continue // the product's own layout says nothing without its operands'
				}
				rank = rankFirst
			case "bfly", "down", "up":
				rank = rankFirst
			}
			was, now, text := Word(mod), Word(to), ""
			if kind == Comparison { // a compiler turns conditions round
				was, now = "", ""
				if text = fmt.Sprintf("another comparison: %s.%s in place of .%s in the PTX", in.Op, to,
					mod); oneOff[mod] == to {
					text = OneOff
				}
			}
			m.addFrom(rank+n/4+10*at, kind, i, [2]string{mod, to}, was, now, text,
				func(in *ptx.Instr, _ int) bool {
					in.Mods[k] = to
					return in.Kind() != isa.Shuffle || m.clamped(in, to)
				})
		}
	}
	m.integerOperations(n, i)
	for at, to := range others[in.Op] {
		if (in.Op == "mul" || in.Op == "div") && !in.Type().Float() {
			continue
		}
		if in.Op == "add" && to == "mul" && !in.Type().Float() {
			continue
		}
		op := [2]string{in.Op, to}
		m.addFrom(rankSecond+n+10*at, Operation, i, op, Word(in.Op), Word(to), "",
			func(in *ptx.Instr, _ int) bool {
				in.Op = to
				return true
			})
	}
}

// guard lists what the instruction is without its predicate, and with the opposite one.
func (m *menu) guard(n, i int) {
	in := m.fn.Body[i]
	if in.Guard == nil {
		return
	}
	m.add(rankThird+n, Comparison, i, "", "", "the opposite condition", func(in *ptx.Instr, _ int) bool {
		in.Guard.Neg = !in.Guard.Neg
		return true
	})
	if in.Kind() != isa.Branch {
		m.add(rankSecond+n, Comparison, i, "", "", "without the condition", func(in *ptx.Instr, _ int) bool {
			in.Guard = nil
			return true
		})
	}
}

// specials lists other thread and block numbers in place of one.
func (m *menu) specials(n, i int) {
	in := m.fn.Body[i]
	for k := range in.Args {
		o := &in.Args[k]
		if o.Kind != ptx.OpSpecial || o.Comp < 0 {
			continue
		}
		for c := range int8(3) {
			if c == o.Comp || m.extent(o.Name, c) == 1 { // of one thread or block it is always 0
				continue
			}
			m.add(rankFirst+n/4, Operand, i, special(o.Name, o.Comp), special(o.Name, c), "",
				func(in *ptx.Instr, _ int) bool {
					in.Args[k].Comp = c
					return true
				})
		}
	}
}

// extent is how many values a thread's or block's number has.
func (m *menu) extent(name string, comp int8) int {
	switch name {
	case "%tid", "%ntid":
		return m.block[comp]
	case "%ctaid", "%nctaid":
		return m.grid[comp]
	}
	return 0
}

// special is a special register as CUDA calls it.
func special(name string, comp int8) string {
	cuda := map[string]string{"%tid": "threadIdx", "%ctaid": "blockIdx", "%ntid": "blockDim",
		"%nctaid": "gridDim"}[name]
	if cuda == "" {
		cuda = name
	}
	return cuda + "." + string("xyzw"[comp])
}

// parameters lists the kernel's other parameters of the same type.
func (m *menu) parameters(n, i int) {
	in := m.fn.Body[i]
	if in.Kind() != isa.Load || in.Space() != ptx.SpaceParam || len(in.Args) < 2 || in.Args[1].Var == nil {
		return
	}
	was := in.Args[1].Var
	for _, v := range m.fn.Params {
		if v == was || v.Type != was.Type || v.Size != was.Size {
			continue
		}
		m.add(rankSecond+n, Operand, i, m.parameter(was), m.parameter(v), "",
			func(in *ptx.Instr, _ int) bool {
				in.Args[1].Var, in.Args[1].Name = v, v.Name
				return true
			})
	}
}

// parameter is how a message calls a parameter: by the manifest's name, else by its number,
// since PTX has none.
func (m *menu) parameter(v *ptx.Var) string {
	i := slices.Index(m.fn.Params, v)
	if i < len(m.args) && m.args[i] != "" {
		return m.args[i]
	}
	return fmt.Sprintf("parameter %d", i+1)
}

// Swapped is the text of an edit that exchanges the operands of an operation.
const Swapped = "its two operands exchanged"

// swapped lists the operation with its last two operands exchanged, where that is another one.
func (m *menu) swapped(n, i int) {
	in := m.fn.Body[i]
	switch in.Op {
	case "sub", "div", "rem", "shl", "shr", "selp":
	default:
		return
	}
	if len(in.Args) < 3 {
		return
	}
	m.add(rankFirst+20+n/2, Operand, i, "", "", Swapped,
		func(in *ptx.Instr, _ int) bool {
			in.Args[1], in.Args[2] = in.Args[2], in.Args[1]
			return true
		})
}

// moved makes an instruction a copy of one of its operands.
func (m *menu) moved(in *ptx.Instr, from ptx.Operand) bool {
	if len(in.Args) == 0 || in.Args[0].Kind != ptx.OpReg {
		return false
	}
	t := m.fn.Regs[in.Args[0].Reg].Type
	if from.Kind == ptx.OpReg && m.fn.Regs[from.Reg].Type.Bits() != t.Bits() {
		return false
	}
	in.Op, in.Mods, in.Args = "mov", []string{t.String()}, []ptx.Operand{in.Args[0], from}
	return true
}

// superfluous lists what the operation is without doing anything: one of its operands.
func (m *menu) superfluous(n, i int) {
	in := m.fn.Body[i]
	m.narrowed(n, i)
	if in.Kind() != isa.Arith && in.Kind() != isa.Special || !in.HasDest() {
		return
	}
	rank := rankThird
	if in.Type().Float() {
		rank = rankSecond
	}
	name := Word(in.Op)
	if in.Has("sat") {
		name = "saturation (to 0 … 1)"
	}
	for k := 1; k < len(in.Args); k++ {
		if in.Args[k].Kind != ptx.OpReg {
			continue
		}
		text := fmt.Sprintf("without the %s: its %s operand alone", name, Ordinal(k))
		if len(in.Args) == 2 {
			text = fmt.Sprintf("without the %s", name)
		}
		m.add(rank+n/2+10*k, Superfluous, i, "", "", text, func(in *ptx.Instr, _ int) bool {
			return m.moved(in, in.Args[k])
		})
	}
	if in.Op == "fma" && len(in.Args) == 4 && in.Args[3].Kind == ptx.OpReg {
		m.add(rank+n/2, Superfluous, i, "", "", "without the addend: the product alone",
			func(in *ptx.Instr, _ int) bool {
				in.Op, in.Args = "mul", in.Args[:3]
				return true
			})
	}
	if (in.Op == "fma" || in.Op == "mad") && len(in.Args) == 4 { // without the factor
		m.add(rank+n/2, Superfluous, i, "", "", "without the factor: the sum of its first and third operand",
			func(in *ptx.Instr, _ int) bool {
				in.Op, in.Args = "add", []ptx.Operand{in.Args[0], in.Args[1], in.Args[3]}
				in.Mods = slices.DeleteFunc(in.Mods, func(s string) bool {
					return s == "lo" || s == "wide" || s == "hi"
				})
				return true
			})
	}
}

// Ordinal is the k-th in words, from 1.
func Ordinal(k int) string { return [...]string{"", "first", "second", "third", "fourth"}[min(k, 4)] }

// Pools of registers: how far back a value may stand that was meant, and how many are tried for an operand.
const (
	poolReach = 60
	poolSize  = 6
)

// pool lists values of a register's type that stand before an instruction: by how many instructions before.
func (m *menu) pool(i int, t ptx.Type, not func(r int32) bool) []int {
	var out []int
	seen := map[int32]bool{}
	for d := 1; d <= poolReach && i-d >= 0 && len(out) < poolSize; d++ {
		in := m.fn.Body[i-d]
		if !in.HasDest() || in.Args[0].Kind != ptx.OpReg || in.Guard != nil {
			continue
		}
		r := in.Args[0].Reg
		if seen[r] || not(r) || !sameClass(m.fn.Regs[r].Type, t) {
			continue
		}
		seen[r] = true
		out = append(out, d)
	}
	return out
}

// sameClass reports whether a register of one type may be read as the other.
func sameClass(a, b ptx.Type) bool {
	return a.Bits() == b.Bits() && a.Float() == b.Float() && (a == ptx.Pred) == (b == ptx.Pred)
}

// registers lists other values in place of an operand: those that were computed shortly before.
func (m *menu) registers(n, i int) {
	in := m.fn.Body[i]
	switch in.Kind() {
	case isa.Arith, isa.Compare, isa.Select, isa.Store, isa.Move, isa.Logic, isa.Special, isa.Shuffle:
	default:
		return
	}
	for k := 1; k < len(in.Args); k++ { // of a store the address stays
		if in.Args[k].Kind != ptx.OpReg {
			continue
		}
		was := in.Args[k].Reg
		t := m.fn.Regs[was].Type
		for at, d := range m.pool(i, t, func(r int32) bool { return r == was }) {
			like := m.fn.Body[i-d]
			m.add(rankThird+n+15*at, Operand, i, "", "",
				fmt.Sprintf("the result of %s in place of its %s operand", m.places[i-d], Ordinal(k)),
				func(in *ptx.Instr, at int) bool {
					if at-d < 0 || m.fn.Body[at-d].Opcode() != like.Opcode() || !m.fn.Body[at-d].HasDest() ||
						m.fn.Body[at-d].Args[0].Kind != ptx.OpReg {
						return false
					}
					in.Args[k].Reg = m.fn.Body[at-d].Args[0].Reg
					return sameClass(m.fn.Regs[in.Args[k].Reg].Type, t)
				})
		}
	}
}

// missing lists products and sums with a value that was computed shortly before, behind an instruction
// that gives a float.
func (m *menu) missing(n, i int) {
	in := m.fn.Body[i]
	if !in.HasDest() || in.Args[0].Kind != ptx.OpReg || m.fn.Regs[in.Args[0].Reg].Type != ptx.F32 {
		return
	}
	dst := in.Args[0].Reg
	for at, d := range m.pool(i, ptx.F32, func(r int32) bool { return r == dst }) {
		for _, op := range []string{"mul", "add", "sub"} {
			m.after(rankLast+n+20*at, Missing, i, fmt.Sprintf("one %s more, with the result of %s", Word(op),
				m.places[i-d]),
				func(in *ptx.Instr, at int) *ptx.Instr {
					if at-d < 0 || !m.fn.Body[at-d].HasDest() || m.fn.Body[at-d].Args[0].Kind != ptx.OpReg ||
						in.Args[0].Kind != ptx.OpReg {
						return nil
					}
					r := m.fn.Body[at-d].Args[0].Reg
					if m.fn.Regs[r].Type != ptx.F32 {
						return nil
					}
					to := ptx.RegisterOf(in.Args[0].Reg)
					return &ptx.Instr{
						Op: op, Mods: []string{"rn", "f32"}, Args: []ptx.Operand{to, to, ptx.RegisterOf(r)},
					}
				})
		}
	}
}
