package source

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
)

// mostNames is how many registers a message lists.
const mostNames = 8

// refuse complains about an expression that is evaluated at a line: what is wrong with it, what the name in
// it may have meant, and an expression that this kernel has. Without a line it is that where the warp stands.
func (v *Controller) refuse(command string, at target.Source, err error) {
	if p := v.walk.shot.pos.Source; at.Line == 0 && p != nil {
		at = *p
	}
	var bad *expr.Error
	if !errors.As(err, &bad) {
		v.Complain(v.loopWords(command + ": " + err.Error()))
		return
	}
	own := *bad // its column is one of the text with the loop's own name
	own.Text, own.Msg = v.loopWords(bad.Text), v.loopWords(bad.Msg)
	own.Pos = len(v.loopWords(bad.Text[:min(bad.Pos, len(bad.Text))]))
	array := v.sharedArray(bad.Unknown)
	if array != nil {
		own.Msg = fmt.Sprintf("%s is an array: %s", array.Name, element(array))
	}
	text := command + ": " + own.Error()
	if bad.Unknown != "" && array == nil {
		text += v.loopWords(v.meant(bad.Unknown, at, command))
	}
	v.Complain(text + "; for example " + v.example(command, at))
}

// lineOf is the line of a breakpoint, line 0 where it stops at none.
func lineOf(b walk.Breakpoint) target.Source { return target.Source{File: b.File, Line: b.Line} }

// loopAsKV writes kv for the name of the kernel's loop over tiles, as the top line has it ("tile 3"): that is
// what expressions call its iteration. Where loops are nested, and where an array or a variable has the name,
// the text stays.
func (v *Controller) loopAsKV(text string) string {
	if name := v.ownLoop(); name != "" {
		return renamed(text, name, "kv")
	}
	return text
}

// spelled is an expression with the names that expressions have for what the screens and the source show.
func (v *Controller) spelled(text string) string { return v.scalars(v.loopAsKV(text)) }

// scalars writes the index of shared variables that have one element alone, and that the source uses without.
func (v *Controller) scalars(text string) string {
	for i := range v.walk.shot.arrays {
		a := &v.walk.shot.arrays[i]
		if a.Bytes != a.DType.Size() || len(a.Dims) > 1 {
			continue
		}
		used := regexp.MustCompile(`\b` + regexp.QuoteMeta(a.Name) + `\b(?:\s*\[)?`)
		text = used.ReplaceAllStringFunc(text, func(s string) string {
			if strings.HasSuffix(s, "[") {
				return s
			}
			return s + "[0]"
		})
	}
	return text
}

// ownLoop is the name of the kernel's loop over tiles, where that is another than kv and can stand for it.
func (v *Controller) ownLoop() string {
	if v.Run == nil || v.Run.Plan == nil || len(v.Run.Plan.Work.Loops) != 1 && !v.Run.Plan.Work.Once {
		return ""
	}
	name := v.Run.Plan.Work.LoopName()
	for _, a := range v.walk.shot.arrays {
		if a.Name == name {
			return ""
		}
	}
	for _, n := range expr.Names { // kv among them
		if n.Name == name {
			return ""
		}
	}
	return name
}

// renamed is a text of expressions with a variable's other name.
func renamed(text, from, to string) string {
	word := regexp.MustCompile(`(^|[^%.\w])` + regexp.QuoteMeta(from) + `($|[^.\w\[(])`)
	for range 2 { // two that stand side by side share the character between them
		text = word.ReplaceAllString(text, "${1}"+to+"${2}")
	}
	return text
}

// loopWords is a text of expressions with the name that the kernel's loop over tiles has on the screens.
func (v *Controller) loopWords(text string) string { return named(text, v.ownLoop()) }

// named is loopWords for a loop's own name, "" for one that is called kv.
func named(text, loop string) string {
	if loop == "" {
		return text
	}
	return renamed(text, "kv", loop)
}

// exprText is an expression with the loop's own name, unless that name stands for the cursor in it.
func (v *Controller) exprText(e *expr.Expr) string {
	if name := v.ownLoop(); e.Uses(name) {
		return e.String()
	}
	return v.loopWords(e.String())
}

// whenText is a breakpoint's condition with the name that the kernel's loop over tiles has on the screens.
func (v *Controller) whenText(b walk.Breakpoint) string { return v.loopWords(b.When.String()) }

