//go:build unix

package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// evil are texts that a terminal, Markdown or HTML would obey.
var evil = map[string]string{
	"a title": "\x1b]0;x\a", "a colour": "\x1b[31m", "the clipboard": "\x1b]52;c;ZXZpbA==\a", "a bell": "\a",
	"a backspace": "ok\b\b", "a CSI of one byte": "\u009b31m", "a direction": "\u202eevil",
	"an isolate": "\u2066evil", "no width": "a\u200bb", "a table": "a | b",
	"a script": "<script>alert(1)</script>", "a link": "[x](javascript:1)",
}

// textCases put such texts wherever the program repeats what it has read.
func textCases(g *good) (all []attack) {
	for name, s := range evil {
		text := yamlText(s)
		for place, files := range map[string]map[string]string{
			"a kernel's name": g.kernel(strings.Replace(g.manifest, "name: flashcore_vec",
				"name: "+text, 1), g.ptx),
			"a kernel's title": g.kernel(strings.Replace(g.manifest,
				`title: "fused attention on half inputs, scalar: the trusted baseline"`,
				"title: "+text, 1), g.ptx),
			"an argument": g.kernel(strings.Replace(g.manifest, "{name: softmax_scale,",
				"{name: "+text+",", 1), g.ptx),
			"a key": g.kernel(g.manifest+text+": 1\n", g.ptx),
			"a requirement": g.kernel(
				strings.NewReplacer(`say: "the kernel is compiled for D = 64"`, "say: "+text, "D == HEAD_DIM",
					"D == 1").Replace(g.manifest), g.ptx),
			"a source file":  g.kernel(g.manifest, fileNames(g.ptx, s)),
			"an instruction": g.kernel(g.manifest, strings.Replace(g.ptx, "ret;", s+" %r1;\nret;", 1)),
			"an expression": g.kernel(strings.Replace(g.manifest, "value: 1 / sqrt(D)",
				"value: "+yamlText("nosuch + '"+s+"'"), 1), g.ptx),
			"the name of PTX": g.kernel(strings.Replace(g.manifest, "ptx: k.ptx",
				"ptx: "+yamlText("no"+s), 1), g.ptx),
			"a comment in YAML": g.kernel(g.manifest+"x: [ # "+s+"\n", g.ptx),
		} {
			a := attack{
				name: name + " as " + place,
				args: []string{
					"diagnose", "k.yaml", "--shape", "small", "--html", "d.html", "--sarif", "d.sarif",
				}, files: files, codes: []int{2}, within: 20e9,
			}
			switch place {
			case "a kernel's title", "a source file": // these may be any text
				a.codes, a.makes = []int{0}, []string{"d.html", "d.sarif"}
			case "an instruction":
				a.codes = []int{4}
			}
			a.after = func(b *box, got outcome) error { return harmless(b, got.code == 0) }
			all = append(all, a)
		}
		npz := archive(g.with("Qx", member{name: s + ".npy", data: g.npz["Qx"]})...)
		all = append(all, attack{
			name: name + " as an array's name", args: []string{"run", "flashcore_vec", "--inputs", "c.npz"},
			files: map[string]string{"c.npz": string(npz)}, codes: []int{2}, says: "c.npz",
		})
		file := "x" + strings.ReplaceAll(s, "/", "") + ".ptx"
		all = append(all, attack{
			name: name + " as a file's name", args: []string{"init", file},
			files: map[string]string{file: "not PTX " + s + "\n"}, codes: []int{4},
		})
		// which is how the kernel is named in artefacts
		manifest := "k" + strings.ReplaceAll(s, "/", "") + ".yaml"
		all = append(all, attack{
			name: name + " in COMPARE.md",
			args: []string{"gates", manifest, "--shape", "small", "--shapes", "small", "--seeds", "0",
				"--out", "g"},
			files: map[string]string{manifest: g.manifest, "k.ptx": fileNames(g.ptx, s)}, codes: []int{0},
			makes: []string{"g/*"}, within: 60e9,
			after: func(b *box, _ outcome) error { return harmless(b, true) },
		})
	}
	return all
}

// fileNames puts a text into the names of a module's source files.
func fileNames(ptx, s string) string {
	lines := strings.Split(ptx, "\n")
	for i, l := range lines {
		if f := strings.Fields(l); len(f) > 2 && f[0] == ".file" {
			lines[i] = fmt.Sprintf("\t.file\t%s \"%s\"", f[1], s)
		}
	}
	return strings.Join(lines, "\n")
}

