package frag

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// fragments is the Frag view's state: maps by backend, and the table of the run on screen.
type fragments struct {
	backend string // what was chosen: emu or cuda; "" is the run's
	docs    map[string]*report.Lut
	errs    map[string]string
	asked   map[string]bool
	header  *fragment.Table // a file's, in place of the kernel's
	tables  []fragment.Table
	shown   int            // which of them :table showed last, from 1
	gen     int            // of the run that the tables are of
	read    bool           // they have been read
	later   func() tea.Cmd // what waits for maps or tables to be read
	target  string         // of the run for which the fragment was chosen
}

// sameTarget takes what was chosen in the view back where the run on screen is of another target.
func (v *Controller) sameTarget() {
	if v.Run == nil {
		return
	}
	was := v.known.target
	if v.known.target = v.Run.Request.Target; was != "" && was != v.known.target {
		v.restore()
	}
}

// restore takes back what was chosen in the view, a header among it, and names each choice.
func (v *Controller) restore() []string {
	back := v.pane.Restore()
	if h := v.known.header; h != nil {
		v.known.header, back = nil, append(back, "header "+h.Name)
		v.showFragments()
	}
	return back
}

// mappedMsg is the fragment maps of a backend.
type mappedMsg struct {
	backend string
	doc     *report.Lut
	err     error
}

// tableMsg is the tables of a run's kernel.
type tableMsg struct {
	gen    int
	tables []fragment.Table
	err    error
}

// fragBackend is the backend whose maps are shown.
func (v *Controller) fragBackend() string {
	switch {
	case v.known.backend != "":
		return v.known.backend
	case v.Req.Backend == "both":
		return "cuda"
	}
	return v.Req.Backend
}

// loadFragments shows what is known in the Frag view and asks for what it lacks.
func (v *Controller) loadFragments() tea.Cmd {
	if at := v.Root.Showing(); at != view.Frag && (at != view.Tile || v.Side == 0) {
		return nil
	}
	v.showFragments()
	return tea.Batch(v.askMaps(), v.askTable())
}

func (v *Controller) askMaps() tea.Cmd {
	be := v.fragBackend()
	e, ok := v.Engine.(introspector)
	if !ok || v.known.asked[be] {
		return nil
	}
	if v.known.asked == nil {
		v.known.asked, v.known.docs, v.known.errs = map[string]bool{}, map[string]*report.Lut{},
			map[string]string{}
	}
	v.known.asked[be] = true
	ctx, req := v.Ctx, debugkern.Request{Backend: be, Device: v.Req.Device}
	return func() tea.Msg {
		doc, err := e.Lut(ctx, req, fragment.Filter{})
		return mappedMsg{be, doc, err}
	}
}

func (v *Controller) askTable() tea.Cmd {
	if v.Run == nil || v.known.gen == v.Gen {
		return nil
	}
	v.known.gen, v.known.tables, v.known.shown, v.known.read = v.Gen, nil, 0, false
	run, ok := v.Run.Viewer.(tabled)
	if !ok {
		v.known.read = true
		return nil
	}
	ctx, gen := v.Ctx, v.Gen
	return func() tea.Msg {
		list, err := run.Lookups(ctx)
		return tableMsg{gen, list, err}
	}
}

// mapped keeps the maps of a backend. One that is not there is said, and the choice goes back.
func (v *Controller) mapped(msg mappedMsg) tea.Cmd {
	if msg.err != nil {
		v.known.asked[msg.backend] = false
		v.known.errs[msg.backend] = view.OneLine(msg.err)
		if v.known.backend == msg.backend && msg.backend != "" {
			v.known.backend = ""
			v.Complain(msg.backend + ": " + view.OneLine(msg.err))
		}
	} else {
		v.known.docs[msg.backend] = msg.doc
		v.sayAgreement(msg.backend)
	}
	v.showFragments()
	v.Root.Announce(view.FragmentsRead{})
	return v.resume()
}

// resume carries out what waited for maps or tables. It may have to wait again.
func (v *Controller) resume() tea.Cmd {
	do := v.known.later
	v.known.later = nil
	if do == nil {
		return nil
	}
	return do()
}

// sayAgreement reports whether two backends lay fragments out alike.
func (v *Controller) sayAgreement(backend string) {
	doc := v.known.docs[backend]
	for other, was := range v.known.docs {
		if other == backend || was.Backend.Name == doc.Backend.Name {
			continue
		}
		differ := 0
		for i := range min(len(doc.Maps), len(was.Maps)) {
			for l := range doc.Maps[i].Lanes {
				for e, c := range doc.Maps[i].Lanes[l] {
					if was.Maps[i].Lanes[l][e] != c {
						differ++
					}
				}
			}
		}
		v.Say(fmt.Sprintf("%s and %s: %d entries differ", was.Backend.Name, doc.Backend.Name, differ))
	}
}

