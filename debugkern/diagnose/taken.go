package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
)

// Where one of the kernel's integers is taken for another, the story has their names: an argument's, that of
// a thread's number, or the one that a line of the source gives it.

// inNames gives an edit that takes another integer the names of both.
func (q *inquiry) inNames(c *repair.Cure) {
	if c.Given == nil {
		return
	}
	at := q.place(c)
	now, was := q.integerText(c.Given, at), q.integerText(c.Gave, at)
	if now == was { // two of one line
		if now, was = ofOperation(c.Given, now), ofOperation(c.Gave, was); now == was {
			now = "another value"
		}
	}
	if c.Gave.Name != "" && strings.Count(bare(q.quoted(at)), c.Gave.Name) > 1 {
		was += usedAs[q.run.Entry().Body[c.At].Kind()]
	}
	if c.What = fmt.Sprintf("%s %s %s", now, c.Taken, was); c.Taken == repair.InPlace {
		c.Was, c.Now = was, now
	}
}

// unnamed reports whether an edit takes an integer that has no name where it takes it: nobody can write it
// there, and that it is right may be by chance.
func (q *inquiry) unnamed(c *repair.Cure) bool {
	return c.Given != nil && strings.HasSuffix(q.integerText(c.Given, q.place(c)), computesIt)
}

// computesIt ends the text of an integer that has no name.
const computesIt = " computes"

// usedAs says which of several uses of a name on a line is meant.
var usedAs = map[isa.Kind]string{
	isa.Compare: " where it is compared", isa.Arith: " where it is computed with",
}

// integerText names a value that a kernel computes, in a sentence about a place.
func (q *inquiry) integerText(x *repair.Integer, at *report.Source) string {
	src := report.SourceOf(x.Source)
	switch {
	case x.Name != "":
		return x.Name
	case src == nil:
		return "its operand"
	}
	where := lineText(&report.Source{File: src.File, Line: src.Line}, at)
	name := onlyAssigned(q.quoted(src))
	if lines := q.run.Source(src.File); name != "" && src.File == at.File && src.Line < at.Line &&
		at.Line <= len(lines) {
		if n, _ := valueOf(lines, name, at.Line); n != src.Line {
			name = "" // at the place it is another one, or none
		}
	}
	switch {
	case headed.MatchString(q.quoted(src)):
		return "what " + where + " counts"
	case src.File == at.File && src.Line == at.Line && (x.Part || name == ""):
		return "what is computed there"
	case name != "" && x.Part:
		return fmt.Sprintf("a part of `%s` of %s", name, where)
	case name != "":
		return fmt.Sprintf("`%s` of %s", name, where)
	}
	return "what " + where + computesIt
}

// ofOperation names a value by the operation that gives it, of a line that has several.
func ofOperation(x *repair.Integer, text string) string {
	if x.Op == "" {
		return text
	}
	return fmt.Sprintf("the result of the %s in %s", repair.Word(x.Op), text)
}

// givenText quotes the line that computes the integer which an edit takes; "" where its name says enough.
func (q *inquiry) givenText(c *repair.Cure) string {
	if c.Given == nil || c.Given.Name != "" || c.Given.Source == nil {
		return ""
	}
	src, at := report.SourceOf(c.Given.Source), q.place(c)
	line := q.quoted(src)
	if line == "" || src.File == at.File && src.Line == at.Line {
		return ""
	}
	where := lineText(&report.Source{File: src.File, Line: src.Line}, at)
	return fmt.Sprintf("; %s is %s", where, quote(line))
}

// onlyAssigned is the name that a line gives a value, where it gives one alone; else "".
func onlyAssigned(line string) string {
	all := assigned.FindAllString(bare(line), -1)
	if len(all) != 1 {
		return ""
	}
	return nameOf.FindString(all[0])
}
