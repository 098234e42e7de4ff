package tile

import (
	"fmt"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// set changes how the tile is drawn and judged on screen.
func (v *Controller) set(change func(*Settings)) tea.Cmd {
	s := v.pane.Settings()
	change(&s)
	v.apply(s)
	v.showTile()
	v.Root.Layout() // columns have come or gone, or a heat map has room for more
	return tea.Batch(v.Root.Announce(view.NumbersChanged{}), v.Root.Changed())
}

// apply gives settings to the pane, and those that other views read to the context.
func (v *Controller) apply(s Settings) {
	v.pane.Set(s)
	v.Numbers = view.Numbers{Format: s.Format, Ref: s.Ref, Bound: s.Bound}
}

// numbersChanged takes up what another view has changed.
func (v *Controller) numbersChanged() {
	s := v.pane.Settings()
	if n := (view.Numbers{Format: s.Format, Ref: s.Ref, Bound: s.Bound}); n == v.Numbers {
		return
	}
	s.Format, s.Ref, s.Bound = v.Numbers.Format, v.Numbers.Ref, v.Numbers.Bound
	v.pane.Set(s)
	v.showTile()
}

func (v *Controller) nextHeat(string) tea.Cmd {
	return v.set(func(s *Settings) {
		s.Heat = s.Heat.Next()
		v.Say("heat: " + s.Heat.String())
	})
}

func (v *Controller) nextFormat(string) tea.Cmd {
	return v.set(func(s *Settings) {
		s.Format = s.Format.Next()
		v.Say("numbers: " + s.Format.String() + v.unseen(*s))
	})
}

// unseen says of a way to write numbers that the map, which has none, does not show it.
func (v *Controller) unseen(s Settings) string {
	if s.Heat != HeatMap {
		return ""
	}
	return ", once " + v.Keys.LabelIn(view.Tile, keymap.Heat) + " shows numbers"
}

func (v *Controller) nextDiff(string) tea.Cmd {
	if t := v.pane.Shown(); t != nil && !t.Referenced() && len(v.pane.Columns()) < 3 {
		text := "no reference, so there is no error to measure"
		if t.Previous.Reached() {
			text += ": " + v.Keys.LabelIn(view.Tile,
				keymap.Columns) + " shows its values before the launch next to it"
		}
		v.Say(text)
		return nil
	}
	return v.set(func(s *Settings) {
		was := s.Diff
		s.Diff = s.Diff.Next()
		text := "error: " + s.Diff.String()
		switch {
		case s.Diff == cell.DiffOff:
			text += "; " + v.Keys.Label(keymap.Diff) + " shows it again"
		case was != cell.DiffOff: // else the column is back
			text += v.unseen(*s)
		}
		v.Say(text)
	})
}

func (v *Controller) bound(b cell.Bound) tea.Cmd {
	return v.set(func(s *Settings) {
		s.Bound = b
		v.Say("bound: " + b.String())
	})
}

// nextColumns lays what two backends computed side by side, where two did.
func (v *Controller) nextColumns(string) tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	if t := v.pane.Shown(); t != nil && t.Previous.Reached() && v.Run.Report.Cross == nil &&
		v.Run.Pair == nil {
		return v.set(func(s *Settings) {
			s.Choice = map[Choice]Choice{Usual: All}[s.Choice]
			v.Say("columns: " +
				map[Choice]string{Usual: "the launch's",
					All: "after the launch, before it, change"}[s.Choice])
		})
	}
	if v.Run.Report.Cross == nil && v.Run.Pair == nil {
		v.Say("one backend ran: `:backend both` runs GPU and emulator on the same PTX and shows them side by side here")
		return nil
	}
	return v.set(func(s *Settings) {
		s.Choice = s.Choice.Next()
		v.Say("columns: " + s.Choice.Name(v.Run.Pair != nil))
	})
}

// crossing reports whether the view shows two backends' tiles: then the next cell is one where they differ.
func (v *Controller) crossing() bool {
	return v.Run != nil && (v.Run.Report.Cross != nil || v.Run.Pair != nil) &&
		v.pane.Settings().Choice != Usual
}

func (v *Controller) toggleFollow(string) tea.Cmd {
	v.Follow = !v.Follow
	v.Say("source follows the cell's writer: " + view.OnOff(v.Follow))
	return v.Root.Changed()
}

