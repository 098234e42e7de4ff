//go:build unix

package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// writer is a command that writes a file the user names.
type writer struct {
	name string
	args []string
}

var writers = []writer{
	{"dump", []string{"run", "flashcore_vec", "--shape", "small", "--dump"}},
	{"html", []string{"diagnose", "flashcore_vec", "--shape", "small", "--html"}},
	{"sarif", []string{"diagnose", "flashcore_vec", "--shape", "small", "--sarif"}},
	{"manifest", []string{"init", "k.ptx", "--out"}},
	{"gates", []string{"gates", "flashcore_vec", "--shape", "small", "--shapes", "small", "--seeds", "0",
		"--out"}},
}

// outputCases write to places that cannot be written: exit 2, one line, and what was there stays.
func outputCases() (all []attack) {
	for _, w := range writers {
		refuse := func(name, path, says string, set func(b *box) error) {
			all = append(all, attack{
				name: w.name + " to " + name, args: append(append([]string{}, w.args...), path),
				files: map[string]string{"k.ptx": minimal, "file": "x"}, set: set, codes: []int{2},
				says: says, within: 60e9,
			})
		}
		refuse("a place below a file", "file/x", "file", nil)
		refuse("a place in /proc", "/proc/x", "/proc", nil)
		refuse("a place below a device", "/dev/null/x", "/dev/null", nil)
		refuse("a name that is too long", strings.Repeat("n", 300), "too long", nil)
		refuse("a loop of links", "loop", pick(w.name, "gates", "create directory loop", "manifest",
			"loop exists already", "too many symbolic links"), func(b *box) error {
			return os.Symlink("loop", filepath.Join(b.work, "loop"))
		})
		if w.name == "gates" {
			continue // its output is a directory
		}
		refuse("a directory that is not there", "no/such/x", "no/such", nil)
		refuse("a full disk", "/dev/full", pick(w.name, "manifest", "/dev/full exists already",
			"write /dev/full: no space left"), nil)
		refuse("a directory", "dir", pick(w.name, "manifest", "dir exists already", "dir is a directory"),
			func(b *box) error { return os.Mkdir(filepath.Join(b.work, "dir"), 0o700) })
		refuse("a FIFO that nobody reads", "fifo", "fifo", func(b *box) error {
			return makeFIFO(filepath.Join(b.work, "fifo"))
		})
		refuse("a name of nothing", "./", pick(w.name, "manifest", "./ exists already",
			"./ is a directory"), nil)
		refuse("another user's link", "link", pick(w.name, "manifest", "exists already", "another user"),
			func(b *box) error {
				return errors.Join(w.write(b, "to"), os.Symlink("to", filepath.Join(b.work, "link")),
					os.Lchown(filepath.Join(b.work, "link"), 12345, 12345))
			})
		all[len(all)-1].needs = "root"
		refuse("a file that is another's", "file", pick(w.name, "manifest", "not overwritten", "dump",
			"file: the file exists and is not a dump of tilescope", "html",
			"file: the file exists and is not a page of tilescope",
			"file: the file exists and is not a SARIF log of tilescope"), nil)
		refuse("a link to a file that is another's", "link", pick(w.name, "manifest", "not overwritten",
			"name another file, or remove this one"), func(b *box) error {
			return os.Symlink("file", filepath.Join(b.work, "link"))
		})
		if w.name == "manifest" {
			continue // it is never replaced
		}
		all = append(all, attack{
			name: w.name + " to one's own link", args: append(append([]string{}, w.args...), "link"),
			codes: []int{0}, makes: []string{"to"}, within: 60e9,
			set: func(b *box) error {
				return errors.Join(w.write(b, "to"), os.Symlink("to", filepath.Join(b.work, "link")))
			},
			after: func(b *box, _ outcome) error {
				info, err := os.Lstat(filepath.Join(b.work, "link"))
				if err == nil && info.Mode()&os.ModeSymlink == 0 {
					err = errors.New("the link was replaced")
				}
				return err
			},
		})
		all = append(all, attack{
			name: w.name + " to nowhere", args: append(append([]string{}, w.args...), "/dev/null"),
			codes: []int{0},
		})
		all = append(all, attack{
			name: w.name + " over an empty file", args: append(append([]string{}, w.args...), "x"),
			files: map[string]string{"x": ""}, codes: []int{0}, makes: []string{"x"},
			after: func(b *box, _ outcome) error { return filled(b, "x") },
		})
		all = append(all, attack{
			name: w.name + " over its own", args: append(append([]string{}, w.args...), "x"),
			codes: []int{0}, makes: []string{"x"}, within: 60e9,
			set: func(b *box) error { return w.write(b, "x") },
		})
		all = append(all, attack{
			name: w.name + " to a name of control characters",
			args: append(append([]string{}, w.args...), "x\x1b[31m\a"), codes: []int{0},
			makes: []string{"x*"},
		})
	}
	for i, args := range printing {
		for _, json := range []bool{false, true} {
			full := append([]string{}, args...)
			if json {
				full = append(full, "--json")
			}
			all = append(all, attack{
				name: fmt.Sprintf("a full disk under standard output %d %t", i, json), args: full,
				stdout: "/dev/full", needs: "linux", codes: []int{2}, says: "standard output",
				files: map[string]string{"k.ptx": minimal}, within: 60e9,
			})
		}
	}
	return append(all, schemaCases()...)
}

