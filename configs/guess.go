package configs

import (
	"bytes"
	"math"
	"regexp"
	"slices"
)

// guessMark is the comment that init puts behind what it could not read off a kernel.
var guessMark = regexp.MustCompile(`[ \t]# \?(?:[ \t]|\r?$)`)

// guesses are the lines of a manifest's text that carry the mark, from 1.
func guesses(text []byte) []int {
	var out []int
	for i, line := range bytes.Split(text, []byte("\n")) {
		at := guessMark.FindIndex(line)
		if at != nil && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) &&
			bytes.Count(line[:at[0]], []byte(`"`))%2 == 0 {
			out = append(out, i+1)
		}
	}
	return out
}

// extentMark is what init writes behind the mark where the extent of a buffer is a guess.
var extentMark = regexp.MustCompile(`# \? .*(?:\bextent\b|how large|row by row)`)

// extentGuesses are those of the marked lines by which the extent of a buffer is a guess.
func extentGuesses(text []byte, marked []int) (out []int) {
	lines := bytes.Split(text, []byte("\n"))
	for _, n := range marked {
		if extentMark.Match(lines[n-1]) {
			out = append(out, n)
		}
	}
	return out
}

// GuessedExtents returns the arguments whose extents the manifest marks as guesses, in order.
func (m *Manifest) GuessedExtents() (names []string) {
	for _, a := range m.Args {
		if line := m.Guess(a.Name); line > 0 && slices.Contains(m.extents, line) {
			names = append(names, a.Name)
		}
	}
	return names
}

// launchGuess is the first of the lines marked as guesses that says the grid or the block, 0 where none does.
func launchGuess(text []byte, marked []int) int { return guessOf(text, marked, "grid:", "block:") }

// outputGuess is the first of the lines marked as guesses that says the thresholds of the output, 0 where
// none does.
func outputGuess(text []byte, marked []int) int { return guessOf(text, marked, "output:") }

// guessOf is the first marked line that begins with one of the keys, 0 where none does.
func guessOf(text []byte, marked []int, keys ...string) int {
	lines := bytes.Split(text, []byte("\n"))
	for _, n := range marked {
		line := bytes.TrimSpace(lines[n-1])
		for _, k := range keys {
			if bytes.HasPrefix(line, []byte(k)) {
				return n
			}
		}
	}
	return 0
}

// Guess returns the line of the manifest that marks what it says of an argument, a shared array or a stage of
// that name as a guess ("# ?"), 0 where none does.
func (m *Manifest) Guess(name string) int {
	own, starts := []int(nil), slices.Clone(m.keyLines)
	add := func(n string, at place) {
		if starts = append(starts, at.line); n == name {
			own = append(own, at.line)
		}
	}
	for _, a := range m.Args {
		add(a.Name, a.at)
	}
	for _, a := range m.Shared {
		add(a.Name, a.at)
	}
	for _, s := range m.Stages {
		add(s.Stage.String(), s.at)
	}
	for _, from := range own {
		end := math.MaxInt // an entry goes on until the next one, or the manifest's next key
		for _, s := range starts {
			if s > from {
				end = min(end, s)
			}
		}
		for _, line := range m.Guesses {
			if line >= from && line < end {
				return line
			}
		}
	}
	return 0
}
