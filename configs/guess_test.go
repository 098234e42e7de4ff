package configs

import "testing"

// TestGuesses: a mark belongs to the entry that it stands behind, over several lines too;
// within a text it is none.
func TestGuesses(t *testing.T) {
	m, err := ParseManifest("k.yaml", []byte(`schema: tilescope.kernel/1
name: k
title: "a # ? within"
ptx: k.ptx
entry: k
launch: {grid: [1, 1, 1], block: [32, 1, 1]}   # ? which
args:
  - {name: x, type: "f32*", dims: [n], role: input}   # ? its extent
  - {name: y, type: "f32*", dims: [n], role: output}
# ? a line of comment
shared:
  - {name: buf, type: f32, dims: [32]}
work: {at: bx * 32}   # ? guessed from the launch, and none of what buf says
stages:
  - {name: s, axes: [at], dtype: f32, dims: [32, 1], valid: ["min(32, n - at)", 1], per: block,
     op: {map: "x + 1", x: {load: x, at: [at], rows: 0, dims: [32, 1]}},
     capture: {output: y, at: [at], rows: 0}}   # ? what it computes
shapes: {validation: {n: 32}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"x": 8, "y": 0, "s": 17, "buf": 0, "z": 0} {
		if got := m.Guess(name); got != want {
			t.Errorf("%s: line %d, want %d", name, got, want)
		}
	}
	if got := m.GuessedExtents(); len(got) != 1 || got[0] != "x" {
		t.Errorf("guessed extents of %q", got)
	}
	if len(m.Guesses) != 4 {
		t.Errorf("guesses on lines %v", m.Guesses)
	}
}

// TestOutputGuess: a marked line of thresholds is found, and no stage's capture from an output.
func TestOutputGuess(t *testing.T) {
	for text, want := range map[string]int{
		"thresholds:\n  output: {max_abs: 0.06}   # ? what you accept\n": 2,
		"thresholds:\n  output: {max_abs: 0.06}\n":                       0,
		"     capture: {output: y, at: [at]}}   # ? what it is\n":        0,
	} {
		if got := outputGuess([]byte(text), guesses([]byte(text))); got != want {
			t.Errorf("line %d, want %d, of\n%s", got, want, text)
		}
	}
}

// TestLaunchGuess: the first marked line that says the grid or the block; marks of other lines are none.
func TestLaunchGuess(t *testing.T) {
	for text, want := range map[string]int{
		"args:\n  - {name: grid, value: 1}   # ? which\n":                              0,
		"launch:\n  grid: [n, 1, 1]\n  block: [128, 1, 1]   # ? threads of a block\n":  3,
		"launch:\n  grid: [n, 1, 1]   # ? which\n  block: [128, 1, 1]   # ? threads\n": 2,
	} {
		if got := launchGuess([]byte(text), guesses([]byte(text))); got != want {
			t.Errorf("line %d, want %d, of\n%s", got, want, text)
		}
	}
}
