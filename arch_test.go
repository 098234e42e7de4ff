package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// imports says which packages of ours each room may import: arrows point down only. A key ending in /*
// stands for every package below it.
var imports = map[string][]string{
	"debugkern/fp":      {},
	"debugkern/isa":     {},
	"debugkern/ptx":     {"debugkern/isa"},
	"debugkern/chip":    {"debugkern/fp"},
	"debugkern/isa/cfg": {"debugkern/isa", "debugkern/ptx"},
	"debugkern/file":    {"debugkern/join"},
	"debugkern/npy":     {},
	"debugkern/join":    {},
	"debugkern/cache":   {"debugkern/file"},
	"probes":            {"debugkern/tensormap"},
	"kernels":           {"debugkern/patch"},
	"tui/theme":         {"debugkern/text"},
	"tui/picture":       {"tui/theme"},
	"tui/keymap":        {},
	"tui/code":          {"tui/theme"},
	"tui/cell":          {"debugkern/report", "debugkern", "probes", "debugkern/fp"},
	"tui/outcome":       {"debugkern/report", "debugkern"},
	"debugkern/budget":  {},
	"debugkern/text":    {},
	"debugkern/patch":   {},
	"debugkern/rewrite": {},

	"debugkern/tensormap": {},

	"debugkern/hostcode": {},
	"debugkern/hostrun":  {"debugkern/hostcode"},

	"debugkern/child":       {},
	"debugkern/remote":      {"debugkern/child", "debugkern/text"},
	"debugkern/interrupt":   {},
	"debugkern/ptx/ptxtest": {},                // for tests
	"debugkern/npy/npytest": {"debugkern/npy"}, // for tests
	"debugkern/debugtest":   {"debugkern"},

	"configs/schema": {"probes", "debugkern/ref/op", "debugkern/tensormap"},
	"configs": {"configs/schema", "probes", "debugkern/file", "debugkern/input", "debugkern/ref",
		"debugkern/ref/op", "debugkern/tensormap"},
	"configs/configstest": {"configs", "probes"}, // for tests
	"debugkern/target": {"probes", "debugkern/isa", "debugkern/ptx", "debugkern/budget",
		"debugkern/tensormap"},

	"debugkern/emu": {
		"debugkern/join", "debugkern/chip", "debugkern/target", "debugkern/isa", "debugkern/isa/cfg",
		"debugkern/ptx",
		"debugkern/fp", "probes", "debugkern/budget", "debugkern/tensormap",
	},
	"debugkern/cuda": {
		"debugkern/child", "debugkern/join", "debugkern/target", "debugkern/ptx", "probes", "debugkern/cache",
		"debugkern/file", "debugkern/cuda/internal/dl", "debugkern/trust", "debugkern/budget",
		"debugkern/tensormap",
	},
	"debugkern/trust":            {"debugkern/file"},
	"debugkern/cuda/internal/dl": {},
	"debugkern/ref/op":           {"debugkern/fp", "probes"},
	"debugkern/ref":              {"debugkern/ref/op", "debugkern/fp", "probes"},
	// for tests
	"debugkern/ref/reftest": {"debugkern/fp", "debugkern/input", "debugkern/ref",
		"debugkern/ref/op", "probes"},
	"debugkern/argument": {"debugkern/ref/op", "debugkern/tensormap", "probes"},
	"debugkern/input":    {"debugkern/npy", "debugkern/ref/op", "probes"},
	"debugkern/attn":     {"debugkern/input", "debugkern/join", "debugkern/ref/op", "probes"},
	"debugkern/check": {
		"debugkern/target", "debugkern/isa", "debugkern/isa/cfg", "debugkern/ptx", "debugkern/fp",
		"probes", "debugkern/budget",
	},

	"debugkern/fatbin": {},
	"debugkern/record": {
		"debugkern", "debugkern/budget", "debugkern/bundle", "debugkern/child", "debugkern/fatbin",
		"debugkern/file", "debugkern/ptx", "debugkern/report", "debugkern/scaffold",
		"debugkern/target", "debugkern/tensormap", "debugkern/trust", "probes",
	},
	"debugkern/memo":   {"debugkern/join"},
	"debugkern/bundle": {"debugkern/file", "debugkern/npy", "debugkern/tensormap", "probes"},
	"debugkern/build": {
		"debugkern/budget", "debugkern/bundle", "debugkern/hostcode", "debugkern/hostrun",
		"configs", "debugkern/cuda",
		"debugkern/file", "debugkern/memo", "debugkern/patch", "debugkern/ptx", "debugkern/report",
		"debugkern/trust", "kernels", "probes",
	},
	"debugkern/report": {"debugkern/ptx", "debugkern/target", "probes"},
	"debugkern/fragment": {"debugkern/isa", "debugkern/budget", "debugkern/check", "debugkern/ptx",
		"debugkern/report",
		"debugkern/target", "probes"},
	"debugkern/discover": {"debugkern/isa", "debugkern/lineage", "debugkern/ptx",
		"debugkern/target", "probes"},
	"debugkern/scaffold": {
		"debugkern/discover",
		"debugkern/hostcode",
		"debugkern/hostrun",
		"configs",
		"configs/schema",
		"debugkern/isa",
		"debugkern/ptx",
		"debugkern/report",
		"debugkern/text",
		"probes",
	},
	"debugkern/walk": {"debugkern/isa/cfg", "debugkern/ptx", "debugkern/target", "debugkern/walk/expr",
		"probes"},
	"debugkern/walk/expr": {"probes"},
	"debugkern/trial": {"debugkern", "debugkern/check", "debugkern/join", "debugkern/ptx",
		"debugkern/report", "debugkern/target", "probes"},
	"debugkern/needed": {"debugkern/isa", "debugkern/ptx"},
	"debugkern/repair": {"debugkern", "debugkern/isa", "debugkern/isa/cfg", "debugkern/join",
		"debugkern/needed", "debugkern/ptx",
		"debugkern/report", "debugkern/target", "probes"},
	"debugkern/lineage": {"debugkern/budget", "debugkern/isa", "debugkern/isa/cfg", "debugkern/join",
		"debugkern/ptx", "debugkern/target", "probes"},
	"debugkern/scene": {"debugkern", "debugkern/isa", "debugkern/isa/cfg", "debugkern/ptx",
		"debugkern/report", "debugkern/target", "probes"},
	"debugkern/judge":  {"debugkern/join", "debugkern/ref", "debugkern/ref/op", "debugkern/region", "probes"},
	"debugkern/region": {"probes"},

	"python": {},

	"debugkern": {
		"debugkern/build", "debugkern/bundle", "debugkern/checked", "debugkern/hostcode", "debugkern/memo",
		"debugkern/walk", "debugkern/scaffold", "debugkern/fragment", "debugkern/report", "debugkern/join",
		"debugkern/chip", "debugkern/fp", "debugkern/ptx", "probes", "kernels", "configs", "debugkern/target",
		"debugkern/isa", "debugkern/isa/cfg",
		"debugkern/emu", "debugkern/cache", "debugkern/file", "debugkern/npy",
		"debugkern/cuda", "debugkern/attn", "debugkern/input", "debugkern/check", "debugkern/judge",
		"debugkern/ref", "debugkern/ref/op", "debugkern/budget", "debugkern/text", "debugkern/trust",
		"debugkern/lineage", "debugkern/argument", "debugkern/patch", "debugkern/child", "debugkern/expect",
		"debugkern/origin", "debugkern/remote", "debugkern/needed",
	},
	"debugkern/expectation": {},
	"debugkern/origin": {"debugkern/budget", "debugkern/isa", "debugkern/lineage", "debugkern/ptx",
		"debugkern/target", "probes"},
	"debugkern/expect": {"debugkern/budget", "debugkern/npy", "debugkern/ref", "debugkern/ref/op", "probes"},
	"debugkern/checked": {"debugkern/budget", "debugkern/check", "debugkern/ptx",
		"debugkern/target", "probes"},
	"debugkern/checkrun": {
		"debugkern/isa",
		"configs", "debugkern", "debugkern/argument", "debugkern/budget", "debugkern/build",
		"debugkern/bundle", "debugkern/check", "debugkern/checked", "debugkern/discover", "debugkern/file",
		"debugkern/hostcode", "debugkern/input", "debugkern/npy", "debugkern/isa/cfg", "debugkern/ptx",
		"debugkern/report", "debugkern/scaffold", "debugkern/target", "probes",
		"debugkern/child", "debugkern/trust", "python",
		"debugkern/expectation", "debugkern/lineage", "debugkern/origin", "debugkern/tensormap",
		"debugkern/text",
	},
	"debugkern/compare": {"debugkern", "debugkern/report", "debugkern/target", "probes"},
	"debugkern/bisect":  {"configs", "debugkern", "debugkern/report", "debugkern/text", "probes"},
	"debugkern/gates": {"debugkern/report", "debugkern", "debugkern/file", "debugkern/sarif",
		"probes", "debugkern/text"},
	"debugkern/sweep": {
		"configs", "debugkern/report", "debugkern", "debugkern/file", "debugkern/gates", "debugkern/page",
		"debugkern/text", "debugkern/join", "probes",
	},
	"debugkern/sweep/job": {
		"debugkern/sweep", "debugkern/file", "debugkern/report", "debugkern/child", "debugkern/text",
	},
	"debugkern/sweep/slurm":      {"debugkern/sweep/job", "debugkern/report", "debugkern/text"},
	"debugkern/sweep/kubernetes": {"debugkern/sweep/job", "debugkern/report", "debugkern/file"},
	"debugkern/sarif":            {"debugkern/report", "debugkern/text"},
	"debugkern/page":             {"debugkern/report", "debugkern/text"},
	"debugkern/diagnose": {
		"debugkern/build", "debugkern/rewrite",
		"debugkern/page", "debugkern/sarif", "debugkern/needed", "debugkern/repair", "debugkern/scene",
		"debugkern/trial",
		"debugkern/fragment", "debugkern/report", "debugkern/join", "debugkern", "debugkern/check",
		"debugkern/target", "debugkern/ptx", "debugkern/isa", "debugkern/isa/cfg", "debugkern/walk", "probes",
		"debugkern/text",
	},
	"debugkern/cli": {
		"debugkern/build", "debugkern/bundle", "debugkern/checkrun", "debugkern/page", "debugkern/sarif",
		"debugkern/compare", "debugkern/bisect", "debugkern/scaffold", "debugkern/fragment",
		"debugkern/report", "debugkern/join", "debugkern", "debugkern/file", "debugkern/gates",
		"debugkern/sweep", "debugkern/sweep/job", "debugkern/sweep/slurm", "debugkern/sweep/kubernetes",
		"debugkern/record",
		"debugkern/diagnose", "configs", "configs/schema", "probes", "debugkern/cuda", "debugkern/text",
		"debugkern/trust", "debugkern/budget", "debugkern/remote",
	},
	"tui/request": {"debugkern/report", "configs", "debugkern", "debugkern/text", "probes"},
	"tui/pane/*": {"debugkern/build", "debugkern/report", "debugkern", "tui/theme", "tui/keymap",
		"tui/cell", "tui/code", "tui/outcome"},
	"tui/view": {"debugkern/compare", "debugkern/target", "debugkern/report", "configs", "debugkern",
		"debugkern/file", "debugkern/join", "probes", "tui/cell", "tui/keymap", "tui/outcome",
		"tui/pane/*", "tui/request",
		"tui/theme"},
	"tui/view/*":      viewMay, // no view imports another
	"tui/view/tile":   append(slices.Clone(viewMay), "tui/view/tile/*"),
	"tui/view/source": append(slices.Clone(viewMay), "tui/view/source/*"),
	"tui": {
		"debugkern/argument", "debugkern/build", "debugkern/diagnose", "debugkern/report", "debugkern/join",
		"debugkern", "debugkern/file",
		"debugkern/text", "configs", "probes", "tui/pane/*", "tui/view", "tui/view/*", "tui/theme",
		"tui/keymap", "tui/cell", "tui/outcome", "tui/picture", "tui/request",
	},
	"tui/tuitest": {
		"debugkern/scene", "debugkern/walk", "debugkern/walk/expr", "debugkern/fragment", "debugkern/report",
		"configs", "debugkern", "debugkern/diagnose", "debugkern/join", "debugkern/target", "probes",
		"tui/cell", "tui/request", "tui/view",
	}, // for tests
	// for tests
	"tui/view/viewtest": {"debugkern/report", "configs", "debugkern", "tui", "tui/keymap", "tui/theme",
		"tui/tuitest", "tui/view"},

	"debugkern/sweep/slurmtest":        {"debugkern/sweep"},                 // tests with a real Slurm
	"debugkern/remote/sshtest":         {},                                  // tests with a real sshd
	"debugkern/cli/attack":             {},                                  // tests of the built program
	"debugkern/cli/attention":          {},                                  // tests of run and diagnose
	"debugkern/cli/clitest":            {"debugkern/cli", "debugkern/cuda"}, // for tests
	"debugkern/cli/corpus":             {},                                  // tests of check
	"debugkern/diagnose/bugs":          {},                                  // tests of diagnose
	"debugkern/cli/internal/dist":      {},
	"debugkern/cli/internal/sbom":      {},
	"debugkern/cli/internal/typecheck": {},

	"kernels/internal/ptxgen": {"kernels", "probes", "configs", "debugkern/cuda"},
	"": {"debugkern/join", "debugkern/interrupt", "debugkern/cli",
		"debugkern/file", "tui"},
}

