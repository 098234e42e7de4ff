package ptx

import (
	"fmt"
	"strings"
)

// Error is a located complaint about a PTX text.
type Error struct {
	Pos Pos
	Msg string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Pos, e.Msg) }

// String is file:line:col, without the file where it has no name.
func (p Pos) String() string {
	if p.File == "" {
		return fmt.Sprintf("%d:%d", p.Line, p.Col)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Errors is what Parse and Validate return: every complaint found, in text order, at most maxErrors of them.
// errors.As finds the first *Error in it.
type Errors []*Error

// maxErrors is how many complaints are collected before reading stops.
const maxErrors = 20

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single errors to errors.As and errors.Is.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// err returns es as an error, nil when it is empty.
func (es Errors) err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}
