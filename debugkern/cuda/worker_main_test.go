package cuda

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// workerArg makes the test binary a worker: it serves as its own.
const workerArg = "__worker"

// linkedArg makes it one over a link.
const linkedArg = "linked"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == workerArg {
		os.Exit(WorkerMain(context.Background(), os.Stdin, os.Stdout, WorkerOptions{}))
	}
	if len(os.Args) == 3 && os.Args[1] == workerArg {
		os.Exit(WorkerMain(context.Background(), os.Stdin, os.Stdout,
			WorkerOptions{Linked: os.Args[2] == linkedArg, Sanitizer: toolsThere}))
	}
	if len(os.Args) == 2 && os.Args[1] == compilerArg {
		os.Exit(CompilerMain(context.Background(), os.Stdin, os.Stdout, 0))
	}
	if len(os.Args) == 4 && os.Args[1] == orphanArg {
		os.Exit(orphanMain(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == launchArg {
		os.Exit(LaunchMain(context.Background(), os.Args[2], os.Stdout, os.Stderr))
	}
	code := m.Run()
	if fakeDir != "" {
		os.RemoveAll(fakeDir)
	}
	os.Exit(code)
}

// toolsOf is the variable of the environment that says where a worker over a link finds its tools.
const toolsOf = "TILESCOPE_TEST_TOOLS"

func toolsThere(context.Context) (SanitizerConfig, error) {
	exe, err := os.Executable()
	return SanitizerConfig{
		Tools: Config{Path: os.Getenv(toolsOf), Root: os.TempDir()}, Command: []string{exe, launchArg},
	}, err
}

// workerCommand starts this binary as a worker.
func workerCommand(t testing.TB) Local {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Local{exe, workerArg}
}

var fakeDir string

// buildFake compiles the test driver, once.
var buildFake = sync.OnceValues(func() (string, error) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return "", err
	}
	if fakeDir, err = os.MkdirTemp("", "tilescope-fakecuda-"); err != nil {
		return "", err
	}
	lib := filepath.Join(fakeDir, "libfakecuda.so")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", lib,
		filepath.Join("testdata", "fakecuda.c")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return lib, nil
})

// fakeConfig is a backend on the test driver.
func fakeConfig(t testing.TB) BackendConfig {
	t.Helper()
	lib, err := buildFake()
	if err != nil {
		t.Skipf("no test driver: %v", err)
	}
	if err := DriverPresent(lib); err != nil {
		t.Skipf("this build loads no libraries: %v", err)
	}
	return BackendConfig{Worker: workerCommand(t), Library: lib}
}

func openFake(t testing.TB, rules string) *Backend {
	t.Helper()
	t.Setenv("FAKECUDA", rules)
	b, err := Open(t.Context(), fakeConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// module is a kernel of (in, out, n), with the control block where it is instrumented.
func module(t testing.TB, entry string, body string) *ptx.Module {
	t.Helper()
	params := "\t.param .u64 in,\n\t.param .u64 out,\n\t.param .u32 n"
	if entry == "instrumented" {
		params += ",\n\t.param .u64 ts_ctl"
	}
	m, err := ptx.Parse(entry+".ptx",
		[]byte(".version 7.0\n.target sm_80\n.address_size 64\n\n.visible .entry "+entry+"(\n"+params+
			"\n)\n{\n"+body+"\tret;\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func load(t testing.TB, b *Backend, entry string) target.Kernel {
	t.Helper()
	k, err := b.Load(t.Context(), module(t, entry, ""), entry)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// floats is a launch over n floats: in is 1, 2, 3, …
func floats(n int) *target.Launch {
	in := make([]byte, 4*n)
	for i := range n {
		in[4*i] = byte(i + 1)
	}
	return &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Label: "twelve floats",
		Args: []target.Arg{
			{Name: "in", Buffer: &target.Buffer{DType: probes.F32, Dims: []int{n}, Init: in, Bytes: len(in)}},
			{
				Name: "out",
				Buffer: &target.Buffer{
					DType: probes.F32, Dims: []int{n / 4, 4}, Bytes: len(in), Output: true,
				},
			},
			{Name: "n", Scalar: []byte{byte(n), byte(n >> 8), 0, 0}},
		},
	}
}
