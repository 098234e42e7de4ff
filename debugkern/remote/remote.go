// Package remote executes tilescope on another machine, through the user's own ssh.
//
// The one idea: everything about the connection (keys, jump hosts, ControlMaster, ports) is ssh's and its
// configuration's. This package starts ssh with a remote command and reads its streams; it asks for no
// password and stores nothing but a copy of tilescope in the remote user's cache.
//
// It must not know what the remote tilescope is started for.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/child"
	"tilescope/debugkern/text"
)

// Config says which machine, and how it is reached.
type Config struct {
	Host string   // [USER@]HOST, or a Host of the ssh configuration
	SSH  []string // the ssh to execute and options of it; nil: ssh along PATH
	// Binary is the tilescope to copy where the machine has none; "": this program.
	Binary string
	// Version is this program's version. A tilescope on the remote PATH is used where it has the same.
	Version string
	// Consent is called before a binary is copied; an error of it is Tilescope's. nil: nothing is copied.
	Consent func(context.Context, Copy) error
}

// Copy is what a consent is about.
type Copy struct {
	Host, System string // System: "linux/amd64"
	Path         string // on the remote machine
	Bytes        int64
}

// Machine is another machine. It may be used from several goroutines.
type Machine struct {
	cfg  Config
	turn chan struct{} // holds one token: whoever has it looks for the remote tilescope
	// found is its path; "": not looked for yet. Whoever has the turn uses it.
	found string
}

// hostName is what ssh is given as a destination: never an option, and nothing that a shell reads.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_.%:/\[\]][A-Za-z0-9_.%:/\[\]@-]*$`)

// New checks the configuration and connects to nothing.
func New(cfg Config) (*Machine, error) {
	at := strings.LastIndexByte(cfg.Host, '@') // as ssh splits it
	user, host := cfg.Host[:max(at, 0)], cfg.Host[at+1:]
	switch {
	case cfg.Host == "":
		return nil, errors.New("host: expected [USER@]HOST, found nothing")
	case strings.HasPrefix(cfg.Host, "-"), host == "", host[0] == '-', at >= 0 && user == "":
		return nil, fmt.Errorf("host %q: expected [USER@]HOST; a name that begins with - would be an option", cfg.Host)
	case !hostName.MatchString(cfg.Host):
		return nil, fmt.Errorf("host %q: expected [USER@]HOST, or a Host of your ssh configuration", cfg.Host)
	}
	if len(cfg.SSH) == 0 {
		cfg.SSH = []string{"ssh"}
	}
	return &Machine{cfg: cfg, turn: make(chan struct{}, 1)}, nil
}

// Host returns the name that the machine was given.
func (m *Machine) Host() string { return m.cfg.Host }

// Error is a connection, or something that was to be done over it, that failed.
type Error struct {
	Host   string
	What   string // "connect", "copy tilescope"
	Detail string // the last lines that ssh or the remote command printed, or how it ended
	Advice string // what to do; "" where the detail says it
	// Transient: the connection was lost; the same may succeed when it is tried again.
	Transient bool
}

