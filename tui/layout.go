package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/keymap"
	"tilescope/tui/pane/failure"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/gpu"
	"tilescope/tui/pane/pipe"
	"tilescope/tui/pane/races"
	"tilescope/tui/pane/tile"
)

// Smallest terminal that the views are made for.
const (
	minWidth  = 80
	minHeight = 24
)

// part is a pane that can have the focus.
type part string

const (
	partTimeline  part = "timeline"
	partDetail    part = "detail"
	partKernel    part = "kernel"
	partReference part = "reference"
	partError     part = "error"
	partEmulator  part = "emulator"
	partRail      part = "stages"
	partSource    part = "source"
	partList      part = "list"
	partAbout     part = "about"
	partDevices   part = "devices"
	partProcesses part = "processes"
	partChecks    part = "doctor"
	partReasons   part = "reasons"
	partFailing   part = "failing source"
	partGates     part = "gates"
	partNumbers   part = "numbers"
	partGrid      part = "lanes"
	partCells     part = "tile"
	partBanks     part = "banks"
	partStory     part = "story"
	partFindings  part = "findings"
	partFinding   part = "finding"
	partSides     part = "both sides"
	partWriters   part = "writers"
	partSchedule  part = "schedule"
	partCode      part = "source of the kernel"
	partPTX       part = "ptx"
	partRegisters part = "registers"
	partShared    part = "shared"
	partWarps     part = "warps"
	partNone      part = "view"
)

// sizes are what a person added to the computed sizes.
type sizes struct{ rail, source, code, low int }

// layout is where the Tile view's panes stand, computed from the terminal's size. A width or height of 0 leaves a pane out.
type layout struct {
	body   int // lines between the two at the top and the one at the bottom
	rail   int // columns at the left
	tile   int // columns in the middle
	tileH  int // lines of the tile
	source int // lines of source below it
	side   int // columns at the right: minimap and facts
}

// Lines around the body.
const (
	topLines    = 2
	bottomLines = 1
)

// compute lays out a terminal of w×h.
func compute(w, h int, s sizes) layout {
	l := layout{body: max(0, h-topLines-bottomLines), tile: w}
	if w >= 112 {
		l.rail = max(20, 24+s.rail)
	}
	if w >= 176 && h >= 40 {
		l.side = 52
	}
	l.tile = w - l.rail - l.side
	l.tileH = l.body
	if h >= 34 {
		l.source = max(5, min(l.body/3+s.source, l.body-16))
		l.tileH = l.body - l.source
	}
	return l
}

// mapWidth is the width at which three heat maps of 32 columns stand beside each other, with labels and borders.
const mapWidth = 3*(32+5) + 4

// widen takes the rail away where only that leaves a heat map room for 32 columns.
func (l *layout) widen() {
	if l.tile < mapWidth && l.tile+l.rail >= mapWidth {
		l.tile, l.rail = l.tile+l.rail, 0
	}
}

// small reports whether the terminal is too small for the views.
func (m *Model) small() bool { return m.w < minWidth || m.h < minHeight }

// resize gives every pane its size.
func (m *Model) resize(w, h int) {
	m.w, m.h = w, h
	if m.small() {
		return
	}
	m.frame = compute(w, h, m.sizes)
	if m.pane.tile.Settings().Heat == tile.HeatMap {
		m.frame.widen()
	}
	f := m.frame
	m.pane.pipe.SetSize(w, f.body)
	m.pane.flags.SetSize(w, f.body)
	m.pane.gpu.SetSize(w, f.body)
	m.pane.races.SetSize(w, f.body)
	m.pane.frag.SetSize(w, f.body)
	m.pane.gates.SetSize(w, f.body)
	m.pane.consent.SetSize(w, f.body)
	m.sizeFailure()
	m.sizeWalk()
	m.pane.tile.SetSize(f.tile, f.tileH)
	m.pane.rail.SetSize(f.rail, f.body)
	m.pane.source.SetSize(f.tile, f.source)
	if f.side > 0 {
		m.pane.mini.SetSize(f.side, m.miniHeight())
	}
	m.applyFocus()
}

// miniHeight is the minimap's share of the right column.
func (m *Model) miniHeight() int { return min(34, m.frame.body*3/5) }

// raceParts names the Races view's parts, raceOrder the order of the focus key.
var (
	raceParts = map[part]int{partStory: races.Story, partFindings: races.List, partFinding: races.About, partSides: races.Sides, partWriters: races.Cells, partSchedule: races.Strip}
	raceOrder = []part{partFindings, partFinding, partSides, partWriters, partSchedule, partStory}
)

