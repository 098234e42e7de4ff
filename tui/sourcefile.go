package tui

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/tui/request"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

const (
	// filePulse is how long between two looks at the files of an own kernel.
	filePulse = 250 * time.Millisecond
	// steadyLooks is how many looks in a row must find the same before a change counts: editors write in
	// steps.
	steadyLooks = 2
	// absentLooks is the same where a file is gone: an editor that saves by renaming puts another in its
	// place.
	absentLooks = 6
	// maxWatched is how many files are watched at most.
	maxWatched = 256
)

// gone is the stamp of a file that is not there.
const gone = "-"

// watchRoots are the files that watching starts from, and the directories in which includes are looked for.
type watchRoots struct {
	target           string
	manifest, source string
	patches, headers []string // of the request's faults; that the last build has read
	include          []string
}

func (r *watchRoots) equal(o *watchRoots) bool {
	return r.target == o.target && r.manifest == o.manifest && r.source == o.source &&
		slices.Equal(r.patches, o.patches) && slices.Equal(r.headers, o.headers) &&
		slices.Equal(r.include, o.include)
}

// watchedFile is a file as a look found it.
type watchedFile struct {
	stamp    string   // gone, or when it was changed and its size
	includes []string // what it includes in quotes
	options  string   // of the launch, in its comments
	// declared is what decides which parameters the kernels have: their declarations and the preprocessor's
	// lines
	declared string
	launch   sourceLaunch // of the target's source
}

// sourceLaunch is what a source shows of the launch that it makes of an entry itself, as options, nil where
// it shows none, and its line.
type sourceLaunch struct {
	entry   string
	options []string
	line    int
}

// sourceFile watches the files that an own kernel is made of: its source, what that includes, the patches of
// its faults, and its manifest. When one of them is saved, the request runs again.
type sourceFile struct {
	*view.Context
	roots   watchRoots
	looked  map[string]watchedFile // by the last look; nil before the first
	settled map[string]string      // stamps of the files that the last run is of
	options *string                // of the launch, as the source's comments had them at the first look
	params  string                 // declaredIn the files that the arguments were bound by last
	source  *sourceLaunch          // the launch that the source made itself when the files had settled
	other   string                 // what that launch has now and the request has not, in words; ""
	rebound string                 // what has changed of the parameters since the run before
	same    int                    // looks in a row that found the same
	going   bool                   // a look is under way
	reopen  func(context.Context) (debugkern.Request, error)
	recent  *recent
	chosen  string // --grid or --block, where a command gave that of a launch that is a guess
	// launched is Options.Launched
	launched func(ctx context.Context, file, entry string) (options []string, line int)
	opened   debugkern.Request // what the comments gave last, with the command line's options
	opening  bool              // they are being read again
	python   string            // the file of Python that the target opened last is compiled from; "": none
	words    []string          // of :open, that compiled it
	saved    []string          // the files whose change the run under way answers; nil: it answers none
}

// sourceMsg is how the files were found.
type sourceMsg struct {
	roots watchRoots
	files map[string]watchedFile
	mine  *configs.Manifest // the manifest as it is now, where it has changed and can be read
}

// watch looks at the files from time to time. The sources of an embedded kernel do not change.
func (f *sourceFile) watch() tea.Cmd {
	if roots := f.watched(); !roots.equal(&f.roots) {
		if roots.target != f.roots.target {
			f.looked, f.settled, f.Stamp, f.same, f.options, f.params = nil, nil, "", 0, nil, ""
			f.source = nil
		}
		f.roots = roots
	}
	every := filePulse
	if f.Pace.Pulse != 0 {
		every = f.Pace.Pulse
	}
	if f.roots.source == "" || f.going || every < 0 {
		return nil
	}
	f.going = true
	if f.looked == nil {
		return f.look()
	}
	look := f.look()
	return tea.Tick(every, func(time.Time) tea.Msg { return look() })
}

