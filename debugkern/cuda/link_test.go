//go:build unix

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"tilescope/debugkern/target"
)

// shell is a transport whose command is a shell script that ends in a worker, as ssh's does.
type shell struct {
	script string
	link   *Link
}

func (s *shell) Command(context.Context) ([]string, error) {
	return []string{"sh", "-c", s.script}, nil
}
func (s *shell) Link() *Link { return s.link }

// refusal is what the tests' ssh printed.
type refusal struct{ printed string }

func (r refusal) Error() string   { return "ssh: " + strings.TrimSpace(r.printed) }
func (r refusal) Permanent() bool { return strings.Contains(r.printed, "denied") }

// linkedConfig is a backend on the test driver, whose workers are reached by a script: %s stands for a
// worker.
func linkedConfig(t *testing.T, script string) (BackendConfig, *Link) {
	t.Helper()
	cfg := fakeConfig(t)
	link := &Link{Host: "box", Refused: func(printed string) error { return refusal{printed} }}
	worker := cfg.Worker.(Local)[0] + " " + workerArg + " " + linkedArg
	cfg.Worker = &shell{strings.ReplaceAll(script, "WORKER", worker), link}
	return cfg, link
}

func openLinked(t *testing.T, script string) (*Backend, *Link) {
	t.Helper()
	cfg, link := linkedConfig(t, script)
	b, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, link
}

// quick shortens the times of links for a test.
func quick(t *testing.T) {
	t.Helper()
	every, limit, wait := beatEvery, beatLimit, firstWait
	beatEvery, beatLimit, firstWait = 20*time.Millisecond, time.Second, time.Millisecond
	t.Cleanup(func() { beatEvery, beatLimit, firstWait = every, limit, wait })
}

// A worker over a link launches as one of this machine does, whatever a login script prints.
func TestLink(t *testing.T) {
	b, link := openLinked(t, "echo welcome; echo to the box; exec WORKER")
	for range 3 {
		good(t, b)
	}
	s := link.Stats()
	if s.Host != "box" || s.Latency <= 0 || s.Sent == 0 || s.Received == 0 || s.Raw == 0 ||
		s.Connected != 1 ||
		s.Lost != 0 {
		t.Errorf("%+v", s)
	}
	var f *target.Fault
	if _, err := load(t, b, "illegal").Launch(t.Context(), floats(12)); !errors.As(err, &f) ||
		f.Kind != "illegal-address" {
		t.Errorf("a fault: %v", err)
	}
	good(t, b)
}

// What ends a connection ends no launch: it is made again.
func TestLinkIsMadeAgain(t *testing.T) {
	quick(t)
	b, link := openLinked(t, "exec WORKER")
	for n := range int64(5) {
		p := b.running.Load()
		_ = p.lose(errors.New("cut"))
		good(t, b)
		if s := link.Stats(); s.Lost != n+1 || s.Connected != n+2 {
			t.Errorf("%+v", s)
		}
	}
	// ssh's own error, in the middle: exit status 255
	b, link = openLinked(t, "WORKER; echo 'Connection reset by peer' >&2; exit 255")
	k := load(t, b, "die")
	if _, err := k.Launch(t.Context(), floats(12)); !errors.Is(err, ErrLost) ||
		!strings.Contains(err.Error(), "Connection reset by peer") ||
		!strings.Contains(err.Error(), "connections in a row") {
		t.Errorf("lost each time: %v", err)
	}
	if s := link.Stats(); s.Lost != maxReconnects+1 {
		t.Errorf("%+v", s)
	}
}

