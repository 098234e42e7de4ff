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
	for i := range rep.Findings {
		if f := &rep.Findings[i]; rep.Guess != "" && f.Severity == "error" {
			f.Consequence = strings.TrimPrefix(f.Consequence+"; "+rep.Guess, "; ")
		}
	}
	if len(m.Guesses) == 0 {
		return
	}
	if rep.Output != nil && m.OutputGuess > 0 {
		rep.Output.Guess = fmt.Sprintf("the limits of the output are a guess, marked at %s:%d", m.File,
			m.OutputGuess)
	}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		line := m.Guess(f.Variable)
		if f.Variable == "" || line == 0 {
			continue
		}
		text := fmt.Sprintf("depends on a guess: what %s:%d says of %s is marked with \"# ?\"", m.File, line,
			f.Variable)
		if f.Consequence != "" {
			text = f.Consequence + "; " + text
		}
		f.Consequence = text
	}
	for _, s := range rep.Stages {
		if line := m.Guess(s.Name); line > 0 && (s.Verdict == "wrong" || s.Verdict == "tainted") {
			rep.Build.Notes = append(rep.Build.Notes,
				fmt.Sprintf("the verdict on %s depends on a guess: %s:%d is marked with \"# ?\"", s.Name,
					m.File, line))
		}
	}
	rep.Build.Notes = append(rep.Build.Notes, markedLines(m))
}

// markedLines says on which lines a manifest has guesses.
func markedLines(m *configs.Manifest) string {
	var lines []string
	for _, n := range m.Guesses {
		lines = append(lines, fmt.Sprint(n))
	}
	return fmt.Sprintf("%s has guesses, marked with \"# ?\", on lines %s", m.File, strings.Join(lines, ", "))
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
