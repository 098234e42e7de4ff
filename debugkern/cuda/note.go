package cuda

import (
	"bytes"
	"regexp"
	"strings"

	"tilescope/debugkern/target"
)

// What ptxas does otherwise than the PTX says it prints as information: it serialises wgmma, inserts waits
// for them, or ignores setmaxnreg. The driver's compiler writes the same lines into its log.
var (
	noteLine     = regexp.MustCompile(`^(?:ptxas )?info\s*:\s*(?:\((C\d+)\)\s*)?(.*\S)\s*$`)
	noteFunction = regexp.MustCompile(` in (?:the )?function '([^']+)'$`)
	notePlace    = regexp.MustCompile(` (?:in )?around line (\d+)`)
	noteEntry    = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	notePrefix   = "Potential Performance Loss: "
)

// parseNotes reads the notes about an entry, and about functions that are no entries, out of ptxas's output.
func parseNotes(out []byte, entry string) []target.CompilerNote {
	var notes []target.CompilerNote
	others := map[string]bool{}
	for line := range bytes.Lines(out) {
		if m := noteEntry.FindSubmatch(line); m != nil {
			others[string(m[1])] = string(m[1]) != entry
		}
		m := noteLine.FindStringSubmatch(strings.TrimRight(string(line), "\r\n"))
		if m == nil || !target.IsNote(m[2]) {
			continue
		}
		n := target.CompilerNote{Code: m[1], Text: strings.TrimPrefix(m[2], notePrefix)}
		if f := noteFunction.FindStringSubmatch(n.Text); f != nil {
			n.Function, n.Text = f[1], strings.TrimSuffix(n.Text, f[0])
		}
		if at := notePlace.FindStringSubmatch(n.Text); at != nil {
			n.Line = number([]byte(at[1]))
			n.Text = strings.Replace(n.Text, at[0], "", 1)
		}
		n.Text = strings.TrimSuffix(strings.Join(strings.Fields(n.Text), " "), ".")
		notes = append(notes, n)
	}
	kept := notes[:0]
	for _, n := range notes {
		if !others[n.Function] {
			kept = append(kept, n)
		}
	}
	return kept
}
