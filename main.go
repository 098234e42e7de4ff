// Command tilescope is a terminal debugger for fused attention kernels on CUDA. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tilescope/debugkern/cli"
	"tilescope/tui"
)

// version is set by the linker; go install leaves it to the build information.
var version = ""

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an exit code, not a death
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, cli.Program{
		Version: version, Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, OpenTerminal: openTerminal,
	})
	stop()
	os.Exit(code)
}

func openTerminal(ctx context.Context, t cli.Terminal) error {
	return tui.Run(ctx, tui.Options{
		Engine: t.Session, Config: t.Config, StateDir: t.StateDir, Version: version, Request: t.Request, Explicit: t.Explicit, Input: t.Stdin, Output: t.Stdout,
	})
}