// viewMay is what a view of the terminal may import.
var viewMay = []string{
	"debugkern/bisect", "debugkern/scene", "debugkern/walk", "debugkern/walk/expr", "debugkern/fragment",
	"debugkern/report",
	"configs", "debugkern", "debugkern/diagnose", "debugkern/fp", "debugkern/gates", "debugkern/target",
	"debugkern/text", "probes", "tui/cell", "tui/code", "tui/keymap", "tui/outcome", "tui/pane/*",
	"tui/request", "tui/theme", "tui/view",
}

func match(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

// TestImportsPointDown reads the real import graph and compares it with the layering that
// ARCHITECTURE.md draws.
func TestImportsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for dec.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "tilescope"), "/")
		allowed, known := rule(room)
		if !known {
			t.Errorf("package %q has no place in the layering: add it to arch_test.go and ARCHITECTURE.md",
				room)
			continue
		}
		seen++
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, "tilescope/")
			if ours && !slices.ContainsFunc(allowed, func(a string) bool { return match(a, dep) }) {
				t.Errorf("%s imports %s: not below it", room, dep)
			}
			if imp == "unsafe" && room != "debugkern/cuda/internal/dl" {
				t.Errorf("%s imports unsafe: only debugkern/cuda/internal/dl may", room)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d packages seen: the test looked at the wrong place", seen)
	}
}

