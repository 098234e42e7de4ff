package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/kernels"
	"tilescope/probes"
)

// job is one build of the archive.
type job struct {
	key    kernels.Key
	inputs kernels.Inputs
	name   string // of the source, as the compiler gets it: relative to the repository's root
	entry  string
	arch   string
	gate   probes.Gate
	clean  bool // a catalogue variant without fault, gate and probes: what it costs
}

// instrumented is the definition that compiles the probes of a kernel.
const instrumented = "TS_PROBES=1"

// plan lists every build that the archive holds, each once, kernel by kernel. The first of a kernel is its
// default variant with probes: of all builds the one that has most in common with the others.
func plan(c *configs.Catalogue) ([]job, error) {
	var jobs []job
	for _, m := range c.Manifests {
		if m.Source == "" {
			continue
		}
		if _, ok := kernels.Source(m.Source); !ok {
			return nil, fmt.Errorf("kernel %s: source %s is not in kernels/", m.Name, m.Source)
		}
		p := planner{m: m, seen: map[string]bool{}}
		if err := p.all(); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", m.Name, err)
		}
		jobs = append(jobs, p.jobs...)
	}
	return jobs, nil
}

type planner struct {
	m    *configs.Manifest
	jobs []job
	seen map[string]bool
}

// builds lists whether probes are on: both ways, but never for a kernel that has no stages to probe.
func (p *planner) builds() []bool {
	if len(p.m.Stages) == 0 {
		return []bool{false}
	}
	return []bool{true, false}
}

func (p *planner) all() error {
	if err := p.add(p.m.Default, nil, nil, probes.GateNone, p.builds()[0]); err != nil {
		return err
	}
	combinations := p.m.Combinations()
	if combinations == nil {
		return fmt.Errorf("its flags have no combination, or too many to build them all")
	}
	for _, flags := range combinations {
		set := map[string]string{}
		for name, v := range flags {
			set[name] = strconv.Itoa(v)
		}
		for _, gate := range p.m.Gates {
			for _, probed := range p.builds() {
				if err := p.add(p.m.Default, set, nil, gate.Name, probed); err != nil {
					return err
				}
			}
		}
	}
	for _, f := range p.m.Faults {
		if err := p.fault(f); err != nil {
			return err
		}
	}
	for _, v := range p.m.Variants {
		if len(v.Faults) == 0 {
			continue
		}
		for _, probed := range p.builds() {
			if err := p.add(v.Name, nil, nil, probes.GateNone, probed); err != nil {
				return err
			}
		}
	}
	return nil
}

// named reports whether a selection is a clean variant of the catalogue.
func (p *planner) named(sel *configs.Selection) bool {
	if len(sel.Faults) > 0 {
		return false
	}
	return slices.ContainsFunc(p.m.Variants, func(v configs.Variant) bool {
		want, err := p.m.Select(v.Name, nil, nil, probes.GateNone)
		return err == nil && len(want.Faults) == 0 && maps.Equal(want.Flags, sel.Flags)
	})
}

// fault adds a fault alone on its base: every gate with probes, and no gate without.
func (p *planner) fault(f configs.Fault) error {
	if err := p.add(f.Base, nil, []string{f.Name}, probes.GateNone, false); err != nil {
		return err
	}
	for _, gate := range p.m.Gates {
		if err := p.add(f.Base, nil, []string{f.Name}, gate.Name, true); err != nil {
			return err
		}
	}
	return nil
}

// add plans one build, unless it is planned already (a fault of the host leaves the kernel as it is).
func (p *planner) add(
	variant string, set map[string]string, faults []string, gate probes.Gate, probed bool,
) error {
	sel, err := p.m.Select(variant, set, faults, gate)
	if err != nil {
		return err
	}
	defines := sel.Defines()
	if probed {
		defines = append(defines, instrumented)
		slices.Sort(defines)
	}
	key := kernels.Key{Kernel: p.m.Name, Defines: defines, Faults: sel.Planted()}
	if p.seen[key.String()] {
		return nil
	}
	p.seen[key.String()] = true
	var patches []string
	for _, x := range sel.Patches() {
		patches = append(patches, x.Path)
	}
	source, headers, err := kernels.Texts(p.m.Source, patches...)
	if err != nil {
		return err
	}
	headers[probes.HeaderName] = probes.Header
	target := cmp.Or(p.m.Compile.Arch, arch)
	p.jobs = append(p.jobs, job{
		key: key, name: "kernels/" + p.m.Source, entry: p.m.Entry, arch: target, gate: gate,
		clean: gate == probes.GateNone && !probed && p.named(sel),
		inputs: kernels.Inputs{
			Source: source, Headers: headers, Options: cuda.Options(target), Defines: defines,
			Compiler: pinned,
		},
	})
	return nil
}
