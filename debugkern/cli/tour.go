package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

func (a *app) tourCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tour", Short: "A tutorial of two minutes in the terminal, on a planted fault", Args: noArgs,
		Long: "tour opens the terminal on a kernel with a planted fault and leads through eight steps: from the verdict to the wrong tile,\n" +
			"the thread that wrote it, its source line, the diagnosis, and the run without the fault. It needs no GPU and no CUDA.\n" +
			"Each step says what to press and sees whether it was done; Ctrl-n skips one, Esc leaves. Nothing of it is remembered.\n\n" +
			"In the terminal :tour does the same. Exit code: 0 when it is left, 2 where standard output is no terminal.",
		Example: "  tilescope tour",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json {
				return &report.Error{Code: report.CodeUsage,
					Err: errors.New("tour has no document: --json does not belong to it")}
			}
			s, err := a.session(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			return a.OpenTerminal(cmd.Context(), Terminal{
				Session: s, Config: a.config, Request: debugkern.Request{Target: defaultTarget},
				Explicit: true, Open: a.openLater(s), Expectations: expectations(s),
				Tour: true, Stdin: a.Stdin, Stdout: a.Stdout.(*stdout).Unwrap(), Files: a.Files,
			})
		},
	}
}
