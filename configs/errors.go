package configs

import (
	"fmt"
	"sort"
	"strings"
)

// Error is one mistake in a file. Line and Col count from 1; 0 where there is no place to point at.
type Error struct {
	File      string
	Line, Col int
	Field     string // path of the field: "stages[3].valid[0]"; "" for the file as a whole
	Msg       string // what is wrong, what was expected, what to do
}

// Error prints file:line: field: message.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Msg)
	return b.String()
}

// Errors is every mistake found, in file order. It is never empty.
type Errors struct{ List []*Error }

// maxPrinted is how many mistakes Error prints: a file of 60,000 unknown keys is no text of 14 MB.
const maxPrinted = 50

// Error prints one mistake a line, the first maxPrinted of them.
func (e *Errors) Error() string {
	var lines []string
	for _, x := range e.List[:min(len(e.List), maxPrinted)] {
		lines = append(lines, x.Error())
	}
	if more := len(e.List) - maxPrinted; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more mistakes", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single mistakes to errors.As and errors.Is.
func (e *Errors) Unwrap() []error {
	out := make([]error, len(e.List))
	for i, x := range e.List {
		out[i] = x
	}
	return out
}

// errorsOf sorts the list by place; nil for an empty list.
func errorsOf(list []*Error) error {
	if len(list) == 0 {
		return nil
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
	return &Errors{list}
}
