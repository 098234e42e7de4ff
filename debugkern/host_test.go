package debugkern

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
)

// linkedArgs make the test binary a worker over a link: it is what a host's tilescope is.
var linkedArgs = []string{"__worker", "linked"}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == linkedArgs[0] {
		os.Exit(ServeWorker(context.Background(), os.Stdin, os.Stdout, WorkerOptions{
			Version: "test", Linked: true, Launcher: []string{"tilescope", "__launch"},
			Tools: func(context.Context) (cuda.Config, error) {
				return cuda.Config{Root: os.Getenv("HOME")}, nil
			},
		}))
	}
	os.Exit(m.Run())
}

// openHosted opens a session whose hosts are this machine, reached by a script in the place of ssh: it
// executes the remote command in a home directory of its own.
func openHosted(t *testing.T, host string) *Session {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the ssh of this test is a shell script")
	}
	dir := t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	script := "#!/bin/sh\nHOME=" + dir + "; export HOME; unset XDG_CACHE_HOME; cd\nfor command; do :; done\n" +
		"exec sh -c \"$command\"\n"
	if err := os.WriteFile(ssh, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{
		Config: &configs.Config{CaptureMax: 2 << 30, HostName: host, HostCopy: "yes", HostSSH: ssh},
		Linked: linkedArgs, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestHost: a run on a host is that of this machine, and says where it was.
func TestHost(t *testing.T) {
	s := openHosted(t, "box")
	request := Request{Target: "stage2", Shape: "small", Backend: "emu", Faults: []string{"kt-rowmajor"}}
	there, err := s.Run(t.Context(), request, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetHost(""); err != nil {
		t.Fatal(err)
	}
	here, err := s.Run(t.Context(), request, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := there.Report, here.Report; a.Digest != b.Digest || a.Verdict != b.Verdict ||
		b.Verdict != "diverge" {
		t.Errorf("there %s %s, here %s %s", a.Verdict, a.Digest, b.Verdict, b.Digest)
	}
	if d := there.Report.Backend.Device; !strings.HasSuffix(d, " on box") ||
		strings.Contains(here.Report.Backend.Device, "box") {
		t.Errorf("there on %q, here on %q", d, here.Report.Backend.Device)
	}
}

// TestSanitizerOfTheHost: it is looked for there, and that there is none says where.
func TestSanitizerOfTheHost(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("CUDA_HOME", "")
	if _, err := os.Stat("/usr/local/cuda/bin/compute-sanitizer"); err == nil {
		t.Skip("this machine has one that cannot be hidden")
	}
	s := openHosted(t, "box")
	r, err := s.Run(t.Context(), Request{Target: "stage2", Shape: "small", Backend: "emu"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var coded *report.Error
	if _, err := s.Sanitize(t.Context(), r, "memcheck"); !errors.As(err, &coded) ||
		coded.Code != report.CodeUnavailable ||
		!strings.HasPrefix(err.Error(), "host box: sanitize: no compute-sanitizer found") {
		t.Errorf("got %v", err)
	}
}

// TestHostIsChanged: a run that began before SetHost leaves no connection that runs after it would use.
func TestHostIsChanged(t *testing.T) {
	s := openHosted(t, "box")
	old := s.far()
	if err := s.SetHost("other"); err != nil {
		t.Fatal(err)
	}
	var coded *report.Error
	if _, err := s.openFarEmulator(t.Context(), old); !errors.As(err, &coded) ||
		coded.Code != report.CodeUnavailable {
		t.Errorf("the host before: %v", err)
	}
	be, err := s.emulator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := be.Info().Device; !strings.HasSuffix(d, " on other") {
		t.Errorf("on %q", d)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.openFarEmulator(t.Context(), s.far()); err == nil {
		t.Error("a closed session connects")
	}
}
