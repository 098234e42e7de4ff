// Package clitest is what the packages of tests of whole commands have in common.
package clitest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/cli"
	"tilescope/debugkern/cuda"
)

// Main is TestMain of a package directly below debugkern/cli: it makes the test binary the program itself
// where a command starts one of its processes, and gives the tests a home of their own. The compiler is that
// of TILESCOPE_TOOLCHAIN, else the one in the repository's root.
func Main(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		os.Exit(cli.Main(context.Background(), cli.Program{
			Version: "test", Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		}))
	}
	home, err := os.MkdirTemp("", "tilescope-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		os.Setenv(name, home)
	}
	if tools, err := filepath.Abs("../../../.toolchain"); err == nil &&
		os.Getenv("TILESCOPE_TOOLCHAIN") == "" {
		if _, err := os.Stat(tools); err == nil {
			os.Setenv("TILESCOPE_TOOLCHAIN", tools)
		}
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// NeedNVRTC skips a test that compiles where there is no NVRTC.
func NeedNVRTC(t *testing.T) {
	t.Helper()
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: os.Getenv("TILESCOPE_TOOLCHAIN")})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	tc.Close()
}
