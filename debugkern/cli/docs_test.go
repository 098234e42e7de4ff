package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/kernels"
	"tilescope/probes"
)

var update = flag.Bool("update", false, "write the documented experiments anew")

// consoleCommand is a command of a documented experiment: `$ tilescope … | grep -E 'PATTERN'`.
var consoleCommand = regexp.MustCompile(`^\$ tilescope (.+?)(?: \| grep -E '(.*)')?$`)

// TestExperiments runs every command of docs/experiments.md and compares what it prints with what the page
// says; -update writes the page anew. Fault combinations outside the archive need an NVRTC, and are left as
// they are without one. One command in pageSample is run, each of them with -update or TILESCOPE_LONG (make
// pages); so it is with the pages below.
func TestExperiments(t *testing.T) { runPage(t, "experiments.md", 20) }

// TestDiagnosePage does the same with docs/diagnose.md.
func TestDiagnosePage(t *testing.T) { runPage(t, "diagnose.md", 4) }

// TestLineagePage does the same with docs/lineage.md.
func TestLineagePage(t *testing.T) { runPage(t, "lineage.md", 5) }

// TestReadme does the same with the check of README.md.
func TestReadme(t *testing.T) { runPage(t, filepath.Join("..", "README.md"), 1) }

// TestCheckPage does the same with docs/check.md; its sequence is docs/check/split.yaml.
func TestCheckPage(t *testing.T) {
	runPage(t, "check.md", 3)
	page, err := os.ReadFile(filepath.Join("docs", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
	sequence, err := os.ReadFile(filepath.Join("docs", "check", "split.yaml"))
	if err != nil || !strings.Contains(string(page), "```yaml\n"+string(sequence)+"```") {
		t.Errorf("docs/check/split.yaml is not what the page shows: %v", err)
	}
}

// pageSample: of so many commands of a page one is run without TILESCOPE_LONG.
const pageSample = 4

// runPage runs the commands of a page, of which there are at least so many.
func runPage(t *testing.T, name string, least int) {
	t.Chdir(filepath.Join("..", "..")) // where a reader stands, and where .toolchain is found
	path := filepath.Join("docs", name)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	commands := consoleCommands(lines)
	if len(commands) < least {
		t.Errorf("%d commands found; the page has more", len(commands))
	}
	var running join.Group
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range commands {
		if i%oneOf == 0 && (turn(i, pageSample) || *update) {
			slots <- struct{}{}
			running.Go(func() {
				commands[i].run(t)
				<-slots
			})
		}
	}
	running.Wait()
	var out []string
	next := 0
	for _, c := range commands {
		out = append(out, lines[next:c.at+1]...)
		if c.prints != c.says && !*update {
			t.Errorf("%s:%d: %s\nsays:\n%s\nprints:\n%s", filepath.ToSlash(path), c.at+1, lines[c.at], c.says,
				c.prints)
		}
		if c.prints != "" {
			out = append(out, strings.Split(c.prints, "\n")...)
		}
		next = c.end
	}
	if out = append(out, lines[next:]...); *update {
		if err := os.WriteFile(path, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// documentedCommand is a command of a page: the lines from at on, up to end.
type documentedCommand struct {
	at, end       int
	args, pattern string
	says, prints  string // what the page shows, and what the command prints, which is the same until it runs
}

// consoleCommands are the commands of a page, none of which needs what another one leaves.
func consoleCommands(lines []string) []documentedCommand {
	var out []documentedCommand
	block := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "```") {
			block = line == "```console"
		}
		m := consoleCommand.FindStringSubmatch(line)
		if !block || m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") && lines[end] != "```" {
			end++
		}
		said := strings.Join(lines[i+1:end], "\n")
		out = append(out, documentedCommand{i, end, m[1], m[2], said, said})
		i = end - 1
	}
	return out
}

// run runs the command, where its compiler is there.
func (c *documentedCommand) run(t *testing.T) {
	if printed, ok := documented(t, c.args, c.pattern); ok {
		c.prints = printed
	}
}

// documented is what a command prints on standard output, of it the lines that match; ok is false where
// no compiler is there.
func documented(t *testing.T, args, pattern string) (printed string, ok bool) {
	t.Helper()
	words, closed := text.Words(args)
	if !closed {
		t.Errorf("tilescope %s: a quote has no end", args)
	}
	stdout, stderr, code := call(t, words...)
	if code == int(report.CodeUnavailable) {
		return "", false
	}
	if code > exitDiverged {
		t.Errorf("tilescope %s: exit %d: %s", args, code, stderr)
	}
	keep := regexp.MustCompile(pattern)
	var lines []string
	for _, l := range strings.Split(strings.TrimRight(stdout, "\n"), "\n") {
		if l = strings.TrimRight(l, " "); keep.MatchString(l) {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n"), true
}

// TestReadmeFigures compares the figures of README.md that the program prints itself, or that are counts of
// what lies in the repository, with what they are now: builds and size of the archive as doctor prints them,
// variants of the catalogue, faults, kernels of the corpus.
func TestReadmeFigures(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(page)
	builds, _, err := kernels.Contents()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.Stat(filepath.Join("kernels", "ptx.archive"))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	hopper, _, err := cat.Lookup("stage5_hopper")
	if err != nil {
		t.Fatal(err)
	}
	corpus, _ := filepath.Glob("debugkern/cli/corpus/testdata/*.cu")
	triton, _ := filepath.Glob("debugkern/cli/corpus/testdata/*.ptx")
	for _, want := range []string{
		fmt.Sprintf("| PTX archive: %d builds | %.1f MB |", builds, float64(archive.Size())/1e6),
		fmt.Sprintf("| planted faults of `stage5_hopper`, %d of them:", len(hopper.Faults)),
		fmt.Sprintf("| `check` on %d kernels as people write them, %d of them Triton's:",
			len(corpus)+len(triton), len(triton)),
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md has no %q", want)
		}
	}
	stdout, _, _ := call(t, "doctor")
	if want := fmt.Sprintf(" %d builds", builds); !strings.Contains(stdout, want) {
		t.Errorf("doctor does not print %q", want)
	}
	for _, m := range cat.Manifests {
		for _, v := range m.Variants {
			if len(v.Faults) == 0 && !strings.Contains(readme, "`"+v.Name+"`") {
				t.Errorf("README.md's catalogue lacks the variant %s", v.Name)
			}
		}
	}
}

// TestKernelsMarksPrebuilt: what the catalogue marks as prebuilt runs without a compiler, and what it does
// not mark does not.
func TestKernelsMarksPrebuilt(t *testing.T) {
	stdout, _, code := call(t, "kernels", "--json")
	var doc configs.CatalogueDoc
	if err := json.Unmarshal([]byte(stdout), &doc); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	n := 0
	for _, k := range doc.Kernels {
		for _, v := range k.Variants {
			if !v.Prebuilt {
				t.Errorf("%s is not prebuilt", v.Name)
			}
		}
		for i, f := range k.Faults {
			if !f.Prebuilt {
				t.Errorf("%s is not prebuilt on %s", f.Name, f.Base)
			}
			if i%5 > 0 {
				continue
			}
			n++
			_, stderr, code := call(t, "run", f.Base, "--shape", f.Shape, "--fault", f.Name,
				"--backend", "emu", "--builder", "embedded")
			if code > 1 && code != 4 {
				t.Errorf("%s on %s: exit %d: %s", f.Name, f.Base, code, stderr)
			}
		}
	}
	stdout, _, _ = call(t, "kernels", "stage2")
	if n == 0 || !strings.Contains(stdout, "(stage2, validation, prebuilt)") ||
		!strings.Contains(stdout, "prebuilt: the program has the PTX") {
		t.Errorf("%d runs; the catalogue:\n%s", n, stdout)
	}
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := cat.Lookup("swizzle3a")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("swizzle3a", nil, []string{"u-rescale-twice"}, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := build.Prebuilt(sel); ok || err != nil {
		t.Errorf("u-rescale-twice on swizzle3a counts as prebuilt: %v", err)
	}
}
