package scaffold

import (
	"fmt"
	"strings"

	"tilescope/probes"
)

// meantParameter is a parameter with the meaning it is given: a tensor, a dimension, the scale, or none.
type meantParameter struct {
	parameter
	tensor string // pointers; "" for scratch
	value  string // scalars
	scale  bool
	why    string // why it is marked; "" where it is certain
}

// tensorNames and valueNames are what sources call things, in lower case.
var tensorNames = map[string]string{
	"q": "Q", "query": "Q", "k": "K", "key": "K", "v": "V", "value": "V", "o": "O", "out": "O", "output": "O",
	"qs": "Qs", "q_scale": "Qs", "scale_q": "Qs", "ks": "Ks", "k_scale": "Ks", "scale_k": "Ks", "vs": "Vs", "v_scale": "Vs", "scale_v": "Vs",
}

var valueNames = map[string]string{
	"b": "B", "batch": "B", "batch_size": "B", "h": "H", "heads": "H", "num_heads": "H", "n_heads": "H", "s": "S", "n": "S", "seq": "S",
	"seq_len": "S", "seqlen": "S", "n_ctx": "S", "d": "D", "dim": "D", "head_dim": "D",
}

var scaleNames = []string{"softmax_scale", "scale", "sm_scale"}

const byOrder = "guessed from order and use"

// meanings gives parameters their meaning: by name where the source has names, the rest by order and use.
func meanings(list []parameter) []meantParameter {
	out := make([]meantParameter, len(list))
	taken := map[string]bool{}
	for i, p := range list {
		a := &out[i]
		a.parameter = p
		name := strings.ToLower(strings.Trim(p.name, "_"))
		if t := tensorNames[name]; p.pointer && t != "" && !taken[t] {
			a.tensor, taken[t] = t, true
			if p.guessed {
				a.why = "element type guessed from use"
			}
		}
		if v := valueNames[name]; !p.pointer && v != "" && !p.dtype.Float() {
			a.value = v
		}
		for _, s := range scaleNames {
			if name == s && !p.pointer && p.dtype.Float() && !taken["scale"] {
				a.value, a.scale, taken["scale"] = "1 / sqrt(D)", true, true
			}
		}
	}
	pointersByOrder(out, taken)
	scalarsByOrder(out, taken)
	settleTypes(out)
	for i := range out {
		if out[i].name == "" {
			out[i].name = fmt.Sprintf("param_%d", i)
		}
	}
	return out
}

// pointersByOrder takes what is only read as Q, K, V and their scales, and the last that is only written as O.
func pointersByOrder(list []meantParameter, taken map[string]bool) {
	var readers, writers []*meantParameter
	for i := range list {
		switch a := &list[i]; {
		case !a.pointer || a.tensor != "":
		case a.read && !a.written:
			readers = append(readers, a)
		case a.written && !a.read:
			writers = append(writers, a)
		}
	}
	give := func(a *meantParameter, tensor string) {
		if taken[tensor] || len(tensor) == 2 && a.dtype != probes.F32 {
			return
		}
		a.tensor, a.why, taken[tensor] = tensor, byOrder, true
		if a.name == "" {
			a.name = tensor
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

// scalarsByOrder takes four integers as B, H, S, D, fewer as the last of these, and the first float as the scale.
func scalarsByOrder(list []meantParameter, taken map[string]bool) {
	var integers []*meantParameter
	for i := range list {
		switch a := &list[i]; {
		case a.pointer || a.value != "":
		case !a.dtype.Float():
			integers = append(integers, a)
		case !taken["scale"]:
			a.value, a.scale, a.why, taken["scale"] = "1 / sqrt(D)", true, byOrder, true
			if a.name == "" {
				a.name = "softmax_scale"
			}
		default:
			a.value, a.why = "1", "what is passed?"
		}
	}
	dims := []string{"B", "H", "S", "D"}
	for i, a := range integers {
		if len(integers) > len(dims) || a.name != "" {
			a.value, a.why = "1", "what is passed?"
			continue
		}
		a.value, a.why = dims[len(dims)-len(integers)+i], byOrder
		a.name = a.value
	}
}

// settleTypes gives Q, K and V one type where only some show theirs: bytes where there are scales, else halves.
func settleTypes(list []meantParameter) {
	usual := probes.F16
	for _, a := range list {
		if len(a.tensor) == 2 {
			usual = probes.U8
		}
	}
	for _, a := range list {
		if len(a.tensor) == 1 && a.tensor != "O" && a.dtype != 0 && !a.guessed {
			usual = a.dtype
		}
	}
	for i := range list {
		a := &list[i]
		switch {
		case a.dtype != 0:
		case len(a.tensor) == 1 && a.tensor != "O":
			a.dtype = usual
		case a.tensor == "O":
			a.dtype = probes.F16
		default:
			a.dtype = probes.F32
		}
	}
}