// write performs the command once, so that the file is there which a second one finds.
func (w writer) write(b *box, path string) error {
	if w.name == "manifest" {
		return os.WriteFile(filepath.Join(b.work, path), []byte("x"), 0o600)
	}
	got, err := (&attack{args: append(append([]string{}, w.args...), path), within: 60e9}).run(b)
	if err == nil && got.code != 0 {
		err = fmt.Errorf("%s is not written: exit %d, %s", path, got.code, got.errors)
	}
	return err
}

// filled fails where a file of the working directory is empty.
func filled(b *box, name string) error {
	info, err := os.Stat(filepath.Join(b.work, name))
	if err == nil && info.Size() == 0 {
		err = fmt.Errorf("%s is not replaced", name)
	}
	return err
}

// described are the files that init makes of k.ptx or k.cu.
var described = []string{"k.yaml", schemaFile}

// schemaFile is the JSON Schema that init writes next to a manifest.
const schemaFile = "tilescope.schema.json"

// schemaCases put something else where init writes the JSON Schema: a file of somebody else's stays, and
// without a schema there is no manifest.
func schemaCases() (all []attack) {
	add := func(name string, code int, says string, set func(path string) error) {
		all = append(all, attack{
			name: "a schema that is " + name, args: []string{"init", "k.ptx"}, codes: []int{code}, says: says,
			files: map[string]string{"k.ptx": minimal, "file": "x"},
			set:   func(b *box) error { return set(filepath.Join(b.work, schemaFile)) },
		})
		if code == 0 {
			all[len(all)-1].makes = []string{"k.yaml"}
		}
	}
	add("a directory", 2, schemaFile+": is a directory", func(p string) error { return os.Mkdir(p, 0o700) })
	add("a FIFO", 2, schemaFile+": is a FIFO", makeFIFO)
	add("a loop of links", 2, schemaFile, func(p string) error { return os.Symlink(schemaFile, p) })
	add("a link to zeroes", 2, schemaFile+": is a device", func(p string) error {
		return os.Symlink("/dev/zero", p)
	})
	add("a link below a file", 2, schemaFile, func(p string) error { return os.Symlink("file/x", p) })
	add("1 TB", 2, schemaFile, func(p string) error {
		return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 1<<40))
	})
	add("another user's link", 2, "another user", func(p string) error {
		return errors.Join(os.Symlink("nosuch", p), os.Lchown(p, 12345, 12345))
	})
	all[len(all)-1].needs = "root"
	add("another's", 0, "wrote k.yaml", func(p string) error { return os.WriteFile(p, []byte("{}"), 0o600) })
	return all
}

// pick is what a name stands for: pairs of a name and its text, and the text for all others last.
func pick(name string, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == name {
			return pairs[i+1]
		}
	}
	return pairs[len(pairs)-1]
}

// minimal is a PTX module that init reads.
const minimal = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y)\n{\n\tret;\n}\n"

// printing are commands that print something.
var printing = [][]string{
	{"run", "flashcore_vec", "--shape", "small"}, {"diagnose", "flashcore_vec", "--shape", "small"},
	{"gates", "flashcore_vec", "--shape", "small", "--shapes", "small", "--seeds", "0"},
	{"compare", "flashcore_vec", "flashcore_vec", "--shape", "small"},
	{"bisect", "stage2", "stage2", "--shape", "small", "--fault", "kt-ld"}, {"kernels"}, {"doctor"},
	{"config", "show"}, {"version"}, {"lut"}, {"init", "k.ptx"},
}

