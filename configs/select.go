package configs

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tilescope/probes"
)

// DefaultMaxBytes is how large a kernel's arguments may be together before a shape is refused:
// above any GPU's memory.
const DefaultMaxBytes = 256 << 30

// Selection is one kernel to build: a variant with flags, faults and gate settled.
type Selection struct {
	Manifest *Manifest
	Variant  string
	Flags    map[string]int // every flag of the manifest
	Faults   []string       // in the manifest's order, no duplicates
	Gate     probes.Gate
	Compile  Compile // include directories, definitions and language: see AddCompile
	MaxBytes int64   // limit of Resolve on the arguments' total size; 0: DefaultMaxBytes
	// Texts stand in the place of the source and of its headers, after the patches of faults: by their names
	// relative to the source's folder. nil: nothing does.
	Texts map[string]string
}

// Select settles a variant ("" is the default one), flags set on top of it ("" means on), faults added to
// the variant's own, and a gate. A gate may also be set by its symbol (DEBUG_QK_ONLY). Everything wrong
// is reported together.
func (m *Manifest) Select(
	variant string, set map[string]string, faults []string, gate probes.Gate,
) (*Selection, error) {
	if variant == "" {
		variant = m.Default
	}
	v := m.Variant(variant)
	if v == nil {
		return nil, fmt.Errorf("kernel %s: unknown variant %q%s", m.Name, clip(variant),
			suggest(variant, m.variantNames()))
	}
	s := &Selection{Manifest: m, Variant: variant, Flags: m.complete(v.Flags), Gate: gate}
	var errs []error
	for _, name := range sortedKeys(set) {
		if err := s.set(name, set[name]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		for _, e := range m.flagErrors(m.flagEnv(s.Flags)) {
			errs = append(errs, fmt.Errorf("variant %s: %s", variant, e))
		}
	}
	if m.gate(s.Gate) == nil {
		errs = append(errs, m.noGate(s.Gate.String()))
	}
	errs = append(errs, s.addFaults(append(slices.Clone(v.Faults), faults...))...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// ParseGate looks a gate of the kernel up, by its name or its symbol (DEBUG_QK_ONLY); none
// and "" are no gate.
func (m *Manifest) ParseGate(text string) (probes.Gate, error) {
	if g := m.Gate(text); g != nil {
		return g.Name, nil
	}
	if text == "" {
		return probes.GateNone, nil
	}
	return probes.GateNone, m.noGate(text)
}

func (m *Manifest) noGate(text string) error {
	return fmt.Errorf("kernel %s has no gate %s (it has: %s)", m.Name, clip(text),
		strings.Join(m.GateNames(), " "))
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// set puts one flag, or a gate by its symbol.
func (s *Selection) set(name, text string) error {
	value, err := FlagValue(text)
	if g, ok := s.Manifest.gateSymbol(name); ok {
		switch {
		case err != nil || value != 0 && value != 1:
			return fmt.Errorf("gate %s: expected 0 or 1, found %q", name, clip(text))
		case value == 1 && s.Gate != probes.GateNone && s.Gate != g:
			return fmt.Errorf("gates %s and %s cannot be combined: choose one", s.Gate, g)
		case value == 1:
			s.Gate = g
		}
		return nil
	}
	flag := s.Manifest.Flag(name)
	if flag == nil {
		return fmt.Errorf("kernel %s: unknown flag %q%s", s.Manifest.Name, clip(name),
			suggest(name, s.Manifest.flagNames()))
	}
	if err != nil || !slices.Contains(flag.Values, value) {
		return fmt.Errorf("flag %s: expected one of %v, found %q", name, flag.Values, clip(text))
	}
	s.Flags[name] = value
	return nil
}

// FlagValue reads a flag's value: a whole number, or on, true, yes (1, as is "") and off, false, no (0).
func FlagValue(text string) (int, error) {
	switch strings.ToLower(text) {
	case "", "on", "true", "yes":
		return 1, nil
	case "off", "false", "no":
		return 0, nil
	}
	return strconv.Atoi(text)
}

// Uniform reports whether a gate's injected values may be uniform.
func (m *Manifest) Uniform(gate probes.Gate) bool {
	g := m.gate(gate)
	return g != nil && g.Uniform
}

// NotUniform is the error of asking a gate for uniform values that only others take.
func (m *Manifest) NotUniform(gate probes.Gate) error {
	for _, g := range m.Gates {
		if g.Uniform {
			fed := and(names(g.Injected, probes.Stage.String))
			return fmt.Errorf(
				"--inject uniform feeds %s of gate %s; the gate is %s (use --gate %s, or --inject reference)",
				fed, g.Name, gate, g.Name)
		}
	}
	return fmt.Errorf(
		"--inject uniform: kernel %s has no gate that uniform values are fed into; use --inject reference",
		m.Name)
}

// gateSymbol looks up the gate that a preprocessor symbol selects: the manifest's, or a conventional one,
// which the manifest may lack.
func (m *Manifest) gateSymbol(name string) (probes.Gate, bool) {
	if g := m.Gate(name); g != nil && g.Define == name {
		return g.Name, true
	}
	if g := conventions().gate(name); g != nil && g.Define == name {
		return g.Name, true
	}
	return probes.GateNone, false
}

// complete fills in the defaults of the flags not named.
func (m *Manifest) complete(flags map[string]int) map[string]int {
	out := make(map[string]int, len(m.Flags))
	for _, f := range m.Flags {
		out[f.Name] = f.Default
	}
	for k, v := range flags {
		out[k] = v
	}
	return out
}

// flagEnv is an environment with only flags set, the rest at their defaults.
func (m *Manifest) flagEnv(flags map[string]int) *env {
	e := &env{vars: make([]value, len(m.scope.classes))}
	for _, f := range m.Flags {
		v, ok := flags[f.Name]
		if !ok {
			v = f.Default
		}
		e.vars[f.slot] = intValue(int64(v))
	}
	return e
}

// flagErrors lists the requirements and conflicts that the flags in e break.
func (m *Manifest) flagErrors(e *env) []string {
	var out []string
	for _, f := range m.Flags {
		if !e.vars[f.slot].truth() {
			continue
		}
		for _, x := range f.Requires {
			switch v, err := x.value(e); {
			case err != nil:
				out = append(out, err.Error())
			case !v.truth():
				out = append(out,
					fmt.Sprintf("flag %s requires %s, which does not hold; set it too, or leave %s off",
						f.Name, x, f.Name))
			}
		}
		for _, x := range f.Conflicts {
			switch v, err := x.value(e); {
			case err != nil:
				out = append(out, err.Error())
			case v.truth():
				out = append(out, fmt.Sprintf("flag %s conflicts with %s; leave one of them off", f.Name, x))
			}
		}
	}
	return out
}

// Unmet returns the requirements and conflicts of a flag that do not hold among the flags of the selection,
// whether or not the flag is on; a conflict as "not X". One that has no value is unmet.
func (s *Selection) Unmet(flag string) []string {
	var out []string
	e := s.Manifest.flagEnv(s.Flags)
	for _, f := range s.Manifest.Flags {
		if f.Name != flag {
			continue
		}
		for _, x := range f.Requires {
			if v, err := x.value(e); err != nil || !v.truth() {
				out = append(out, x.String())
			}
		}
		for _, x := range f.Conflicts {
			if v, err := x.value(e); err != nil || v.truth() {
				out = append(out, "not "+x.String())
			}
		}
	}
	return out
}

// addFaults validates the names and their bases and keeps them in the manifest's order.
func (s *Selection) addFaults(list []string) []error {
	var errs []error
	m := s.Manifest
	for _, name := range list {
		f := m.Fault(name)
		if f == nil {
			errs = append(errs, fmt.Errorf("kernel %s: unknown fault %q%s", m.Name, clip(name),
				suggest(name, m.faultNames())))
			continue
		}
		if err := m.baseError(f, s.Flags); err != nil {
			errs = append(errs, err)
		}
	}
	for _, f := range m.Faults {
		if slices.Contains(list, f.Name) {
			s.Faults = append(s.Faults, f.Name)
		}
	}
	return errs
}

// baseError says which flags of the fault's base are missing; nil where none is.
func (m *Manifest) baseError(f *Fault, flags map[string]int) error {
	base := m.Variant(f.Base)
	var lack []string
	for _, name := range sortedKeys(base.Flags) {
		if flags[name] != base.Flags[name] {
			lack = append(lack, fmt.Sprintf("%s=%d", name, base.Flags[name]))
		}
	}
	if lack == nil {
		return nil
	}
	return &BaseError{f.Name, f.Base, strings.Join(lack, " ")}
}

// BaseError is why a fault cannot be planted under the flags of a selection.
type BaseError struct {
	Fault, Base string
	Lack        string // the flags of its base that the selection has otherwise: "USE_CP_ASYNC=1"
}

func (e *BaseError) Error() string { return e.Why() + "; take target " + e.Base + ", or set the flags" }

// Why is the reason alone.
func (e *BaseError) Why() string {
	return fmt.Sprintf("fault %s is planted in %s and needs %s", e.Fault, e.Base, e.Lack)
}

// Patch is a selected fault that changes the source by a unified diff.
type Patch struct {
	Fault string
	Path  string // of the diff: below the manifest's directory, or the bare name of an embedded one
}

// Patches returns the patches of the selected faults, in the manifest's order: that in
// which they are applied.
func (s *Selection) Patches() []Patch {
	var out []Patch
	for _, name := range s.Faults {
		if f := s.Manifest.Fault(name); f.Patch != "" {
			out = append(out, Patch{name, s.Manifest.Path(f.Patch)})
		}
	}
	return out
}

// Planted returns the names of the selected faults that are patches, in the manifest's order.
func (s *Selection) Planted() []string {
	return names(s.Patches(), func(p Patch) string { return p.Fault })
}

// Defines returns the preprocessor symbols of the build, sorted, as NAME=VALUE: flags that are not 0, faults
// that have a symbol, the gate, what AddCompile took.
func (s *Selection) Defines() []string {
	var out []string
	for name, v := range s.Flags {
		if v != 0 {
			out = append(out, fmt.Sprintf("%s=%d", name, v))
		}
	}
	for _, name := range s.Faults {
		if f := s.Manifest.Fault(name); f.Define != "" {
			out = append(out, f.Define+"=1")
		}
	}
	if g := s.Manifest.gate(s.Gate); g != nil && g.Define != "" {
		out = append(out, g.Define+"=1")
	}
	for _, name := range s.Manifest.StageNames() {
		stage := probes.Stage(name)
		if symbol := slotSymbol(stage); !headerHas(symbol) {
			out = append(out, fmt.Sprintf("%s=%d", symbol, s.Manifest.slot(stage)))
		}
	}
	out = append(out, s.Compile.Defines...)
	sort.Strings(out)
	return out
}

// usualShape is the shape where nobody names one; of a manifest without a shape of this name it is the first.
const usualShape = "validation"

// ParseShape reads a shape's name, extents by name (M=64,N=48,K=32), or, of probes.ListedDims,
// four numbers in order.
func (m *Manifest) ParseShape(text string) (probes.Shape, error) {
	if s, ok := m.Shape(text); ok {
		return s, nil
	}
	switch {
	case text != usualShape:
	case len(m.Shapes) > 0:
		return m.Shapes[0].Shape, nil
	case len(m.Stages) == 0:
		return probes.Shape{}, nil // without a dimension: see dims
	}
	dims := m.DimNames()
	listed := probes.ShapeOf(dims, make([]int, len(dims))...).IsListed()
	hint := "or give " + strings.Join(dims, "=N,") + "=N"
	if listed {
		hint = "or give four numbers " + strings.Join(dims, ",")
	}
	switch {
	case strings.Contains(text, "="):
		return namedExtents(text, dims)
	case len(dims) == 0 && len(m.shapeNames()) == 0:
		return probes.Shape{}, fmt.Errorf(
			"unknown shape %q: %s has neither shapes nor dimensions; its launch gives the sizes", clip(text), m.Name)
	case listed && strings.Contains(text, ","):
		return ParseShape(text)
	case strings.Contains(text, ","):
		return probes.Shape{}, fmt.Errorf("shape %q: the dimensions of %s have names; give %s=N", clip(text),
			m.Name, strings.Join(dims, "=N,"))
	}
	return probes.Shape{}, fmt.Errorf("unknown shape %q%s; %s", clip(text),
		suggest(text, m.shapeNames()), hint)
}

// ParseShape is Manifest.ParseShape for the selected kernel.
func (s *Selection) ParseShape(text string) (probes.Shape, error) { return s.Manifest.ParseShape(text) }

// ParseShape reads four numbers B,H,S,D, each from 1 to 2147483647.
func ParseShape(text string) (probes.Shape, error) {
	parts, dims := strings.Split(text, ","), strings.Fields(probes.ListedDims)
	if len(parts) != len(dims) {
		return probes.Shape{}, fmt.Errorf("shape %q: expected four numbers %s, found %d", clip(text),
			strings.Join(dims, ","), len(parts))
	}
	v := make([]int, len(dims))
	for i, part := range parts {
		var err error
		if v[i], err = extentOf(text, dims[i], part); err != nil {
			return probes.Shape{}, err
		}
	}
	return probes.ShapeOf(dims, v...), nil
}

// namedExtents reads NAME=N for each dimension, in any order.
func namedExtents(text string, dims []string) (probes.Shape, error) {
	v := make([]int, len(dims))
	for part := range strings.SplitSeq(text, ",") {
		name, number, ok := strings.Cut(part, "=")
		i := slices.Index(dims, strings.TrimSpace(name))
		switch {
		case !ok:
			return probes.Shape{}, fmt.Errorf("shape %q: expected NAME=N, found %q", clip(text), clip(part))
		case i < 0:
			return probes.Shape{}, fmt.Errorf("shape %q: no dimension %s (expected %s)", clip(text),
				clip(name), strings.Join(dims, ", "))
		case v[i] != 0:
			return probes.Shape{}, fmt.Errorf("shape %q: %s is given twice", clip(text), dims[i])
		}
		var err error
		if v[i], err = extentOf(text, dims[i], number); err != nil {
			return probes.Shape{}, err
		}
	}
	if i := slices.Index(v, 0); i >= 0 {
		return probes.Shape{}, fmt.Errorf("shape %q: %s is missing (expected %s)", clip(text), dims[i],
			strings.Join(dims, ", "))
	}
	return probes.ShapeOf(dims, v...), nil
}

// extentOf reads the extent of one dimension of a shape.
func extentOf(shape, name, text string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && n > math.MaxInt32:
		return 0, fmt.Errorf("shape %q: %s = %s is too large (at most %d)", clip(shape), name, clip(text),
			math.MaxInt32)
	case err != nil:
		return 0, fmt.Errorf("shape %q: %s = %q is not a number", clip(shape), name, clip(text))
	case n < 1:
		return 0, fmt.Errorf("shape %q: %s is %d; each must be at least 1", clip(shape), name, n)
	}
	return int(n), nil
}

const maxCombinations = 1 << 16 // candidates looked at by Combinations

// Combinations returns every complete flag set that requires and conflicts allow; flags named first change
// slowest. nil where there are more than 65536 to look at.
func (m *Manifest) Combinations() []map[string]int {
	total := 1
	for _, f := range m.Flags {
		if total *= len(f.Values); total > maxCombinations {
			return nil
		}
	}
	var out []map[string]int
	for i := range total {
		flags := make(map[string]int, len(m.Flags))
		rest := i
		for j := len(m.Flags) - 1; j >= 0; j-- {
			f := m.Flags[j]
			flags[f.Name] = f.Values[rest%len(f.Values)]
			rest /= len(f.Values)
		}
		if len(m.flagErrors(m.flagEnv(flags))) == 0 {
			out = append(out, flags)
		}
	}
	return out
}
