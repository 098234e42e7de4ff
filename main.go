// Command tilescope is a terminal debugger for fused attention kernels on CUDA. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tilescope/debugkern/cli"
	"tilescope/debugkern/file"
	"tilescope/debugkern/interrupt"
	"tilescope/debugkern/join"
	"tilescope/tui"
)

// version is set by the linker; go install leaves it to the build information.
var version = ""

func main() {
	// A closed pipe is an exit code, not a death. The signal is received and not ignored: one that was
	// ignored is not delivered reliably to the terminal, which ends on it.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	files := file.New()
	os.Exit(cli.Main(interruptible(files), cli.Program{
		Version: version, Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		OpenTerminal: openTerminal,
		Files:        files,
		CheckKeys:    tui.CheckKeys,
	}))
}

// interruptible returns a context that the first signal to end cancels. A second signal ends the process at
// once, without the temporary files of what was being written.
func interruptible(files *file.System) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	join.Run(func() {
		<-interrupt.Signals()
		cancel()
		<-interrupt.Signals()
		files.Abandon()
		os.Exit(cli.ExitCancelled)
	})
	return ctx
}

func openTerminal(ctx context.Context, t cli.Terminal) error {
	return tui.Run(ctx, tui.Options{
		Engine: t.Session, Config: t.Config, StateDir: t.StateDir, Version: version, Request: t.Request,
		Explicit: t.Explicit, Reopen: t.Reopen, Open: opener(t), Launched: t.Launched, Lacking: t.Lacking,
		Lacks: t.Lacks, Expectations: t.Expectations, Python: t.Python, Tour: t.Tour, Input: t.Stdin,
		Output: t.Stdout, Files: t.Files,
	})
}

// opener is what :open of the terminal calls.
func opener(t cli.Terminal) func(context.Context, []string) (tui.Opened, error) {
	return func(ctx context.Context, words []string) (tui.Opened, error) {
		req, reopen, err := t.Open(ctx, words)
		return tui.Opened{Request: req, Reopen: reopen}, err
	}
}
