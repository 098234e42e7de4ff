package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
)

// trustDoc is the document tilescope.trust/1: every consent that is recorded.
type trustDoc struct {
	Schema string      `json:"schema"`
	Record string      `json:"record"` // the file that holds them
	Dirs   []trust.Dir `json:"dirs"`
}

// record is the user's record of consents.
func (a *app) record() *trust.Record {
	return &trust.Record{Path: a.config.TrustFile, Files: a.Files}
}

func (a *app) trustCommand() *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use: "trust [DIR]", Short: "Allow the compilers, tools and commands of a directory to be used",
		Long: "Nothing that the working directory provides is loaded or executed, and nothing that other users own or can change, unless\n" +
			"it was trusted. trust DIR records the compilers and tools of DIR and of DIR/.toolchain, by path and content: a file that is changed\n" +
			"afterwards is no longer trusted. It also allows the commands that manifests in DIR and below name for their references.\n\nWithout DIR it lists what is recorded. The option --trust allows one command without a record.",
		Example: "  tilescope trust .toolchain\n  tilescope trust\n  tilescope trust --remove .toolchain",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && remove:
				return usageError("trust --remove takes the directory whose record is to be removed")
			case len(args) == 0:
				return a.trustList()
			case remove:
				return a.trustRemove(args[0])
			}
			return a.trustAdd(c.Context(), args[0])
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove the record of DIR")
	return c
}

func (a *app) trustAdd(ctx context.Context, dir string) error {
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return usageError("trust: %w", err)
	case !st.IsDir():
		return usageError("trust %s: expected a directory", dir)
	}
	d, err := a.record().Add(ctx, dir, cuda.Executables(dir))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return usageError("trust %s: %w", dir, err)
	}
	return a.print(trustDoc{"tilescope.trust/1", a.config.TrustFile, []trust.Dir{d}}, func(w io.Writer) {
		fmt.Fprintf(w, "trusted: %s, %s\n", d.Dir, counted(len(d.Files)))
		for _, f := range d.Files {
			fmt.Fprintf(w, "  %s  %s\n", f.SHA256[:12], f.Path)
		}
	})
}

func counted(files int) string {
	switch files {
	case 0:
		return "in which no compiler or tool was found"
	case 1:
		return "1 file"
	}
	return fmt.Sprintf("%d files", files)
}

func (a *app) trustRemove(dir string) error {
	found, err := a.record().Remove(dir)
	switch {
	case err != nil:
		return usageError("trust --remove %s: %w", dir, err)
	case !found:
		return usageError("trust --remove %s: no consent to it is recorded", dir)
	}
	return a.trustList()
}

func (a *app) trustList() error {
	dirs, err := a.record().List()
	if err != nil {
		return &report.Error{Code: report.CodeUsage, Err: fmt.Errorf("trust: %w", err)}
	}
	return a.print(trustDoc{"tilescope.trust/1", a.config.TrustFile, append([]trust.Dir{}, dirs...)},
		func(w io.Writer) {
			if len(dirs) == 0 {
				fmt.Fprintln(w, "no directory is trusted")
			}
			for _, d := range dirs {
				fmt.Fprintf(w, "%s  %s\n", d.Dir, counted(len(d.Files)))
			}
		})
}
