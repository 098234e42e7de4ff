package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/list"
	"tilescope/tui/pane/prompt"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// Model is the root: it routes messages and keys to the views, gives them their size and focus, runs
// requests, and draws what stands around a view.
type Model struct {
	*view.Context
	opt      Options
	look     Look
	handlers map[keymap.Action]handler

	views   []view.View
	workers []view.Worker // the views with work that can be cancelled
	actions map[keymap.Scope]map[keymap.Action]func(string) tea.Cmd
	view    keymap.Scope   // on screen
	path    []keymap.Scope // the views through which a person came to it
	focus   map[keymap.Scope]int
	zoomed  map[keymap.Scope]bool // the focused part has the whole screen
	search  map[keymap.Scope]string
	filter  map[keymap.Scope]string
	seek    *seeking // nil: no search is being typed

	colours string // the theme that was chosen: auto, or one of theme.Names
	ground  ground // the terminal's, as far as it is known

	w, h  int
	body  int // lines of a view
	mouse bool
	fader theme.Fader

	pending  string // first key of a sequence
	typing   counting
	count    int // before the motion that is being carried out; 0: none
	repeat   *repeating
	digits   digits
	window   time.Duration    // how soon a motion has to follow a digit for a count to be explained
	now      func() time.Time // the clock of keys
	failure  *failed
	consent  *consent
	file     *sourceFile
	list     *list.Pane // what lies over the view
	over     *overlay   // nil: nothing does
	offered  string     // the source of which the editor was said to open a copy only
	prompt   *prompt.Pane
	marks    *bookmarks
	recent   *recent
	proposed proposal
	tour     *tour // nil: none is under way
	restored bool  // the cursor comes from remembered state
	troubled bool  // the engine's warning (cache, compiler) was shown
	memory   *memory
	release  release
	undone   undo
	ticking  bool   // a secondMsg is on its way
	turns    []turn // tasks that wait for the one under way
	leaving  bool   // the key before was Quit, and the status line showed what is not written yet

	paint *painter // nil in tests
	asker *asker   // nil in tests, and where it is asked nothing
}

// New makes the model. Nothing slow happens before its first View.
func New(ctx context.Context, o Options, look Look) *Model {
	if o.LastSave == 0 {
		o.LastSave = lastSave
	}
	after := time.Duration(-1)
	if o.Pace.Quiet == 0 {
		after = releaseDelay
		o.Count = hurry
		o.Pace.Quiet, o.Settle, o.Pause = 60*time.Millisecond, time.Second, questionPause
	}
	c := &view.Context{
		Ctx: ctx, Engine: o.Engine, Pace: o.Pace, StateDir: o.StateDir, Version: o.Version, Files: o.Files,
		Req: o.Request, Follow: true, Status: view.Status{Log: &view.Log{}},
	}
	m := &Model{
		Context: c, opt: o, look: look, window: o.Count, now: time.Now, release: release{after: after},
		handlers: handlers(), view: view.Pipe, mouse: true,
		colours: autoTheme, ground: look.Ground,
		marks: &bookmarks{c, map[string]configs.Bookmark{}}, recent: newRecent(c),
		focus: map[keymap.Scope]int{}, zoomed: map[keymap.Scope]bool{}, search: map[keymap.Scope]string{},
		filter:  map[keymap.Scope]string{},
		actions: map[keymap.Scope]map[keymap.Action]func(string) tea.Cmd{},
	}
	c.Root, c.Now = m, func() time.Time { return m.now() }
	palette := ""
	if o.Config != nil {
		palette, m.mouse = o.Config.Palette, o.Config.Mouse
		if o.Config.Theme != "" {
			m.colours = o.Config.Theme
		}
	}
	c.Theme = m.themeNow(palette)
	m.views = views(c)
	m.workers = able[view.Worker](m.views)
	for _, v := range m.views {
		m.actions[v.Layer().Name] = v.Actions()
	}
	var keys []configs.KeySetting
	if o.Config != nil {
		keys = o.Config.Keys
	}
	m.setKeys(keys)
	m.memory = &memory{Context: c, settle: o.Settle, last: o.LastSave, state: m.remembered,
		unsaved: o.unsaved}
	m.list, m.prompt, m.failure, m.consent, m.file = list.New(c.Theme), prompt.New(c.Theme), newFailed(c),
		newConsent(c, o.Pause),
		&sourceFile{Context: c, reopen: o.Reopen, opened: o.Request, launched: o.Launched,
			recent: m.recent}
	m.restore(o.State)
	if m.Req.Target == "" {
		m.Req.Target = "stage2"
	}
	if _, _, err := o.Engine.Catalogue().Lookup(m.Req.Target); err != nil {
		if mine, _, err := o.Engine.Catalogue().Open(ctx, m.Req.Target); err == nil {
			m.Mine = mine
		}
	}
	switch m.file.compiledFrom(o.Python); {
	case m.file.python != "":
		m.recent.addLine(o.Python)
	case o.Reopen != nil || m.Mine != nil:
		m.recent.add(m.Req, nil)
	}
	m.StartCursor()
	m.draw()
	if o.forgot != nil {
		m.Complain(view.OneLine(o.forgot))
	}
	return m
}

