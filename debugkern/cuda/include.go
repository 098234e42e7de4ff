package cuda

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"tilescope/debugkern/cache"
)

// includeLine is `#include "x"` or `#include <x>`, conditional or not: one header too many only makes a key too careful.
var includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]`)

// included is one file that a build reads from the directories of Build.Include.
type included struct{ path, text string }

// Included is a digest of the files in directories that a source may include, directly or through each other: it changes when
// one of them does.
func Included(source string, dirs []string) string {
	var h cache.Hasher
	for _, f := range reached(Build{Source: source, Include: dirs}) {
		h.Add(f.path, f.text)
	}
	return h.Key().String()
}

// reached lists the files of Build.Include's directories that the source may include, directly or through each other,
// in a fixed order. The toolkit's own directories are not searched: headerStamps speaks for them.
func reached(b Build) []included {
	if len(b.Include) == 0 {
		return nil
	}
	var out []included
	seen := map[string]bool{}
	var visit func(text, dir string)
	visit = func(text, dir string) {
		for _, m := range includeLine.FindAllStringSubmatch(text, -1) {
			dirs := b.Include
			if dir != "" {
				dirs = append([]string{dir}, dirs...)
			}
			for _, d := range dirs {
				path := filepath.Join(d, filepath.FromSlash(m[1]))
				if seen[path] {
					break
				}
				data, err := os.ReadFile(path)
				if err != nil {
					continue
				}
				seen[path] = true
				out = append(out, included{path, string(data)})
				visit(string(data), filepath.Dir(path))
				break
			}
		}
	}
	visit(b.Source, "")
	for _, name := range sortedKeys(b.Headers) {
		visit(b.Headers[name], "")
	}
	slices.SortFunc(out, func(x, y included) int {
		if x.path < y.path {
			return -1
		}
		return 1
	})
	return out
}
