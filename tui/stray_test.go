package tui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestColoursAndKeysHaveOneHome looks through the sources below for colours outside theme and
// keys outside keymap.
func TestColoursAndKeysHaveOneHome(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[[0-9;]*m|^#[0-9a-fA-F]{6}$`)
	key := regexp.MustCompile(`^(ctrl|alt|shift)\+.|^(esc|pgup|pgdown|backspace)$`)
	files := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "tuitest/") {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		theme, keys := strings.HasPrefix(path, "theme/"), strings.HasPrefix(path, "keymap/")
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				s, err := strconv.Unquote(n.Value)
				if err != nil || n.Kind != token.STRING {
					return true
				}
				if m := colour.FindString(s); m != "" && !theme && !reset(m) {
					t.Errorf("%s: a colour outside theme: %q", path, s)
				}
				if key.MatchString(s) && !keys {
					t.Errorf("%s: a key outside keymap: %q", path, s)
				}
			case *ast.ImportSpec:
				if strings.Contains(n.Path.Value, "lipgloss") ||
					strings.Contains(n.Path.Value, "image/color") {
					t.Errorf("%s imports %s: colours come from theme", path, n.Path.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were looked at", files)
	}
}

// reset reports whether a sequence only takes styles away, which the painter must be able to.
func reset(seq string) bool { return seq == "\x1b[m" || seq == "\x1b[0m" }