// meant says what may have been meant by a name that no variable has: the names near it, else those that
// there are, and of a local variable of the source the registers that its line writes. The cursor's names are
// those of watch and print alone: a breakpoint's condition cannot depend on where the cursor stands.
func (v *Controller) meant(name string, at target.Source, command string) string {
	if sp := v.stageNamed(name); sp != nil && sp.Array != "" {
		return fmt.Sprintf(": stage %s is in shared array %s: %s", name, sp.Array, v.indexed(sp.Array))
	}
	if v.Run != nil && v.Run.Plan != nil {
		if a := v.Run.Plan.Arg(name); a != nil && a.Pointer {
			return fmt.Sprintf(": %s is an argument of the launch in global memory, which Tile shows", name)
		} else if a != nil && a.Data != nil {
			return fmt.Sprintf(": %s is an argument of the launch", name)
		} else if a != nil {
			return fmt.Sprintf(": %s is an argument of the launch, %.9g in this one", name,
				a.DType.Value(a.Bits))
		}
	}
	if v.Run != nil && v.Run.Plan != nil && len(v.Run.Plan.Work.Loops) > 1 && slices.ContainsFunc(
		v.Run.Plan.Work.Loops, func(l probes.Loop) bool { return l.Name == name }) {
		return fmt.Sprintf(": kv counts the iterations of loop %s", v.Run.Plan.Work.LoopName())
	}
	var known []string
	for _, a := range v.walk.shot.arrays {
		known = append(known, a.Name)
	}
	for _, n := range expr.Names {
		known = append(known, n.Name)
	}
	if command == "watch" || command == "print" {
		known = append(known, cursorNames...)
	}
	known = slices.DeleteFunc(known, func(s string) bool { return s == name }) // it is no help
	if local := v.local(name, at); local != "" {
		if near := configs.Near(name, known); near != nil {
			return configs.Suggest(name, near) + "; " + local
		}
		return "; " + local
	}
	out := configs.Suggest(name, known)
	if regs := v.lineRegisters(at); len(regs) > 0 {
		out += fmt.Sprintf("; registers of line %d: %s", at.Line, listed(regs))
	}
	return out
}

// stageNamed is a stage of the run on screen, nil where it has none of that name.
func (v *Controller) stageNamed(name string) *probes.StagePlan {
	if v.Run == nil || v.Run.Plan == nil {
		return nil
	}
	for i := range v.Run.Plan.Stages {
		if sp := &v.Run.Plan.Stages[i]; sp.Stage.String() == name {
			return sp
		}
	}
	return nil
}

// local says where the source assigns a variable, which registers the instructions of that line write, and
// which those of the next line that uses it read. Line information has no names of local variables. Of
// several lines that assign it is the last up to the line at, else the first, and one whose instructions
// write registers before one that has none: compilers drop what a declaration assigns.
func (v *Controller) local(name string, at target.Source) string {
	file, _ := v.code.Pointed()
	if at.Line > 0 {
		file = at.File
	}
	assigned := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) +
		`(\s*\[[^\]]*\])*\s*([-+*/%&|^]|<<|>>)?=[^=]`)
	line := 0
	var written []string
	code := v.codeOf(file)
	for i, text := range code {
		if text, _, _ = strings.Cut(text, "//"); !assigned.MatchString(text) {
			continue
		}
		regs, _ := registersOf(v.walk.shot.listing, target.Source{File: file, Line: i + 1})
		better, worse := written == nil && regs != nil, written != nil && regs == nil
		if better || !worse && (line == 0 || i+1 <= at.Line) {
			line, written = i+1, regs
		}
	}
	if line == 0 {
		return ""
	}
	text := fmt.Sprintf("%s is a local variable, and line information has no names of registers: line %d "+
		"assigns it, ", name, line)
	if written == nil {
		text += "and none of its instructions writes a register"
	} else {
		text += "its instructions write " + listed(written)
	}
	if use, read := readers(v.walk.shot.listing, code, file, name, line, at.Line); read != nil {
		text += fmt.Sprintf("; those of line %d, which uses it, read %s", use, listed(read))
	}
	return text
}

// usedWithin is how far from a line it is looked for what uses a variable.
const usedWithin = 12

// readers is the line next to at that uses a variable which line assigned has set, and the registers that its
// instructions read; 0 and nil where none near it does.
func readers(listing []walk.Listing, code []string, file, name string, assigned, at int) (int, []string) {
	used := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for d := range usedWithin {
		for _, n := range []int{at - d, at + d} {
			if n <= assigned || n > len(code) {
				continue
			}
			if text, _, _ := strings.Cut(code[n-1], "//"); !used.MatchString(text) {
				continue
			}
			if _, read := registersOf(listing, target.Source{File: file, Line: n}); read != nil {
				return n, read
			}
		}
	}
	return 0, nil
}

