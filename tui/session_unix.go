//go:build unix

package tui

import (
	"io"
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// sessionLeader reports whether the process leads its session: stopping it then stops the terminal for good.
func sessionLeader() bool {
	sid, err := unix.Getsid(0)
	return err == nil && sid == unix.Getpid()
}

// unixLocale reports whether the locale is set by environment variables.
func unixLocale() bool { return true }

// suspend stops the program until its shell continues it. The library's own way waits for a continuation that
// never comes where no shell controls the job; this one goes on.
func (m *Model) suspend(string) tea.Cmd {
	if sessionLeader() {
		m.Complain("the program cannot be suspended: it leads its session")
		return nil
	}
	m.Say("resumed")
	return tea.Exec(&pause{m.paint}, func(error) tea.Msg { return nil })
}

// pause gives the screen back and stops the process group.
type pause struct{ paint *painter }

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand.
func (*pause) SetStdin(io.Reader)  {}
func (*pause) SetStdout(io.Writer) {}
func (*pause) SetStderr(io.Writer) {}

// stopsWithin is how long a stop may take to arrive. Where the system drops it, the program just goes on.
const stopsWithin = 200 * time.Millisecond

// Run implements tea.ExecCommand.
func (p *pause) Run() error {
	if p.paint != nil {
		p.paint.leave()
		defer p.paint.resume()
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	if err := unix.Kill(0, unix.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-continued:
	case <-time.After(stopsWithin):
	}
	return nil
}
