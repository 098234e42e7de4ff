package diff

import (
	"fmt"
	"strings"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// derivation says in words how the bound of a stage came about, with the worst cell's figures: of one judged
// from the kernel's own tiles, or from the inputs.
func (r *rules) derivation(sp *probes.StagePlan, w worst, own bool) string {
	if !w.set {
		return ""
	}
	how := r.reason(sp)
	if !own && stepOf(sp) > attn.StepV {
		how += "; and what the stages before were allowed"
	}
	rnd := r.round[stepOf(sp)]
	if w.bound == 0 {
		return how + ": nothing is rounded, 0"
	}
	parts := fmt.Sprintf(": %.2e", w.pre)
	if last := w.bound/(1+r.coefs[termReference]) - w.pre; last > w.bound*1e-3 && !rnd.exact {
		parts += fmt.Sprintf(" + %.2e storing as %s", last, sp.DType)
	}
	return how + parts
}

func (r *rules) reason(sp *probes.StagePlan) string {
	switch stepOf(sp) {
	case attn.StepQ, attn.StepK, attn.StepV:
		if r.ref.Inputs().Quant == nil {
			return "copied"
		}
		return "(code − zero)·(max/levels·scale) in three f32 roundings, 4·2^-24 relative"
	case attn.StepS:
		return r.scores.reason("D") + r.scaleReason()
	case attn.StepM:
		if r.maxExact {
			return "a maximum of representable numbers"
		}
		return "maximum of scaled scores, 4·2^-24 relative"
	case attn.StepL:
		return fmt.Sprintf("%s; %d additions in any order, onto l_old·exp(m_old − m) or apart, 2^-24 each", r.expReason(), r.ref.TileN())
	case attn.StepP:
		return r.expReason()
	case attn.StepU:
		return r.output.reason("keys") + "; onto U_old·exp(m_old − m) or apart, the product 2^-24, " + r.expReason()
	}
	return "U/l, 2 ulp of f32"
}

func (r *rules) expReason() string {
	arg := "3·2^-24·|s − m|"
	if r.exp.split {
		arg = "4·2^-24·(|s| + |m|)"
	}
	return "exp to 2^-22 and its argument to " + arg
}

func (r *rules) scaleReason() string {
	switch {
	case r.unit != 1:
		return ""
	case r.round[attn.StepS].pow2:
		return ", times softmax_scale (a power of two: exact)"
	}
	return ", times softmax_scale"
}

func (s sum) reason(over string) string {
	var b strings.Builder
	switch s.unit {
	case probes.UnitTensor:
		last := "truncates to 24 bits"
		if s.acc == probes.F16 {
			last = "rounds the partial sum to f16"
		}
		fmt.Fprintf(&b, "%d tensor-core blocks of %d products over %s: each drops up to 2^-25 of its largest exponent a term and %s",
			s.blocks(), s.block, over, last)
	case probes.UnitMulAdd:
		fmt.Fprintf(&b, "%d products and sums over %s in %s, one rounding each", s.n, over, s.acc)
	default:
		fmt.Fprintf(&b, "%d multiply-adds over %s in %s, one rounding each", s.n, over, s.acc)
	}
	if s.split > 1 {
		fmt.Fprintf(&b, ", %d partial sums merged", s.split)
	}
	return b.String()
}
