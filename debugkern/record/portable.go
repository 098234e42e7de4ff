package record

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tilescope/debugkern/file"
	"tilescope/debugkern/ptx"
)

// sourceExts are the files that debug lines may lead to: PTX is foreign text, and only a source is read for
// it.
var sourceExts = []string{
	".py", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".inc",
}

const maxSource = 16 << 20

var (
	// debugSection is a section that holds DWARF: it is not executed, and names folders of the machine. Lines
	// (.loc, .file) and names of inlined functions (.debug_str) stay.
	debugSection = regexp.MustCompile(`(?m)^[ \t]*\.section[ \t]+\.debug_(\w+)\s*\{[^}]*\}[ \t]*\n?`)
	packages     = regexp.MustCompile(`[\\/](?:site|dist)-packages[\\/](.+)$`)
	notInPath    = regexp.MustCompile(`[^\w.+ -]`)
)

// portable returns a module's text with names of its files that mean the same everywhere, and the sources
// that are at hand, by these names.
func portable(ctx context.Context, text []byte) ([]byte, map[string][]byte, error) {
	names, sources := map[string]string{}, map[string][]byte{}
	var taken []string
	text, err := ptx.RewriteFileText("module.ptx", text, func(original string) string {
		name, ok := names[original]
		if ok {
			return name
		}
		name = unique(short(original), taken)
		names[original], taken = name, append(taken, name)
		if content := source(ctx, original); content != nil {
			sources[name] = content
		}
		return name
	})
	if err != nil {
		return nil, nil, err
	}
	text = debugSection.ReplaceAllFunc(text, func(section []byte) []byte {
		if string(debugSection.FindSubmatch(section)[1]) == "str" {
			return section
		}
		return nil
	})
	return text, sources, nil
}

// source is the content of a source, nil where it is not at hand or is no text.
func source(ctx context.Context, name string) []byte {
	if !slices.Contains(sourceExts, strings.ToLower(filepath.Ext(name))) {
		return nil
	}
	text, err := file.Read(ctx, name, maxSource, file.Want{What: "a source"})
	if err != nil || !utf8.Valid(text) {
		return nil
	}
	return text
}

// short is a path relative to the working directory or to where Python's packages are installed, else its
// last part.
func short(name string) string {
	slashes := strings.ReplaceAll(name, `\`, "/")
	out := path.Base(slashes)
	if m := packages.FindStringSubmatch(name); m != nil {
		out = m[1]
	} else if dir, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if r, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(r) {
			out = filepath.ToSlash(r)
		}
	}
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(out, `\`, "/"), "/") {
		if part != "" && part != "." && part != ".." {
			parts = append(parts, notInPath.ReplaceAllString(part, "_"))
		}
	}
	out = strings.Join(parts, "/")
	out = strings.TrimLeft(out[max(0, len(out)-180):], "/")
	if out == "" {
		return "source"
	}
	return out
}

// unique is a name that is not taken: with a number before its extension where it is.
func unique(name string, taken []string) string {
	ext := path.Ext(name)
	stem, out := strings.TrimSuffix(name, ext), name
	for n := 2; slices.Contains(taken, out); n++ {
		out = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return out
}
