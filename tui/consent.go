package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/text"
	"tilescope/tui/keymap"
	consentpane "tilescope/tui/pane/consent"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// consenter is an engine that can ask for consent to files that it has found and may not use. See
// debugkern.Session.
type consenter interface {
	Question(ctx context.Context, err error) (*build.Consent, error)
	Agree(ctx context.Context, c *build.Consent) error
}

var _ consenter = (*debugkern.Session)(nil)

// consent is the question for consent: it is asked once a session for the same files with the same content.
type consent struct {
	*view.Context
	pane *consentpane.Pane

	seq    int   // of the last look for a question
	wanted bool  // a person asked for it, who is asked again
	cause  error // what it was about, nil: what the engine has passed over
	cancel context.CancelFunc

	opening []string // the words of :open that cause is about, nil: it is about a run

	number int             // of the last question that was opened
	open   *build.Consent  // nil: no question is open
	ready  bool            // it has been shown long enough to be answered
	seen   bool            // it was on the screen when its time began
	asked  map[string]bool // digests of what was asked about
	pause  time.Duration   // how long a question is shown before it can be answered
}

func newConsent(c *view.Context, pause time.Duration) *consent {
	return &consent{Context: c, pane: consentpane.New(c.Theme), asked: map[string]bool{}, pause: pause}
}

// questionPause is how long a question is shown, and how long no key is pressed, before a key answers it: it
// opens by itself, under the fingers of somebody who types something else.
const questionPause = time.Second

// questionMsg is what is to be asked, nil where nothing is.
type questionMsg struct {
	seq     int
	consent *build.Consent
	err     error
}

// questionDueMsg says that a question has been shown for a while.
type questionDueMsg struct{ number int }

// agreedMsg is a consent that was recorded, or why it was not.
type agreedMsg struct {
	consent *build.Consent
	err     error
}

func (c *consent) stop() {
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
}

// asking reports whether a question is open, and on the screen.
func (m *Model) asking() bool {
	_, typing := m.prompt.Active()
	return m.consent.open != nil && !typing && !m.small()
}

// seek looks whether err, or what the engine has passed over, is for want of a consent. Files are read in the
// background.
func (q *consent) seek(err error, wanted bool) tea.Cmd {
	engine, ok := q.Engine.(consenter)
	if !ok {
		return nil
	}
	q.stop()
	q.wanted = q.wanted || wanted // also where that search is superseded before it has ended
	ctx, cancel := context.WithCancel(q.Ctx)
	q.seq++
	q.cause, q.cancel = err, cancel
	seq := q.seq
	return func() tea.Msg {
		defer cancel()
		c, err := engine.Question(ctx, err)
		return questionMsg{seq, c, err}
	}
}

// askAgain is :trust.
func (q *consent) askAgain(string) tea.Cmd {
	cmd := q.seek(q.cause, true)
	if cmd == nil {
		q.Complain("nothing was found that needs consent")
	}
	return cmd
}

// questioned opens a question, unless the same was asked before.
func (m *Model) questioned(msg questionMsg) tea.Cmd {
	if msg.seq != m.consent.seq {
		return nil
	}
	wanted := m.consent.wanted
	m.consent.wanted = false
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.Complain(view.OneLine(msg.err))
		return nil
	case msg.consent == nil:
		if wanted {
			m.Complain("nothing was found that needs consent")
		}
		return nil
	case m.consent.asked[msg.consent.Covers.Digest()] && !wanted:
		return nil
	}
	m.consent.open, m.consent.ready = msg.consent, false
	m.consent.number++
	m.consent.asked[msg.consent.Covers.Digest()] = true
	m.over, m.pending = nil, ""
	m.Clear()
	m.consent.show()
	m.consent.seen = m.asking()
	return m.consent.laterReady()
}

// laterReady waits until the question has been shown for a while.
func (q *consent) laterReady() tea.Cmd {
	number := q.number
	return tea.Tick(q.pause, func(time.Time) tea.Msg { return questionDueMsg{number} })
}

// questionDue lets a question be answered that has been open for a while, if it is on the screen.
func (m *Model) questionDue(msg questionDueMsg) tea.Cmd {
	if m.consent.open == nil || msg.number != m.consent.number {
		return nil
	}
	if seen := m.consent.seen; !m.asking() || !seen {
		m.consent.seen = m.asking()
		return m.consent.laterReady()
	}
	m.consent.ready = true
	m.consent.show()
	return nil
}

func (q *consent) show() {
	q.pane.SetData(consentpane.Data{
		Consent: q.open, Yes: keymap.YesLabel, No: keymap.NoLabel, Ready: q.ready,
	})
}

// restart lets the question be answered only when no key was pressed for a while.
func (q *consent) restart() tea.Cmd {
	q.ready = false
	q.number++
	q.show()
	return q.laterReady()
}

// answer takes a key while a question is open. A letter that comes before the question is ready, or amid
// others, belongs to what is being typed.
func (m *Model) answer(key string) tea.Cmd {
	answer := keymap.Answering(key)
	letter := len(key) == 1
	switch {
	case answer == keymap.AnswerYes && m.consent.ready:
		return m.consent.agree()
	case answer == keymap.AnswerNo && (m.consent.ready || !letter):
		m.consent.decline()
		return nil
	case answer == keymap.AnswerDown:
		m.consent.pane.Scroll(1)
	case answer == keymap.AnswerUp:
		m.consent.pane.Scroll(-1)
	default:
		m.Say("a question is open: " + keymap.YesLabel + " or " + keymap.NoLabel +
			", once no other key was pressed for a while")
		return m.consent.restart()
	}
	return nil
}

// agree records the consent in the background.
func (q *consent) agree() tea.Cmd {
	c, engine := q.open, q.Engine.(consenter)
	q.open = nil
	ctx := q.Ctx
	return func() tea.Msg { return agreedMsg{c, engine.Agree(ctx, c)} }
}

// agreed runs again with what may be used now, or opens what could not be opened without.
func (m *Model) agreed(msg agreedMsg) tea.Cmd {
	if msg.err != nil {
		m.Complain("not recorded: " + view.OneLine(msg.err))
		return nil
	}
	m.troubled, m.consent.cause = false, nil
	done := "trusted: " + text.Line(msg.consent.Covers.Dir) + ", " +
		theme.Count(len(msg.consent.Covers.Files), "file")
	if words := m.consent.opening; words != nil {
		m.consent.opening = nil
		m.Say(done)
		return m.palette().openWords(words)
	}
	if m.actions[m.view][keymap.Again] != nil { // a view that does not show the run
		m.Say(done + " · " + m.Keys.Label(keymap.Again) + " judges again")
		return nil
	}
	m.Say(done)
	return m.Start(m.NextRequest())
}

// decline closes the question. Why the files are not used stands where it stood before.
func (q *consent) decline() {
	q.Say("not used: :trust asks again, and so does another session")
	q.open = nil
}