// rule is the most particular entry of the table for a room.
func rule(room string) (allowed []string, known bool) {
	longest := ""
	for pattern := range imports {
		if match(pattern, room) && len(pattern) > len(longest) {
			longest = pattern
		}
	}
	allowed, known = imports[longest]
	return allowed, known && (longest != "" || room == "")
}

// TestTopLevel keeps the top level to the rooms that README names.
func TestTopLevel(t *testing.T) {
	allowed := []string{
		"tui", "debugkern", "probes", "kernels", "configs", "main.go", "go.mod", "go.sum", "Makefile",
		"README.md", "ARCHITECTURE.md", "RATIONALE.md", "LICENSE", "arch_test.go", "words_test.go",
		"SECURITY.md", ".gitignore", "docs", "python", ".ci", "action.yml", ".pre-commit-hooks.yaml",
	}
	out, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		t.Skipf("git ls-files: %v: not a git checkout", err)
	}
	for _, f := range strings.Fields(string(out)) {
		top, _, _ := strings.Cut(f, "/")
		if _, err := os.Stat(f); err == nil && !slices.Contains(allowed, top) {
			t.Errorf("%s: %s does not belong at the top level", path.Clean(f), top)
		}
	}
}

// TestGoroutines keeps every goroutine of the program in debugkern/join, where its panic reaches whoever
// waits for it: one that is started by a go statement or a sync.WaitGroup ends the process with a trace.
func TestGoroutines(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() &&
			(path == "debugkern/join" || path == "kernels/internal/ptxgen" || d.Name() == "testdata" ||
				path != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir // ptxgen is a tool of the Makefile, and no part of the program
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement: use debugkern/join", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok &&
					(x.Name == "sync" && n.Sel.Name == "WaitGroup" || x.Name == "errgroup") {
					t.Errorf("%s: %s.%s: use join.Group", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 300 {
		t.Fatalf("only %d files seen: the test looked at the wrong place", seen)
	}
}

// stageNames are the stages of attention as manifests name them. To Go they are data.
var stageNames = []string{"Q", "K", "V", "S", "m", "l", "P", "U", "O"}

// namesFor says, by file or folder, what else a literal that reads like a stage's name stands for.
var namesFor = map[string]string{
	"debugkern/attn/":                "the inputs of attention, and attention over whole heads",
	"debugkern/ref/reftest/":         "for tests: inputs of attention",
	"debugkern/scaffold/":            "tensors and dimensions that init guesses from the names of arguments",
	"debugkern/emu/op_bit.go":        "a modifier of an instruction",
	"debugkern/ptx/":                 "PTX spelling",
	"debugkern/lineage/flow_bits.go": "a modifier of an instruction",
	"debugkern/hostcode/":            "prefixes of C++ literals",
	"debugkern/npy/":                 "a type code of NumPy",
	"tui/keymap/":                    "keys",
	"tui/tuitest/":                   "for tests: the stages of a run that nothing executed",
	"tui/view/frag/":                 "keys",
	"tui/view/pipeline/":             "keys",
	"tui/view/source/":               "keys",
	"tui/theme/":                     "the end of an escape sequence",
}

// TestStagesAreData finds attention's stages named in Go, where they should be looked up in the plan: as
// string literals or as the character constants of a name.
func TestStagesAreData(t *testing.T) {
	used := map[string]bool{}
	allowed := func(file string) bool {
		for prefix := range namesFor {
			if strings.HasPrefix(file, prefix) {
				used[prefix] = true
				return true
			}
		}
		return false
	}
	fset := token.NewFileSet()
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(stageNames, text) &&
				!allowed(filepath.ToSlash(name)) {
				t.Errorf(
					"%s names %s: look the stage up in the plan (Loaded, Phase, Output, Operands, Axes), or say in namesFor what it stands for",
					fset.Position(lit.Pos()),
					lit.Value,
				)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
	for prefix := range namesFor {
		if !used[prefix] {
			t.Errorf("namesFor allows %s, which names none", prefix)
		}
	}
}

const (
	maxColumns = 110
	tabColumns = 4
)

// TestLineWidth keeps lines of Go to maxColumns, so that two files are read next to each other. A line may
// be longer for the sake of one string: messages are found by searching for them, and the texts of tests
// are other languages'. So may preformatted comments, directives, and generated files.
func TestLineWidth(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if files++; ast.IsGenerated(file) {
			return nil
		}
		strung := stringColumns(fset, file)
		for i, line := range strings.Split(string(src), "\n") {
			n := columns(line)
			if n <= maxColumns || n-strung[i+1] <= maxColumns/2 || preformatted.MatchString(line) {
				continue
			}
			t.Errorf("%s:%d: %d columns, at most %d", filepath.ToSlash(name), i+1, n, maxColumns)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("only %d files were read", files)
	}
}

// preformatted is a directive, or a line of a comment that is indented: code, a table, a list.
var preformatted = regexp.MustCompile(`^\s*//(go:|\t|  )`)

func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// stringColumns is, by line, how many columns the longest string literal takes.
func stringColumns(fset *token.FileSet, file *ast.File) map[int]int {
	out := map[int]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			at := fset.Position(lit.Pos()).Line
			for i, part := range strings.Split(lit.Value, "\n") {
				out[at+i] = max(out[at+i], columns(part))
			}
		}
		return true
	})
	return out
}
