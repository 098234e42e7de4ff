package configs

import "tilescope/probes"

// CatalogueDoc is what `tilescope kernels --json` prints. Fields are added, never renamed.
type CatalogueDoc struct {
	Schema  string      `json:"schema"` // tilescope.kernels/1
	Kernels []KernelDoc `json:"kernels"`
}

// KernelDoc is one kernel of the catalogue.
type KernelDoc struct {
	Name       string       `json:"name"`
	Title      string       `json:"title"`
	Source     string       `json:"source"`
	Entry      string       `json:"entry"`
	Default    string       `json:"default"`
	Variants   []VariantDoc `json:"variants"`
	Flags      []FlagDoc    `json:"flags"`
	Gates      []string     `json:"gates"`
	Stages     []string     `json:"stages"`
	Shapes     []ShapeDoc   `json:"shapes"`
	Faults     []FaultDoc   `json:"faults"`
	Thresholds LimitsDoc    `json:"thresholds"`
}

// VariantDoc is a variant with every flag's value.
type VariantDoc struct {
	Name   string         `json:"name"`
	Flags  map[string]int `json:"flags"`
	Faults []string       `json:"faults"`
	Help   string         `json:"help,omitempty"`
	// Prebuilt: the program has its PTX, so that no compiler is needed. Who has the archive sets it.
	Prebuilt bool `json:"prebuilt,omitempty"`
}

// FlagDoc is a flag; Requires and Conflicts are expressions over flags.
type FlagDoc struct {
	Name      string   `json:"name"`
	Values    []int    `json:"values"`
	Default   int      `json:"default"`
	Help      string   `json:"help"`
	Requires  []string `json:"requires"`
	Conflicts []string `json:"conflicts"`
}

// ShapeDoc is a named shape.
type ShapeDoc struct {
	Name  string       `json:"name"`
	Shape probes.Shape `json:"shape"`
}

// FaultDoc is a planted fault.
type FaultDoc struct {
	Name  string `json:"name"`
	Base  string `json:"base"`
	Shape string `json:"shape"`
	Needs string `json:"needs"` // "" for nothing
	Host  bool   `json:"host"`
	Help  string `json:"help"`
	// Prebuilt: the program has the PTX of its base with it, so that no compiler is needed.
	Prebuilt bool `json:"prebuilt,omitempty"`
}

// LimitsDoc are the gates' thresholds.
type LimitsDoc struct {
	MaxAbs      float64 `json:"max_abs"`
	MeanAbs     float64 `json:"mean_abs"`
	BadFraction float64 `json:"bad_fraction"`
	Registers   int     `json:"registers"`
	SharedBytes int     `json:"shared_bytes"`
	Spills      int     `json:"spills"`
	MinSpeedup  float64 `json:"min_speedup"`
}

// Doc describes the catalogue.
func (c *Catalogue) Doc() CatalogueDoc {
	d := CatalogueDoc{Schema: "tilescope.kernels/1", Kernels: []KernelDoc{}}
	for _, m := range c.Manifests {
		d.Kernels = append(d.Kernels, m.Doc())
	}
	return d
}

// Doc describes the kernel. Lists are never nil.
func (m *Manifest) Doc() KernelDoc {
	d := KernelDoc{
		Name: m.Name, Title: m.Title, Source: m.Source + m.PTX, Entry: m.Entry, Default: m.Default,
		Variants: []VariantDoc{}, Flags: []FlagDoc{}, Stages: m.StageNames(), Shapes: []ShapeDoc{},
		Faults: []FaultDoc{},
		Gates:  m.GateNames(), Thresholds: LimitsDoc(m.Thresholds),
	}
	for _, v := range m.Variants {
		d.Variants = append(d.Variants, VariantDoc{
			Name: v.Name, Flags: m.complete(v.Flags), Faults: append([]string{}, v.Faults...), Help: v.Help,
		})
	}
	for _, f := range m.Flags {
		d.Flags = append(d.Flags, FlagDoc{
			f.Name, f.Values, f.Default, f.Help, names(f.Requires, (*Expr).String),
			names(f.Conflicts, (*Expr).String),
		})
	}
	for _, s := range m.Shapes {
		d.Shapes = append(d.Shapes, ShapeDoc{s.Name, s.Shape})
	}
	for _, f := range m.Faults {
		fd := FaultDoc{Name: f.Name, Base: f.Base, Shape: f.Shape, Host: f.Host, Help: f.Help}
		if f.Needs != nil {
			fd.Needs = f.Needs.Text
		}
		d.Faults = append(d.Faults, fd)
	}
	return d
}
