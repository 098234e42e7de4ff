package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/configs/schema"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// operation is an operator with its operands and parameters, as written:
//
//	op: {matmul: [Q, K], transpose: right, scale: softmax_scale}
//
// One key is an operator's name and has its operands: stages, or operations in place. The other keys
// are its parameters.
type operation struct {
	op     string
	args   []operand
	params map[string]string   // texts: words, and expressions
	lists  map[string][]string // positions and masks
	at     map[string]place    // of parameters
	// scaledLoad is set of scale where it is a load with a scale: the load has the extent of what the
	// scale is written for.
	scaledLoad bool
	place
}

// placeOf is where a parameter stands, or the operation where it has none.
func (o *operation) placeOf(param string) place {
	if p, ok := o.at[param]; ok {
		return p
	}
	return o.place
}

// operand is a stage, an input, or an operation in place.
type operand struct {
	name string
	op   *operation
	place
}

// operation reads an operation; nil after a mistake.
func (r *reader) operation(n *yaml.Node, field string) *operation {
	o := r.object(n, field)
	if o == nil {
		return nil
	}
	found := operatorsAmong(o.keys)
	switch {
	case len(found) == 0:
		r.fail(n, field, "no operator among the keys %s; expected one of %s", strings.Join(o.keys, ", "),
			strings.Join(op.Names(), ", "))
		return nil
	case len(found) > 1:
		o.fail(found[1], "a second operator after %s; an operation has one", found[0])
		return nil
	}
	name := found[0]
	out := &operation{
		op: name, params: map[string]string{}, lists: map[string][]string{}, at: map[string]place{},
		place: o.place(name),
	}
	if !r.operands(o, name, out) {
		return nil
	}
	return out
}

// operatorsAmong lists the keys that are operators' names. What is a parameter of another of them is none:
// rowmax has a mask.
func operatorsAmong(keys []string) []string {
	var found []string
	for _, k := range keys {
		if _, ok := op.Lookup(k); ok {
			found = append(found, k)
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(k string) bool {
		return slices.ContainsFunc(found, func(other string) bool {
			return other != k && slices.Contains(schema.Parameters(other), k)
		})
	})
}

// operands reads an operation's operands and parameters.
func (r *reader) operands(o *object, name string, out *operation) bool {
	for _, k := range o.keys {
		if k != name {
			out.at[k] = o.place(k)
		}
	}
	if name == "map" {
		return r.mapOperands(o, out)
	}
	ok := true
	if n := deref(o.vals[name]); n.Kind != yaml.SequenceNode {
		ok = r.operand(n, o.field(name), out)
	} else {
		for i, c := range n.Content {
			ok = r.operand(c, fmt.Sprintf("%s[%d]", o.field(name), i), out) && ok
		}
	}
	// A load that is decoded by a scale tensor becomes a product.
	scaled := operation{op: "scale", scaledLoad: true, place: o.place("scale")}
	for _, k := range o.keys {
		switch {
		case k == name:
		case name == "load" && k == "scale":
			ok = r.operand(o.vals[k], o.field(k), &scaled) && ok
		default:
			ok = r.parameter(o, name, k, out) && ok
		}
	}
	if len(scaled.args) > 0 {
		loaded := *out
		scaled.args = []operand{{op: &loaded, place: out.place}, scaled.args[0]}
		*out = scaled
	}
	return ok
}

// mapOperands reads the expression of map, and its operands by name.
func (r *reader) mapOperands(o *object, out *operation) bool {
	if out.params["expr"] = o.str("map"); out.params["expr"] == "" {
		return false // reported
	}
	ok := true
	var names []string
	for _, k := range o.keys {
		if k == "map" {
			continue
		}
		if !identifier.MatchString(k) {
			o.fail(k, "%q is no name of an operand (letters, digits and _)", clip(k))
			ok = false
		}
		names = append(names, k)
		ok = r.operand(o.vals[k], o.field(k), out) && ok
	}
	out.params["names"] = strings.Join(names, ",")
	return ok
}

// parameter reads one parameter. A mask of one rule may be written as a text.
func (r *reader) parameter(o *object, name, k string, out *operation) bool {
	params := schema.Parameters(name)
	if !slices.Contains(params, k) {
		o.fail(k, "%s has no parameter of that name%s", name, suggest(k, params))
		return false
	}
	row, _ := schema.Operator(name).Key(k)
	n := deref(o.vals[k])
	switch {
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			out.lists[k] = append(out.lists[k], deref(c).Value)
		}
	case n.Kind != yaml.ScalarNode:
		o.fail(k, "expected a word, an expression, or a list of them, found %s", kindOf(n))
		return false
	case row.Value.Listed() != nil: // rules of a mask, of which there is one
		out.lists[k] = []string{n.Value}
	default:
		out.params[k] = n.Value
	}
	return checkParameter(o, name, k, row.Value, n)
}

