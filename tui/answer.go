package tui

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/join"
	"tilescope/tui/theme"
)

// asker asks the terminal questions and takes its answers out of the input, so that no part of one is ever
// read as keys: the library reads the rest of an answer that pauses on its way (over a slow link, or between
// two packets) as if it had been typed.
//
// The one idea: the question for the ground (OSC 11) is followed by one that every terminal answers (DA1), in
// order. Nobody waits for either answer; the second says that no further one is due soon.
type asker struct {
	inputFile // the input
	paint     *painter
	now       func() time.Time

	reading sync.Mutex // guards what follows
	pending []byte     // the beginning of what may be an answer
	passed  int        // so many bytes of it were given to the reader: Esc alone is a key as well
	read    time.Time

	mu    sync.Mutex
	send  func(tea.Msg)
	due   int  // answers to DA1
	open  bool // the ground has not been answered
	asked time.Time
	idle  chan struct{} // closed when no answer is due
}

// inputFile is an input that the library waits for by its descriptor.
type inputFile interface {
	io.ReadWriteCloser
	Fd() uintptr
	Name() string
}

const (
	// longestAnswer is more than any answer has.
	longestAnswer = 64
	// split is how long the parts of an answer may be apart, where the first can be a key as well: an Esc
	// that is read alone while an answer is expected is a key once this time is over.
	split = 100 * time.Millisecond
	// answerTime is how long after a question the program's end waits for its answer, which the shell would
	// read as a command. A program that has run for longer does not wait.
	answerTime = time.Second
	// lateTime is how long after a question the beginning of an answer that is a key as well (Alt with a
	// bracket) waits for what follows it.
	lateTime = 5 * time.Second
)

// newAsker wraps the input, or returns nil where answers cannot be taken out of it.
func newAsker(in io.Reader, paint *painter) *asker {
	f, ok := in.(inputFile)
	if !ok || runtime.GOOS == "windows" { // consoles there are read as records, not as bytes
		return nil
	}
	return &asker{inputFile: f, paint: paint, now: time.Now}
}

// ask sends the two questions.
func (t *asker) ask() {
	t.mu.Lock()
	if t.due == 0 {
		t.idle = make(chan struct{})
	}
	t.due++
	t.open, t.asked = true, t.now()
	t.mu.Unlock()
	if !t.paint.query(ansi.RequestBackgroundColor + ansi.RequestPrimaryDeviceAttributes) {
		t.answered()
	}
}

// answered notes that one answer less is due.
func (t *asker) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.due > 0 {
		if t.due--; t.due == 0 {
			close(t.idle)
		}
	}
}

// settled waits until no answer is due, not longer than an answer may take.
func (t *asker) settled(ctx context.Context) {
	t.mu.Lock()
	idle, rest := t.idle, answerTime-t.now().Sub(t.asked)
	t.mu.Unlock()
	if idle == nil || rest <= 0 {
		return
	}
	select {
	case <-idle:
	case <-time.After(rest):
	case <-ctx.Done():
	}
}

// expects reports whether an answer may be on its way: tmux answers for itself at once and passes the answer
// of the terminal around it on when it comes.
func (t *asker) expects() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.due > 0 || t.open && t.now().Sub(t.asked) < lateTime
}

// waiting reports whether an answer to DA1 is due.
func (t *asker) waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.due > 0
}

// Read gives the input without answers. It may return no bytes and no error.
func (t *asker) Read(p []byte) (int, error) {
	room := len(p) - longestAnswer
	if room <= 0 {
		return t.inputFile.Read(p)
	}
	in := make([]byte, room)
	n, err := t.inputFile.Read(in)
	return copy(p, t.filter(in[:n])), err
}

