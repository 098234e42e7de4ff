package cli

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/configs"
)

// oneTargetAtMost are the arguments of the command without a name. The first word of several was
// meant as a command.
func oneTargetAtMost(c *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	if did := didYouMean(c, args[0]); did != "" {
		return usageError("unknown command %q: %s", args[0], did)
	}
	return usageError(
		"unknown command %q (%s --help lists the commands), and the terminal opens on one TARGET; it was given %d",
		args[0], c.CommandPath(), len(args))
}

// mistyped is the complaint about a word that is no target and nearly a command; nil for every other. The
// library suggests commands itself, but only where the program without a command takes no arguments.
func mistyped(c *cobra.Command, word string) error {
	ext := path.Ext(word)
	if strings.ContainsAny(word, `/\`) || isKernelFile(word) || ofPython(word) ||
		ext == ".yaml" || ext == ".yml" ||
		slices.Contains(fromCatalogue((*configs.Catalogue).Targets), word) {
		return nil
	}
	if did := didYouMean(c, word); did != "" {
		return usageError("%q is no command and no target: %s", word, did)
	}
	return nil
}

// didYouMean asks for the commands that a word is near to: "did you mean run?"; "" where it is near to none.
func didYouMean(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = 2 // letters changed, as the library takes where it suggests by itself
	names := c.SuggestionsFor(word)
	if near := configs.Mistyped(word, names); len(near) > 0 {
		names = near // of several the nearest
	}
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}
