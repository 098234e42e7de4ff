package scaffold

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/probes"
)

// resolves reports whether a manifest makes sense for its first shape.
func resolves(m *configs.Manifest) bool {
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil || len(m.Shapes) == 0 {
		return false
	}
	_, err = sel.Resolve(m.Shapes[0].Shape)
	return err == nil
}

// checkWords is the command that executes the kernel under every checker with what its manifest guesses; nil
// where the manifest cannot be resolved for its own shape.
func checkWords(req Request, m *configs.Manifest) []string {
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil || len(m.Shapes) == 0 {
		return nil
	}
	plan, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		return nil
	}
	words := []string{"tilescope", "check", req.File}
	if req.Entry != "" {
		words = append(words, "--entry", req.Entry)
	}
	for _, o := range []struct {
		option string
		values []string
	}{{"-I", req.Include}, {"-D", req.Define}, {"-D", req.Set}, {"--instantiate", req.Instantiate}} {
		for _, v := range o.values {
			words = append(words, o.option, v)
		}
	}
	if req.Std != "" {
		words = append(words, "--std", req.Std)
	}
	if req.Arch != "" {
		words = append(words, "--arch", req.Arch)
	}
	words = append(words, "--grid", plan.Grid.String(), "--block", plan.Block.String())
	if plan.DynShared > 0 {
		words = append(words, "--shared", fmt.Sprint(plan.DynShared))
	}
	if plan.Cluster.Count() > 1 {
		words = append(words, "--cluster", plan.Cluster.String())
	}
	if plan.Cooperative {
		words = append(words, "--cooperative")
	}
	for _, in := range plan.Inputs {
		plan.Args[in.Arg].Fill = in.Fill
	}
	for i, a := range plan.Parameters() {
		value := checkValue(a)
		if t := a.Map; t != nil {
			value = fmt.Sprintf("tensormap{of: %s, %s}", plan.Args[t.Of].Name, t.Spec(t.Skip).Keys())
		} else if m.Args[i].Size > 0 {
			value = structValue(m, plan, i)
		}
		words = append(words, "--arg", fmt.Sprintf("%d=%s", i, value))
	}
	for _, a := range plan.Args {
		if a.Into != nil && len(a.Into) == 0 { // tensor maps lead to it
			words = append(words, "--arg", a.Name+"="+checkValue(a))
		}
	}
	return words
}

// structValue is a struct, the manifest's argument of an index, as check takes it.
func structValue(m *configs.Manifest, plan *probes.Plan, index int) string {
	fields := map[int]string{}
	for _, f := range m.Args[index].Fields {
		var word [8]byte
		copy(word[:], plan.Args[index].Data[f.Offset:f.Offset+f.DType.Size()])
		fields[f.Offset] = checkValue(probes.Arg{DType: f.DType, Bits: binary.LittleEndian.Uint64(word[:])}) +
			":" + f.DType.String()
	}
	for _, a := range plan.Args {
		for _, at := range a.Into {
			if at.Arg == index {
				fields[at.Offset] = checkValue(a)
			}
		}
	}
	var parts []string
	for _, at := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%d: %s", at, fields[at]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// checkValue is an argument as check takes it.
func checkValue(a probes.Arg) string {
	if !a.Pointer {
		switch a.DType {
		case probes.F32:
			return fmt.Sprint(math.Float32frombits(uint32(a.Bits)))
		case probes.F64:
			return fmt.Sprint(math.Float64frombits(a.Bits))
		case probes.I32:
			return fmt.Sprint(int32(a.Bits))
		}
		return fmt.Sprint(int64(a.Bits))
	}
	var dims []string
	for _, d := range a.Dims {
		dims = append(dims, fmt.Sprint(d))
	}
	return fmt.Sprintf("%s:%s[%s]", sourceOf(a), a.DType, strings.Join(dims, ","))
}

// sourceOf is what memory holds before the launch, as check takes it.
func sourceOf(a probes.Arg) string {
	list := a.Fill.Values
	switch input := a.Role == probes.RoleInput || a.Role == probes.RoleInOut; {
	case a.Fill.Kind == probes.FillUnwritten:
		return unwritten
	case !input || a.Fill.Kind == probes.FillZeros:
		return "zeros"
	case a.Fill.Kind == probes.FillOnes:
		return "ones"
	case a.Fill.Kind == probes.FillIota:
		return "iota"
	case a.Fill.Kind == probes.FillRandInt:
		return fmt.Sprintf("randint(%d,%d)", a.Fill.Lo, a.Fill.Hi)
	case a.Fill.Kind == probes.FillValues && len(list) > mostListed:
		return "main" // a manifest of init's lists nothing else
	case a.Fill.Kind == probes.FillValues:
		var numbers []string
		for _, n := range list {
			numbers = append(numbers, fmt.Sprint(n))
		}
		return "list(" + strings.Join(numbers, ",") + ")"
	case a.DType.Float():
		return "randn"
	}
	return anyIntegers(a.DType)
}