// Commands implements view.Commander.
func (v *Controller) Commands() []view.Command {
	g := view.DisplayCommands
	return []view.Command{
		{Group: g, Name: "format", Arg: "NAME", Help: "how numbers are written",
			Values: view.Words("fixed", "sci", "hex", "bits", "ulp"),
			Do: pick(v, "format", func(a string) (func(*Settings), bool) {
				f, ok := cell.ParseFormat(a)
				return func(s *Settings) { s.Format = f }, ok
			})},
		{Group: g, Name: "diff", Arg: "NAME", Help: "how errors are measured",
			Values: view.Words("abs", "rel", "ulp", "off"),
			Do: pick(v, "diff", func(a string) (func(*Settings), bool) {
				d, ok := cell.ParseDiff(a)
				return func(s *Settings) { s.Diff = d }, ok
			})},
		{Group: g, Name: "ref", Arg: "NAME", Help: "which reference: auto, local, global, mirrored",
			Values: view.Words("auto", "local", "global", "mirrored"),
			Do: pick(v, "reference", func(a string) (func(*Settings), bool) {
				r, ok := cell.ParseRef(a)
				return func(s *Settings) { s.Ref = r }, ok
			})},
		{Group: g, Name: "heat", Arg: "NAME", Help: "colour of values: tint, map, off",
			Values: view.Words("tint", "map", "off"),
			Do: pick(v, "heat", func(a string) (func(*Settings), bool) {
				h, ok := ParseHeat(a)
				return func(s *Settings) { s.Heat = h }, ok
			})},
		{Group: g, Name: "bound", Arg: "derived|ULPS", Help: "where a cell counts as bad on screen",
			Values: view.Words("derived"), Do: pick(v, "bound", func(a string) (func(*Settings), bool) {
				n, err := strconv.Atoi(a)
				if a == "derived" {
					n, err = 0, nil
				}
				return func(s *Settings) { s.Bound = cell.Bound(n) }, err == nil && n >= 0 && n <= 1<<20
			})},
	}
}

// pick is a command that changes one setting.
func pick(v *Controller, kind string, parse func(arg string) (func(*Settings), bool)) func(string) tea.Cmd {
	return func(arg string) tea.Cmd {
		change, ok := parse(arg)
		if !ok {
			v.Complain(fmt.Sprintf("no %s %q", kind, arg))
			return nil
		}
		said := kind + ": " + arg
		if s := v.pane.Settings(); s.Heat == HeatMap {
			was := s
			if change(&s); s.Heat == HeatMap && (s.Format != was.Format || s.Diff != was.Diff &&
				s.Diff != cell.DiffOff && was.Diff != cell.DiffOff) {
				said += v.unseen(s)
			}
		}
		v.Say(said)
		return v.set(change)
	}
}

// Remember implements view.Rememberer.
func (v *Controller) Remember(d map[string]string) {
	s := v.pane.Settings()
	d["format"], d["diff"], d["reference"], d["heat"] = s.Format.String(), s.Diff.String(), s.Ref.String(),
		s.Heat.String()
}

// Recall implements view.Rememberer.
func (v *Controller) Recall(d map[string]string) {
	s := v.pane.Settings()
	if f, ok := cell.ParseFormat(d["format"]); ok {
		s.Format = f
	}
	if x, ok := cell.ParseDiff(d["diff"]); ok {
		s.Diff = x
	}
	if r, ok := cell.ParseRef(d["reference"]); ok {
		s.Ref = r
	}
	if h, ok := ParseHeat(d["heat"]); ok {
		s.Heat = h
	}
	v.apply(s)
}

// wideNote is the width from which the note is in words.
const wideNote = 120

// notes are the settings of the error column and of the bound, as the tab line of a terminal of w columns and
// the legend write them.
func (s Settings) notes(w int) (diff, bound string) {
	switch {
	case w < wideNote:
		return "Δ" + s.Diff.String(), "≤" + s.Bound.String()
	case s.Diff == cell.DiffOff:
		diff = "no error column"
	default:
		diff = "error in " + s.Diff.String()
	}
	return diff, "bound " + s.Bound.String()
}

// Note implements view.Noted: how numbers are written and judged, and what is searched for and shown.
func (v *Controller) Note() string {
	s := v.pane.Settings()
	diff, bound := s.notes(v.noteWidth())
	text := s.Format.String() + " " + diff + bound
	if v.noteWidth() >= wideNote {
		text = s.Format.String() + " · " + diff + " · " + bound
	}
	if v.pane.unreferenced() {
		text = s.Format.String()
	}
	return v.sought() + text
}

// sought is what is shown and searched for, before the settings.
func (v *Controller) sought() (text string) {
	if f := v.pane.Settings().Filter; f != nil {
		text = "&" + f.Text + " "
	}
	if v.match != nil {
		text = "/" + v.match.Text + " " + text
	}
	return text
}

// noteWidth is the width of the terminal less what stands before the settings.
func (v *Controller) noteWidth() int {
	w := v.w - v.Theme.Width(v.sought())
	if v.zoomed {
		w -= len("zoom  ") // which the root writes there
	}
	return w
}
