package view

import "time"

// Bounds of a Log.
const (
	maxEntries  = 1000
	maxLogBytes = 1 << 20
)

// Entry is one message of the status line, in full.
type Entry struct {
	Time  time.Time // of the last time
	Text  string
	Bad   bool
	Times int // how often it came, one after the other
}

// Log is every message of a session. The oldest go where it is full, and are counted.
type Log struct {
	Now     func() time.Time // nil: the machine's clock
	Passing bool             // what is said now is no message unless it is an error: a motion is repeated

	list    []Entry
	bytes   int
	dropped int
	muted   int
}

// Entries lists the messages, oldest first, and how many older ones were dropped. It shares the log's memory.
func (l *Log) Entries() (list []Entry, dropped int) { return l.list, l.dropped }

func (l *Log) add(text string, bad bool) {
	if l == nil || l.muted > 0 || text == "" || l.Passing && !bad {
		return
	}
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	if n := len(l.list) - 1; n >= 0 && l.list[n].Text == text && l.list[n].Bad == bad {
		l.list[n].Time, l.list[n].Times = now(), l.list[n].Times+1
		return
	}
	l.list = append(l.list, Entry{Time: now(), Text: text, Bad: bad, Times: 1})
	l.bytes += len(text)
	for len(l.list) > 1 && (len(l.list) > maxEntries || l.bytes > maxLogBytes) {
		l.bytes -= len(l.list[0].Text)
		l.list = l.list[1:]
		l.dropped++
	}
}
