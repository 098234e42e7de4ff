package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
)

// Job is work in the background. A new one supersedes it: its context is cancelled and its messages, which
// carry its generation, are dropped.
type Job struct {
	Gen     int
	Active  bool
	Ctx     context.Context
	Cancel  context.CancelFunc
	Last    debugkern.Progress
	Ran     time.Duration // as of the last second that passed
	updates chan debugkern.Progress
	task    bool // it is the task's, not the run's
	began   time.Time
}

// Task is work besides the runs: a sweep of the gates, a bisection, a comparison. There is one at a time, and
// it is never superseded: it ends, or is cancelled.
type Task struct {
	Job
	What string
	// Words writes how far it has come; nil: as a run does
	Words func(debugkern.Progress) string
	// Writes is set where it writes a file that was asked for.
	Writes bool
}

// Progressed says how far a job has come.
type Progressed struct {
	gen  int
	p    debugkern.Progress
	task bool
}

// Begin makes it the next job.
func (j *Job) Begin(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	*j = Job{
		Gen: j.Gen + 1, Active: true, Ctx: ctx, Cancel: cancel, updates: make(chan debugkern.Progress, 1),
		task: j.task, began: now,
	}
}

// Passed takes up how long the job has run by now.
func (j *Job) Passed(now time.Time) { j.Ran = now.Sub(j.began) }

// Stop cancels the job; it may be called of one that has ended, or never begun.
func (j *Job) Stop() {
	if j.Cancel != nil {
		j.Cancel()
	}
	j.Active = false
}

// Report puts progress in place of what nobody has read yet. Any goroutine may call it.
func (j Job) Report(p debugkern.Progress) { Latest(j.updates, p) }

// Latest puts p into a channel of one, in place of what nobody has read yet.
func Latest[T any](ch chan T, p T) {
	for {
		select {
		case ch <- p:
			return
		default:
		}
		select {
		case <-ch:
		default:
		}
	}
}

// Listen waits for the job's next progress, or its end.
func (j Job) Listen() tea.Cmd {
	return func() tea.Msg {
		select {
		case p := <-j.updates:
			return Progressed{j.Gen, p, j.task}
		case <-j.Ctx.Done():
			return nil
		}
	}
}

// Progressed takes up how far the run or the task has come.
func (x *Context) Progressed(msg Progressed) tea.Cmd {
	j := &x.Job
	if msg.task {
		j = &x.Task.Job
	}
	if msg.gen != j.Gen || !j.Active {
		return nil
	}
	j.Last = msg.p
	return j.Listen()
}

// RanText is for how long something has run, in whole seconds: "12 s", "2:05 min"; "" for less than two
// seconds, which nobody has waited for.
func RanText(d time.Duration) string {
	switch s := int(d.Seconds()); {
	case s < 2:
		return ""
	case s < 60:
		return fmt.Sprintf("%d s", s)
	default:
		return fmt.Sprintf("%d:%02d min", s/60, s%60)
	}
}

// Since is progress with how long it has taken so far: "trying · 12 s".
func Since(text string, d time.Duration) string {
	if ran := RanText(d); ran != "" {
		return text + " · " + ran
	}
	return text
}

// PlainProgress writes progress in words: schedules 12/200.
func PlainProgress(p debugkern.Progress) string {
	out := p.Phase + " " + p.Detail
	if p.Total > 0 {
		out += fmt.Sprintf(" %d/%d", p.Done, p.Total)
	}
	return strings.TrimSpace(strings.ReplaceAll(out, "  ", " "))
}
