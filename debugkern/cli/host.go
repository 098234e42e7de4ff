package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/remote"
	"tilescope/debugkern/trust"
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

// serveWorker is workerCommand. What a worker of another machine executes besides kernels (compute-sanitizer)
// is found and trusted by this machine's configuration and records, as for a command that is called here.
func serveWorker(ctx context.Context, p Program, linked bool) int {
	o := debugkern.WorkerOptions{Version: p.Version, Linked: linked}
	if exe, err := os.Executable(); err == nil && linked {
		o.Launcher = []string{exe, launchCommand}
		o.Tools = func(ctx context.Context) (cuda.Config, error) {
			c, _, err := configs.Load(ctx, configs.LoadOptions{})
			if err != nil {
				return cuda.Config{}, err
			}
			a := &app{Program: p, config: c}
			return cuda.Config{
				Path: c.Toolchain, Project: c.ToolchainOfProject, Trust: &trust.Policy{Record: a.record()},
			}, nil
		}
	}
	return debugkern.ServeWorker(ctx, p.Stdin, p.Stdout, o)
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