// A connection that ssh refuses for good is not tried again.
func TestLinkRefused(t *testing.T) {
	cfg, link := linkedConfig(t, "echo 'Permission denied (publickey).' >&2; exit 255")
	_, err := Open(t.Context(), cfg)
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "Permission denied") ||
		link.Stats().Lost != 1 {
		t.Errorf("%v, %+v", err, link.Stats())
	}
	for script, want := range map[string]string{
		"echo none here >&2; exit 127":                                "cannot be executed there: none here",
		"printf '\\ntilescope worker\\n'; exec " + oldWorker:          "speaks worker protocol 2",
		"head -c 100000 /dev/zero; exec WORKER":                       "no worker, but text",
		"echo this account is for file transfers only; exit 1":        "file transfers only",
		"printf '\\ntilescope worker\\n'; head -c 100 /dev/zero; cat": "malformed frame",
	} {
		cfg, _ := linkedConfig(t, script)
		if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// oldWorker prints the first frame of another protocol: 16 bytes of header, then JSON.
const oldWorker = `printf '\022\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000{"protocol":2}    '`

// A connection without a sign of life is given up, and the launch goes on over the next; a worker that a
// signal ended is no lost connection.
func TestLinkHangs(t *testing.T) {
	quick(t)
	b, link := openLinked(t, "exec WORKER")
	load(t, b, "copy")
	began := time.Now()
	if err := b.running.Load().cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	good(t, b)
	if took := time.Since(began); link.Stats().Lost != 1 || took < beatLimit/2 {
		t.Errorf("%+v after %s", link.Stats(), took)
	}
	b, _ = openLinked(t, "WORKER; exit $?")
	k := load(t, b, "copy")
	t.Setenv("FAKECUDA", "cuLaunchKernel=kill")
	b.dropIf(b.running.Load())
	var f *target.Fault
	if _, err := k.Launch(t.Context(), floats(12)); !errors.As(err, &f) || f.Kind != "died" ||
		!strings.Contains(f.Msg, "signal 9 on box") {
		t.Errorf("killed there: %v", err)
	}
}

// A worker that hears nothing ends, though its input does not.
func TestWorkerOfACutLine(t *testing.T) {
	limit := silenceLimit
	silenceLimit = 50 * time.Millisecond
	t.Cleanup(func() { silenceLimit = limit })
	in, _ := io.Pipe()
	var out bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- WorkerMain(t.Context(), in, &out, WorkerOptions{Linked: true}) }()
	select {
	case code := <-ended:
		if code != 1 || !strings.HasPrefix(out.String(), linkMark) {
			t.Errorf("exit %d, %q", code, out.String())
		}
	case <-time.After(10 * time.Second):
		t.Error("it lives on")
	}
}

// Chunks of every length and content come out as they went in, and a hostile one is an error.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 3, 4, 5, 1000, packBytes - 1, packBytes} {
		noise, text := make([]byte, n), bytes.Repeat([]byte("mov.u32 %r1, %r2;\n"), n/18+1)[:n]
		halves := make([]byte, n)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
			if halves[i] = noise[i]; i%2 == 1 {
				halves[i] = 0x38 | noise[i]&7
			}
		}
		for name, chunk := range map[string][]byte{"noise": noise, "text": text, "halves": halves} {
			packed := pack(chunk)
			if got, err := unpack(packed); err != nil || !bytes.Equal(got, chunk) {
				t.Errorf("%d bytes of %s: %v", n, name, err)
			}
			if n == packBytes && name != "noise" && len(packed) > n*8/10 {
				t.Errorf("%d bytes of %s are %d", n, name, len(packed))
			}
			for range 20 {
				if len(packed) > 0 {
					packed[rng.IntN(len(packed))] ^= byte(1 + rng.IntN(255))
				}
				if got, err := unpack(packed); err == nil && len(got) > frameMax {
					t.Errorf("%d bytes out of %d", len(got), len(packed))
				}
			}
		}
	}
	bomb := append([]byte{1}, zstdEncoder().EncodeAll(make([]byte, 64<<20), nil)...)
	if _, err := unpack(bomb); err == nil {
		t.Error("64 MiB out of " + fmt.Sprint(len(bomb)))
	}
}