// watched lists what is watched for the request on screen; without a source where nothing is.
func (f *sourceFile) watched() watchRoots {
	if f.Fail != nil && f.Fail.Asked { // its launch is being typed
		return watchRoots{}
	}
	if f.Fail != nil && f.Fail.Opening != nil {
		return watchRoots{target: f.Req.Target, source: filepath.Clean(f.Fail.Opening[0])}
	}
	if f.ofPython() {
		return watchRoots{target: f.Req.Target, source: filepath.Clean(f.python)}
	}
	man, variant := f.Manifest()
	if man == nil || man.Dir == "" {
		return watchRoots{}
	}
	r := watchRoots{target: f.Req.Target, source: filepath.Clean(man.SourcePath()),
		include: slices.Clone(f.Req.Include)}
	for _, d := range man.Compile.Include {
		r.include = append(r.include, man.Path(d))
	}
	if f.Engine.Catalogue().Adopted(f.Req.Target) == nil {
		r.manifest = filepath.Clean(man.File)
	}
	if sel, err := man.Select(variant, f.Req.Set, f.Req.Faults, f.Req.Gate); err == nil {
		for _, p := range sel.Patches() {
			r.patches = append(r.patches, p.Path)
		}
	}
	if f.Run != nil && f.Run.Request.Target == r.target {
		for _, h := range f.Run.Report.Build.Headers {
			if filepath.IsAbs(h.Path) { // it is one of the user's
				r.headers = append(r.headers, h.Path)
			}
		}
	}
	return r
}

// look reads the state of the files in the background.
func (f *sourceFile) look() tea.Cmd {
	ctx, roots, before, cat := f.Ctx, f.roots, f.looked, f.Engine.Catalogue()
	entry, launched := entryOf(f.Req.Launch), f.launched
	if f.reopen == nil {
		launched = nil
	}
	return func() tea.Msg {
		msg := sourceMsg{roots: roots, files: lookAt(ctx, &roots, before)}
		if now := msg.files[roots.source]; launched != nil && now.stamp != gone {
			was, ok := before[roots.source]
			if now.launch = was.launch; !ok || was.stamp != now.stamp || was.launch.entry != entry {
				now.launch.entry = entry
				now.launch.options, now.launch.line = launched(ctx, roots.source, entry)
			}
			msg.files[roots.source] = now
		}
		if m := roots.manifest; m != "" && before != nil && before[m].stamp != msg.files[m].stamp {
			if man, _, err := cat.Open(ctx, roots.target); err == nil {
				msg.mine = man
			}
		}
		return msg
	}
}

// entryOf is the kernel that the options of a launch name; "" where they name none.
func entryOf(launch []string) string {
	for i, w := range launch {
		if name, ok := strings.CutPrefix(w, "--entry="); ok {
			return name
		}
		if i > 0 && launch[i-1] == "--entry" {
			return w
		}
	}
	return ""
}

// launchChanged remembers what the source launches with the opening of the request on screen, where nothing
// is remembered with that, and notes what the source's own launch has now and the request on screen has not,
// where it is another than when the files had settled before.
func (f *sourceFile) launchChanged() {
	now := f.looked[f.roots.source].launch
	f.other = ""
	if was := f.source; was != nil && was.entry == now.entry && was.options != nil && now.options != nil &&
		!slices.Equal(was.options, now.options) {
		if other := otherwise(f.Req.Launch, now.options); other != nil {
			f.other = fmt.Sprintf("line %d launches it with %s now, and this run does not: :open %s proposes that", now.line,
				strings.Join(other, ", "), filepath.Base(f.roots.source))
		}
	}
	first := f.source == nil || f.source.entry != now.entry
	if first && now.options != nil && now.entry == entryOf(f.Req.Launch) {
		f.recent.madeBy(f.Req.Opening(), now.options)
	}
	f.source = &now
}

