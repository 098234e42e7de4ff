package tui

import (
	"sync"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/join"
)

// guard keeps the first panic of the model, of a command, or of a goroutine of the terminal, and ends the
// program: Run then gives the terminal back, saves the state, and raises the panic again where the command
// line reports it. The library's own recovery prints a trace on the screen and is switched off.
type guard struct {
	end func() // ends the program; may be called from any goroutine, and more than once

	mu  sync.Mutex
	bug *join.Panic
}

// caught takes in what join.Catch returned, and reports whether it was a panic.
func (g *guard) caught(p *join.Panic) bool {
	if p == nil {
		return false
	}
	g.mu.Lock()
	if g.bug == nil {
		g.bug = p
	}
	g.mu.Unlock()
	g.end()
	return true
}

// raise panics where something has panicked.
func (g *guard) raise() {
	g.mu.Lock()
	bug := g.bug
	g.mu.Unlock()
	if bug != nil {
		panic(bug)
	}
}

// command is cmd, and every command of a batch that it returns, with its panics caught. (tea.Sequence is not
// used in this program; the library would run its commands without these guards.)
func (g *guard) command(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		if g.caught(join.Catch(func() { msg = cmd() })) {
			return nil
		}
		if batch, ok := msg.(tea.BatchMsg); ok {
			guarded := make(tea.BatchMsg, len(batch))
			for i, c := range batch {
				guarded[i] = g.command(c)
			}
			return guarded
		}
		return msg
	}
}
