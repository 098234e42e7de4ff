package configs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tilescope/configs/schema"
)

// key is one setting: its dotted name and how its text is checked. parse gets a scalar's text and its YAML
// tag ("" for text from a variable, an option or `config set`) and gives the canonical value: string, bool,
// int64, or []string.
type key struct {
	name  string
	want  string // for messages: "expected WANT, found ..."
	parse func(text, tag string) (any, bool)
	many  bool // a list or mapping of strings: value []string, the flags as NAME=VALUE
}

// keys lists every setting, in the order of default.yaml.
func keys() []key {
	return []key{
		text("target", "a target's name or a manifest's path", nil),
		text("shape", "a shape's name or B,H,S,D", shapeText),
		whole("seed", "a whole number from 0 on", 0, math.MaxInt64),
		{name: "flags", want: "a mapping of flags to values", many: true},
		{name: "faults", want: "a list of fault names", many: true},
		text("gate", "a gate's name", dashed.MatchString),
		choice("backend", "auto", "emu", "cuda", "both"),
		choice("builder", "auto", "embedded", "nvrtc", "nvcc"),
		text("arch", "an architecture such as sm_80", func(s string) bool {
			return s == "" || archPattern.MatchString(s)
		}),
		whole("device", "a whole number from 0 to 255", 0, 255),
		{name: "timeout", want: "a duration above 0 such as 90s or 2m", parse: duration},
		text("schedule", "POLICY:SEED, POLICY one of in-order, reverse, random, ahead, priority",
			schedulePattern.MatchString),
		whole("repeat", "a whole number from 1 to 100000", 1, 100000),
		{name: "capture.max", want: "a size such as 2GiB or 500MB", parse: size},
		{name: "memory.max", want: "a size such as 8GiB or 500MB, or auto (half of what the machine has)",
			parse: sizeOrAuto},
		text("toolchain", "a directory", nil),
		text("host.name", "[USER@]HOST, or a Host of your ssh configuration", func(s string) bool {
			return s == "" || hostPattern.MatchString(s)
		}),
		choice("host.copy", "ask", "yes", "no"),
		text("host.binary", "a file", nil),
		text("host.ssh", "an ssh and its options", func(s string) bool { return strings.TrimSpace(s) != "" }),
		whole("sweep.chunk", "a whole number from 1 to 1000000", 1, 1000000),
		whole("sweep.tries", "a whole number from 1 to 100", 1, 100),
		text("slurm.template", "a file", nil),
		text("slurm.options", "options of sbatch", nil),
		text("slurm.gres", "a resource such as gpu:1", oneWord),
		text("kubernetes.image", "an image", oneWord),
		text("kubernetes.namespace", "a namespace", func(s string) bool {
			return s == "" || namespacePattern.MatchString(s)
		}),
		text("kubernetes.resources", "NAME=QUANTITY,... such as cpu=4,memory=8Gi", func(s string) bool {
			return s == "" || resourcesPattern.MatchString(s)
		}),
		text("kubernetes.volume", "CLAIM:PATH, PATH absolute", func(s string) bool {
			return s == "" || volumePattern.MatchString(s)
		}),
		whole("kubernetes.parallelism", "a whole number from 1 to 100000", 1, 100000),
		text("cache.dir", "a directory", nil),
		{name: "cache.max", want: "a size such as 256MiB, or 0 for no cache", parse: sizeOrNone},
		choice("theme", "auto", "dark", "light", "high-contrast", "high-contrast-light", "colour-blind",
			"colour-blind-light"),
		{name: "colours", want: "one of auto, 16, 256, truecolor", parse: func(s, _ string) (any, bool) {
			return s, slices.Contains([]string{"auto", "16", "256", "truecolor"}, s) // 16 is a number in YAML
		}},
		choice("palette", "cividis", "viridis", "grey"),
		{name: "mouse", want: "true or false", parse: truth},
		{name: "keys", want: "a mapping of actions to keys", many: true},
	}
}

var (
	archPattern     = regexp.MustCompile(schema.Architecture)
	schedulePattern = regexp.MustCompile(
		`^(in-order|reverse|random|ahead|priority)(:[0-9]{1,20})?(:(latest|earliest|random))?$`)
	hostPattern = regexp.MustCompile(`^[^-\s][^\s]*$`)

	namespacePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	resourcesPattern = regexp.MustCompile(`^[A-Za-z0-9./_-]+=[0-9.]+[A-Za-z]*(,[A-Za-z0-9./_-]+=[0-9.]+[A-Za-z]*)*$`)
	volumePattern    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?:/[^:]*$`)
	sizePattern      = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([KMGT]i?B|B)?$`)
)

func text(name, want string, ok func(string) bool) key {
	return key{name: name, want: want, parse: func(s, tag string) (any, bool) {
		return s, (tag == "" || tag == "!!str") && (ok == nil || ok(s))
	}}
}

// oneWord reports whether a text has no blanks; it may be empty.
func oneWord(s string) bool { return !strings.ContainsAny(s, " \t\n") }

func choice(name string, words ...string) key {
	k := text(name, "one of "+strings.Join(words, ", "), func(s string) bool {
		return slices.Contains(words, s)
	})
	return k
}

