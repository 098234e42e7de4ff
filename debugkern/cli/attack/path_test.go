//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// reader is a command that reads a file the user names, and where the name goes.
type reader struct {
	name string
	args func(path string) []string
}

var readers = []reader{
	{"run", func(p string) []string { return []string{"run", p} }},
	{"diagnose", func(p string) []string { return []string{"diagnose", p} }},
	{"gates", func(p string) []string { return []string{"gates", p} }},
	{"bisect", func(p string) []string { return []string{"bisect", p, p} }},
	{"compare", func(p string) []string { return []string{"compare", p, p} }},
	{"init", func(p string) []string { return []string{"init", p} }},
	{"lut", func(p string) []string { return []string{"lut", p} }},
	{"inputs", func(p string) []string { return []string{"run", "flashcore_vec", "--inputs", p} }},
	{
		"inputs of diagnose", func(p string) []string {
			return []string{"diagnose", "flashcore_vec", "--inputs", p}
		},
	},
	{"the manifest's PTX", func(string) []string { return []string{"run", "k.yaml", "--shape", "small"} }},
}

// unreadable are paths that name no file of the kind that is expected.
var unreadable = []struct {
	name, path string
	make       func(dir string) error
}{
	{"a FIFO", "./fifo", func(d string) error { return syscall.Mkfifo(filepath.Join(d, "fifo"), 0o600) }},
	{
		"a FIFO named as a file", "./fifo.npz", func(d string) error {
			return syscall.Mkfifo(filepath.Join(d, "fifo.npz"), 0o600)
		},
	},
	{"a directory", "./dir", func(d string) error { return os.Mkdir(filepath.Join(d, "dir"), 0o700) }},
	{"zeroes", "/dev/zero", nil}, {"nothing", "/dev/null", nil}, {"random bytes", "/dev/urandom", nil},
	{"an environment", "/proc/self/environ", nil}, {"a memory", "/proc/self/mem", nil},
	{"a process's files", "/proc/self/fd/0", nil},
	{"no file", "./missing", nil}, {"a loop of links", "./loop",
		func(d string) error { return os.Symlink("loop", filepath.Join(d, "loop")) }},
	{
		"a link to zeroes", "./zero.ptx", func(d string) error {
			return os.Symlink("/dev/zero", filepath.Join(d, "zero.ptx"))
		},
	},
	{"a name that is too long", "./" + strings.Repeat("n", 5000), nil},
	{"a name of control characters", "./\x1b]0;x\a\x1b[31m.ptx", nil},
	{"a sparse file of 1 TB", "./sparse.npz", func(d string) error {
		path := filepath.Join(d, "sparse.npz")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 1<<40)
	}},
	{"a sparse PTX of 1 TB", "./sparse.ptx", func(d string) error {
		path := filepath.Join(d, "sparse.ptx")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 1<<40)
	}},
}

// pathCases give every command that reads a file each path that cannot be read: an error, no
// wait and no excerpt.
func pathCases(g *good) (all []attack) {
	for _, r := range readers {
		for _, u := range unreadable {
			a := attack{
				name: r.name + " of " + u.name, args: r.args(u.path), codes: []int{2},
				files: g.kernel(g.manifest, g.ptx), within: 5e9,
			}
			if r.name == "the manifest's PTX" {
				a.files = map[string]string{
					"k.yaml": strings.Replace(g.manifest, "ptx: k.ptx", "ptx: "+yamlText(u.path), 1),
				}
			}
			a.set = func(b *box) error {
				if u.make == nil {
					return nil
				}
				return u.make(b.work)
			}
			a.env = []string{"SECRET=hunter2"}
			a.after = func(_ *box, got outcome) error { return nowhere(got, "hunter2") }
			all = append(all, a)
		}
	}
	return all
}