func (v *Controller) tableFound(msg tableMsg) tea.Cmd {
	if msg.gen != v.known.gen {
		return nil
	}
	v.known.tables, v.known.read = msg.tables, true
	if msg.err != nil {
		v.Complain("the kernel's own table: " + view.OneLine(msg.err))
	}
	v.showFragments()
	v.Root.Announce(view.FragmentsRead{})
	return v.resume()
}

// showFragments gives the pane the maps, the table, and the cursor's tile.
func (v *Controller) showFragments() {
	be := v.fragBackend()
	d := Data{}
	if v.Run != nil {
		d.Target = v.Run.Request.Target
		if v.known.gen == v.Gen {
			d.Tables = v.known.tables
		}
	}
	if v.known.header != nil {
		d.Tables = []fragment.Table{*v.known.header}
	}
	switch doc := v.known.docs[be]; {
	case doc != nil:
		d.Maps, d.Backend = slices.Concat(doc.Maps, fragment.Instructions()), doc.Backend.Device
		if d.Backend == "" {
			d.Backend = doc.Backend.Name
		}
	case v.known.errs[be] != "":
		d.Message = v.known.errs[be]
	default:
		d.Message = "reading the fragments back: the introspection kernel runs"
	}
	v.pane.SetData(d)
	v.showLive()
}

// showLive gives the Frag view the tile at the cursor and who wrote its cell.
func (v *Controller) showLive() {
	l := Live{}
	l.Ref, l.Bound = v.Numbers.Ref, v.Numbers.Bound
	if v.Run != nil {
		c := v.PlaceOf(v.Cursor)
		l.View = v.Tiles.Views[c.Place]
		sp := v.Run.Plan.Stage(c.Stage)
		l.Tile = view.TileText(v.Run.Plan, sp, c.KVTile)
		if sp != nil && sp.OfLaunch() {
			v.pane.SetLive(Live{
				Note: c.Stage.String() + " is an argument, not a fragment: 2 shows its values",
			})
			return
		}
		if l.View != nil && sp != nil {
			l.Raw = sp.Capture.Kind == probes.CaptureFrag
			v.pane.Follow(v.Cursor.Row, v.Cursor.Col, sp.Rows, sp.Cols)
		}
		if row, col := v.pane.Place(); row == c.Row && col == c.Col {
			l.Writer, l.Note = v.Writers.Known[c], v.Writers.Errs[c]
		} else {
			l.Note = "the tile has no such cell"
		}
	}
	v.pane.SetLive(l)
}

// Commands implements view.Commander.
func (v *Controller) Commands() []view.Command {
	g := view.FragmentCommands
	return []view.Command{
		{
			Group: g, Name: "fragment", Arg: "[m16n8k16|ldmatrix.x4|wmma|…] [a|b|acc] [DTYPE] [row|col] [emu|cuda]",
			Help:   "choose a fragment of WMMA, mma.sync, wgmma or ldmatrix",
			Values: v.pane.Names, Do: v.fragCommand,
		},
		{
			Group: g, Name: "header", Arg: "FILE|-",
			Help:     "judge the WMMA_ACCUM_LUT of a header by the hardware; - the kernel's own again",
			Complete: v.headers, Do: v.headerCommand,
		},
		{
			Group: g, Name: "table", Arg: "[NAME]",
			Help: "show the kernel's own lookup table, with the fragment that it is of; again the next", Do: v.tableCommand,
			Values: func() []string {
				var names []string
				for i := range v.known.tables {
					names = append(names, v.known.tables[i].Name+"\t"+v.known.tables[i].Explanation)
				}
				return names
			},
		},
		{Group: g, Name: "ld", Arg: "N", Help: "leading dimension of the bank strip, in elements",
			Do: v.ldCommand},
		{Group: g, Name: "swizzle", Arg: "0|1|3|7",
			Help:   "which bits of a line's number exchange its 16-byte chunks",
			Values: view.Words("0", "1", "3", "7"), Do: v.swizzleCommand},
	}
}

func (v *Controller) ldCommand(arg string) tea.Cmd {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 16 || n > 4096 {
		v.Complain(fmt.Sprintf("leading dimension %q: expected a number from 16 to 4096", arg))
		return nil
	}
	v.Say(fmt.Sprintf("leading dimension %d", v.pane.SetLD(n)))
	return nil
}

func (v *Controller) swizzleCommand(arg string) tea.Cmd {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 || n > 7 {
		v.Complain(fmt.Sprintf("swizzle %q: expected 0, 1, 3 or 7", arg))
		return nil
	}
	v.pane.SetSwizzle(n)
	v.Say("swizzle: line & " + arg)
	return nil
}

