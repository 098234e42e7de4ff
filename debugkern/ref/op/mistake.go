package op

import (
	"fmt"

	"tilescope/probes"
)

// Mistaken is a kernel of which mistakes are known that show in whatever is computed with it: they are worked
// out by computing it, in the operation itself or in one that has it as an operand.
type Mistaken interface {
	Kernel
	// Mistakes are the kernel with each mistake: a mask that kernels have in place of the right one, an
	// expression with a change. They share the kernel's scratch memory.
	Mistakes() []Mistake
}

// Mistake is a kernel with a mistake.
type Mistake struct {
	Name   string // of its fingerprint; "": mask
	Value  string // what is wrong with it
	Kernel Kernel
	Most   bool // it would explain any wrong cells of a mask: it counts only where most of a tile is wrong
}

// Applies reports whether the mistake says anything about a scene.
func (m *Mistake) Applies(sc *Scene) bool { return !m.Most || sc.mostBad() }

// invertedMask is the value of a mistake that says that every cell is wrong.
const invertedMask = "inverted"

// mostBad reports whether nine of ten cells of the tile are bad.
func (sc *Scene) mostBad() bool { return 10*sc.Wrong >= 9*sc.Rows*sc.Cols }

// wrongMask is a mask that kernels have in place of the right one.
type wrongMask struct {
	value string
	rules probes.Mask
}

// wrongMasks are a mask moved by a column, without the tile's position or without its offset from the
// diagonal, or left out; of several rules first each by itself, for where one rule is wrong a tile may not
// show that the others are right. texts are the rules in words.
func wrongMasks(m probes.Mask, texts []string) []wrongMask {
	if len(m) == 0 {
		return nil
	}
	var out []wrongMask
	whole := make([]int, len(m))
	for i := range m {
		whole[i] = i
		if len(m) == 1 {
			continue
		}
		name := fmt.Sprintf("rule %d", i+1)
		if i < len(texts) && texts[i] != "" {
			name = fmt.Sprintf("the rule %s", texts[i])
		}
		out = append(out, wrongRules(m, []int{i}, name)...)
		out = append(out, wrongMask{name + " left out", append(append(probes.Mask{}, m[:i]...), m[i+1:]...)})
	}
	return append(append(out, wrongRules(m, whole, "")...), wrongMask{
		"left out: hidden cells take part", nil,
	})
}

// wrongRules are the mistakes of some rules of a mask, which are called name; "": of all.
func wrongRules(m probes.Mask, rules []int, name string) []wrongMask {
	prefix := ""
	if name != "" {
		prefix = name + " "
	}
	change := func(f func(l probes.Linear) probes.Linear) probes.Mask {
		out := append(probes.Mask{}, m...)
		for _, i := range rules {
			rule := make(probes.Rule, len(m[i]))
			for k, l := range m[i] {
				rule[k] = f(l)
			}
			out[i] = rule
		}
		return out
	}
	out := []wrongMask{
		{prefix + "moved by one column to the right",
			change(func(l probes.Linear) probes.Linear { return moved(l, -l.Col) })},
		{
			prefix + "moved by one column to the left", change(func(l probes.Linear) probes.Linear {
				return moved(l, l.Col)
			}),
		},
	}
	offset, placed := 0, false
	for _, i := range rules {
		for k := range m[i] {
			l := &m[i][k]
			at := l.Base.At(probes.Dim3{}, 0)
			for _, v := range l.Base.Values {
				placed = placed || v != at
			}
			if len(rules) == 1 && len(m[i]) == 1 {
				offset = at
			}
		}
	}
	if placed {
		out = append(out, wrongMask{
			prefix + "without the tile's position", change(func(l probes.Linear) probes.Linear {
				l.Base = probes.Fixed(l.Base.At(probes.Dim3{}, 0))
				return l
			}),
		})
	}
	if offset < -1 || offset > 1 { // one column is another mistake
		out = append(out, wrongMask{
			fmt.Sprintf("%swithout its offset of %d", prefix, offset),
			change(func(l probes.Linear) probes.Linear {
				return moved(l, -offset)
			}),
		})
	}
	return out
}

// moved is a term with a number added.
func moved(l probes.Linear, by int) probes.Linear {
	base := probes.Extent{Dims: l.Base.Dims, Values: make([]int, len(l.Base.Values))}
	for i, v := range l.Base.Values {
		base.Values[i] = v + by
	}
	l.Base = base
	return l
}

// ruleTexts are the rules of a node's mask in words.
func ruleTexts(n *probes.Node) []string {
	out := make([]string, len(n.Params.Mask))
	for i := range out {
		out[i] = n.Params.Word[fmt.Sprintf("mask.%d", i)]
	}
	return out
}
