package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpFlows: a description has no line ends of its own inside a paragraph: the terminal's width decides.
func TestHelpFlows(t *testing.T) {
	if got := flowing("a b\nc\n\nd\ne"); got != "a b c\n\nd e" {
		t.Errorf("%q", got)
	}
	out, errText, code := call(t, "diagnose", "--help")
	if code != 0 || !strings.Contains(out, "each") {
		t.Fatalf("exit %d: %s%s", code, out, errText)
	}
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "cause with" || strings.TrimSpace(line) == "there" {
			t.Errorf("a line broken twice: %q", line)
		}
	}
}

// TestHelpAsTyped: the library's help changes the case of a description's first word, so none begins with
// what is typed, a value or a placeholder; and those that matter stand in the help as the source writes them.
func TestHelpAsTyped(t *testing.T) {
	a := &app{Program: Program{Stdout: io.Discard, Stderr: io.Discard}}
	title, option := regexp.MustCompile(`^[A-Z][a-z]*[,;]?( |$)`), regexp.MustCompile(`^[a-z]+:? `)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if !title.MatchString(c.Short) {
			t.Errorf("%s: %q", c.CommandPath(), c.Short)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !option.MatchString(f.Usage) {
				t.Errorf("%s --%s: %q", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(a.root())
	out, errText, code := call(t, "compare", "--help")
	for _, want := range []string{
		"POLICY[:SEED][:ASYNC]", "FLAG[=VALUE]", "FILE.npz", "GPU", "auto, emu, cuda or both",
		"none (all of it), qk, softmax or pv", "captured blocks X,Y,Z",
	} {
		if code != 0 || !strings.Contains(strings.ReplaceAll(out, "\n", " "), want) &&
			!strings.Contains(out, strings.ToUpper(want[:1])+want[1:]) {
			t.Errorf("exit %d: the help lacks %q:\n%s%s", code, want, out, errText)
		}
	}
}

// TestHelpKeepsOptionsWhole: no line of a command's help ends within the name of an option, at any width.
func TestHelpKeepsOptionsWhole(t *testing.T) {
	text := "--set and --fault are B's, --set-a and --fault-a A's, all other options are common (--no-such)"
	for w := 20; w < 100; w++ {
		for line := range strings.Lines(wrap(text, w)) {
			words := strings.Fields(line)
			if last := words[len(words)-1]; strings.HasSuffix(last, "-") {
				t.Errorf("%d columns: a line ends in %q", w, last)
			}
		}
		if got := strings.Join(strings.Fields(wrap(text, w)), " "); got != text {
			t.Errorf("%d columns: %q", w, got)
		}
	}
}

// TestMistypedCommand: a word that is nearly a command is taken for one, and what opens the
// terminal stays as it is.
func TestMistypedCommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"runn"}, `"runn" is no command and no target: did you mean run?`},
		{[]string{"runn", "stage2"}, `unknown command "runn": did you mean run?`},
		{[]string{"kernel"}, "did you mean kernels?"},
		{[]string{"comp"}, "did you mean compare or completion?"},
		{[]string{"rum", "stage2"}, `unknown command "rum": did you mean run?`},
		{[]string{workerCommand, "more"}, `unknown command "__worker"`},
		{[]string{"run", "stage2", "--sett", "A"}, "unknown flag: --sett: did you mean --set? (tilescope run --help"},
		{[]string{"run", "stage2", "--frob"}, "unknown flag: --frob (tilescope run --help lists the options)"},
		{[]string{"stge2"}, "did you mean stage2?"},
		{
			[]string{
				"nothing", "like", "it",
			}, `unknown command "nothing" (tilescope --help lists the commands), and the terminal opens on one TARGET; it was given 3`,
		},
	} {
		out, errText, code := call(t, c.args...)
		if code != exitUsage || out != "" || !strings.Contains(errText, c.want) {
			t.Errorf("%v: exit %d, %q; want %q", c.args, code, errText, c.want)
		}
	}
}

// TestVersionAndHelp: --version prints what version prints, and help is that of the command that it is asked
// about.
func TestVersionAndHelp(t *testing.T) {
	for _, c := range [][2][]string{
		{{"--version"}, {"version"}}, {{"--version", "--json"}, {"version", "--json"}},
		{{"help", "run"}, {"run", "--help"}}, {{"help", "config", "get"}, {"config", "get", "--help"}},
		{{"help"}, {"--help"}},
	} {
		got, errText, code := call(t, c[0]...)
		want, _, _ := call(t, c[1]...)
		if code != 0 || got != want || got == "" {
			t.Errorf("%q: exit %d, %s%.200q, want %.200q", c[0], code, errText, got, want)
		}
	}
}
