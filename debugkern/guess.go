package debugkern

import (
	"fmt"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// launchGuess is the sentence that a launch's grid and block are a guess, with both; "" where a person or a
// manifest gives them.
func launchGuess(m *configs.Manifest, guessed bool, p *probes.Plan) string {
	from := ""
	if !guessed {
		if m.LaunchGuess == 0 {
			return ""
		}
		from = fmt.Sprintf(", marked at %s:%d", m.File, m.LaunchGuess)
	}
	return fmt.Sprintf("the launch is a guess: --grid %s --block %s%s", p.Grid.Short(), p.Block.Short(), from)
}

// noteGuesses says of findings and verdicts that depend on a guess of init's that they do: a manifest marks
// those with "# ?".
func noteGuesses(m *configs.Manifest, rep *report.Run) {
	noteFindings(m, rep.Guess, rep.Findings)
	rep.GuessedExtents = extentGuess(m)
	if len(m.Guesses) == 0 {
		return
	}
	if rep.Output != nil && m.OutputGuess > 0 {
		rep.Output.Guess = fmt.Sprintf("the limits of the output are a guess, marked at %s:%d", m.File,
			m.OutputGuess)
	}
	for _, s := range rep.Stages {
		line := m.Guess(s.Name)
		if line > 0 && s.Verdict == "wrong" && rep.GuessedStage == "" {
			rep.GuessedStage = fmt.Sprintf("what %s should be is a guess, marked at %s:%d: where the kernel is right, "+
				"correct that", s.Name, m.File, line)
		}
		if line > 0 && (s.Verdict == "wrong" || s.Verdict == "tainted") {
			rep.Build.Notes = append(rep.Build.Notes,
				fmt.Sprintf("the verdict on %s depends on a guess: %s:%d is marked with \"# ?\"", s.Name,
					m.File, line))
		}
	}
	rep.Build.Notes = append(rep.Build.Notes, markedLines(m))
}

// noteFindings adds to the consequence of findings the guesses that they depend on: the launch, "" where it
// is none, and what the manifest has of the finding's variable.
func noteFindings(m *configs.Manifest, launch string, findings []report.Finding) {
	for i := range findings {
		f := &findings[i]
		if launch != "" && f.Severity == "error" {
			f.Consequence = strings.TrimPrefix(f.Consequence+"; "+launch, "; ")
		}
		if line := m.Guess(f.Variable); f.Variable != "" && line > 0 {
			text := fmt.Sprintf("depends on a guess: what %s:%d says of %s is marked with \"# ?\"", m.File,
				line, f.Variable)
			f.Consequence = strings.TrimPrefix(f.Consequence+"; "+text, "; ")
		}
	}
}

// extentGuess is the sentence that extents of buffers are guesses, "" where none is.
func extentGuess(m *configs.Manifest) string {
	switch names := m.GuessedExtents(); len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the extent of %s is a guess, marked at %s:%d: an access past its real end is not "+
			"found where the guess is larger", names[0], m.File, m.Guess(names[0]))
	default:
		return fmt.Sprintf("the extents of %s are guesses, marked from %s:%d on: an access past a real end is not "+
			"found where the guess is larger", strings.Join(names, ", "), m.File, m.Guess(names[0]))
	}
}

// markedLines says on which lines a manifest has guesses.
func markedLines(m *configs.Manifest) string {
	var lines []string
	for _, n := range m.Guesses {
		lines = append(lines, fmt.Sprint(n))
	}
	return fmt.Sprintf("%s has guesses, marked with \"# ?\", on lines %s", m.File, strings.Join(lines, ", "))
}

// NoteGuesses adds to the document of a check what in it depends on a guess of init's: its findings, and the
// absence of findings where extents are guesses.
func (l *PlainLaunch) NoteGuesses(d *report.Check) {
	m := l.Manifest()
	noteFindings(m, launchGuess(m, false, l.Plan()), d.Findings)
	d.GuessedExtents = extentGuess(m)
}

// Guesses says what of the manifest is a guess of init's: its launch, and the lines with the mark.
func (l *PlainLaunch) Guesses() (notes []string) {
	m := l.Manifest()
	if text := launchGuess(m, false, l.Plan()); text != "" {
		notes = append(notes, text)
	}
	if len(m.Guesses) > 0 {
		notes = append(notes, markedLines(m))
	}
	return notes
}
