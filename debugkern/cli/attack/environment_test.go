//go:build unix

package attack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// small is a run that agrees.
var small = []string{"run", "flashcore_vec", "--shape", "small"}

// environmentCases change what surrounds the program. It works, and says what it misses, and
// writes nowhere else.
func environmentCases() (all []attack) {
	add := func(kind string, code int, says string, list []string) {
		for i, env := range list {
			base := attack{
				env: []string{env}, files: map[string]string{"file": "x"}, codes: []int{code}, makes: homes,
			}
			run, doctor := base, base
			run.name, run.args = fmt.Sprintf("run %s %d %s", kind, i, strings.ToValidUTF8(env, "?")), small
			doctor.name, doctor.args, doctor.says = fmt.Sprintf("doctor %s %d", kind, i),
				[]string{"doctor"}, says
			if code != 0 {
				run.says = says
			}
			all = append(all, run, doctor)
		}
	}
	add("with", 0, "emulator", []string{
		"HOME=/nonexistent", "HOME=relative", "TMPDIR=/nonexistent", "TMPDIR=/dev/null", "TMPDIR=",
		"TERM=nosuch", "TERM=", "TERM=dumb", "LANG=nosuch", "LC_ALL=C", "PATH", "PATH=", "PATH=/dev/null",
		"XDG_STATE_HOME=/dev/null", "XDG_STATE_HOME=relative", "COLUMNS=-1", "COLUMNS=99999999", "LINES=0",
		"GOMAXPROCS=1", "GOGC=10", "GOTRACEBACK=all", "TZ=nosuch", "CLICOLOR_FORCE=0", "TILESCOPE_NOSUCH=1",
		"LD_LIBRARY_PATH=/nonexistent", "PWD=/nonexistent", "HOME=\x1b[31m", "CUDA_HOME=/dev/null",
		"CUDA_PATH=BOX/work",
	})
	add("without a cache,", 0, "compiled kernels are not kept", []string{
		"HOME", "HOME=", "XDG_CACHE_HOME=/dev/null", "XDG_CACHE_HOME=relative",
		"XDG_CACHE_HOME=BOX/work/file", "XDG_CACHE_HOME=/proc",
	})
	add("without a readable configuration,", 2, "config.yaml: cannot be read", []string{
		"HOME=/dev/null", "HOME=BOX/work/file", "XDG_CONFIG_HOME=/dev/null", "XDG_CONFIG_HOME=BOX/work/file",
	})
	for key, values := range badSettings {
		for i, v := range values {
			name := "TILESCOPE_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
			all = append(all, attack{
				name: fmt.Sprintf("%s %d", name, i), args: []string{"config", "show"},
				env: []string{name + "=" + v}, codes: []int{2}, says: name,
			})
		}
	}
	return all
}

// homes are relative homes, which are directories of the working directory.
var homes = []string{"relative/*", "\x1b[31m/*"}

// badSettings are values that a key of the configuration refuses, from a variable and from a file.
var badSettings = map[string][]string{
	"seed": {"x", "-1", "1.5"}, "shape": {"1,1", "\x1b[31m!"}, "gate": {"no such"}, "backend": {"nosuch"},
	"builder": {"nosuch"}, "arch": {"nosuch"}, "device": {"x", "-1"}, "timeout": {"x", "-1s", "0"},
	"schedule": {"nosuch"}, "repeat": {"x", "-1", "0"},
	"capture.max": {"x", "-1", "1XB", "99999999999999999999"}, "cache.max": {"x", "-1"},
	"theme": {"nosuch", "Dark"}, "palette": {"nosuch"}, "mouse": {"maybe"}, "flags": {"=", "a b"},
}

// configCases are configuration files that are wrong: an error with the file, and nothing else happens.
func configCases() (all []attack) {
	for key, values := range badSettings {
		for i, v := range values {
			text := key + ": " + yamlText(v) + "\n"
			if section, sub, ok := strings.Cut(key, "."); ok {
				text = section + ":\n  " + sub + ": " + yamlText(v) + "\n"
			}
			all = append(all, attack{
				name: fmt.Sprintf("%s %d", key, i), args: small,
				files: map[string]string{"tilescope.yaml": text}, codes: []int{2}, says: "tilescope.yaml",
			})
		}
	}
	for name, text := range brokenYAML("seed: 1\n") {
		switch name {
		// these are configurations, or the same as another
		case "empty", "of blanks", "null", "cut in the middle", "a schema of tomorrow", "no schema", "tabs":
			continue
		}
		all = append(all, attack{
			name: name, args: small, files: map[string]string{"tilescope.yaml": text}, codes: []int{2},
			says: "tilescope.yaml",
		})
	}
	for _, u := range unreadable {
		if u.name == "no file" || u.make == nil || strings.HasSuffix(u.name, "links") {
			continue
		}
		all = append(all, attack{
			name: "is " + u.name, args: small, codes: []int{2}, says: "tilescope.yaml",
			set: func(b *box) error {
				return errors.Join(u.make(b.work), os.Rename(filepath.Join(b.work, u.path),
					filepath.Join(b.work, "tilescope.yaml")))
			},
		})
	}
	return all
}

