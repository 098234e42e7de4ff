package tui

import (
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
)

// filePulse is how long between two looks at a source.
const filePulse = 250 * time.Millisecond

// sourceFile is a person's own source: when it changes, the run on screen is out of date.
type sourceFile struct {
	*view.Context // Stamp is when the file was last seen to be settled
	path, last    string
	going         bool
}

// sourceMsg is how a file was found.
type sourceMsg struct{ path, stamp string }

// watch looks at the target's own source from time to time. A source that is part of the program does not
// change.
func (f *sourceFile) watch() tea.Cmd {
	path := ""
	if man, _ := f.Manifest(); man != nil && man.Dir != "" {
		path = man.SourcePath()
	}
	if path != f.path {
		f.path, f.Stamp, f.last, f.going = path, "", "", false
	}
	if path == "" || f.going {
		return nil
	}
	every := filePulse
	if f.Pace.Pulse != 0 {
		every = f.Pace.Pulse
	}
	if every < 0 {
		return nil
	}
	f.going = true
	return tea.Tick(every, func(time.Time) tea.Msg { return lookAt(path) })
}

func lookAt(path string) sourceMsg {
	info, err := os.Stat(path)
	if err != nil {
		return sourceMsg{path, err.Error()}
	}
	return sourceMsg{path, fmt.Sprint(info.ModTime().UnixNano(), info.Size())}
}

// looked runs again where a source has changed and rests: the same twice, so not in the middle of a write.
func (f *sourceFile) looked(msg sourceMsg) tea.Cmd {
	f.going = false
	if msg.path != f.path {
		return f.watch()
	}
	settled := msg.stamp == f.last
	f.last = msg.stamp
	var cmd tea.Cmd
	switch {
	case !settled || msg.stamp == f.Stamp:
	case f.Stamp == "":
		f.Stamp = msg.stamp
	default:
		f.Stamp = msg.stamp
		f.Say(msg.path[strings.LastIndexAny(msg.path, `/\`)+1:] + " changed: running again")
		f.Root.Announce(view.SourceChanged{})
		cmd = f.Root.Start(f.NextRequest())
	}
	return tea.Batch(cmd, f.watch())
}