var extentsByName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=[0-9]+(,[A-Za-z_][A-Za-z0-9_]*=[0-9]+)*$`)

func shapeText(s string) bool {
	if extentsByName.MatchString(s) {
		return true
	}
	if !strings.Contains(s, ",") {
		return dashed.MatchString(s)
	}
	_, err := ParseShape(s)
	return err == nil
}

func whole(name, want string, lo, hi int64) key {
	return key{name: name, want: want, parse: func(s, tag string) (any, bool) {
		v, err := strconv.ParseInt(s, 0, 64)
		return v, err == nil && v >= lo && v <= hi && (tag == "" || tag == "!!int")
	}}
}

func truth(s, tag string) (any, bool) {
	if tag == "" {
		switch strings.ToLower(s) {
		case "1", "on", "yes":
			s = "true"
		case "0", "off", "no":
			s = "false"
		}
	}
	v, err := strconv.ParseBool(strings.ToLower(s))
	return v, err == nil && (tag == "" || tag == "!!bool")
}

func duration(s, tag string) (any, bool) {
	d, err := time.ParseDuration(s)
	return d.String(), err == nil && d > 0 && (tag == "" || tag == "!!str")
}

// size reads bytes: decimal units (MB) and binary ones (MiB). The canonical value is the text: it is
// read again by bytesOf.
func size(s, _ string) (any, bool) {
	n, ok := bytesOf(s)
	return s, ok && n > 0
}

// sizeOrAuto is size with auto allowed: what is there decides.
func sizeOrAuto(s, tag string) (any, bool) {
	if s == "auto" {
		return s, true
	}
	return size(s, tag)
}

// sizeOrNone is size with 0 allowed: nothing is kept then.
func sizeOrNone(s, _ string) (any, bool) {
	_, ok := bytesOf(s)
	return s, ok
}

func bytesOf(s string) (int64, bool) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	if len(m[2]) > 1 {
		base := 1000.0
		if strings.HasSuffix(m[2], "iB") {
			base = 1024
		}
		v *= math.Pow(base, float64(1+strings.IndexByte("KMGT", m[2][0])))
	}
	return int64(v), v < 1<<62
}

// fromText checks a value given as text: a variable, an option, `config set`. Lists are comma-separated.
func (k key) fromText(s string) (any, error) {
	if !k.many {
		v, ok := k.parse(s, "")
		if !ok {
			return nil, fmt.Errorf("expected %s, found %q", k.want, clip(s))
		}
		return v, nil
	}
	out := []string{} // empty, not null, in documents
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if k.name == "keys" {
			if err := keyPair(part); err != nil {
				return nil, err
			}
		} else if k.name == "flags" {
			name, value, _ := strings.Cut(part, "=")
			if err := flagPair(name, value); err != nil {
				return nil, err
			}
			if value == "" {
				part = name + "=1"
			}
		} else if !dashed.MatchString(part) {
			return nil, fmt.Errorf("expected %s, found %q", k.want, clip(part))
		}
		out = append(out, part)
	}
	return out, nil
}

func flagPair(name, value string) error {
	if !identifier.MatchString(name) {
		return fmt.Errorf("%q is not a flag's name", clip(name))
	}
	if g := conventions().gate(name); g != nil {
		return fmt.Errorf("%s is a gate: set gate: %s", name, g.Name)
	}
	if _, err := FlagValue(value); err != nil {
		return fmt.Errorf("flag %s: expected a whole number, true or false, found %q", name, clip(value))
	}
	return nil
}

// fromNode checks a value in a file; ok is false after a mistake, which is reported.
func (k key) fromNode(r *reader, at *yaml.Node) (v any, ok bool) {
	n := deref(at)
	switch {
	case k.name == "flags":
		return flagsNode(r, at)
	case k.name == "keys":
		return keysNode(r, at)
	case k.many:
		if n.Kind != yaml.SequenceNode {
			r.fail(at, k.name, "expected %s, found %s", k.want, kindOf(n))
			return nil, false
		}
		out := []string{}
		ok = true
		for i, x := range n.Content {
			d := deref(x)
			if d.Kind != yaml.ScalarNode || !dashed.MatchString(d.Value) {
				r.fail(x, fmt.Sprintf("%s[%d]", k.name, i), "expected a name, found %s", kindOf(d))
				ok = false
			}
			out = append(out, d.Value)
		}
		return out, ok
	case n.Kind == yaml.ScalarNode:
		if v, ok = k.parse(n.Value, n.Tag); ok {
			return v, true
		}
	}
	r.fail(at, k.name, "expected %s, found %s", k.want, kindOf(n))
	return nil, false
}

// flagsNode reads the mapping of flags to NAME=VALUE, sorted: names keep their case, which a
// viper key would not.
func flagsNode(r *reader, at *yaml.Node) (any, bool) {
	before := len(r.errs)
	o := r.object(at, "flags")
	if o == nil {
		return nil, false
	}
	out := []string{} // empty, not null, in documents
	for _, name := range o.keys {
		n := deref(o.vals[name])
		value := n.Value
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!bool" {
			o.fail(name, "expected a whole number, true or false, found %s", kindOf(n))
		} else if err := flagPair(name, value); err != nil {
			o.fail(name, "%v", err)
		}
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out, len(r.errs) == before
}

func keyNames() []string { return names(keys(), func(k key) string { return k.name }) }

// CheckValue refuses a text that is no value of a configuration key: an option that overrides the key
// takes the same values.
func CheckValue(name, text string) error {
	k, err := findKey(name)
	if err == nil {
		_, err = k.fromText(text)
	}
	return err
}

// Expected says in words what values a configuration key has; "" for an unknown key.
func Expected(name string) string {
	k, err := findKey(name)
	if err != nil {
		return ""
	}
	return k.want
}

func findKey(name string) (key, error) {
	for _, k := range keys() {
		if k.name == name {
			return k, nil
		}
	}
	return key{}, &unknownKey{name}
}

// unknownKey is the error of a name that is no configuration key.
type unknownKey struct{ name string }

func (e *unknownKey) Error() string {
	return fmt.Sprintf("unknown configuration key %q%s", clip(e.name), suggest(e.name, keyNames()))
}

// named puts a key's name before what is wrong with its value, unless the error names it.
func named(name string, err error) error {
	if e := (*unknownKey)(nil); errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