// cacheCases put entries and directories of others where the cache is. A compiled kernel is
// never taken from them.
func cacheCases(g *good) (all []attack) {
	compile := []string{"init", "k.cu"}
	files := map[string]string{"k.cu": "extern \"C\" __global__ void k(float* y) { y[threadIdx.x] = 1; }\n"}
	for name, change := range map[string]func(dir, entry string) error{
		"an entry that is empty": func(_, e string) error { return os.WriteFile(e, nil, 0o600) },
		"an entry that is cut":   func(_, e string) error { return os.Truncate(e, 60) },
		"an entry of garbage": func(_, e string) error {
			return os.WriteFile(e, []byte(strings.Repeat("\xff", 4000)), 0o600)
		},
		"an entry that is a directory": func(_, e string) error {
			return errors.Join(os.Remove(e), os.Mkdir(e, 0o700))
		},
		"an entry that is a link to zeroes": func(_, e string) error {
			return errors.Join(os.Remove(e), os.Symlink("/dev/zero", e))
		},
		"an entry that is a FIFO": func(_, e string) error {
			return errors.Join(os.Remove(e), makeFIFO(e))
		},
		"an entry of 1 TB":                   func(_, e string) error { return os.Truncate(e, 1<<40) },
		"a directory that anyone may change": func(d, _ string) error { return os.Chmod(d, 0o777) },
		"an entry with one bit changed": func(_, e string) error {
			b, err := os.ReadFile(e)
			if err != nil || len(b) == 0 {
				return err
			}
			b[len(b)/2] ^= 1
			return os.WriteFile(e, b, 0o600)
		},
		"an entry with foreign PTX": func(_, e string) error {
			b, err := os.ReadFile(e)
			if err != nil || len(b) < 80 {
				return err
			}
			return os.WriteFile(e, append(b[:80], g.ptx...), 0o600)
		},
	} {
		all = append(all, attack{
			name: name, args: compile, files: files, env: compiler(), codes: []int{0}, needs: "nvrtc",
			within: 40e9, makes: described, set: func(b *box) error {
				if err := warm(b); err != nil {
					return err
				}
				entry := ""
				_ = filepath.WalkDir(b.home, func(path string, d os.DirEntry, err error) error {
					if err == nil && strings.HasSuffix(path, ".entry") {
						entry = path
					}
					return nil
				})
				if entry == "" {
					return errors.New("nothing was cached")
				}
				return change(filepath.Dir(entry), entry)
			},
		})
	}
	for name, set := range map[string]func(b *box) error{
		"the cache of another user": func(b *box) error {
			d := filepath.Join(b.home, ".cache", "tilescope")
			return errors.Join(os.MkdirAll(d, 0o755), os.Chown(d, 12345, 12345))
		},
		"a cache below a directory of another user": func(b *box) error {
			d := filepath.Join(b.home, ".cache")
			return errors.Join(os.MkdirAll(d, 0o777), os.Chmod(d, 0o777), os.Chown(d, 12345, 12345))
		},
	} {
		all = append(all, attack{
			name: name, args: compile, files: files, env: compiler(), set: set, needs: "root", within: 40e9,
			makes: described, codes: []int{0}, says: "another user",
		})
	}
	for i, dir := range []string{
		"/dev/null", "/proc/tilescope", "BOX/work/file", "/nonexistent/\x1b[31m", "relative",
	} {
		all = append(all, attack{
			name: fmt.Sprintf("a directory that is none %d", i), args: small,
			files: map[string]string{"file": "x"}, env: []string{"TILESCOPE_CACHE_DIR=" + dir},
			codes: []int{0}, makes: []string{"relative/*"},
		})
	}
	return all
}

// warm compiles the case's source once, so that its cache has an entry.
func warm(b *box) error {
	got, err := (&attack{
		args: []string{"init", "k.cu", "--out", "k2.yaml"}, env: compiler(), within: 40e9,
	}).run(b)
	if err == nil && got.code != 0 {
		err = fmt.Errorf("the cache is not filled: exit %d, %s", got.code, got.errors)
	}
	return err
}