// lookAt looks at the roots and at all that they include in quotes. Files that have not changed since before
// are not read again.
func lookAt(ctx context.Context, roots *watchRoots, before map[string]watchedFile) map[string]watchedFile {
	out := map[string]watchedFile{}
	todo := slices.Concat([]string{roots.source}, roots.patches, roots.headers)
	if roots.manifest != "" {
		out[roots.manifest] = watchedFile{stamp: stampOf(roots.manifest)}
	}
	for len(todo) > 0 && len(out) < maxWatched {
		path := todo[0]
		todo = todo[1:]
		if _, seen := out[path]; seen {
			continue
		}
		file := watchedFile{stamp: stampOf(path)}
		if was, ok := before[path]; ok && was.stamp == file.stamp {
			file.includes, file.options, file.declared = was.includes, was.options, was.declared
		} else if file.stamp != gone {
			file.includes, file.options, file.declared = readBy(ctx, path)
		}
		out[path] = file
		for _, name := range file.includes {
			todo = append(todo, includePath(filepath.Dir(path), name, roots.include))
		}
	}
	return out
}

// stampOf says whether a file is another than before.
func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return gone
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

var quotedInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"`)

// optionComment is a line of a source that gives options of its launch.
var optionComment = regexp.MustCompile(`(?m)^[ \t]*//[ \t]*tilescope:.*$`)

// readBy lists what a source or header includes in quotes, whether or not it is compiled, the lines that
// give options of a launch, and what decides which parameters its kernels have.
func readBy(ctx context.Context, path string) (includes []string, options, declared string) {
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".tsl", ".patch", ".diff":
		return nil, "", ""
	}
	text, err := build.ReadText(ctx, path, "a source")
	if err != nil {
		return nil, "", ""
	}
	options = string(bytes.Join(optionComment.FindAll(text, -1), []byte("\n")))
	declared = build.Declarations(path, text)
	if ext == ".ptx" {
		return nil, options, declared
	}
	for _, m := range quotedInclude.FindAllSubmatch(text, -1) {
		includes = append(includes, filepath.FromSlash(string(m[1])))
	}
	return includes, options, declared
}

// includePath is the file that an include in quotes means; where there is none yet, the one next to the file
// that includes it.
func includePath(dir, name string, include []string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	for _, d := range append([]string{dir}, include...) {
		if path := filepath.Join(d, name); stampOf(path) != gone {
			return path
		}
	}
	return filepath.Join(dir, name)
}

// lookTook takes up what a look has found, and runs again where files have changed and rest.
func (f *sourceFile) lookTook(msg sourceMsg) tea.Cmd {
	f.going = false
	if !msg.roots.equal(&f.roots) {
		return f.watch()
	}
	if msg.mine != nil && f.Mine != nil {
		f.Mine = msg.mine
	}
	if f.looked != nil && maps.EqualFunc(f.looked, msg.files,
		func(a, b watchedFile) bool { return a.stamp == b.stamp }) {
		f.same++
	} else {
		f.same = 1
	}
	f.looked = msg.files
	return tea.Batch(f.settle(), f.watch())
}

// settle runs again where files differ from those of the last run, and have rested.
func (f *sourceFile) settle() tea.Cmd {
	if f.options == nil {
		options := f.looked[f.roots.source].options
		f.options, f.params = &options, declaredIn(f.looked)
		f.launchChanged()
	}
	if f.source == nil || f.source.entry != f.looked[f.roots.source].launch.entry {
		f.launchChanged() // another kernel of the file is on screen
	}
	if f.settled == nil {
		f.settled = map[string]string{}
	}
	var changed []string
	need := steadyLooks
	for path, now := range f.looked {
		was, known := f.settled[path]
		switch {
		case !known: // a first look: what has run is taken to be what is there
			f.settled[path] = now.stamp
		case was != now.stamp:
			changed = append(changed, filepath.Base(path))
			if now.stamp == gone {
				need = absentLooks
			}
		}
	}
	if f.Stamp == "" {
		f.Stamp = stampOfAll(f.settled)
	}
	if changed == nil || f.same < need {
		return nil
	}
	for path, now := range f.looked {
		f.settled[path] = now.stamp
	}
	f.launchChanged()
	slices.Sort(changed)
	changed = slices.Compact(append(changed, f.saved...)) // a run that this one supersedes answered nothing
	slices.Sort(changed)
	f.Stamp = stampOfAll(f.settled)
	f.Edition++
	f.Root.Announce(view.SourceChanged{})
	changed = slices.Compact(changed)
	f.saved = changed
	if f.ofPython() || f.otherLaunch() || f.otherParameters() {
		return f.openAgain()
	}
	return f.runSaved(f.NextRequest())
}

