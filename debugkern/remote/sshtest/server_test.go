//go:build unix

package sshtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server is an sshd of the test's own on the loopback interface, and an ssh configuration that reaches it
// through a proxy by the name box.
type server struct {
	dir   string
	proxy *proxy
	ssh   []string // the ssh to execute, with its configuration
	cache string   // of the remote user
}

func program(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode()&0o111 != 0 {
			return path
		}
	}
	t.Skipf("no %s on this machine", name)
	return ""
}

// start starts a server; the remote user's environment has the variables too.
func start(t *testing.T, variables ...string) *server {
	t.Helper()
	sshd, keygen, ssh := program(t, "sshd"), program(t, "ssh-keygen"), program(t, "ssh")
	s := &server{dir: t.TempDir()}
	s.cache = filepath.Join(s.dir, "cache")
	for _, key := range []string{"host", "user"} {
		path := filepath.Join(s.dir, key)
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f",
			path).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // sshd takes the port
	_, port, _ := net.SplitHostPort(address)
	config := fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %[2]s/user.pub\n"+
		"PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n"+
		"MaxStartups 200\nSetEnv XDG_CACHE_HOME=%s %s\n", port, s.dir, s.cache, strings.Join(variables, " "))
	s.write(t, "sshd_config", config)
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // sshd as root has it for its unprivileged half
	}
	cmd := exec.Command(sshd, "-D", "-f", filepath.Join(s.dir, "sshd_config"), "-E", filepath.Join(s.dir,
		"log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			t.Logf("sshd: %s", log[max(0, len(log)-2000):])
		}
	})
	s.proxy = newProxy(t, address)
	_, through, _ := net.SplitHostPort(s.proxy.address())
	s.write(t, "ssh_config", fmt.Sprintf("Host box gpu-box\n  HostName 127.0.0.1\n  Port %s\n  IdentityFile %s/user\n"+
		"  IdentitiesOnly yes\n  UserKnownHostsFile %[2]s/known\n  StrictHostKeyChecking accept-new\n", through, s.dir))
	s.ssh = []string{ssh, "-F", filepath.Join(s.dir, "ssh_config")}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, err := exec.Command(s.ssh[0], append(s.ssh[1:], "-o", "BatchMode=yes", "box", "echo ready")...).
			CombinedOutput()
		if err == nil && strings.Contains(string(out), "ready") {
			return s
		}
		if time.Now().After(deadline) {
			t.Skipf("this machine's sshd cannot be used: %v: %s", err, out)
		}
	}
}

func (s *server) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// workers returns the process ids of tilescopes that run out of the remote user's cache.
func (s *server) workers() (pids []string) {
	list, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range list {
		if to, err := os.Readlink(exe); err == nil && strings.HasPrefix(to, s.cache+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(exe)))
		}
	}
	return pids
}

// noWorkers waits until no worker is left.
func (s *server) noWorkers(t *testing.T, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); len(s.workers()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("workers %v live on", s.workers())
			return
		}
	}
}
