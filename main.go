// Command tilescope is a terminal debugger for fused attention kernels on CUDA. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"

	"tilescope/debugkern/cli"
	"tilescope/tui"
)

// version is set by the linker; `go install module@version` leaves it to the build information.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := cli.Main(ctx, cli.Program{
		Version: version,
		Args:    os.Args[1:],
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		OpenTerminal: tui.Run,
	})
	stop()
	os.Exit(code)
}