// filter returns what of the input is not an answer; it is at most longestAnswer bytes longer than the input.
func (t *asker) filter(in []byte) []byte {
	t.reading.Lock()
	defer t.reading.Unlock()
	var out []byte
	now := t.now()
	if t.passed > 0 && now.Sub(t.read) > split {
		t.pending, t.passed = nil, 0
	}
	t.read = now
	for _, b := range in {
		t.pending = append(t.pending, b)
		kind, whole := answer(t.pending)
		if kind == notAnAnswer && len(t.pending) > 1 {
			out = append(out, t.pending[t.passed:len(t.pending)-1]...)
			t.pending, t.passed = []byte{b}, 0
			kind, whole = answer(t.pending)
		}
		switch {
		case kind == notAnAnswer:
			out = append(out, b)
			t.pending, t.passed = nil, 0
		case whole:
			t.take(kind, t.pending)
			t.pending, t.passed = nil, 0
		}
	}
	// what is a key as well is passed on once no answer is expected: Esc, and Alt with a bracket
	switch n := len(t.pending); {
	case n > 0 && n < 3 && !t.expects():
		out = append(out, t.pending[t.passed:]...)
		t.passed = n
	case n == 1 && t.passed == 0:
		time.AfterFunc(split, func() { t.escape(now) })
	}
	return out
}

// escape sends the key Esc where it was read alone at a time, and nothing has followed.
func (t *asker) escape(read time.Time) {
	t.reading.Lock()
	alone := t.read.Equal(read) && t.passed == 0 && string(t.pending) == "\x1b"
	if alone {
		t.pending = nil
	}
	t.reading.Unlock()
	if alone && t.send != nil {
		t.send(tea.KeyPressMsg{Code: tea.KeyEscape})
	}
}

// take acts on a whole answer.
func (t *asker) take(kind answerKind, b []byte) {
	if kind == deviceAnswer {
		t.answered()
		return
	}
	t.mu.Lock()
	t.open = false
	t.mu.Unlock()
	payload := bytes.TrimRight(b[len(groundPrefix):], "\a\x1b\\")
	c := ansi.XParseColor(string(payload))
	if c == nil || t.send == nil {
		return
	}
	r, g, bl, _ := c.RGBA()
	rgb := r>>8<<16 | g>>8<<8 | bl>>8
	msg := groundMsg{darkGround}
	if theme.Contrast(rgb, 0) > theme.Contrast(rgb, 0xffffff) {
		msg.ground = lightGround
	}
	t.send(msg)
}

type answerKind uint8

const (
	notAnAnswer answerKind = iota
	groundAnswer
	deviceAnswer
)

const (
	groundPrefix = "\x1b]11;"
	devicePrefix = "\x1b[?"
)

// answer says what b begins, or is the whole of.
func answer(b []byte) (kind answerKind, whole bool) {
	last := b[len(b)-1]
	for prefix, kind := range map[string]answerKind{groundPrefix: groundAnswer, devicePrefix: deviceAnswer} {
		if len(b) <= len(prefix) {
			if string(b) == prefix[:len(b)] {
				return kind, false
			}
			continue
		}
		if string(b[:len(prefix)]) != prefix || len(b) > longestAnswer {
			continue
		}
		body := b[len(prefix):]
		if kind == deviceAnswer {
			for _, c := range body[:len(body)-1] {
				if (c < '0' || c > '9') && c != ';' {
					return notAnAnswer, false
				}
			}
			if last == 'c' {
				return kind, true
			}
			if (last < '0' || last > '9') && last != ';' {
				return notAnAnswer, false
			}
			return kind, false
		}
		if i := bytes.IndexByte(body, '\x1b'); i >= 0 && i < len(body)-1 {
			if i == len(body)-2 && last == '\\' {
				return kind, true
			}
			return notAnAnswer, false
		}
		if last == '\a' {
			return kind, true
		}
		if last != '\x1b' && (last < 0x20 || last > 0x7e) {
			return notAnAnswer, false
		}
		return kind, false
	}
	return notAnAnswer, false
}

// lastAnswer is a filter of the library's messages that holds the program's end back until the terminal has
// answered: the shell would read the answer. Where ctx ends the program, it ends at once.
func (t *asker) lastAnswer(ctx context.Context, quit func()) func(tea.Model, tea.Msg) tea.Msg {
	held := false
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if _, ok := msg.(tea.QuitMsg); !ok || held || ctx.Err() != nil || !t.waiting() {
			return msg
		}
		held = true
		join.Run(func() {
			t.settled(ctx)
			quit()
		})
		return nil
	}
}