// pipeCases close or starve the streams.
func pipeCases() (all []attack) {
	for i, args := range printing {
		for _, json := range []bool{false, true} {
			full := append([]string{}, args...)
			if json {
				full = append(full, "--json")
			}
			all = append(all, attack{
				name: fmt.Sprintf("a reader that has gone %d %t", i, json), args: full, codes: []int{141},
				stdout: closedPipe, files: map[string]string{"k.ptx": minimal}, within: 60e9,
			})
			if args[0] == "init" { // the reader may have read enough
				all[len(all)-1].makes = described
			}
		}
	}
	for i, args := range [][]string{nil, {"stage2"}, {"--fault", "p-stale-m"}} {
		all = append(all, attack{
			name: fmt.Sprintf("the terminal without a terminal %d", i), args: args, codes: []int{2},
			says: "not a terminal",
		})
	}
	for _, hidden := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"__worker"}, 0, "protocol"}, {[]string{"__compile"}, 0, "protocol"},
		{[]string{"__launch", "nosuch"}, 1, "no such file"},
		{[]string{"__launch", "/dev/zero"}, 1, "is a device"}, {[]string{"__launch", "fifo"}, 1, "is a FIFO"},
		{[]string{"__launch", "frames"}, 1, "malformed frame"}, {[]string{"__launch"}, 2, "__launch"},
		{[]string{"__worker", "more"}, 2, "__worker"},
	} {
		all = append(all, attack{
			name: strings.Join(hidden.args, " "), args: hidden.args, codes: []int{hidden.code},
			says: hidden.says, within: 5e9, raw: true,
			files: map[string]string{"frames": strings.Repeat("\xff", 4096)},
			set:   func(b *box) error { return makeFIFO(filepath.Join(b.work, "fifo")) },
		})
	}
	return all
}

// longRuns are commands that take many seconds, each in another phase of its work.
var longRuns = map[string][]string{
	"inputs": {"run", "stage2", "--shape", "1,1,400000,64", "--blocks", "0,0,0", "--tiles", "0", "--stages",
		"O"}, "execution": {"run", "stage2", "--shape", "long"},
	"diagnosis": {"diagnose", "stage3b-reported", "--shape", "mission"},
	"gates":     {"gates", "stage2", "--out", "g"},
	"bisect": {"bisect", "stage2", "stage2", "--shape", "long", "--fault", "kt-ld", "--fault",
		"v-midpoint"},
	"compare": {"compare", "stage2", "stage3b", "--shape", "long"},
	"dump":    {"run", "stage2", "--shape", "long", "--dump", "d.npz"},
	"page":    {"diagnose", "stage2", "--shape", "long", "--html", "d.html"},
}

// signalCases end commands from outside, and by their own time limit.
func signalCases() (all []attack) {
	for name, args := range longRuns {
		// g/* is a sweep that goes on later; a dump and a page that are not finished are not there.
		base := attack{args: args, makes: []string{"g/*"}, codes: []int{130}}
		for sig, word := range map[syscall.Signal]string{
			syscall.SIGINT: "Ctrl-C", syscall.SIGTERM: "an end", syscall.SIGHUP: "a closed terminal",
		} {
			for _, ms := range []int{10, 100, 400, 900} {
				a := base
				after := time.Duration(ms) * time.Millisecond
				a.name, a.within = fmt.Sprintf("%s after %d ms of %s", word, ms, name), after+3*time.Second
				a.drive = func(_ *box, p *os.Process) { time.Sleep(after); _ = p.Signal(sig) }
				a.signal = sig
				a.after = func(_ *box, got outcome) error {
					if late := got.took - after; late > time.Second {
						return fmt.Errorf("ends %s after the signal", late.Round(time.Millisecond))
					}
					return nil
				}
				all = append(all, a)
			}
		}
		a := base
		a.name, a.within, a.signal = "two Ctrl-C of "+name, 3e9, syscall.SIGINT
		a.drive = func(_ *box, p *os.Process) {
			time.Sleep(200 * time.Millisecond)
			_ = p.Signal(syscall.SIGINT)
			time.Sleep(time.Millisecond)
			_ = p.Signal(syscall.SIGINT)
		}
		all = append(all, a)
		if name == "bisect" || name == "gates" {
			continue // there the limit is that of each run
		}
		for _, limit := range []string{"1ns", "1ms", "50ms", "300ms"} {
			all = append(all, attack{
				name: "a limit of " + limit + " for " + name,
				args: append(append([]string{}, args...), "--timeout", limit), codes: []int{4},
				says: "no result within the time limit of " + limit, within: 3e9,
			})
		}
	}
	return all
}