// tileParts names the Tile view's columns.
var tileParts = map[int]part{tile.Kernel: partKernel, tile.Reference: partReference, tile.Error: partError, tile.Emulator: partEmulator}

// parts lists the focusable panes of the view, in the order of the focus key.
func (m *Model) parts() []part {
	if m.failing() {
		return []part{partReasons, partFailing}
	}
	switch m.view {
	case keymap.Pipe:
		return []part{partTimeline, partDetail}
	case keymap.Races:
		return raceOrder
	case keymap.GPU:
		if m.gpu.list == nil {
			return []part{partChecks}
		}
		return []part{partDevices, partProcesses}
	case keymap.Flags:
		return []part{partList, partAbout}
	case keymap.Frag:
		return fragParts
	case keymap.Gates:
		return gateParts
	case keymap.Source:
		return walkParts
	case keymap.Tile:
		out := []part{}
		for _, c := range m.pane.tile.Columns() {
			out = append(out, tileParts[c])
		}
		if m.frame.source > 0 {
			out = append(out, partSource)
		}
		if m.frame.rail > 0 {
			out = append(out, partRail)
		}
		return out
	}
	return []part{partNone}
}

// focused is the pane that has the focus.
func (m *Model) focused() part {
	parts := m.parts()
	return parts[min(m.focus[m.view], len(parts)-1)]
}

// focusOn gives a pane of the view the focus.
func (m *Model) focusOn(p part) {
	if i := slices.Index(m.parts(), p); i >= 0 {
		m.focus[m.view] = i
		m.applyFocus()
	}
}

// applyFocus tells the panes which of them has the focus.
func (m *Model) applyFocus() {
	at := m.focused()
	index := func(p part, n int) int {
		if at == p {
			return n
		}
		return -1
	}
	m.pane.pipe.SetFocus(max(index(partTimeline, pipe.Timeline), index(partDetail, pipe.Detail)))
	m.pane.flags.SetFocus(max(index(partList, flags.List), index(partAbout, flags.About)))
	m.pane.tile.SetFocus(max(index(partKernel, tile.Kernel), index(partReference, tile.Reference), index(partError, tile.Error), index(partEmulator, tile.Emulator)))
	m.pane.gates.SetFocus(slices.Index(gateParts, at))
	m.pane.frag.SetFocus(slices.Index(fragParts, at))
	m.pane.rail.SetFocus(at == partRail)
	m.pane.source.SetFocus(at == partSource)
	m.pane.gpu.SetFocus(max(index(partDevices, gpu.Devices), index(partProcesses, gpu.Processes), index(partChecks, gpu.Checks)))
	m.pane.fail.SetFocus(max(index(partReasons, failure.Reasons), index(partFailing, failure.Source)))
	m.pane.failSource.SetFocus(at == partFailing)
	if i, ok := raceParts[at]; ok {
		m.pane.races.SetFocus(i)
	}
	m.focusWalk(at)
}

// grow makes the focused pane larger or smaller.
func (m *Model) grow(n int) tea.Cmd {
	if m.view == keymap.Frag {
		return m.stepLD(n)
	}
	switch at := m.focused(); at {
	case partTimeline:
		m.pane.pipe.Grow(-n)
	case partDetail:
		m.pane.pipe.Grow(n)
	case partList:
		m.pane.flags.Grow(n)
	case partAbout:
		m.pane.flags.Grow(-n)
	case partGates:
		m.pane.gates.Grow(n)
	case partNumbers:
		m.pane.gates.Grow(-n)
	case partRail:
		m.sizes.rail = max(-6, min(16, m.sizes.rail+2*n))
	case partSource:
		m.sizes.source = max(-6, min(20, m.sizes.source+2*n))
	case partKernel, partReference, partError, partEmulator:
		return tea.Batch(m.set(func(s *tile.Settings) {
			i := map[part]int{partKernel: tile.Kernel, partReference: tile.Reference, partError: tile.Error, partEmulator: tile.Emulator}[at]
			w := s.Weight[i]
			if w == 0 {
				w = 10
			}
			s.Weight[i] = max(5, min(30, w+2*n))
			m.say(fmt.Sprintf("%s: width %d", at, s.Weight[i]))
		}))
	case partCode, partPTX, partRegisters, partShared, partWarps:
		m.growWalk(at, n)
	default:
		m.say(fmt.Sprintf("%s has one pane", m.view))
		return nil
	}
	m.resize(m.w, m.h)
	m.say(fmt.Sprintf("%s: %s", m.focused(), map[bool]string{true: "larger", false: "smaller"}[n > 0]))
	return m.changed()
}