func (e *Error) Error() string {
	s := fmt.Sprintf("host %s: %s: %s", e.Host, e.What, e.Detail)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// Far marks the errors of another machine.
func (e *Error) Far() {}

// Permanent reports that the same would fail again.
func (e *Error) Permanent() bool {
	return slices.ContainsFunc([]string{
		"Permission denied", "Host key verification failed", "Could not resolve hostname",
		"Bad configuration",
		"Too many authentication failures",
	}, func(part string) bool { return strings.Contains(e.Detail, part) })
}

// Command returns the local command that executes argv on the machine with the streams of the local process.
func (m *Machine) Command(argv ...string) []string {
	return m.ssh("exec " + text.QuotedLine(argv))
}

func (m *Machine) ssh(command string) []string {
	return slices.Concat(m.cfg.SSH, []string{"-T", "-o", "BatchMode=yes", m.cfg.Host, "--", command})
}

// Worker returns the local command that executes the remote tilescope with args. A worker that a signal ends
// is reported by the exit status 128 + signal, which ssh alone does not tell from a connection that was lost.
func (m *Machine) Worker(ctx context.Context, args ...string) ([]string, error) {
	path, err := m.Tilescope(ctx)
	if err != nil {
		return nil, err
	}
	return m.Command(slices.Concat([]string{"sh", "-c", `"$0" "$@"; exit $?`, path}, args)...), nil
}

// Limits of commands that Run executes.
const (
	runLimit = 30 * time.Second
	runTries = 4
	// firstWait is the pause before a lost connection is made again; each further one is twice as long.
	firstWait = 250 * time.Millisecond
	maxOutput = 1 << 20
)

// Run executes a script of one line with args as $1, $2, … by the remote sh, and returns what it printed. in
// is its standard input; nil: none. A connection that is lost is made again, a few times.
func (m *Machine) Run(ctx context.Context, what, script string, in []byte, limit time.Duration,
	args ...string,
) ([]byte, error) {
	wait := firstWait
	for try := 1; ; try++ {
		out, err := m.run(ctx, what, script, in, limit, args)
		var lost *Error
		if err == nil || try == runTries || !errors.As(err, &lost) || !lost.Transient {
			return out, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		wait *= 2
	}
}

func (m *Machine) run(ctx context.Context, what, script string, in []byte, limit time.Duration,
	args []string,
) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	argv := m.Command(slices.Concat([]string{"sh", "-c", script, "tilescope"}, args)...)
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	var out, errs bounded
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	if in != nil {
		cmd.Stdin = bytes.NewReader(in)
	}
	child.Detach(cmd)
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, &Error{
			Host: m.cfg.Host, What: what, Transient: true,
			Detail: fmt.Sprintf("no end within %s", limit),
			Advice: "see whether ssh " + m.cfg.Host + " true ends",
		}
	case cmd.ProcessState == nil:
		return nil, &Error{
			Host: m.cfg.Host, What: what, Detail: "ssh cannot be started: " + err.Error(),
			Advice: "install the OpenSSH client, or name it in host.ssh",
		}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, m.failed(what, cmd.ProcessState, errs.String())
	}
	return out.Bytes(), nil
}

// sshFailed is the exit status with which ssh reports an error of its own.
const sshFailed = 255

func (m *Machine) failed(what string, state *os.ProcessState, printed string) *Error {
	if state.ExitCode() == sshFailed {
		return m.Refused(what, printed)
	}
	e := &Error{Host: m.cfg.Host, What: what, Detail: state.String()}
	if printed = lastLines(printed); printed != "" {
		e.Detail += ": " + printed
	}
	return e
}

// Refused is the error of an ssh that ended with an error of its own and printed a text.
func (m *Machine) Refused(what, printed string) *Error {
	e := &Error{Host: m.cfg.Host, What: what, Detail: lastLines(printed), Transient: Transient(printed)}
	if e.Detail == "" {
		e.Detail = "ssh ended with an error that it did not describe"
	}
	for _, x := range []struct{ printed, advice string }{
		{"Permission denied", "no password is used: add a key to the ssh agent, or to authorized_keys there"},
		{"Host key verification failed", "connect once with ssh " + m.cfg.Host +
			" and accept the key of the machine"},
		{"Could not resolve hostname", "name a host that ssh can resolve, or a Host of your ssh configuration"},
		{"Connection refused",
			"see whether sshd runs there, and at which port (Port in your ssh configuration)"},
	} {
		if strings.Contains(printed, x.printed) {
			e.Advice = x.advice
			break
		}
	}
	return e
}

// Transient reports that what ssh printed is about a connection that was lost, or not made in time.
func Transient(printed string) bool {
	return slices.ContainsFunc([]string{
		"Connection reset", "Connection closed", "closed by remote host", "Connection timed out",
		"Broken pipe", "kex_exchange_identification", "Operation timed out", "not responding",
		"Connection to ", "banner exchange", "Session open refused", "Bad packet length",
		"message authentication code incorrect", "Corrupted MAC",
	}, func(part string) bool { return strings.Contains(printed, part) })
}

// lastLines is what of an ssh's messages says why it ended: the last two lines.
func lastLines(printed string) string {
	lines := strings.FieldsFunc(strings.ToValidUTF8(printed, "\ufffd"),
		func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-2):], "; ")
}

// bounded stores the last bytes that are written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if b.Len()+n > maxOutput {
		b.Next(min(b.Len(), b.Len()+n-maxOutput))
		p = p[max(0, len(p)-maxOutput):]
	}
	b.Buffer.Write(p)
	return n, nil
}

var _ io.Writer = (*bounded)(nil)
