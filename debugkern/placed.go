package debugkern

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/build"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// barrierCall is a barrier in Python, in the languages in which an author writes barriers:
// cute.arch.sync_threads(), tl.debug_barrier(), cuda.syncthreads().
var barrierCall = regexp.MustCompile(`(?i)(sync_?threads|sync_?warp|barrier\w*)\s*\(`)

// compilerPlaces reports whether the barriers of a kernel are its compiler's, as they are with Triton: it is
// written in Python, its sources can be read (text returns a file's lines, nil for none), and no line of them
// is a barrier.
func compilerPlaces(fn *ptx.Func, text func(file string) []string) bool {
	seen, found := map[string]bool{}, false
	for i := range fn.Body {
		for l := fn.Body[i].Loc; l != nil; l = l.InlinedAt {
			if seen[l.Name] || target.IsLibrary(l.Name) {
				continue
			}
			seen[l.Name] = true
			lines := text(l.Name)
			if filepath.Ext(l.Name) != ".py" || lines == nil {
				return false
			}
			if slices.ContainsFunc(lines, barrierCall.MatchString) {
				return false
			}
			found = true
		}
	}
	return found
}

// Where the message of a finding names a barrier that is there.
var (
	namedBarrier = regexp.MustCompile(`\bbarrier (\d+)( is|,)`)
	barrierAt    = regexp.MustCompile(`\b(?:(the barrier)|(bar(?:rier)?\.[a-z.]+)) at `)
)

// NamePlaced changes, in place, the findings of an entry whose barriers are its compiler's: they say so,
// because its author has no barrier to add. text returns the lines of a file by the name that the PTX has for
// it, nil where it cannot be read.
func NamePlaced(list []report.Finding, fn *ptx.Func, text func(file string) []string) []report.Finding {
	placed := false
	for i := range list {
		f := &list[i]
		missing := f.Missing != nil && strings.Contains(*f.Missing, "__sync")
		if !missing && !barrierAt.MatchString(f.Message) && !namedBarrier.MatchString(f.Message) {
			continue
		}
		if placed = placed || compilerPlaces(fn, text); !placed {
			return list
		}
		f.Placed = true
		if f.Missing != nil {
			s := strings.ReplaceAll(*f.Missing, "__syncthreads()", report.PlacedBarrier)
			s = strings.ReplaceAll(s, "__syncwarp()", report.PlacedWarpBarrier)
			f.Missing = &s
		}
		f.Message = namedBarrier.ReplaceAllString(f.Message, "barrier $1, which the compiler placed,$2")
		f.Message = barrierAt.ReplaceAllStringFunc(f.Message, func(s string) string {
			s = strings.Replace(strings.TrimSuffix(s, " at "), "the barrier", "a barrier", 1)
			return s + " that the compiler placed at "
		})
	}
	return list
}

// named is NamePlaced for a run.
func (e *execution) named(list []report.Finding) []report.Finding {
	fn := e.st.build.Module.Func(e.r.plan.Entry)
	if fn == nil {
		return list
	}
	return NamePlaced(list, fn, func(file string) []string {
		return build.Text(e.ctx, e.r.sel.Manifest, e.st.build.Patched, file)
	})
}
