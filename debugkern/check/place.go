package check

import (
	"fmt"
	"strconv"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// frames is where an instruction stands, from the entry's own line inwards to the blamed one: a call of an
// inlined function is a frame of its own, libraries are left out.
func frames(s *site) []*ptx.Loc {
	var l *ptx.Loc
	for i := min(s.index, len(s.fn.Body)-1); i >= 0 && l == nil; i-- {
		l = s.fn.Body[i].Loc.Caller(target.IsLibrary)
	}
	var out []*ptx.Loc
	for ; l != nil; l = l.InlinedAt {
		if l.Line != 0 && !target.IsLibrary(l.Name) {
			out = append([]*ptx.Loc{l}, out...)
		}
	}
	return out
}

// between names the two lines that something belongs between: in the innermost function that both
// instructions are in, so that it is not put into a function that one of them merely calls.
func between(a, b *site) (from, to string) {
	fa, fb := frames(a), frames(b)
	if len(fa) == 0 || len(fb) == 0 || a.fn != b.fn {
		return a.source().String(), b.source().String()
	}
	i := 0
	for i+1 < len(fa) && i+1 < len(fb) && fa[i].Line == fb[i].Line && fa[i].Name == fb[i].Name &&
		fa[i].Col == fb[i].Col {
		i++
	}
	text := func(l *ptx.Loc) string { return (&target.Source{File: l.Name, Line: l.Line}).String() }
	return text(fa[i]), text(fb[i])
}

// backwards reports whether a place, "FILE:LINE", stands above another one of the same file.
func backwards(from, to string) bool {
	i, j := strings.LastIndexByte(from, ':'), strings.LastIndexByte(to, ':')
	if i < 0 || j < 0 || from[:i] != to[:j] {
		return false
	}
	a, errA := strconv.Atoi(from[i+1:])
	b, errB := strconv.Atoi(to[j+1:])
	return errA == nil && errB == nil && b < a
}

// place names an instruction's line for a message, with the call sites of inlined code.
func (s *site) place() string {
	src := s.source()
	if text := src.Calls.Text(src.Function); text != "" {
		return fmt.Sprintf("%s (%s)", src, text)
	}
	return src.String()
}
