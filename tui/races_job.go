package tui

import (
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/diagnose"
	"tilescope/tui/pane/races"
)

// diagnosed reports whether the diagnosis on screen is of what runs now.
func (m *Model) diagnosed() bool { return m.race.doc != nil && m.race.of == m.subject() }

// diagnose starts a diagnosis of the request on screen.
func (m *Model) diagnose() tea.Cmd {
	if m.opt.races == nil {
		m.say("this program cannot diagnose")
		return nil
	}
	m.race.stop()
	ctx, cancel := context.WithCancel(m.ctx)
	m.race = inquiry{
		seq: m.race.seq + 1, active: true, ctx: ctx, cancel: cancel, told: &told{wake: make(chan struct{}, 1)}, of: m.subject(), looks: map[string]*races.Look{},
	}
	m.say("diagnosing " + m.race.of)
	m.showRaces()
	m.applyFocus()
	req, seq, t, who := m.nextRequest(), m.race.seq, m.race.told, m.opt.races
	req.Schedule = ""
	if m.fail != nil && m.onGPU() {
		req.Backend = "emu" // the GPU could not run it; the emulator may show where
	}
	run := func() tea.Msg {
		defer cancel()
		doc, err := who.Diagnose(ctx, req, diagnose.Options{Tell: t.tell})
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return diagnosedMsg{seq, doc, err}
	}
	return tea.Batch(run, hear(ctx, t, seq))
}

// hear waits until a diagnosis says something, or ends.
func hear(ctx context.Context, t *told, seq int) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		return toldMsg{seq, t.progress, slices.Clone(t.findings), slices.Clone(t.causes)}
	}
}

// raceMsg takes up what was found out.
func (m *Model) raceMsg(msg tea.Msg) tea.Cmd {
	q := &m.race
	switch msg := msg.(type) {
	case toldMsg:
		if msg.seq != q.seq || !q.active {
			return nil
		}
		q.last, q.found, q.causes = msg.progress, msg.findings, msg.causes
		m.showRaces()
		return tea.Batch(hear(q.ctx, q.told, q.seq), m.askScene())
	case diagnosedMsg:
		return m.diagnosisEnded(msg)
	case sceneDueMsg:
		if msg.seq == q.look.seq {
			return m.fetchScene()
		}
	case sceneMsg:
		if msg.seq == q.seq && !errors.Is(msg.err, context.Canceled) {
			l := m.lookOf(msg.key)
			if l.Scene = msg.scene; msg.err != nil {
				l.Note = oneLine(msg.err)
			}
			m.showLook()
		}
	case triedMsg:
		if msg.seq != q.seq {
			return nil
		}
		q.trying = false
		if errors.Is(msg.err, context.Canceled) {
			return nil
		}
		l := m.lookOf(msg.key)
		if l.Tried = msg.text; msg.err != nil {
			l.Tried = []string{oneLine(msg.err)}
		}
		m.say("what if: " + strings.Join(l.Tried, "; "))
		m.showLook()
	}
	return nil
}

func (m *Model) diagnosisEnded(msg diagnosedMsg) tea.Cmd {
	q := &m.race
	if msg.seq != q.seq {
		return nil
	}
	q.stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.say("diagnosis cancelled")
	case msg.err != nil:
		m.complain(oneLine(msg.err))
	default:
		q.doc = msg.doc
		if len(msg.doc.Story) > 0 {
			m.say(msg.doc.Story[0])
		}
	}
	m.showRaces()
	return m.askScene()
}

// cancelRace ends a diagnosis or a what-if under way, and reports whether there was one.
func (m *Model) cancelRace() bool {
	switch {
	case m.race.active:
		m.race.stop()
		m.race.seq++
		m.say("diagnosis cancelled; what it found stays")
	case m.race.trying:
		m.race.stopIf()
		m.race.trying = false
		m.say("what-if cancelled")
	default:
		return false
	}
	m.showRaces()
	return true
}
