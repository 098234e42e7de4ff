package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// asProgram makes the test binary the program itself: its arguments are a command line. Workers are
// started that way too.
const asProgram = "TILESCOPE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	// or a helper process of a command
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		os.Exit(Main(context.Background(), Program{
			Version: "test", Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		}))
	}
	os.Exit(sandboxed(m))
}

// sampled is a list or, under the race detector, the elements of it whose turn it is.
func sampled[T any](list []T) []T {
	var out []T
	for i := 0; i < len(list); i += oneOf {
		out = append(out, list[i])
	}
	return out
}

// turn says whether the i-th of many cases is tried: one of n each time, all with TILESCOPE_LONG (make
// test-long).
func turn(i, n int) bool { return i%n == 0 || os.Getenv("TILESCOPE_LONG") != "" }

// sandboxed runs the tests with a home of their own: nothing of the user's configuration and cache is read or
// changed. The compilers are those that the repository's root knows.
func sandboxed(m *testing.M) int {
	home, err := os.MkdirTemp("", "tilescope-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	env := map[string]string{"XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home}
	if tools, err := filepath.Abs(filepath.Join("..", "..", ".toolchain")); err == nil &&
		os.Getenv("TILESCOPE_TOOLCHAIN") == "" {
		if _, err := os.Stat(tools); err == nil {
			env["TILESCOPE_TOOLCHAIN"] = tools
		}
	}
	if oneOf > 1 {
		env["TILESCOPE_TIMEOUT"] = "20m" // a command may take longer than the default limit there
	}
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	debug.SetGCPercent(gcPercent)
	return m.Run()
}

// gcPercent lets the heap grow to three times what is live, some 200 MB at most: garbage collection at twice
// the live heap takes a tenth of the time of these tests.
const gcPercent = 200