// runSaved runs a request for the files that were saved.
func (f *sourceFile) runSaved(req debugkern.Request) tea.Cmd {
	saved, rebound, other := f.saved, f.rebound, f.other
	cmd := f.Root.Start(req)
	f.saved, f.rebound, f.other = saved, rebound, other
	f.Say(savedFiles(f.saved) + " saved: building and running again")
	return cmd
}

// compiledFrom notes the words of :open that opened the target on screen, where they name a file of Python:
// that file is watched and edited.
func (f *sourceFile) compiledFrom(words []string) {
	f.python, f.words = "", nil
	if len(words) > 0 && filepath.Ext(words[0]) == pythonExt {
		f.python, f.words = words[0], words
	}
}

// ofPython reports whether the request on screen is of a kernel that a file of Python was compiled to.
func (f *sourceFile) ofPython() bool {
	return f.python != "" && f.Req.Target == f.opened.Target
}

// reopens reports whether the request on screen is of a file whose launch can be read again.
func (f *sourceFile) reopens() bool {
	return f.reopen != nil && f.roots.manifest == "" && f.Req.Target == f.opened.Target
}

// otherLaunch reports whether the source's comments give another launch than the one that was read last.
func (f *sourceFile) otherLaunch() bool {
	return f.reopens() && f.looked[f.roots.source].options != *f.options
}

// otherParameters reports whether the kernels may have other parameters than those that the arguments were
// bound to last.
func (f *sourceFile) otherParameters() bool {
	return f.reopens() && declaredIn(f.looked) != f.params
}

// declaredIn is what decides in all of the files which parameters the kernels have.
func declaredIn(files map[string]watchedFile) string {
	var out strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		out.WriteString(files[path].declared + "\n")
	}
	return out.String()
}

// reopenedMsg is the request by the launch that a source's comments now give, its arguments bound to the
// parameters that the kernel now has.
type reopenedMsg struct {
	options  string // the comments
	declared string
	req      debugkern.Request
	rebound  string   // what has changed of the parameters; ""
	text     []string // of a file of Python that could not be compiled
	err      error
}

// openAgain reads the launch anew, in the background. A save during that is answered after it.
func (f *sourceFile) openAgain() tea.Cmd {
	if f.opening {
		return nil
	}
	f.opening = true
	ctx, options, reopen := f.Ctx, f.looked[f.roots.source].options, f.reopen
	switch {
	case f.ofPython():
		f.Say(savedFiles(f.saved) + " saved: compiling and running again")
	case f.otherLaunch():
		f.Say(savedFiles(f.saved) + " saved: reading the `// tilescope:` comment again, then building and running")
	default:
		f.Say(savedFiles(f.saved) + " saved: building, binding the arguments by name, and running again")
	}
	python, declared, target := f.python, declaredIn(f.looked), f.Req.Target
	cat := f.Engine.Catalogue()
	before := parametersOf(cat.Adopted(target))
	return func() tea.Msg {
		req, err := reopen(ctx)
		msg := reopenedMsg{options: options, declared: declared, req: req, err: err,
			text: textOfFailing(ctx, python, err)}
		if err == nil {
			msg.rebound = parametersChanged(before, parametersOf(cat.Adopted(target)))
		}
		return msg
	}
}

