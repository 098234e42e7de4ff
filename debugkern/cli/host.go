package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/remote"
)

// Options that override the configuration's host.name and host.copy.
const (
	hostOption     = "host"
	hostCopyOption = "host-copy"
)

// bindHost adds --host and --host-copy to a command that executes kernels, or looks at what would.
func bindHost(c *cobra.Command) {
	f := c.Flags()
	f.String(hostOption, "", "machine that executes, over your own ssh: [USER@]HOST (default this one)")
	f.String(hostCopyOption, "",
		"whether tilescope is copied to ~/.cache/tilescope/bin of the host where it is missing: ask, yes or no")
}

// askCopy returns what asks the user whether to copy tilescope; nil where nobody can answer.
func (a *app) askCopy() func(context.Context, debugkern.RemoteCopy) error {
	in, ok := a.Stdin.(*os.File)
	if !ok || !term.IsTerminal(in.Fd()) || !term.IsTerminal(os.Stderr.Fd()) || a.json {
		return nil
	}
	return func(_ context.Context, c debugkern.RemoteCopy) error {
		if a.drawn {
			return remote.NoConsent(c)
		}
		fmt.Fprintf(a.Stderr, "host %s (%s) has no tilescope of this version. Copy this one, %.0f MB, to %s? [y/N] ",
			c.Host, c.System, float64(c.Bytes)/1e6, c.Path)
		a.Stderr.(*stderr).Flush()
		line, _ := bufio.NewReader(in).ReadString('\n')
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			return remote.NoConsent(c)
		}
		return nil
	}
}