// harmless fails where a document contains a text that its reader obeys, or where there is none
// though some were written.
func harmless(b *box, written bool) error {
	var wrong error
	files, _ := filepath.Glob(filepath.Join(b.work, "g", "*"))
	if written && len(files) == 0 {
		files = []string{filepath.Join(b.work, "d.html"), filepath.Join(b.work, "d.sarif")}
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		name := filepath.Base(path)
		if strings.ContainsAny(string(text), "\x1b\a\b\u009b\u202e\u2066\u200b") {
			wrong = errors.Join(wrong, fmt.Errorf("%s contains a control character", name))
		}
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".sarif") &&
			strings.Contains(string(text), "<script>alert") {
			wrong = errors.Join(wrong, fmt.Errorf("%s contains a script", name))
		}
	}
	return wrong
}

// trustCases put code into the working directory. Nothing of it may run.
func trustCases(g *good) (all []attack) {
	const mark = "executed"
	program := "#!/bin/sh\ntouch \"$(dirname \"$0\")/../" + mark + "\" ./" + mark + " \"$HOME/" + mark +
		"\"\nexit 1\n"
	for place, paths := range map[string][]string{
		"a toolchain": {".toolchain/bin/nvcc", ".toolchain/bin/ptxas", ".toolchain/nvidia/cuda_nvcc/bin/nvcc",
			".toolchain/nvidia/cuda_nvcc/bin/ptxas"},
		"the directory":           {"nvcc", "ptxas", "compute-sanitizer", "cuobjdump"},
		"a directory of programs": {"bin/nvcc", "bin/ptxas"},
	} {
		for config, text := range map[string]string{
			"": "", " that a configuration names": "toolchain: ./.toolchain\n",
			" that a configuration names as the directory": "toolchain: .\n",
		} {
			for name, args := range map[string][]string{
				"doctor": {"doctor"},
				"gates":  {"gates", "flashcore_vec", "--shape", "small", "--shapes", "small", "--seeds", "0"},
				"init":   {"init", "k.cu"}, "run": {"run", "flashcore_vec", "--shape", "small"},
				"nvcc": {"run", "flashcore_vec", "--shape", "small", "--builder", "nvcc"},
			} {
				a := attack{
					name: name + " with " + place + config, args: args, codes: []int{0}, within: 60e9,
					files: map[string]string{"k.cu": "extern \"C\" __global__ void k() {}\n"},
				}
				switch name {
				case "init":
					a.codes, a.makes = []int{pickCode(systemHas("NVRTC"), 0, 3)}, described
				case "nvcc":
					a.codes = []int{pickCode(systemHas("nvcc"), 0, 3)}
				}
				if text != "" {
					a.files["tilescope.yaml"] = text
				}
				a.set = func(b *box) error {
					var err error
					for _, p := range paths {
						path := filepath.Join(b.work, p)
						err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755),
							os.WriteFile(path, []byte(program), 0o755))
					}
					return err
				}
				a.env = []string{"PATH=/usr/bin:/bin:.:./bin:"}
				a.after = func(b *box, _ outcome) error { return unmarked(b, mark) }
				all = append(all, a)
			}
		}
	}
	for name, args := range map[string][]string{
		"run": {"run", "k.yaml", "--shape", "small"}, "diagnose": {"diagnose", "k.yaml", "--shape", "small"},
	} {
		all = append(all, attack{
			name: name + " of a reference command", args: args, codes: []int{3},
			says: "/work is not used: it is not trusted (to use it: tilescope trust /",
			files: g.kernel(strings.Replace(g.manifest, "    per: block\n    from: [U, l]\n",
				"    per: block\n    from: [U, l]\n    reference: {command: [sh, -c, touch "+mark+"]}\n", 1),
				g.ptx), after: func(b *box, _ outcome) error { return unmarked(b, mark) },
		})
	}
	return all
}

func pickCode(is bool, yes, no int) int {
	if is {
		return yes
	}
	return no
}

// unmarked fails where a file of that name was made anywhere in the box.
func unmarked(b *box, mark string) error {
	for path := range b.listing() {
		if filepath.Base(path) == mark {
			return errors.New("a program of the working directory was executed")
		}
	}
	return nil
}