// checkParameter reports a parameter that is a list where one text is expected, or the other way round, or a
// word that the parameter does not have.
func checkParameter(o *object, name, k string, want schema.Value, n *yaml.Node) bool {
	list, words := want.Listed(), want.Choices()
	switch {
	case want.Form == schema.List && n.Kind != yaml.SequenceNode:
		o.fail(k, "expected a list, found %s", kindOf(n))
	case list == nil && n.Kind == yaml.SequenceNode:
		o.fail(k, "expected one value, found a list")
	case list != nil && list.Length > 0 && len(n.Content) != list.Length:
		o.fail(k, "expected a list of %d, found %d", list.Length, len(n.Content))
	case words != nil && !slices.Contains(words, n.Value):
		o.fail(k, "%s has no %s %q; expected %s", name, k, clip(n.Value), or(words))
	case want.Pattern != "" && !regexp.MustCompile(want.Pattern).MatchString(n.Value):
		o.fail(k, "expected %s, found %s", want.Kind, kindOf(n))
	default:
		return true
	}
	return false
}

// readsInput reports whether an operator has an input as its operand, not a stage.
func readsInput(operator string) bool { return operator == "load" || operator == "gather" }

// operand reads one operand.
func (r *reader) operand(n *yaml.Node, field string, out *operation) bool {
	n = deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		x := r.operation(n, field)
		out.args = append(out.args, operand{op: x, place: place{n.Line, n.Column, field}})
		return x != nil
	case yaml.ScalarNode:
		if identifier.MatchString(n.Value) {
			out.args = append(out.args, operand{name: n.Value, place: place{n.Line, n.Column, field}})
			return true
		}
	}
	r.fail(n, field, "expected the name of a stage, or an operation; found %s", kindOf(n))
	return false
}

// operandStages reports the operands of an operation that are no earlier stage, or no input, of the manifest.
func (p *manifestParser) operandStages(o *operation, st *Stage, known bool) {
	for _, a := range o.args {
		at := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: a.name, Line: a.line, Column: a.col}
		switch {
		case a.op != nil:
			p.operandStages(a.op, st, known)
		case !readsInput(o.op):
			p.earlier(at, a.field, st, known)
		case !slices.Contains(p.m.inputNames(), a.name):
			p.fail(at, a.field, "unknown input %q; expected an argument of role input (%s)", clip(a.name),
				strings.Join(p.m.inputNames(), " "))
		}
	}
	if by := o.params["by"]; by != "" {
		w := o.at["by"]
		p.earlier(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: by, Line: w.line, Column: w.col},
			w.field, st, known)
	}
}

// of lists the stages that an operation is computed from, self where it uses its own value of
// the iteration before.
func (o *operation) of(self probes.Stage) probes.StageSet {
	var out probes.StageSet
	add := func(s probes.Stage) { out = out.Union(probes.StagesOf(s)) }
	for _, a := range o.args {
		switch {
		case a.op != nil:
			out = out.Union(a.op.of(self))
		case !readsInput(o.op):
			add(probes.Stage(a.name))
		}
	}
	if by := o.params["by"]; by != "" {
		add(probes.Stage(by))
	}
	if o.op == "accumulate" || o.params["running"] == "true" {
		add(self)
	}
	return out
}