// registerName is a register in the text of an instruction. Special registers end in a letter.
var registerName = regexp.MustCompile(`%[a-z]+\d+`)

// registersOf lists the registers that the instructions of a line write, and those that they read although
// none of them has written it before.
func registersOf(listing []walk.Listing, at target.Source) (written, read []string) {
	for _, l := range listing {
		if l.PC < 0 || l.Line != at.Line || path.Base(l.File) != path.Base(at.File) {
			continue
		}
		for _, r := range registerName.FindAllString(l.Text, -1) {
			if !slices.Contains(l.Writes, r) && !slices.Contains(written, r) && !slices.Contains(read, r) {
				read = append(read, r)
			}
		}
		for _, r := range l.Writes {
			if !slices.Contains(written, r) {
				written = append(written, r)
			}
		}
	}
	return written, read
}

// lineRegisters lists the registers of a line.
func (v *Controller) lineRegisters(at target.Source) (out []string) {
	if p := v.walk.shot.pos.Source; p == nil || p.Line != at.Line || path.Base(p.File) != path.Base(at.File) {
		written, read := registersOf(v.walk.shot.listing, at)
		return append(read, written...)
	}
	for _, r := range v.walk.shot.regs {
		if r.Named || r.OfLine {
			out = append(out, r.Name)
		}
	}
	return out
}

// listed writes some names, at most mostNames and how many there are beyond.
func listed(names []string) string {
	if n := len(names) - mostNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], " "), n)
	}
	return strings.Join(names, " ")
}

// sharedArray is the kernel's shared array of a name, nil where it has none.
func (v *Controller) sharedArray(name string) *probes.SharedArray {
	arrays := v.walk.shot.arrays
	i := slices.IndexFunc(arrays, func(a probes.SharedArray) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &arrays[i]
}

// element is how an element of an array is written, by names for its indices: sP[row][col]. An array of more
// than two dimensions has an index for each.
func element(a *probes.SharedArray) string {
	switch n := len(a.Dims); n {
	case 0, 1:
		return a.Name + "[i]"
	case 2:
		return a.Name + "[row][col]"
	default:
		out := a.Name
		for dim := range n {
			out += fmt.Sprintf("[i%d]", dim)
		}
		return out
	}
}

// indexed is an element of a shared array, as an expression has it.
func (v *Controller) indexed(array string) string {
	if a := v.sharedArray(array); a != nil && len(a.Dims) == 1 {
		return array + "[0]"
	}
	return array + "[0][lane]"
}

// example is an expression of names that the kernel has, evaluated at a line.
func (v *Controller) example(command string, at target.Source) string {
	value := "threadIdx.x"
	if a := v.walk.shot.arrays; len(a) > 0 {
		value = v.indexed(a[0].Name)
	}
	var reg string
	for _, r := range v.walk.shot.regs {
		if r.Type != "pred" {
			reg = r.Name
			break
		}
	}
	switch {
	case command == "break" && at.Line > 0:
		return fmt.Sprintf(":break %d if %s > 0 && warp == 1 hits >= 3", at.Line, value)
	case command == "break":
		return fmt.Sprintf(":break LINE if %s > 0 && warp == 1 hits >= 3", value)
	case command == "condition":
		return fmt.Sprintf(":condition 1 %s > 0 && warp == 1 hits >= 3", value)
	case reg != "":
		return fmt.Sprintf(":%s %s or :%s %s@3 * 2", command, value, command, reg)
	}
	return fmt.Sprintf(":%s %s * 2", command, value)
}

// from is the first moment whose hits a breakpoint counts that is set now: what the warp stands at has been
// reached already. Where the block has ended nothing is left to be counted, so all of it is.
func (s *walking) from() uint64 {
	if at := s.shot.pos.Step; s.walk != nil && at > 0 && s.shot.pos.Stop != "end" {
		return at + 1
	}
	return 0
}

// sinceText says from when hits are counted.
func sinceText(b walk.Breakpoint) string {
	if b.From == 0 {
		return "since the block's start"
	}
	return fmt.Sprintf("since it was set at step %d", b.From-1)
}

// uncounted says behind the start or the end of the block that a breakpoint stops at counted hits, which are
// not counted from the block's start on: "; breakpoint 1 counts hits from step 75 on, where it was set".
func uncounted(stops []stop) string {
	for _, b := range stops {
		if b.When.Hits != nil && b.From > 0 {
			return fmt.Sprintf("; breakpoint %d counts hits from step %d on, where it was set", b.id, b.From-1)
		}
	}
	return ""
}
