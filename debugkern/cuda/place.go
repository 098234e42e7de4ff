package cuda

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern/trust"
)

// place is one directory tree that may hold parts of a toolkit.
type place struct {
	name   string // for reports
	dir    string // absolute
	origin trust.Origin
}

// candidate is a file that was found, and may be used if its origin allows it.
type candidate struct {
	path, dir string
	origin    trust.Origin
}

// origin says who named the configured path.
func (cfg Config) origin() trust.Origin {
	if cfg.Project {
		return trust.Project
	}
	return trust.User
}

// searchList returns the directories that exist, in the order in which they are tried. A directory that is
// named twice has the origin that needs less consent.
func searchList(cfg Config) []place {
	var list []place
	add := func(name, dir string, origin trust.Origin) {
		if dir == "" {
			return
		}
		// it would be another place in each working directory
		if !filepath.IsAbs(dir) && strings.HasPrefix(name, "$") {
			origin = trust.Project
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return
		}
		if st, err := os.Stat(abs); err != nil || !st.IsDir() {
			return
		}
		if i := slices.IndexFunc(list, func(p place) bool { return p.dir == abs }); i >= 0 {
			list[i].origin = max(list[i].origin, origin)
			return
		}
		list = append(list, place{name, abs, origin})
	}
	if path := cfg.Path; path != "" {
		add("configured path", path, cfg.origin())
		if filepath.Base(path) != path {
			above := min(cfg.origin(), trust.Environment) // the path names what is below it, not these
			add("configured path", filepath.Dir(path), above)
			add("configured path", filepath.Join(filepath.Dir(path), ".."), above)
			// nvidia/cuda_nvrtc/lib among wheels
			add("configured path", filepath.Join(filepath.Dir(path), "..", "..", ".."), above)
		}
	}
	if cfg.Root == "" {
		add(".toolchain", ".toolchain", trust.Project)
	} else { // the caller names it
		add(".toolchain", filepath.Join(cfg.Root, ".toolchain"), trust.User)
	}
	for _, p := range pythonPrefixes() {
		for _, dir := range sitePackages(p.dir) {
			add("site-packages", dir, p.origin)
		}
	}
	add("$CUDA_HOME", os.Getenv("CUDA_HOME"), trust.Environment)
	add("$CUDA_PATH", os.Getenv("CUDA_PATH"), trust.Environment)
	add("/usr/local/cuda", "/usr/local/cuda", trust.System)
	return list
}

// pythonPrefixes lists what Pythons of this user are installed below: the active environment, the prefix of
// each python on PATH, and the user's own folder.
func pythonPrefixes() []place {
	var out []place
	add := func(dir string, origin trust.Origin) { out = append(out, place{dir: dir, origin: origin}) }
	if v := os.Getenv("VIRTUAL_ENV"); filepath.IsAbs(v) {
		add(v, trust.Environment)
	}
	for _, name := range []string{"python3", "python"} {
		if exe := onPath(name); exe != "" && !trust.InWorkingDirectory(filepath.Dir(exe)) {
			if real, err := filepath.EvalSymlinks(exe); err == nil {
				add(filepath.Dir(filepath.Dir(real)), trust.Environment)
			}
			add(filepath.Dir(filepath.Dir(exe)), trust.Environment)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		add(filepath.Join(home, ".local"), trust.User)
	}
	return out
}

// sitePackages lists where pip puts packages below a prefix.
func sitePackages(prefix string) []string {
	var out []string
	for _, pattern := range []string{
		"lib/python3*/site-packages", "lib/python3*/dist-packages", "Lib/site-packages",
	} {
		// the only error is a malformed pattern
		dirs, _ := filepath.Glob(filepath.Join(escaped(prefix), pattern))
		out = append(out, dirs...)
	}
	return out
}

// onPath is the first executable of that name in an absolute directory of PATH, "" where there is none.
// Relative entries, the empty one included, would mean another directory in each working directory: they
// are never followed.
func onPath(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, suffix := range executableSuffixes() {
			path := filepath.Join(dir, name+suffix)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() &&
				(os.PathSeparator == '\\' || st.Mode()&0o111 != 0) {
				return path
			}
		}
	}
	return ""
}

func executableSuffixes() []string {
	if os.PathSeparator == '\\' {
		return []string{"", ".exe"}
	}
	return []string{""}
}

// foundTool is how a search for a command went: path is "" where none may be used.
type foundTool struct {
	path    string
	refused []error // *trust.Refused: found and not used
}

// findTool looks for a command in the places of the toolkits, then along PATH. What may not be
// executed is passed over.
func findTool(ctx context.Context, cfg Config, places []place, name string, dirs []string) foundTool {
	exe := name
	if os.PathSeparator == '\\' {
		exe += ".exe"
	}
	var found foundTool
	try := func(c candidate) bool {
		if err := cfg.Trust.Allow(ctx, c.origin, c.dir, toolFiles(c.path)...); err != nil {
			found.refused = append(found.refused, err)
			return false
		}
		found.path = c.path
		return true
	}
	for _, p := range places {
		for _, dir := range dirs {
			if path := filepath.Join(p.dir, filepath.FromSlash(dir), exe); isFile(path) &&
				try(candidate{path, p.dir, p.origin}) {
				return found
			}
		}
	}
	if path := onPath(name); path != "" {
		try(candidate{path, aboveBin(path), trust.Environment})
	}
	return found
}

// aboveBin is the directory tree that a command on PATH belongs to.
func aboveBin(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == "bin" {
		return filepath.Dir(dir)
	}
	return dir
}

// toolFiles is a command with what it executes or loads from next to it: nvcc is a driver of the compilers in
// its tree, and compute-sanitizer injects libraries.
func toolFiles(path string) []string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	dir := filepath.Dir(path)
	out := []string{path}
	switch name {
	case "nvcc":
		for _, d := range []string{
			dir, filepath.Join(dir, "..", "nvvm", "bin"), filepath.Join(dir, "..", "nvvm", "lib64"),
			filepath.Join(dir, "..", "nvvm", "libdevice"),
		} {
			// else it is alone among other commands
			if d != dir || isFile(filepath.Join(dir, "nvcc.profile")) {
				out = append(out, regular(d)...)
			}
		}
	case "compute-sanitizer":
		if filepath.Base(dir) != "bin" {
			out = append(out, regular(dir)...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// regular lists the regular files of a directory, by name.
func regular(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing is executed from it either
	}
	var out []string
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); isFile(path) {
			out = append(out, path)
		}
	}
	return out
}

// Executables lists every file that a search may load or execute from dir, or from dir/.toolchain: what a
// consent to dir covers. It includes what lies below dir directly, for a directory on PATH.
func Executables(dir string) []string {
	var out []string
	for _, d := range []string{dir, filepath.Join(dir, ".toolchain")} {
		for _, lib := range libraries(d) {
			out = append(out, withBuiltins(lib)...)
		}
		for name, dirs := range map[string][]string{
			"ptxas": ptxasDirs, "nvcc": nvccDirs, "compute-sanitizer": sanitizerDirs,
		} {
			if os.PathSeparator == '\\' {
				name += ".exe"
			}
			for _, sub := range append([]string{"."}, dirs...) {
				if path := filepath.Join(d, filepath.FromSlash(sub), name); isFile(path) {
					out = append(out, toolFiles(path)...)
				}
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// escaped makes a directory's name mean itself in a pattern.
func escaped(dir string) string {
	if os.PathSeparator == '\\' {
		return dir // a backslash separates there, so that nothing can be escaped with it, nor has to be
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(dir)
}

// absolute is a path from the root: an argument that starts with a dash would be an option to a tool.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