// reopened runs by the new launch. What a person has changed since the start stays, where the comments do not
// change it.
func (f *sourceFile) reopened(msg reopenedMsg) tea.Cmd {
	f.opening = false
	switch {
	case f.Req.Target != f.opened.Target:
		return nil
	case f.looked[f.roots.source].options != msg.options,
		declaredIn(f.looked) != msg.declared: // saved again meanwhile
		return f.openAgain()
	case msg.err != nil && !f.ofPython() && !f.otherLaunch():
		// the run says of its own accord what does not compile, and which parameters have no argument
		return f.runSaved(f.NextRequest())
	case msg.err != nil && f.ofPython(): // the next save tries again
		f.ComplainOf(fmt.Errorf("%s saved, not run: %w", savedFiles(f.answers()), msg.err), false)
		return nil
	case msg.err != nil:
		f.ComplainOf(fmt.Errorf("%s saved, not run by its `// tilescope:` comment: %w",
			savedFiles(f.answers()), msg.err), false)
		return nil
	}
	byComment := f.otherLaunch()
	f.options, f.params, f.rebound = &msg.options, msg.declared, msg.rebound
	next := " saved: building and running again by the `// tilescope:` comment"
	if f.ofPython() {
		next = " saved: running again"
	}
	req := withChanges(f.NextRequest(), f.opened, msg.req)
	f.opened = msg.req
	cmd := f.runSaved(req)
	if byComment || f.ofPython() {
		f.Say(savedFiles(f.saved) + next)
	}
	return cmd
}

// parametersOf are the names of the arguments of a file's launch.
func parametersOf(m *configs.Manifest) (out []string) {
	if m == nil {
		return nil
	}
	for i := range m.Args {
		out = append(out, m.Args[i].Name)
	}
	return out
}

// parametersChanged says what has changed of a kernel's parameters, and that arguments went with their names;
// "" where nothing has.
func parametersChanged(before, after []string) string {
	if before == nil || slices.Equal(before, after) {
		return ""
	}
	var out []string
	for i, name := range after {
		switch {
		case slices.Contains(before, name):
		case i < len(before) && !slices.Contains(after, before[i]):
			out = append(out, before[i]+" is now "+name)
		default:
			out = append(out, name+" is new")
		}
	}
	for i, name := range before {
		if !slices.Contains(after, name) && (i >= len(after) || slices.Contains(before, after[i])) {
			out = append(out, name+" is gone")
		}
	}
	if out == nil {
		out = []string{"they are in another order: " + strings.Join(after, ", ")}
	}
	return "parameters: " + strings.Join(out, ", ") + "; arguments are bound by name, and generated anew"
}

// withChanges is a request with every field that differs between two others, as the second has it.
func withChanges(req, before, after debugkern.Request) debugkern.Request {
	to, a, b := reflect.ValueOf(&req).Elem(), reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range to.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			to.Field(i).Set(b.Field(i))
		}
	}
	return req
}

// stampOfAll is one stamp of many files.
func stampOfAll(files map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s %s\n", path, files[path])
	}
	return b.String()
}

// savedFiles names files, the first three of them.
func savedFiles(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + theme.Count(len(names)-most, "file") + " more"
}

// answers returns which saved files the run that has just ended answers, and forgets them.
func (f *sourceFile) answers() []string {
	saved := f.saved
	f.saved = nil
	return saved
}

// effect says what saving files has changed between two runs of one request; "" where the run answers no save
// or there is nothing to compare it with.
func effect(saved []string, before, after *view.Run) string {
	if saved == nil || before == nil || !request.Same(before.Request, after.Request) {
		return ""
	}
	return savedFiles(saved) + " saved: " + changeBetween(before.Report, after.Report, valueChanges(after))
}
