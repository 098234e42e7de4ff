//go:build unix

package sshtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// binary is the built program, which serves as the remote one.
func binary(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("TILESCOPE_BIN")
	if os.Getenv("TILESCOPE_SSH") == "" || bin == "" {
		t.Skip("executes a real sshd: make test-ssh")
	}
	return bin
}

// open opens a session, on host where it is not "".
func open(t *testing.T, s *server, host string) *debugkern.Session {
	t.Helper()
	cfg := &configs.Config{
		CaptureMax: 2 << 30, CacheDir: t.TempDir(), CacheKey: filepath.Join(t.TempDir(), "key"),
		CacheMax: 1 << 28,
		HostName: host, HostCopy: "yes", HostBinary: binary(t), HostSSH: strings.Join(s.ssh, " "),
	}
	session, err := debugkern.Open(t.Context(), debugkern.Options{
		Config: cfg, Linked: []string{"__worker", "linked"}, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// requests are small runs of every kind: right and wrong, of several kernels, shapes and gates.
func requests() (all []debugkern.Request) {
	for _, r := range []debugkern.Request{
		{Target: "stage2", Shape: "small"}, {Target: "stage2", Shape: "partial49"},
		{Target: "stage2", Shape: "small", Faults: []string{"kt-rowmajor"}},
		{Target: "stage2", Shape: "validation", Faults: []string{"p-stale-m"}},
		{Target: "stage1", Shape: "single32"}, {Target: "flashcore_vec", Shape: "small"},
		{Target: "stage2", Shape: "partial", Gate: "qk"}, {Target: "softmax_row"},
	} {
		for seed := range uint64(2) {
			r.Seed, r.Backend = seed, "emu"
			all = append(all, r)
		}
	}
	return all
}

// outcome is what of a run must be the same everywhere.
func outcome(r *debugkern.Run, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprint(r.Report.Verdict, r.Report.Digest, r.Report.ExitCode(), len(r.Report.Findings)), nil
}

const runs = 200

// TestDrops: 200 runs over a line of 50 ms each way, whose connections are reset at random: every result is
// that of this machine, or an error that says what happened.
func TestDrops(t *testing.T) {
	s := start(t)
	here, there := open(t, s, ""), open(t, s, "box")
	list := requests()
	want := make([]string, len(list))
	for i, r := range list {
		var err error
		if want[i], err = outcome(here.Run(t.Context(), r, nil)); err != nil {
			t.Fatalf("%s: %v", r.Target, err)
		}
	}
	s.proxy.delay.Store(int64(50 * time.Millisecond))
	if err := there.Connect(t.Context()); err != nil { // the copy, over a line that holds
		t.Fatal(err)
	}
	s.proxy.drop.Store(int64(4 * time.Second))
	right, failed, began := 0, 0, time.Now()
	for i := range runs {
		n := i % len(list)
		got, err := outcome(there.Run(t.Context(), list[n], nil))
		var coded *report.Error
		switch {
		case err == nil && got == want[n]:
			right++
		case err == nil:
			t.Errorf("run %d, %s: %s, here %s", i, list[n].Target, got, want[n])
		case errors.As(err, &coded) && coded.Code == report.CodeUnavailable &&
			strings.Contains(err.Error(), "host box") ||
			err != nil && strings.Contains(err.Error(), "connection was lost"):
			failed++
			t.Logf("run %d: %v", i, err)
		default:
			t.Errorf("run %d: an error that names neither host nor connection: %v", i, err)
		}
	}
	link := there.Link()
	t.Logf("%d runs in %.0f s: %d right, %d reported as lost; %d connections dropped, %d lost while in use, %d workers",
		runs, time.Since(began).Seconds(), right, failed, s.proxy.drops.Load(), link.Lost, link.Connected)
	t.Logf("latency %.0f ms (the line's %.0f ms); sent %.2f MB, received %.2f MB, of %.2f MB of buffers",
		float64(link.Latency)/1e6, 100., float64(link.Sent)/1e6, float64(link.Received)/1e6,
		float64(link.Raw)/1e6)
	if link.Lost == 0 || right < runs*9/10 {
		t.Errorf("%d connections were lost, %d runs are right", link.Lost, right)
	}
	there.Close()
	s.noWorkers(t, 10*time.Second)
}

// TestRate: captures of at least 25 MiB over 100 Mbit/s cost at most 3 s.
func TestRate(t *testing.T) {
	s := start(t)
	there := open(t, s, "box")
	request := debugkern.Request{Target: "stage2", Shape: "mission", Backend: "emu"}
	time1 := func() (time.Duration, debugkern.LinkStats) {
		before, began := there.Link(), time.Now()
		if _, err := there.Run(t.Context(), request, nil); err != nil {
			t.Fatal(err)
		}
		took, after := time.Since(began), there.Link()
		after.Raw -= before.Raw
		after.Sent -= before.Sent
		after.Received -= before.Received
		return took, after
	}
	time1() // connections, copies, builds
	free, _ := time1()
	again, _ := time1()
	free = min(free, again)
	s.proxy.rate.Store(100e6 / 8)
	limited, link := time1()
	again, _ = time1()
	limited = min(limited, again)
	cost := limited - free
	mib := float64(link.Raw) / (1 << 20)
	t.Logf("%.1f MiB of buffers, sent %.2f MiB, received %.2f MiB: %.2f s over 100 Mbit/s, %.2f s without a limit: "+
		"the line costs %.2f s, %.2f s for 25 MiB", mib, float64(link.Sent)/(1<<20),
		float64(link.Received)/(1<<20),
		limited.Seconds(), free.Seconds(), cost.Seconds(), cost.Seconds()*25/mib)
	if mib < 25 || cost.Seconds()*25/mib > 3 {
		t.Errorf("%.1f MiB cost %s", mib, cost)
	}
}

// TestHanging: a line that forwards nothing any more, with no side being told, is given up after the limit,
// and the run goes on over the next connection.
func TestHanging(t *testing.T) {
	s := start(t)
	here, there := open(t, s, ""), open(t, s, "box")
	request := debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu"}
	want, err := outcome(here.Run(t.Context(), request, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := outcome(there.Run(t.Context(), request, nil)); err != nil || got != want {
		t.Fatalf("%s, here %s: %v", got, want, err)
	}
	s.proxy.stop.Store(true)
	began := time.Now()
	go func() {
		for there.Link().Lost == 0 && time.Since(began) < time.Minute {
			time.Sleep(20 * time.Millisecond)
		}
		s.proxy.stop.Store(false)
	}()
	request.Seed = 1
	want, err = outcome(here.Run(t.Context(), request, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, err := outcome(there.Run(t.Context(), request, nil))
	t.Logf("a hanging line: the run ended after %.1f s", time.Since(began).Seconds())
	if err != nil || got != want || there.Link().Lost != 1 {
		t.Errorf("%s, here %s: %v; lost %d", got, want, err, there.Link().Lost)
	}
	// no line at all
	s.proxy.l.Close()
	s.proxy.reset()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var coded *report.Error
	if _, err = there.Run(ctx, request, nil); !errors.As(err, &coded) ||
		coded.Code != report.CodeUnavailable ||
		!strings.Contains(err.Error(), "Connection refused") || !strings.Contains(err.Error(), "host box") {
		t.Errorf("no line: %v", err)
	}
	s.noWorkers(t, 10*time.Second)
}

// TestProgram: the built program's options, exit codes and messages.
func TestProgram(t *testing.T) {
	bin := binary(t)
	s := start(t)
	home := t.TempDir()
	call := func(args ...string) (out, errs string, code int) {
		t.Helper()
		cmd := exec.Command(bin, args...)
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr, cmd.Dir = &o, &e, home
		cmd.Env = append(os.Environ(), "TILESCOPE_HOST_SSH="+strings.Join(s.ssh, " "),
			"XDG_CONFIG_HOME="+home,
			"XDG_CACHE_HOME="+filepath.Join(home, "cache"))
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return o.String(), e.String(), cmd.ProcessState.ExitCode()
	}
	run := []string{"run", "stage2", "--shape", "small", "--backend", "emu"}
	if _, errs, code := call(append(run, "--host", "box")...); code != 3 || !strings.Contains(errs,
		"--host-copy yes") {
		t.Errorf("no consent: exit %d: %s", code, errs)
	}
	for _, args := range [][]string{{"--host", "box", "--host-copy", "yes"}, {"--host", "box"}} {
		out, errs, code := call(append(run, args...)...)
		if code != 0 || !strings.Contains(out, "on box") {
			t.Errorf("%v: exit %d: %s%s", args, code, out, errs)
		}
	}
	if out, errs, code := call("run", "stage2", "--fault", "kt-rowmajor", "--host", "box",
		"--json"); code != 1 ||
		!strings.Contains(out, `"guilty"`) || !strings.Contains(out, "on box") {
		t.Errorf("a fault: exit %d: %.300s%s", code, out, errs)
	}
	if out, errs, code := call("doctor", "--host", "box"); code != 0 || !strings.Contains(out,
		"box: driver") ||
		!strings.Contains(out, "latency") {
		t.Errorf("doctor: exit %d: %s%s", code, out, errs)
	}
	if _, errs, code := call(append(run, "--host", "-oProxyCommand=touch x")...); code != 2 {
		t.Errorf("an option as a host: exit %d: %s", code, errs)
	}
	if _, errs, code := call("run", "stage2", "--backend", "cuda", "--host", "box"); code != 3 ||
		runtime.GOOS == "linux" && !strings.Contains(errs, "CUDA driver") {
		t.Errorf("no GPU there: exit %d: %s", code, errs)
	}
	s.noWorkers(t, 10*time.Second)
	s.proxy.l.Close()
	if _, errs, code := call(append(run, "--host", "box")...); code != 3 || !strings.Contains(errs,
		"Connection refused") {
		t.Errorf("no sshd: exit %d: %s", code, errs)
	}
}

// fakeTool is a compute-sanitizer that executes the launch and reports a write behind the end of out.
const fakeTool = `#!/bin/sh
[ "$1" = --version ] && { echo "Version 2025.3.1.0 (build 1)"; exit; }
while [ "$2" != __launch ]; do
  [ "$1" = --log-file ] && log=$2
  shift
done
said=$("$@") || exit 9
echo "$said"
set -- $(echo "$said" | grep 'argument out ')
{ echo "========= Invalid __global__ write of size 4 bytes"
  echo "=========     at copy+0x40 in k.cu:7"
  echo "=========     by thread (0,0,0) in block (0,0,0)"
  printf "=========     Access at 0x%x is out of bounds\n" $(($3 + $4 + 11))
  echo "========= "
  echo "========= ERROR SUMMARY: 1 error"; } >"$log"
`

// copyKernel has the parameters of a kernel that the test driver has.
const copyKernel = `.version 7.0
.target sm_80
.address_size 64

.visible .entry copy(.param .u64 in, .param .u64 out, .param .u32 n)
{
	ret;
}
`

// TestSanitizer: compute-sanitizer runs on the host, by the rules there, and what it reports is printed here.
// The driver there is the test driver of debugkern/cuda.
func TestSanitizer(t *testing.T) {
	bin := binary(t)
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler for the test driver")
	}
	home, tools := t.TempDir(), t.TempDir()
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-o", filepath.Join(tools, "libcuda.so.1"),
		filepath.Join("..", "..", "cuda", "testdata", "fakecuda.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tool := filepath.Join(tools, "bin", "compute-sanitizer")
	if err := os.MkdirAll(filepath.Dir(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tool, []byte(fakeTool), 0o755); err != nil {
		t.Fatal(err)
	}
	kernel := filepath.Join(home, "k.ptx")
	if err := os.WriteFile(kernel, []byte(copyKernel), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "LD_LIBRARY_PATH="+tools, "TILESCOPE_TOOLCHAIN="+tools)
	s.proxy.delay.Store(int64(20 * time.Millisecond))
	call := func() (string, int) {
		cmd := exec.Command(bin, "check", kernel, "--grid", "1", "--block", "32",
			"--arg", "in=iota:f32[12]", "--arg", "out=zeros:f32[12]", "--arg", "n=12",
			"--backend", "emu", "--sanitizer", "memcheck", "--host", "box", "--host-copy", "yes")
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "TILESCOPE_HOST_SSH="+strings.Join(s.ssh, " "),
			"XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	const said = "compute-sanitizer memcheck: 0 confirmed, 0 only ours, 1 only theirs"
	if out, code := call(); code != 0 || !strings.Contains(out, said) {
		t.Errorf("exit %d: %s", code, out)
	}
	// one that others can change is not executed there, and the message says where
	if err := os.Chmod(tool, 0o777); err != nil {
		t.Fatal(err)
	}
	if out, _ := call(); !strings.Contains(out, "memcheck: not run: host box: ") ||
		!strings.Contains(out, tool) {
		t.Errorf("a tool of others: %s", out)
	}
	s.noWorkers(t, 10*time.Second)
}

// TestPage executes the commands of docs/host.md: each prints, of the lines that its pattern names, those
// that the page has as regular expressions.
func TestPage(t *testing.T) {
	bin := binary(t)
	s := start(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "host.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`^\$ tilescope (.+) \| grep -E '(.+)'$`)
	_, block, _ := strings.Cut(string(page), "```console\n")
	block, _, _ = strings.Cut(block, "```")
	home, lines, ran := t.TempDir(), strings.Split(strings.TrimSpace(block), "\n"), 0
	for i := 0; i < len(lines); i++ {
		m := command.FindStringSubmatch(lines[i])
		if m == nil {
			t.Fatalf("%q is no command", lines[i])
		}
		cmd := exec.Command(bin, strings.Fields(m[1])...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "TILESCOPE_HOST_SSH="+strings.Join(s.ssh, " "),
			"XDG_CONFIG_HOME="+home,
			"XDG_CACHE_HOME="+filepath.Join(home, "cache"))
		out, _ := cmd.CombinedOutput()
		var got []string
		for line := range strings.Lines(string(out)) {
			if regexp.MustCompile(m[2]).MatchString(line) {
				got = append(got, strings.TrimSpace(line))
			}
		}
		var want []string
		for ; i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ "); i++ {
			want = append(want, lines[i+1])
		}
		if pattern := "^" + strings.Join(want, "\n") + "$"; !regexp.MustCompile(pattern).
			MatchString(strings.Join(got, "\n")) {
			t.Errorf("tilescope %s prints\n%s\nthe page has\n%s", m[1], out, strings.Join(want, "\n"))
		}
		ran++
	}
	if ran < 4 {
		t.Errorf("%d commands", ran)
	}
}
