package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/probes"
)

// numbers reads n comma-separated numbers.
func numbers(text string, n int) ([]int, bool) {
	parts := strings.Split(text, ",")
	if len(parts) != n {
		return nil, false
	}
	out := make([]int, n)
	for i, p := range parts {
		v, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || v < 0 {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

func (m *Model) goBlock(arg string) tea.Cmd {
	for strings.Count(arg, ",") < 2 {
		arg += ",0"
	}
	n, ok := numbers(arg, 3)
	if !ok {
		m.complain(fmt.Sprintf("block %q: expected X,Y,Z", arg))
		return nil
	}
	if !m.movable() {
		return m.nothingYet()
	}
	b := probes.Dim3{n[0], n[1], n[2]}
	if !slices.Contains(m.run.viewer.Blocks(), b) {
		m.complain(fmt.Sprintf("block %s was not captured; the grid is %s", b, m.run.plan.Grid))
		return nil
	}
	c := m.cursor
	c.Block = b
	return m.goTo(c)
}

// knownStages lists the stages of the run on screen, before the first those of the target's manifest.
func (m *Model) knownStages() []string {
	if m.run != nil && m.run.plan != nil {
		var out []string
		for i := range m.run.plan.Stages {
			out = append(out, m.run.plan.Stages[i].Stage.String())
		}
		return out
	}
	if man, _ := m.manifest(); man != nil {
		return man.StageNames()
	}
	return nil
}

func (m *Model) goStage(arg string) tea.Cmd {
	s, have := probes.Stage(arg), m.knownStages()
	if !slices.Contains(have, arg) {
		m.complain(fmt.Sprintf("no stage %q (stages: %s)", arg, strings.Join(have, " ")))
		return nil
	}
	c := m.cursor
	c.Stage = s
	return m.goTo(c)
}

func (m *Model) goKV(arg string) tea.Cmd {
	n, ok := numbers(arg, 1)
	if !ok {
		m.complain(fmt.Sprintf("kv tile %q is not a number", arg))
		return nil
	}
	if m.movable() {
		if lo, count := m.run.viewer.Tiles(m.cursor.Block); n[0] < lo || n[0] >= lo+count {
			m.complain(fmt.Sprintf("there is no kv tile %d: block %s has kv tiles %d to %d", n[0], m.cursor.Block, lo, lo+count-1))
			return nil
		}
	}
	return m.kv(n[0] - m.cursor.KVTile)
}

func (m *Model) goCell(arg string) tea.Cmd {
	n, ok := numbers(arg, 2)
	if !ok {
		m.complain(fmt.Sprintf("cell %q: expected ROW,COL", arg))
		return nil
	}
	if !m.movable() {
		return m.nothingYet()
	}
	c := m.cursor
	if sp := m.run.plan.Stage(c.Stage); sp != nil && (n[0] >= sp.Rows || n[1] >= sp.Cols) {
		m.complain(fmt.Sprintf("%s has no cell %d,%d: its rows are 0 to %d, its columns 0 to %d", c.Stage, n[0], n[1], sp.Rows-1, sp.Cols-1))
		return nil
	}
	c.Row, c.Col = n[0], n[1]
	return m.goTo(c)
}
