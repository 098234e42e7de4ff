package debugkern

import (
	"fmt"
	"strings"
)

// ProposedLaunch is a launch to begin with, for somebody who has given none or a part of one.
type ProposedLaunch struct {
	// Options of the command line, one word each: those with a value, then those without one; nil: none is
	// known.
	Options []string
	Kernel  string // as it is declared
	// Line is where the source launches it with this grid and block; 0: they are guessed.
	Line int
	// Guessed are the arguments whose numbers or extents are guessed, and Random those of memory that has
	// random numbers where the host's code computes others.
	Guessed, Random []string
	// Device is the device that it is made for, in words, where the source asks for what depends on that; ""
	// where it does not.
	Device string
	Others []string // the source's other kernels, where the user has named none
}

// Choice names the other kernels of the source: ", 1 of 3 kernels (others: --entry scan, add)"; "" for none.
func (p *ProposedLaunch) Choice() string {
	if len(p.Others) == 0 {
		return ""
	}
	return fmt.Sprintf(", 1 of %d kernels (others: --entry %s)", len(p.Others)+1,
		strings.Join(p.Others, ", "))
}

// Whole reports that the source shows all of it, but for numbers in memory.
func (p *ProposedLaunch) Whole() bool { return p.Line > 0 && len(p.Guessed) == 0 }

// Origin says where its numbers are from, "" where all are guessed.
func (p *ProposedLaunch) Origin() string {
	switch {
	case p.Line == 0:
		return ""
	case len(p.Guessed) > 0:
		return fmt.Sprintf("with the grid and block of line %d, guessed: %s", p.Line,
			strings.Join(p.Guessed, ", "))
	}
	out := fmt.Sprintf("as line %d makes it", p.Line)
	if p.Device != "" {
		out += " on " + p.Device
	}
	if len(p.Random) > 0 {
		out += ", with random numbers in " + strings.Join(p.Random, ", ")
	}
	return out
}