// tableCommand shows one of the kernel's own tables: by its name, or the one after the last.
func (v *Controller) tableCommand(name string) tea.Cmd {
	if reading := v.Run != nil && (v.known.gen != v.Gen || !v.known.read); reading ||
		len(v.pane.Names()) == 0 && v.known.errs[v.fragBackend()] == "" {
		if _, ok := v.Engine.(introspector); ok && v.Run != nil {
			v.known.later = func() tea.Cmd { return v.tableCommand(name) }
			v.Say("looking for the kernel's tables")
			return v.Root.Open(view.Frag)
		}
	}
	if v.known.header != nil {
		v.known.header = nil
		v.showFragments()
	}
	at := -1
	for i := range v.known.tables {
		if v.known.tables[i].Name == name {
			at = i
		}
	}
	if name == "" && len(v.known.tables) > 0 {
		at = v.known.shown % len(v.known.tables)
	}
	t := v.pane.ShowTable(at)
	if t == nil {
		what := "the kernel has no lookup table whose content fits a fragment"
		if name != "" && len(v.known.tables) > 0 {
			what = fmt.Sprintf("no table %q: there is %s", name, v.known.tables[0].Name)
		}
		v.Complain(what + "; :header judges a file's")
		return v.Root.Open(view.Frag)
	}
	v.known.shown = at + 1
	cmd := v.Root.Open(view.Frag)
	said := fmt.Sprintf("table %d of %d: %s", at+1, len(v.known.tables), t.Name)
	if t.At != nil {
		said += fmt.Sprintf(" at %s:%d, %s opens it", t.At.File, t.At.Line, v.Keys.Label(keymap.Edit))
	}
	v.Say(said + " · " + t.Explanation)
	v.Status.Whole = true
	return cmd
}

// SourceLine implements view.Located: where the source declares the table that is shown.
func (v *Controller) SourceLine() (file string, line int, ok bool) {
	if t := v.pane.Table(); t != nil && t.At != nil && v.known.header == nil {
		return t.At.File, t.At.Line, true
	}
	return "", 0, false
}

// headerMsg is a header's table.
type headerMsg struct {
	table *fragment.Table
	err   error
}

// headers completes the file of a table: headers, then folders and sources, which may have one too.
func (v *Controller) headers(typed string) []string {
	rank := func(name string) int {
		switch filepath.Ext(name) {
		case ".h", ".hpp", ".hh", ".cuh", ".inc":
			return 0
		case ".cu", ".c", ".cpp":
			return 2
		}
		if strings.HasSuffix(name, "/") {
			return 1
		}
		return 3
	}
	out := slices.DeleteFunc(v.Paths(typed), func(name string) bool { return rank(name) > 2 })
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// headerCommand judges a header's table in place of the kernel's; "-" takes it away.
func (v *Controller) headerCommand(arg string) tea.Cmd {
	if arg == "-" {
		v.known.header = nil
		v.Say("the kernel's own table again")
		return v.Root.Open(view.Frag)
	}
	e, ok := v.Engine.(introspector)
	if !ok {
		v.Complain("this engine cannot introspect")
		return nil
	}
	ctx, req := v.Ctx, debugkern.Request{Backend: v.fragBackend(), Device: v.Req.Device}
	return func() tea.Msg {
		t, err := e.TableFile(ctx, req, view.AtHome(arg))
		return headerMsg{t, err}
	}
}

func (v *Controller) headerRead(msg headerMsg) tea.Cmd {
	if msg.err != nil {
		v.Complain(view.OneLine(msg.err))
		return nil
	}
	v.known.header = msg.table
	cmd := v.Root.Open(view.Frag)
	v.Say(msg.table.Name + ": " + msg.table.Explanation)
	v.Status.Whole = true
	return cmd
}

func (v *Controller) fragCommand(arg string) tea.Cmd {
	var words []string
	backend := ""
	for _, w := range strings.Fields(arg) {
		if w == "emu" || w == "cuda" {
			backend = w
		} else {
			words = append(words, w)
		}
	}
	cmd := v.Root.Open(view.Frag)
	if len(v.pane.Names()) == 0 && v.known.errs[v.fragBackend()] == "" {
		v.known.later = func() tea.Cmd { return v.fragCommand(arg) }
		v.Say("reading the fragments back")
		return cmd
	}
	if len(v.pane.Names()) == 0 {
		v.Complain(fmt.Sprintf("no fragment is known: %s; %s asks the other backend",
			v.known.errs[v.fragBackend()], v.Keys.LabelIn(view.Frag, introspect)))
		return cmd
	}
	if len(words) > 0 && !v.pane.Choose(words) {
		v.Complain(fmt.Sprintf("no fragment %q: there are %d, such as %s; Tab lists them",
			strings.Join(words, " "), len(v.pane.Names()), strings.Join(v.pane.Near(words, 3), ", ")))
		return cmd
	}
	v.Say("fragment: " + v.pane.choice())
	if backend != "" {
		return tea.Batch(cmd, v.introspectOn(backend))
	}
	return cmd
}
