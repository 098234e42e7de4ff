package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/tui/theme"
)

// table draws a list with a head: rows that do not fit are scrolled to.
func (p *Pane) table(part int, title, empty string, heads []string, rows [][]string, styles []theme.Style,
	w, h int,
) []string {
	t := p.Theme
	focused := p.Focus == part
	if len(rows) == 0 {
		line := t.Line(w-2).Space(1).Add(t.Dim, t.Fit(empty, w-3)).Done()
		return t.Box(title, "", []string{line}, w, h, focused)
	}
	widths := make([]int, len(heads))
	for i, head := range heads {
		widths[i] = t.Width(head)
		for _, r := range rows {
			widths[i] = max(widths[i], t.Width(r[i]))
		}
	}
	gap, all := 2, 1
	for _, n := range widths {
		all += n + gap
	}
	if all-gap > w-2 {
		gap = 1
	}
	l := t.Line(w - 2).Space(1)
	for i, head := range heads {
		l.Add(t.Dim, head).Space(widths[i] + gap - t.Width(head))
	}
	lines := []string{l.Done()}
	p.first[part] = theme.Into(p.first[part], p.at[part], h-3, len(rows))
	for i := p.first[part]; i < min(p.first[part]+max(1, h-3), len(rows)); i++ {
		l := t.Line(w - 2)
		chosen := focused && i == p.at[part]
		l.Pointer(chosen)
		for k, text := range rows[i] {
			style := t.Text
			if k == 1 {
				style = styles[i]
			}
			if chosen {
				style = t.Select
			}
			l.Add(style, text).Repeat(style, " ", widths[k]+gap-t.Width(text))
		}
		if chosen {
			lines = append(lines, l.DoneIn(t.Select))
			continue
		}
		lines = append(lines, l.Done())
	}
	note := ""
	if len(rows) > h-3 {
		note = fmt.Sprintf("%d of %d", p.at[part]+1, len(rows))
	}
	return t.Box(title, note, lines, w, h, focused)
}

// ring is the buffers of shared memory that operations fill, with who owns each.
func (p *Pane) ring(w, h int) []string {
	buffers := p.buffers()
	var rows [][]string
	var styles []theme.Style
	for i := range buffers {
		s := &buffers[i]
		o := s.At(p.data.Pos.Step)
		glyph, style := p.glyph(markOwner + mark(o.Owner))
		rows = append(rows, []string{
			s.Name, glyph + " " + o.Owner.String(), strconv.FormatUint(o.From, 10), orDash(s.Full),
			orDash(s.Empty), orDash(p.holder(i, o.Owner)),
		})
		styles = append(styles, style)
	}
	return p.table(Ring, "RING", "no operation fills shared memory",
		[]string{"buffer", "owner", "since", "full", "empty", "by"}, rows, styles, w, h)
}

// orDash is a name, or a mark that there is none.
func orDash(name string) string {
	if name == "" {
		return "–"
	}
	return name
}

// holder is who has a buffer: the warps whose operations fill it, the products that read it.
func (p *Pane) holder(buffer int, o walk.Owner) string {
	step := p.data.Pos.Step
	s := &p.data.Line.Buffers[buffer]
	var by []string
	warps := map[string][]int{} // of those of by that fill it
	for i := range p.data.Line.Flights {
		f := &p.data.Line.Flights[i]
		if f.Issued > step || f.Landed <= step {
			continue
		}
		text := ""
		switch {
		case f.Buffer == buffer:
			if text = strings.ReplaceAll(f.Of, ", ", ","); text == "" {
				text = string(f.Kind)
			}
			warps[text] = append(warps[text], f.Warp)
		case slices.ContainsFunc(f.Reads, func(r target.Range) bool { return r.Lo < s.Hi && r.Hi > s.Lo }):
			text = fmt.Sprintf("wgmma %d", f.Warp/warpgroup)
		}
		if text != "" && !slices.Contains(by, text) {
			by = append(by, text)
		}
	}
	if len(by) == 0 && o == walk.InUse && s.Empty != "" {
		return "until " + s.Empty
	}
	for i, text := range by {
		if list := warps[text]; list != nil {
			by[i] = text + " by " + warpsText(list)
		}
	}
	return strings.Join(by, ", ")
}

// warpsText is a set of warps in order: "w0", "w0-3", "w0, w2-3".
func warpsText(warps []int) string {
	warps = slices.Compact(slices.Sorted(slices.Values(warps)))
	var out []string
	for i := 0; i < len(warps); {
		j := i
		for j+1 < len(warps) && warps[j+1] == warps[j]+1 {
			j++
		}
		text := fmt.Sprintf("w%d", warps[i])
		if j > i {
			text += fmt.Sprintf("-%d", warps[j])
		}
		out, i = append(out, text), j+1
	}
	return strings.Join(out, ", ")
}

