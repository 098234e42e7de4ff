package configs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern/file"
)

// layer is one source of values, already checked.
type layer struct {
	from   func(key string) string
	values map[string]any
	places []KeySetting // of the key keys: where each action stands
}

// Load reads every source. The mistakes of all of them come together, as *Errors. Where ctx ends
// first, the error is its.
func Load(ctx context.Context, o LoadOptions) (*Config, *Sources, error) {
	src := &Sources{}
	var layers []layer // lowest precedence first
	var errs []*Error
	add := func(l layer, e []*Error) { layers = append(layers, l); errs = append(errs, e...) }
	add(parseLayer(ctx, "default", "default.yaml", defaultText))
	for _, path := range []string{userFile(o), projectFile(o)} {
		if path == "" {
			continue
		}
		data, err := file.Read(ctx, path, maxFile, file.Want{What: "a configuration"})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			reason := err.Error()
			if located := (*file.Error)(nil); errors.As(err, &located) {
				reason = located.Reason
			}
			errs = append(errs, &Error{File: path, Msg: "cannot be read: " + reason})
			continue
		}
		l, mistakes := parseLayer(ctx, path, path, data)
		if path == projectFile(o) {
			mistakes = append(mistakes, refuseUsers(path, l)...)
		}
		add(l, mistakes)
		src.Files = append([]string{path}, src.Files...)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	add(envLayer(o))
	add(flagLayer(o.Flags))
	if err := errorsOf(errs); err != nil {
		return nil, nil, err
	}
	v := merge(layers)
	for _, k := range keys() {
		d := KeyDoc{Key: k.name, Value: v.Get(k.name)}
		for _, l := range layers {
			if _, ok := l.values[k.name]; ok {
				d.From = l.from(k.name)
			}
		}
		src.keys = append(src.keys, d)
	}
	c := typed(v, o)
	for _, l := range layers {
		if _, ok := l.values["keys"]; ok {
			c.Keys = keySettings(v.GetStringSlice("keys"), l.from("keys"), l.places)
		}
	}
	if len(c.Keys) > 0 && o.CheckKeys != nil {
		if err := errorsOf(o.CheckKeys(c.Keys)); err != nil {
			return nil, nil, err
		}
	}
	c.GateFrom = src.From("gate")
	c.ToolchainOfProject = c.Toolchain != "" &&
		(!filepath.IsAbs(c.Toolchain) || src.From("toolchain") == projectFile(o))
	return c, src, nil
}

// refuseUsers refuses keys of host, slurm and kubernetes in the working directory's file: a project does
// not choose which machine its user's ssh connects to, or what is executed as ssh and in the user's jobs.
func refuseUsers(path string, l layer) []*Error {
	var out []*Error
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		group, _, _ := strings.Cut(name, ".")
		if slices.Contains([]string{"host", "slurm", "kubernetes"}, group) {
			out = append(out, &Error{
				File: path, Field: name, Msg: "a project's file cannot set this: use tilescope config set " + name +
					", " + Variable(name) + " or an option",
			})
		}
	}
	return out
}

// projectFile is the working directory's configuration file.
func projectFile(o LoadOptions) string { return filepath.Join(o.Dir, "tilescope.yaml") }

// parseLayer reads a configuration file.
func parseLayer(ctx context.Context, from, name string, data []byte) (layer, []*Error) {
	l := layer{from: func(string) string { return from }, values: map[string]any{}}
	r := &reader{file: name}
	if len(strings.TrimSpace(string(data))) == 0 {
		return l, nil
	}
	root := r.document(ctx, data)
	if root == nil && len(r.errs) == 1 && strings.HasSuffix(r.errs[0].Msg, "is empty") { // comments only
		return l, nil
	}
	if root == nil {
		return l, r.errs
	}
	top, below := map[string]bool{}, map[string][]string{}
	for _, k := range keys() {
		group, rest, nested := strings.Cut(k.name, ".")
		top[group] = true
		if nested {
			below[group] = append(below[group], rest)
		}
	}
	o := r.object(root, "", sortedKeys(top)...)
	groups := map[string]*object{}
	for _, group := range slices.Sorted(maps.Keys(below)) {
		if o != nil && o.has(group) {
			groups[group] = o.sub(group, below[group]...)
		}
	}
	for _, k := range keys() {
		in := o
		if group, _, nested := strings.Cut(k.name, "."); nested {
			in = groups[group]
		}
		if in == nil || !in.has(last(k.name)) {
			continue
		}
		if v, ok := k.fromNode(r, in.vals[last(k.name)]); ok {
			l.values[k.name] = v
		}
	}
	l.places = r.keys
	return l, r.errs
}

func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// Variable returns the environment variable of a key: TILESCOPE_CAPTURE_MAX for capture.max.
func Variable(key string) string {
	return "TILESCOPE_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// envLayer reads TILESCOPE_*. An empty variable counts as unset; one that is almost a key's is a mistake,
// any other unknown one belongs to somebody else.
func envLayer(o LoadOptions) (layer, []*Error) {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	l := layer{from: Variable, values: map[string]any{}}
	var errs []*Error
	known := names(keys(), func(k key) string { return Variable(k.name) })
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "TILESCOPE_") || value == "" {
			continue
		}
		found := false
		for _, k := range keys() {
			if Variable(k.name) != name {
				continue
			}
			found = true
			v, err := k.fromText(value)
			if err != nil {
				errs = append(errs, &Error{File: name, Field: k.name, Msg: err.Error()})
				continue
			}
			l.values[k.name] = v
		}
		if !found {
			for _, k := range known {
				if distance(name, k) <= 2 {
					errs = append(errs, &Error{File: name, Msg: "unknown variable: did you mean " + k + "?"})
					break
				}
			}
		}
	}
	return l, errs
}

// flagLayer reads options; that of memory.max is --memory-max.
func flagLayer(flags map[string]string) (layer, []*Error) {
	l := layer{from: func(string) string { return "option" }, values: map[string]any{}}
	var errs []*Error
	for _, name := range sortedKeys(flags) {
		k, err := findKey(name)
		if err == nil {
			l.values[name], err = k.fromText(flags[name])
		}
		if err != nil {
			errs = append(errs, &Error{File: "--" + strings.ReplaceAll(name, ".", "-"), Msg: err.Error()})
		}
	}
	return l, errs
}
