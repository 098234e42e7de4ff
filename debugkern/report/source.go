package report

import (
	"fmt"
	"tilescope/debugkern/target"
)

// Source is a place in the CUDA source.
type Source struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function,omitempty"`
	// Calls is the call sites that the code was inlined through, outermost first; left out where
	// it was not inlined.
	Calls target.Calls `json:"called,omitempty"`
	Col   int          `json:"col,omitempty"`  // from 1, of a compile error
	Text  string       `json:"text,omitempty"` // the source line, of a compile error
}

// SourceOf returns a place as documents spell it; nil for nil.
func SourceOf(s *target.Source) *Source {
	if s == nil {
		return nil
	}
	return &Source{File: s.File, Line: s.Line, Function: s.Function, Calls: s.Calls}
}

// Outermost is the place in the kernel's own text that inlined code was called from; the place itself where
// it was not inlined.
func (s *Source) Outermost() Source {
	if sites := s.Calls.Sites(); len(sites) > 0 {
		return Source{File: sites[0].File, Line: sites[0].Line, Function: sites[0].Function}
	}
	return Source{File: s.File, Line: s.Line, Function: s.Function}
}

// At is the place in a text, "file:line"; "" for nil.
func (s *Source) At() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}
