package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	consentpane "tilescope/tui/pane/consent"
	"tilescope/tui/pane/failure"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/frag"
	"tilescope/tui/pane/gates"
	"tilescope/tui/pane/gpu"
	"tilescope/tui/pane/help"
	"tilescope/tui/pane/minimap"
	"tilescope/tui/pane/pipe"
	"tilescope/tui/pane/prompt"
	"tilescope/tui/pane/ptx"
	"tilescope/tui/pane/races"
	"tilescope/tui/pane/rail"
	"tilescope/tui/pane/registers"
	"tilescope/tui/pane/shared"
	"tilescope/tui/pane/source"
	"tilescope/tui/pane/tile"
	"tilescope/tui/pane/warps"
	"tilescope/tui/theme"
)

// Model is the root: it routes messages, keeps the cursor, and lays out panes.
type Model struct {
	ctx      context.Context
	opt      Options
	look     Look
	th       *theme.Theme
	keys     *keymap.Map
	handlers map[keymap.Action]handler

	w, h   int
	frame  layout
	view   keymap.Scope
	focus  map[keymap.Scope]int
	sizes  sizes
	mouse  bool
	help   bool
	follow bool

	req       debugkern.Request
	job       job
	run       *shown // the last run that ended well; see current
	fail      *shown // why the request on screen could not run; nil where it has run, or runs
	replaying replay
	fader     theme.Fader
	loaded    tiles
	who       writer
	hunt      hunt
	gpu       telemetry
	race      inquiry
	file      sourceFile
	frag      fragments
	lane      []string // the lane at the cursor, next to a very wide tile
	task      task
	ahead     ahead
	versus    versus
	sweep     sweep
	consent   consent
	walk      walking

	cursor  debugkern.Cell
	fresh   bool // the run put the cursor on its first bad cell and nobody has moved it
	past    history
	marks   map[string]configs.Bookmark
	pending string // first key of a sequence
	status  status
	search  map[keymap.Scope]string
	filter  map[keymap.Scope]string
	match   *cell.Match // the Tile view's search

	restored bool   // the cursor comes from remembered state
	before   string // the shape before a fault asked for another
	pinned   *configs.Setup
	a        *flags.Pinned
	repinned bool              // what was pinned earlier has been run again
	mine     *configs.Manifest // of a target given by its path
	troubled bool              // the engine's warning (cache, compiler) was shown
	saved    int               // generation of the last change to what is remembered

	pane  panes
	paint *painter // nil in tests
}

// panes are the views' parts.
type panes struct {
	pipe   *pipe.Pane
	tile   *tile.Pane
	flags  *flags.Pane
	frag   *frag.Pane
	gates  *gates.Pane
	rail   *rail.Pane
	source *source.Pane
	mini   *minimap.Pane
	help   *help.Pane
	prompt *prompt.Pane
	gpu    *gpu.Pane
	fail   *failure.Pane
	races  *races.Pane

	consent *consentpane.Pane

	failSource *source.Pane // below fail

	code   *source.Pane // the Source view's
	ptx    *ptx.Pane
	regs   *registers.Pane
	shared *shared.Pane
	warps  *warps.Pane
}

// shown is a run with the request that it answers. A run that failed has only request, report and text.
type shown struct {
	name    string // a few words: what is at its default is left out
	request debugkern.Request
	report  *debugkern.Report
	plan    *probes.Plan
	viewer  debugkern.Viewer
	run     *debugkern.Run
	pair    pairing // it laid over A, nil where it is alone
	against string  // A's name
	summary *pipe.Summary
	text    func(file string) []string // the target's source, for a run that failed
	code    debugkern.Code             // of a run that failed
}

// status is the line at the bottom.
type status struct {
	text string
	bad  bool
	cut  bool // the whole of it stands elsewhere on the screen
}

