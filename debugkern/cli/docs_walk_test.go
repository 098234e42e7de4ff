package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/patch"
)

// walk is a page of docs whose code blocks are executed in order, in a folder of their own: "```cuda NAME"
// and "```yaml NAME" are files, "```diff NAME" changes one, and every command of a "```console" block prints
// what the page says.
type walk struct {
	t        *testing.T
	page     string
	out      []string
	commands int
}

// TestOwnKernelPage executes the walks of docs/own-kernel.md; -update writes what the commands print anew.
// Of the sections one in walkSample is executed, each of them with -update or TILESCOPE_LONG (make pages).
func TestOwnKernelPage(t *testing.T) {
	needNVRTC(t)
	if _, err := cuda.FindNVCC(t.Context(), cuda.Config{Path: os.Getenv("TILESCOPE_TOOLCHAIN")}); err == nil {
		t.Skip("an nvcc is at hand: the page shows what NVRTC makes of sources with host code")
	}
	walkPage(t, "own-kernel.md", 10)
}

// TestReferencesPage does the same with docs/references.md, whose references are computed by Python.
func TestReferencesPage(t *testing.T) {
	needNVRTC(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3, which the page's references are written in")
	}
	walkPage(t, "references.md", 8)
}

// walkSample: of so many sections of a page the commands of one are executed without TILESCOPE_LONG.
const walkSample = 2

// walkPage executes the walks of a page, at least so many commands.
func walkPage(t *testing.T, name string, least int) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	w := &walk{t: t, page: "docs/" + name}
	section := -1
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		w.out = append(w.out, lines[i])
		if strings.HasPrefix(lines[i], "## ") {
			section++
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(lines[i], "```"), " ")
		if !strings.HasPrefix(lines[i], "```") {
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		block := lines[i+1 : min(end, len(lines))]
		switch {
		case kind == "console":
			w.console(i+2, block, turn(section, walkSample) || *update)
		default:
			w.file(kind, name, strings.Join(block, "\n")+"\n")
			w.out = append(w.out, block...)
		}
		w.out = append(w.out, "```")
		i = end
	}
	if w.commands < least {
		t.Errorf("%d commands found; the page has more", w.commands)
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(w.out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// file writes or changes a file that a block has the name of.
func (w *walk) file(kind, name, text string) {
	switch {
	case name == "":
		return
	case kind == "diff":
		p, err := patch.Parse(name+".patch", []byte(text))
		if err != nil {
			w.t.Fatal(err)
		}
		texts, err := patch.Apply(func(name string) (string, error) {
			b, err := os.ReadFile(name)
			return string(b), err
		}, p)
		if err != nil {
			w.t.Fatal(err)
		}
		text = texts[name]
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

var walkCommand = regexp.MustCompile(`^\$ tilescope (.+?)(?: \| grep -E '(.*)')?$`)

// console executes the commands of a block, whose first line has that number, if it is their turn.
func (w *walk) console(line int, block []string, execute bool) {
	for i := 0; i < len(block); i++ {
		w.out = append(w.out, block[i])
		m := walkCommand.FindStringSubmatch(block[i])
		if m == nil {
			w.t.Errorf("%s:%d: %q is no command", w.page, line+i, block[i])
			continue
		}
		end := i + 1
		for end < len(block) && !strings.HasPrefix(block[end], "$ ") {
			end++
		}
		if w.commands++; !execute {
			w.out = append(w.out, block[i+1:end]...)
			i = end - 1
			continue
		}
		said := strings.Join(block[i+1:end], "\n")
		words, err := shellWords(m[1])
		if err != nil {
			w.t.Fatal(err)
		}
		stdout, stderr, code := call(w.t, words...)
		keep := regexp.MustCompile(m[2])
		var got []string
		text := stdout
		if code != 0 && code != exitDiverged {
			text = stderr
		}
		for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			if l = strings.TrimRight(l, " "); keep.MatchString(l) {
				got = append(got, l)
			}
		}
		if printed := strings.Join(got, "\n"); printed != said && !*update {
			w.t.Errorf("%s:%d: %s\nsays:\n%s\nprints:\n%s", w.page, line+i, block[i], said, printed)
		}
		w.out = append(w.out, got...)
		i = end - 1
	}
}