// barriers are the mbarriers: phase, what is pending, who waits.
func (p *Pane) barriers(w, h int) []string {
	var rows [][]string
	var styles []theme.Style
	for i := range p.data.State.MBarriers {
		m := &p.data.State.MBarriers[i]
		bytes := "–"
		if m.Promised > 0 || m.Arrived > 0 {
			bytes = fmt.Sprintf("%d of %d", m.Promised-m.Arrived, m.Promised)
		}
		style := p.Theme.Text
		waiting := p.waitingAt(m.Addr)
		if waiting != "" {
			style = p.Theme.Taint
		}
		rows = append(rows, []string{
			p.barrierName(m.Addr), fmt.Sprint(m.Phase), fmt.Sprintf("%d of %d", m.Pending, m.Expected), bytes,
			orDash(waiting),
		})
		styles = append(styles, style)
	}
	none := "the kernel has initialised no mbarrier yet"
	if p.data.Line != nil && len(p.data.Line.MBarriers) == 0 {
		none = "the block initialises no mbarrier"
	}
	return p.table(Barriers, "MBARRIERS arrivals and bytes pending", none,
		[]string{"mbarrier", "phase", "arrivals", "bytes", "waiting"}, rows, styles, w, h)
}

func (p *Pane) barrierName(addr uint64) string {
	if p.data.Line != nil {
		if i := p.data.Line.MBarrier(addr); i >= 0 {
			return p.data.Line.MBarriers[i].Name
		}
	}
	return fmt.Sprintf("%#x", addr)
}

// waitingAt is the warps that wait at an mbarrier now.
func (p *Pane) waitingAt(addr uint64) string {
	name := "mbarrier " + p.barrierName(addr)
	var warps []int
	for i := range p.data.Warps {
		if p.data.Warps[i].Wait == name {
			warps = append(warps, p.data.Warps[i].Index)
		}
	}
	if len(warps) == 0 {
		return ""
	}
	return "w" + theme.Numbers(warps)
}

// operations are those under way.
func (p *Pane) operations(w, h int) []string {
	var rows [][]string
	var styles []theme.Style
	for i := range p.data.State.Operations {
		o := &p.data.State.Operations[i]
		what, issued := string(o.Kind)+" "+o.Of, "–"
		if f := p.flight(o.ID); f != nil {
			what, issued = f.Name, strconv.FormatUint(f.Issued, 10)
		}
		by := fmt.Sprintf("warp %d", o.Warp)
		switch {
		case o.Kind == target.OpWgmma:
			by = fmt.Sprintf("w%d-%d", o.Warp, o.Warp+warpgroup-1)
		case o.Lane >= 0:
			by += fmt.Sprintf(" lane %d", o.Lane)
		}
		done := "a group that is waited for"
		switch {
		case o.MBarrier >= 0:
			done = p.barrierName(uint64(o.MBarrier))
		case o.Kind == target.OpWgmma:
			done = "wgmma.wait_group"
		case o.Kind == target.OpAsyncCopy:
			done = "cp.async.wait_group"
		}
		bytes := "–"
		if o.Bytes > 0 {
			bytes = strconv.Itoa(o.Bytes)
		}
		rows = append(rows, []string{what, by, issued, bytes, done, p.reading(o)})
		styles = append(styles, p.Theme.Text)
	}
	return p.table(Operations, fmt.Sprintf("PENDING %d", len(rows)), "nothing asynchronous is pending",
		[]string{"operation", "issued by", "at step", "bytes", "completes on", "reads"}, rows, styles, w, h)
}

// flight is an operation of the timeline, nil where it is not known.
func (p *Pane) flight(id uint64) *walk.Flight {
	if p.data.Line == nil {
		return nil
	}
	i := slices.IndexFunc(p.data.Line.Flights, func(f walk.Flight) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return &p.data.Line.Flights[i]
}

// reading is the buffers that an operation reads.
func (p *Pane) reading(o *target.Operation) string {
	var out []string
	buffers := p.buffers()
	for i := range buffers {
		if s := &buffers[i]; slices.ContainsFunc(o.Reads, func(r target.Range) bool {
			return r.Lo < s.Hi && r.Hi > s.Lo
		}) {
			out = append(out, s.Name)
		}
	}
	return strings.Join(out, ", ")
}

// Text is the row under the cursor of a part, to copy.
func (p *Pane) Text(part int) string {
	switch part {
	case Ring:
		if s := p.buffers(); p.at[Ring] < len(s) {
			x := &s[p.at[Ring]]
			return fmt.Sprintf("%s %s", x.Name, x.At(p.data.Pos.Step).Owner)
		}
	case Barriers:
		if ms := p.data.State.MBarriers; p.at[Barriers] < len(ms) {
			m := ms[p.at[Barriers]]
			return fmt.Sprintf("%s phase %d, %d of %d arrivals pending, %d of %d bytes pending",
				p.barrierName(m.Addr), m.Phase, m.Pending, m.Expected, m.Promised-m.Arrived, m.Promised)
		}
	case Operations:
		if o := p.Operation(); o != nil {
			return o.Name
		}
	default:
		if p.chart != nil && len(p.chart.rows) > 0 {
			r := &p.chart.rows[p.row]
			span := p.chart.within(p.col)
			return fmt.Sprintf("%s: %s %s", stepsText(span), r.label, p.story(r, span, true))
		}
	}
	return ""
}

// Operation is the operation under the cursor of those under way, nil where there is none.
func (p *Pane) Operation() *walk.Flight {
	if all := p.data.State.Operations; p.at[Operations] < len(all) {
		return p.flight(all[p.at[Operations]].ID)
	}
	return nil
}
