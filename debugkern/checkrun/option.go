package checkrun

import (
	"context"
	"path/filepath"
	"regexp"

	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
)

// optionComment is a line of a source or PTX file with options of check; pythonComment one of Python.
var (
	optionComment = regexp.MustCompile(`(?m)^\s*//\s*tilescope:\s*(.+?)\s*$`)
	pythonComment = regexp.MustCompile(`(?m)^\s*#\s*tilescope:\s*(.+?)\s*$`)
)

// OptionComments returns the options that a kernel's text asks to be checked with: lines "// tilescope:
// --grid 4 --block 256", of Python with #.
func OptionComments(ctx context.Context, path string) ([]string, error) {
	comment := optionComment
	if filepath.Ext(path) == ".py" {
		comment = pythonComment
	}
	text, err := build.ReadKernel(ctx, path)
	if err != nil {
		return nil, report.Unread("read the kernel:", err)
	}
	var out []string
	for _, m := range comment.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out, nil
}
