package cuda

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/ptx"
)

// orphanArg makes the test binary a parent that is going to be killed: it opens a backend on the library
// named by the next argument, says its worker's process id, and launches a kernel that hangs.
const orphanArg = "__parent"

func orphanMain(library string) int {
	ctx := context.Background()
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	b, err := Open(ctx, BackendConfig{
		Worker: Local{exe, workerArg}, Library: library, Timeout: time.Hour,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	entry := os.Args[3]
	m, err := ptx.Parse("hang.ptx",
		[]byte(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry "+entry+
			"(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n\tret;\n}\n"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if entry == "spins" {
		m, _ = ptx.Parse("gpu.ptx", gpuPTX)
	}
	k, err := b.Load(ctx, m, entry)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(b.WorkerPID())
	k.Launch(ctx, floats(12))
	return 0
}

// A parent killed outright leaves no worker behind, although a kernel hangs in it.
func TestWorkerEndsWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	cfg := fakeConfig(t)
	hanging := filepath.Join(t.TempDir(), "hanging")
	t.Setenv("FAKECUDA_HANGING", hanging)
	killParent(t, cfg.Library, "hang", func() bool { _, err := os.Stat(hanging); return err == nil })
}

func TestGPUParentKilled(t *testing.T) {
	b := openGPU(t, 0)
	before, _, err := b.FreeMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		start := time.Now()
		killParent(t, "", "spins", func() bool { return time.Since(start) > 3*time.Second })
	}
	if err := awaitFree(t, b, before); err != nil {
		t.Error(err)
	}
	goodGPU(t, b)
}

// killParent starts a parent, waits until its kernel runs, kills it, and waits for its worker to end.
func killParent(t *testing.T, library, entry string, running func() bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, orphanArg, library, entry)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("the parent says %q", line)
	}
	for !running() {
		runtime.Gosched()
	}
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); alive(pid); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("worker %d lives on", pid)
		}
	}
}

// alive reports whether a process runs; one that ended and was not reaped does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
