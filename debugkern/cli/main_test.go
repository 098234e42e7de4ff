package cli

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// asProgram makes the test binary the program itself: its arguments are a command line. Workers are started that way too.
const asProgram = "TILESCOPE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(context.Background(), Program{Version: "test", Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(sandboxed(m))
}

// sandboxed runs the tests with a home of their own: nothing of the user's configuration and cache is read or changed.
func sandboxed(m *testing.M) int {
	home, err := os.MkdirTemp("", "tilescope-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		if err := os.Setenv(name, home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