// Shown is the view on screen.
func (m *Model) Shown() view.View { return m.views[m.Keys.Number(m.view)-1] }

// Init starts the first run, and asks the terminal for its ground.
func (m *Model) Init() tea.Cmd {
	if m.opt.Tour {
		return tea.Batch(m.startTour(""), m.askGround())
	}
	if m.opt.Lacks != nil {
		return tea.Batch(m.awaitLaunch(m.opt.Lacking, m.opt.Lacks), m.askGround())
	}
	start := tea.Batch(m.Start(m.Req), m.askGround())
	if m.opt.forgot != nil { // which the first run's words do not overwrite
		m.Status.Keep()
	}
	return start
}

// Update routes one message: size, keys, mouse, paste; anything else is what a command reports.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	m.Log.Passing = m.repeat != nil && m.repeat.left > 0
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg, tea.MouseWheelMsg:
		m.Release()
	}
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
	return m, tea.Batch(cmd, m.release.watch(m.working()), m.seconds(), m.nextTurn(), m.goOn(), m.tourOn())
}

// reported takes the facts that the root's commands come back with; all others are a view's.
func (m *Model) reported(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case view.Progressed:
		cmd = m.Progressed(msg)
	case ranMsg:
		cmd = m.ran(msg)
	case view.Found:
		cmd = m.found(msg)
	case saveDueMsg:
		cmd = m.memory.saveDue(msg)
	case savedMsg:
		m.memory.savedState(msg)
	case editedMsg:
		cmd = m.edited(msg)
	case wroteMsg:
		m.wrote(msg)
	case yankedMsg:
		cmd = m.yankedTile(msg)
	case groundMsg:
		m.grounded(msg)
	case configMsg:
		cmd = m.configured(msg)
	case screenshotMsg:
		m.shot(msg)
	case openedMsg:
		cmd = m.opened(msg)
	case reopenedMsg:
		cmd = m.reopened(msg)
	case sourceMsg:
		cmd = m.file.lookTook(msg)
	case questionMsg:
		cmd = m.questioned(msg)
	case questionDueMsg:
		cmd = m.questionDue(msg)
	case secondMsg:
		cmd = m.second()
	case releaseDueMsg:
		cmd = m.release.due(msg, m.working())
	case releasedMsg:
	case hostMsg:
		cmd = m.hostChosen(msg)
	case agreedMsg:
		cmd = m.agreed(msg)
	default:
		cmd = m.Announce(msg)
	}
	return cmd
}

// reopened runs a saved file by its new launch. A file of Python that no longer compiles is shown as one that
// could not be opened.
func (m *Model) reopened(msg reopenedMsg) tea.Cmd {
	f := m.file
	if msg.text == nil || !f.ofPython() || f.looked[f.roots.source].options != msg.options {
		return f.reopened(msg)
	}
	f.opening = false
	f.answers()
	return m.unopened(openedMsg{words: f.words, text: msg.text, err: msg.err})
}

// stop ends whatever runs in the background.
func (m *Model) stop() {
	m.StopJobs()
	m.consent.stop()
	for _, v := range able[view.Closer](m.views) {
		v.Close()
	}
}

// able lists the views that have an ability.
func able[T any](all []view.View) []T {
	var out []T
	for _, v := range all {
		if x, ok := v.(T); ok {
			out = append(out, x)
		}
	}
	return out
}
