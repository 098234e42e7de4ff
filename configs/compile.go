package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/configs/schema"
)

// Compile is what a source is compiled with in addition to its flags: the keys include, defines, std and
// instantiate of a manifest, or the options -I, -D, --std and --instantiate.
type Compile struct {
	// Include: directories; a manifest's are relative to its folder, an option's to the working directory
	Include []string
	Defines []string // "NAME=VALUE"; "NAME" is "NAME=1"
	Std     string   // "c++17"; "": the default
	Arch    string   // "sm_90a": what the source is written for; "": any
	// Instantiate are kernel templates with arguments, "k<64,128>", that are compiled besides what the
	// source instantiates.
	Instantiate []string
}

func (c Compile) empty() bool {
	return len(c.Include)+len(c.Defines)+len(c.Instantiate) == 0 && c.Std == ""
}

var stdPattern = regexp.MustCompile(schema.Standard)

const stdWanted = "a C++ standard, such as c++17"

// CheckInstance refuses what is not the name of a kernel template with arguments.
func CheckInstance(text string) error {
	if !instancePattern.MatchString(text) || strings.Count(text, "(") != strings.Count(text, ")") {
		return fmt.Errorf("%q is no kernel template with arguments, such as 'kernel<64,128>'", clip(text))
	}
	return nil
}

// instancePattern leaves out what would end the line that an instance is written in.
var instancePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_:]*\s*<[^;{}"'\\\n\r#]*>$`)

// compile reads the manifest's keys include, defines, std, arch and instantiate.
func (p *manifestParser) compile(o *object) {
	c := &p.m.Compile
	c.Include = o.strs("include")
	c.Std = o.name("std", stdPattern, stdWanted)
	c.Arch = o.name("arch", archPattern, "an architecture, such as sm_90a")
	c.Instantiate = o.strs("instantiate")
	for _, i := range c.Instantiate {
		if err := CheckInstance(i); err != nil {
			o.fail("instantiate", "%s", err)
		}
	}
	if d := o.sub("defines"); d != nil {
		for _, name := range d.keys {
			n := deref(d.vals[name])
			switch {
			case n.Kind != yaml.ScalarNode:
				d.fail(name, "expected a value, found %s", kindOf(n))
			case !identifier.MatchString(name):
				d.fail(name, "%q is not an identifier (letters, digits and _)", clip(name))
			case n.Tag == "!!null":
				c.Defines = append(c.Defines, name+"=")
			default:
				c.Defines = append(c.Defines, name+"="+n.Value)
			}
		}
	}
	if p.m.PTX == "" {
		return
	}
	for _, key := range []string{"include", "defines", "std", "arch", "instantiate"} {
		if o.has(key) {
			o.fail(key, "nothing is compiled: the manifest brings its own ptx")
		}
	}
}

// compileNames refuses definitions of symbols that the manifest itself decides about; run when
// all of them are known.
func (p *manifestParser) compileNames(o *object) {
	d := o.vals["defines"]
	if d == nil || deref(d).Kind != yaml.MappingNode {
		return
	}
	for _, def := range p.m.Compile.Defines {
		name, _, _ := strings.Cut(def, "=")
		if why := p.m.decides(name); why != "" {
			p.fail(d, "defines."+name, "%s is %s; remove it here", name, why)
		}
	}
}

// decides says what a preprocessor symbol is to the manifest or to tilescope, and how it is set; ""
// where it is nothing.
func (m *Manifest) decides(name string) string {
	if m.Flag(name) != nil {
		return fmt.Sprintf("a flag of kernel %s, set with --set %s=VALUE", m.Name, name)
	}
	for _, f := range m.Faults {
		if f.Define == name {
			return fmt.Sprintf("the symbol of fault %s, planted with --fault %s", f.Name, f.Name)
		}
	}
	for _, g := range m.Gates {
		if g.Define == name && name != "" {
			return fmt.Sprintf("a gate's symbol, set with --gate %s", g.Name)
		}
	}
	if g := conventions().gate(name); g != nil && g.Define == name {
		return fmt.Sprintf("a gate's symbol, set with --gate %s", g.Name)
	}
	if strings.HasPrefix(name, "TS_") {
		return "one of tilescope's own symbols"
	}
	return ""
}

// AddCompile adds the options -I, -D, --std and --instantiate to what the manifest says: directories come
// before the manifest's, a definition and a standard replace the manifest's, and so do instances. Directories
// are absolute afterwards.
func (s *Selection) AddCompile(c Compile) error {
	m := s.Manifest
	if m.PTX != "" {
		if !c.empty() {
			return fmt.Errorf(
				"-I, -D, --std and --instantiate are for a source that is compiled; kernel %s brings its own PTX (%s)",
				m.Name, m.PTX)
		}
		return nil
	}
	var errs []error
	own := m.Compile
	s.Compile = Compile{Std: own.Std}
	if c.Std != "" {
		if s.Compile.Std = c.Std; !stdPattern.MatchString(c.Std) {
			errs = append(errs, fmt.Errorf("--std %q is not %s", clip(c.Std), stdWanted))
		}
	}
	if s.Compile.Instantiate = own.Instantiate; len(c.Instantiate) > 0 {
		s.Compile.Instantiate = c.Instantiate
	}
	for _, i := range c.Instantiate {
		if err := CheckInstance(i); err != nil {
			errs = append(errs, fmt.Errorf("--instantiate %w", err))
		}
	}
	add := func(what, base string, dirs []string) {
		for _, d := range dirs {
			if !filepath.IsAbs(d) {
				d = filepath.Join(base, d)
			}
			abs, err := filepath.Abs(d)
			if info, serr := os.Stat(abs); err == nil && (serr != nil || !info.IsDir()) {
				err = fmt.Errorf("there is no directory %s", abs)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", what, clip(d), err))
			}
			s.Compile.Include = append(s.Compile.Include, abs)
		}
	}
	add("-I", "", c.Include)
	add(m.File+": include", m.Dir, own.Include)
	given, err := m.definitions(c.Defines)
	s.Compile.Defines = given
	for _, d := range own.Defines {
		name, _, _ := strings.Cut(d, "=")
		if !slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(g, name+"=") }) {
			s.Compile.Defines = append(s.Compile.Defines, d)
		}
	}
	slices.Sort(s.Compile.Defines)
	return errors.Join(append(errs, err)...)
}

// definitions reads -D options.
func (m *Manifest) definitions(list []string) ([]string, error) {
	var out []string
	var errs []error
	values := map[string]string{}
	for _, d := range list {
		name, value, ok := strings.Cut(d, "=")
		if !ok {
			value = "1"
		}
		old, twice := values[name]
		why := m.decides(name)
		switch {
		case !identifier.MatchString(name):
			errs = append(errs, fmt.Errorf("-D %s: %q is not an identifier (letters, digits and _)",
				clip(d), clip(name)))
		case why != "":
			errs = append(errs, fmt.Errorf("-D %s: %s is %s", clip(d), name, why))
		case twice && old != value:
			errs = append(errs, fmt.Errorf("-D %s: %s is defined as %q already; keep one", clip(d),
				name, clip(old)))
		case !twice:
			values[name] = value
			out = append(out, name+"="+value)
		}
	}
	return out, errors.Join(errs...)
}
