package remote

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHostNames(t *testing.T) {
	for _, good := range []string{"box", "me@box", "me@10.0.0.1", "gpu-3.example.org", "ssh://me@box:2222",
		"me@[::1]"} {
		if _, err := New(Config{Host: good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "-oProxyCommand=x", "me@-oProxyCommand=x", "@box", "me@", "a b", "a;b", "$(x)", "a\nb", "'a'",
		"a`b`", "me@there@-oProxyCommand=x", "@",
	} {
		if _, err := New(Config{Host: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestScripts: scripts have nothing that the quoting of any shell would change.
func TestScripts(t *testing.T) {
	for _, script := range []string{findScript, copyScript} {
		if strings.ContainsAny(script, "'\\!\n") {
			t.Errorf("%s", script)
		}
	}
}

// fakeSSH is a program that takes ssh's arguments and executes the remote command here, in a home directory
// of its own; before is shell text that it executes first.
func fakeSSH(t *testing.T, before string) (ssh []string, home string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n[ \"$1 $2 $3\" = \"-T -o BatchMode=yes\" ] && [ \"$5\" = -- ] && [ $# = 6 ] || exit 99\n" +
		"HOME=" + home + "; export HOME; unset XDG_CACHE_HOME; PATH=/usr/bin:/bin; cd\n" + before +
		"\nexec sh -c \"$6\"\n"
	path := filepath.Join(dir, "ssh")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{path}, home
}

func agree(context.Context, Copy) error { return nil }

func TestCopiedOnce(t *testing.T) {
	ssh, home := fakeSSH(t, "echo welcome to this machine")
	asked := 0
	cfg := Config{Host: "box", SSH: ssh, Consent: func(_ context.Context, c Copy) error {
		asked++
		if c.Host != "box" || c.System != runtime.GOOS+"/"+runtime.GOARCH || c.Bytes < 1000 ||
			!strings.HasPrefix(c.Path, home) {
			t.Errorf("asked about %+v", c)
		}
		return nil
	}}
	var path string
	for range 2 {
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if path, err = m.Tilescope(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	own, _ := os.Executable()
	a, _ := os.ReadFile(own)
	b, err := os.ReadFile(path)
	if err != nil || string(a) != string(b) || asked != 1 {
		t.Errorf("%v, asked %d times, %d bytes of %d", err, asked, len(b), len(a))
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".tilescope.*"))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// one that was changed since is not executed, but replaced
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho other\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m, _ := New(cfg)
	if _, err := m.Tilescope(t.Context()); err != nil || asked != 2 {
		t.Errorf("a changed copy: %v, asked %d times", err, asked)
	}
}

func TestNotCopied(t *testing.T) {
	ssh, home := fakeSSH(t, "")
	m, _ := New(Config{Host: "box", SSH: ssh})
	_, err := m.Tilescope(t.Context())
	if !errors.Is(err, ErrNoConsent) || !strings.Contains(err.Error(), "--host-copy yes") {
		t.Errorf("no consent: %v", err)
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// a copy that is cut short has another digest
	ssh, home = fakeSSH(t, "case \"$6\" in *mktemp*) head -c 1000 | sh -c \"$6\"; exit $?;; esac")
	m, _ = New(Config{Host: "box", SSH: ssh, Consent: agree})
	if _, err := m.Tilescope(t.Context()); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("a copy cut short: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, ".cache/tilescope/bin/*/.t*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// another system
	ssh, _ = fakeSSH(t, "mkdir -p bin; "+
		"printf '#!/bin/sh\\necho Linux riscv64\\n' >bin/uname; chmod 700 bin/uname; PATH=$HOME/bin:$PATH; export PATH")
	m, _ = New(Config{Host: "box", SSH: ssh, Consent: agree})
	if _, err := m.Tilescope(t.Context()); err == nil || !strings.Contains(err.Error(), "linux/riscv64") ||
		!strings.Contains(err.Error(), "host.binary") {
		t.Errorf("another system: %v", err)
	}
}

// TestOnThePath: a tilescope of the same version on the remote PATH is used, one of another is not.
func TestOnThePath(t *testing.T) {
	before := "mkdir -p bin; printf '#!/bin/sh\\necho \"tilescope v1.2.3 (go1.25, linux/amd64)\"\\n' >bin/tilescope; " +
		"chmod 700 bin/tilescope; PATH=$HOME/bin:$PATH; export PATH"
	for version, want := range map[string]bool{"v1.2.3": true, "v1.2.4": false, "devel": false, "": false} {
		ssh, home := fakeSSH(t, before)
		m, _ := New(Config{Host: "box", SSH: ssh, Version: version})
		path, err := m.Tilescope(t.Context())
		if found := err == nil && path == filepath.Join(home, "bin/tilescope"); found != want {
			t.Errorf("%q: %s, %v", version, path, err)
		}
	}
}

func TestRefusedConnections(t *testing.T) {
	for printed, want := range map[string]string{
		"me@box: Permission denied (publickey).":                 "no password is used",
		"Host key verification failed.":                          "connect once with ssh box",
		"ssh: Could not resolve hostname box: Name or service":   "a host that ssh can resolve",
		"ssh: connect to host box port 22: Connection refused":   "whether sshd runs there",
		"kex_exchange_identification: Connection closed by peer": "Connection closed by peer",
	} {
		ssh, _ := fakeSSH(t, "echo '"+printed+"' >&2; exit 255")
		m, _ := New(Config{Host: "box", SSH: ssh})
		_, err := m.Tilescope(t.Context())
		var far *Error
		if !errors.As(err, &far) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(),
			printed) ||
			!strings.HasPrefix(err.Error(), "host box: connect: ") {
			t.Errorf("%s: %v", printed, err)
		}
	}
	m, _ := New(Config{Host: "box", SSH: []string{"/nonexistent/ssh"}})
	if _, err := m.Tilescope(t.Context()); err == nil || !strings.Contains(err.Error(),
		"ssh cannot be started") {
		t.Errorf("no ssh: %v", err)
	}
	// one that is lost is made again
	mark := filepath.Join(t.TempDir(), "tried")
	ssh, _ := fakeSSH(t,
		"if ! test -e "+mark+"; then touch "+mark+"; echo 'Connection reset by peer' >&2; exit 255; fi")
	m, _ = New(Config{Host: "box", SSH: ssh, Consent: agree})
	if _, err := m.Tilescope(t.Context()); err != nil {
		t.Errorf("lost once: %v", err)
	}
}

// TestWaiting: who waits for a search that is under way ends with its context.
func TestWaiting(t *testing.T) {
	ssh, _ := fakeSSH(t, "")
	asked, answer := make(chan struct{}), make(chan struct{})
	m, err := New(Config{Host: "box", SSH: ssh, Consent: func(context.Context, Copy) error {
		close(asked)
		<-answer
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan error, 1)
	go func() {
		_, err := m.Tilescope(t.Context())
		found <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Tilescope(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(answer)
	if err := <-found; err != nil {
		t.Error(err)
	}
}

// TestNoisyLogin: what a login script prints, however it ends, hides no answer.
func TestNoisyLogin(t *testing.T) {
	ssh, _ := fakeSSH(t, "printf 'welcome '; head -c 100000 /dev/zero | tr '\\0' x")
	m, _ := New(Config{Host: "box", SSH: ssh, Consent: agree})
	if _, err := m.Tilescope(t.Context()); err != nil {
		t.Error(err)
	}
}