// New makes the model. Nothing slow happens before its first View.
func New(ctx context.Context, o Options, look Look) *Model {
	m := &Model{
		ctx: ctx, opt: o, look: look, keys: keymap.Default(), handlers: handlers(), view: keymap.Pipe,
		focus: map[keymap.Scope]int{}, mouse: true, follow: true, marks: map[string]configs.Bookmark{},
		search: map[keymap.Scope]string{}, filter: map[keymap.Scope]string{}, req: o.Request, consent: consent{asked: map[string]bool{}},
	}
	if m.opt.viewer == nil {
		m.opt.viewer = func(r *debugkern.Run) debugkern.Viewer { return r }
	}
	if m.opt.pair == nil {
		m.opt.pair = newPair
	}
	if o.lastSave == 0 {
		m.opt.lastSave = lastSave
	}
	if o.quiet == 0 {
		m.opt.quiet, m.opt.settle, m.opt.pause = 60*time.Millisecond, time.Second, questionPause
	}
	if s, ok := o.Engine.(*debugkern.Session); ok && o.races == nil {
		m.opt.races = session{s}
	}
	palette := ""
	if o.Config != nil {
		palette, m.mouse = o.Config.Palette, o.Config.Mouse
	}
	m.th = m.theme(palette)
	m.pane = panes{
		pipe: pipe.New(m.th), tile: tile.New(m.th), flags: flags.New(m.th), frag: frag.New(m.th), gates: gates.New(m.th), rail: rail.New(m.th), source: source.New(m.th),
		mini: minimap.New(m.th), help: help.New(m.th), prompt: prompt.New(m.th), gpu: gpu.New(m.th), fail: failure.New(m.th), races: races.New(m.th),
		failSource: source.New(m.th), code: source.New(m.th), ptx: ptx.New(m.th), regs: registers.New(m.th), shared: shared.New(m.th),
		warps: warps.New(m.th), consent: consentpane.New(m.th),
	}
	m.restore(o.State)
	if m.req.Target == "" {
		m.req.Target = "stage2"
	}
	if _, _, err := o.Engine.Catalogue().Lookup(m.req.Target); err != nil {
		if mine, _, err := o.Engine.Catalogue().Open(ctx, m.req.Target); err == nil {
			m.mine = mine
		}
	}
	m.startCursor()
	m.showRun()
	if o.forgot != nil {
		m.complain(oneLine(o.forgot))
	}
	return m
}

func (m *Model) theme(palette string) *theme.Theme {
	levels := 32
	if m.look.Remote {
		levels = 16
	}
	return theme.New(theme.Options{Profile: m.look.Profile, ASCII: m.look.ASCII, Palette: palette, Levels: levels})
}

// Init starts the first run.
func (m *Model) Init() tea.Cmd { return m.start(m.req) }

// Update routes one message: size, keys, mouse, paste; anything else is what a command reports.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		cmd = m.paste(msg.Content)
	case tea.MouseClickMsg:
		cmd = m.click(tea.Mouse(msg))
	case tea.MouseWheelMsg:
		cmd = m.wheel(tea.Mouse(msg))
	default:
		cmd = m.reported(msg)
	}
	return m, cmd
}

// reported takes the facts that commands come back with, room by room.
func (m *Model) reported(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case progressMsg:
		cmd = m.progressed(msg)
	case ranMsg:
		cmd = m.ran(msg)
	case tileMsg:
		m.tileLoaded(msg)
	case writerDueMsg:
		cmd = m.writerDue(msg)
	case writerMsg:
		m.writerFound(msg)
	case bisectedMsg:
		m.bisected(msg)
	case pairedMsg:
		cmd = m.paired(msg)
	case sweepMsg:
		cmd = m.sweeping(msg)
	case judgedMsg:
		cmd = m.judged(msg)
	case sweptMsg:
		cmd = m.swept(msg)
	case mappedMsg:
		m.mapped(msg)
	case headerMsg:
		cmd = m.headerRead(msg)
	case tableMsg:
		m.tableFound(msg)
	case walkedMsg:
		cmd = m.walked(msg)
	case walkTickMsg:
		cmd = m.walkTicked(msg)
	case foundMsg:
		cmd = m.found(msg)
	case saveDueMsg:
		cmd = m.saveDue(msg)
	case savedMsg:
		m.savedState(msg)
	case editedMsg:
		m.edited(msg)
	case configMsg:
		cmd = m.configured(msg)
	case pinnedMsg:
		m.repinnedRun(msg)
	case devicesMsg, checkedMsg, monitorMsg, sampledMsg, pulseMsg:
		cmd = m.gpuMsg(msg)
	case toldMsg, diagnosedMsg, sceneDueMsg, sceneMsg, triedMsg:
		cmd = m.raceMsg(msg)
	case sourceMsg:
		cmd = m.sourceLooked(msg)
	case aheadDueMsg:
		cmd = m.aheadDue(msg)
	case questionMsg:
		cmd = m.questioned(msg)
	case questionDueMsg:
		cmd = m.questionDue(msg)
	case agreedMsg:
		cmd = m.agreed(msg)
	}
	return cmd
}

// say writes to the status line.
func (m *Model) say(text string) { m.status = status{text: text} }

// complain writes a refusal to the status line.
func (m *Model) complain(text string) { m.status = status{text: text, bad: true} }

// stop ends whatever runs in the background.
func (m *Model) stop() {
	m.job.stop()
	m.who.stop()
	m.hunt.stop()
	m.task.stop()
	m.gpu.stop()
	m.race.stop()
	m.walk.stop()
	m.ahead.stop()
	m.consent.stop()
}