// sweep is a small sweep of the gates into a directory: its speed, too, is counted on a small shape.
var sweep = []string{
	"gates", "flashcore_vec", "--shape", "small", "--shapes", "small", "--seeds", "0", "--backend", "emu",
	"--out", "g", "--json",
}

// gatesCases forge what a sweep finds when it starts again.
func gatesCases() (all []attack) {
	red := []string{
		"gates", "flashcore_fused_wmma", "--fault", "pv-gap", "--shape", "small", "--shapes", "small,partial",
		"--seeds", "0,1", "--backend", "emu", "--out", "g", "--json",
	}
	for name, forge := range map[string]string{
		"an empty object": "{}", "nothing": "", "a list": "[]", "null": "null",
		"half a document": `{"schema": "tile`, "a number": "1", "a verdict": `{"verdict": "green"}`,
		"an agreement":       `{"schema":"tilescope.run/1","verdict":"agree","stages":[],"findings":[]}`,
		"control characters": "\x1b]0;x\a", "100,000 brackets": strings.Repeat("[", 100_000),
		"a sparse answer": `{"green": true, "passed": 1, "planned": 1, "exit": 0}`, "binary": "\x00\x01\x02",
	} {
		for _, after := range []string{"finished", "killed"} {
			all = append(all, attack{
				name: name + " in a sweep that was " + after, args: red, codes: []int{1}, within: 60e9,
				makes: []string{"g/*"},
				set:   func(b *box) error { return forged(b, red, after == "killed", forge) },
			})
		}
	}
	for name, set := range map[string]func(d string) error{
		"a directory that is a file": func(d string) error { return os.WriteFile(d, nil, 0o600) },
		"a directory that is a FIFO": makeFIFO,
		"a link to nothing":          func(d string) error { return os.Symlink("/nonexistent/x", d) },
		"a loop of links":            func(d string) error { return os.Symlink("g", d) },
	} {
		all = append(all, attack{
			name: name, args: sweep, codes: []int{2},
			set: func(b *box) error { return set(filepath.Join(b.work, "g")) },
		})
	}
	for i, name := range []string{
		"perf_baseline.json", "build_meta.json", "correctness_summary.json", "COMPARE.md",
	} {
		all = append(all, attack{
			name: fmt.Sprintf("an artefact that is a directory %d", i), args: sweep, codes: []int{2},
			makes: []string{"g/*"}, within: 60e9,
			set: func(b *box) error { return os.MkdirAll(filepath.Join(b.work, "g", name), 0o700) },
		})
		all = append(all, attack{
			name: fmt.Sprintf("an artefact that was forged %d", i), args: sweep, codes: []int{0},
			makes: []string{"g/*"}, within: 60e9, files: map[string]string{"g/" + name: "forged\x1b[31m"},
			after: func(b *box, _ outcome) error { return noForgery(b, name) },
		})
		all = append(all, attack{
			name: fmt.Sprintf("an artefact that is another file's link %d", i), args: sweep, codes: []int{0},
			makes: []string{"g/*", "mine"}, within: 60e9, files: map[string]string{"mine": "mine"},
			set: func(b *box) error {
				return errors.Join(os.MkdirAll(filepath.Join(b.work, "g"), 0o700),
					os.Symlink("../mine", filepath.Join(b.work, "g", name)))
			},
		})
	}
	for n := 2; n <= 5; n++ {
		all = append(all, attack{
			name: fmt.Sprintf("%d sweeps at once", n), args: sweep, codes: []int{0}, makes: []string{"g/*"},
			within: 60e9, set: func(b *box) error { return atOnce(b, n) }, after: wholeSweep,
		})
	}
	return all
}

// noForgery fails where an artefact still contains what was put there.
func noForgery(b *box, name string) error {
	text, err := os.ReadFile(filepath.Join(b.work, "g", name))
	if err == nil && strings.Contains(string(text), "forged") {
		err = fmt.Errorf("%s is not written again", name)
	}
	return err
}

// wholeSweep fails where an artefact is no whole document.
func wholeSweep(b *box, _ outcome) error {
	files, err := filepath.Glob(filepath.Join(b.work, "g", "*.json"))
	for _, f := range files {
		text, rerr := os.ReadFile(f)
		if err = errors.Join(err, rerr); rerr == nil && !json.Valid(text) {
			err = errors.Join(err, fmt.Errorf("%s is torn", filepath.Base(f)))
		}
	}
	return err
}
