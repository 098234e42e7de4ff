package scaffold

import (
	"fmt"
	"strings"

	"tilescope/probes"
)

// meantParameter is a parameter with the meaning it is given: a tensor, a dimension, the scale, or none.
type meantParameter struct {
	Parameter
	tensor string // pointers; "" for scratch
	value  string // scalars
	scale  bool
	why    string // why it is marked; "" where it is certain
}

// tensorNames and valueNames are what sources call things, in lower case.
var tensorNames = map[string]string{
	"q": "Q", "query": "Q", "k": "K", "key": "K", "v": "V", "value": "V", "o": "O", "out": "O", "output": "O",
	"qs": "Qs", "q_scale": "Qs", "scale_q": "Qs", "ks": "Ks", "k_scale": "Ks", "scale_k": "Ks", "vs": "Vs",
	"v_scale": "Vs", "scale_v": "Vs",
}

var valueNames = map[string]string{
	"b": "B", "batch": "B", "batch_size": "B", "h": "H", "heads": "H", "num_heads": "H", "n_heads": "H",
	"s": "S", "n": "S", "seq": "S", "seq_len": "S", "seqlen": "S", "n_ctx": "S", "d": "D", "dim": "D",
	"head_dim": "D",
}

var scaleNames = []string{"softmax_scale", "scale", "sm_scale"}

const byOrder = "guessed from order and use"

// meanings gives parameters their meaning: by name where the source has names, the rest by order and use.
func meanings(list []Parameter) []meantParameter {
	out := make([]meantParameter, len(list))
	taken := map[string]bool{}
	for i, p := range list {
		a := &out[i]
		a.Parameter = p
		name := strings.ToLower(strings.Trim(p.Name, "_"))
		if t := tensorNames[name]; p.Pointer && t != "" && !taken[t] {
			a.tensor, taken[t] = t, true
			if p.Guessed {
				a.why = "element type guessed from use"
			}
		}
		if v := valueNames[name]; !p.Pointer && v != "" && !p.DType.Float() {
			a.value = v
		}
		for _, s := range scaleNames {
			if name == s && !p.Pointer && p.DType.Float() && !taken["scale"] {
				a.value, a.scale, taken["scale"] = "1 / sqrt(D)", true, true
			}
		}
	}
	pointersByOrder(out, taken)
	scalarsByOrder(out, taken)
	settleTypes(out)
	for i := range out {
		if out[i].Name == "" {
			out[i].Name = fmt.Sprintf("param_%d", i)
		}
	}
	return out
}

// pointersByOrder takes what is only read as Q, K, V and their scales, and the last that
// is only written as O.
func pointersByOrder(list []meantParameter, taken map[string]bool) {
	var readers, writers []*meantParameter
	for i := range list {
		switch a := &list[i]; {
		case !a.Pointer || a.tensor != "":
		case a.Read && !a.Written:
			readers = append(readers, a)
		case a.Written && !a.Read:
			writers = append(writers, a)
		}
	}
	give := func(a *meantParameter, tensor string) {
		if taken[tensor] || len(tensor) == 2 && a.DType != probes.F32 {
			return
		}
		a.tensor, a.why, taken[tensor] = tensor, byOrder, true
		if a.Name == "" {
			a.Name = tensor
		}
	}
	if n := len(writers); n > 0 {
		give(writers[n-1], "O")
	}
	if taken["Q"] || taken["K"] || taken["V"] || len(readers) < 3 {
		return
	}
	for i, tensor := range []string{"Q", "K", "V", "Qs", "Ks", "Vs"} {
		if i < len(readers) {
			give(readers[i], tensor)
		}
	}
}

// scalarsByOrder takes four integers as B, H, S, D, fewer as the last of these, and the first
// float as the scale.
func scalarsByOrder(list []meantParameter, taken map[string]bool) {
	var integers []*meantParameter
	for i := range list {
		switch a := &list[i]; {
		case a.Pointer || a.value != "":
		case !a.DType.Float():
			integers = append(integers, a)
		case !taken["scale"]:
			a.value, a.scale, a.why, taken["scale"] = "1 / sqrt(D)", true, byOrder, true
			if a.Name == "" {
				a.Name = "softmax_scale"
			}
		default:
			a.value, a.why = "1", "what is passed?"
		}
	}
	dims := []string{"B", "H", "S", "D"}
	for i, a := range integers {
		if len(integers) > len(dims) || a.Name != "" {
			a.value, a.why = "1", "what is passed?"
			continue
		}
		a.value, a.why = dims[len(dims)-len(integers)+i], byOrder
		a.Name = a.value
	}
}

// settleTypes gives Q, K and V one type where only some show theirs: bytes where there are
// scales, else halves.
func settleTypes(list []meantParameter) {
	usual := probes.F16
	for _, a := range list {
		if len(a.tensor) == 2 {
			usual = probes.U8
		}
	}
	for _, a := range list {
		if len(a.tensor) == 1 && a.tensor != "O" && a.DType != 0 && !a.Guessed {
			usual = a.DType
		}
	}
	for i := range list {
		a := &list[i]
		switch {
		case a.DType != 0:
		case len(a.tensor) == 1 && a.tensor != "O":
			a.DType = usual
		case a.tensor == "O":
			a.DType = probes.F16
		default:
			a.DType = probes.F32
		}
	}
}
