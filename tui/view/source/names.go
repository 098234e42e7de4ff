package source

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
)

// mostNames is how many registers a message lists.
const mostNames = 8

// refuse complains about an expression: what is wrong with it, what the name in it may have meant, and an
// expression that this kernel has.
func (v *Controller) refuse(command string, err error) {
	text := command + ": " + err.Error()
	var bad *expr.Error
	if errors.As(err, &bad) {
		if bad.Unknown != "" {
			text += v.meant(bad.Unknown)
		}
		text += "; for example " + v.example(command)
	}
	v.Complain(text)
}

// meant says what may have been meant by a name that no variable has: the names near it, else those that
// there are, and of a local variable of the source the registers that its line writes.
func (v *Controller) meant(name string) string {
	if sp := v.stageNamed(name); sp != nil && sp.Array != "" {
		return fmt.Sprintf(": stage %s is in shared array %s: %s", name, sp.Array, v.indexed(sp.Array))
	}
	var known []string
	for _, a := range v.walk.shot.arrays {
		known = append(known, a.Name)
	}
	for _, n := range expr.Names {
		known = append(known, n.Name)
	}
	out := configs.Suggest(name, append(known, cursorNames...))
	if local := v.local(name); local != "" {
		return out + "; " + local
	}
	if regs := v.lineRegisters(); len(regs) > 0 {
		out += fmt.Sprintf("; registers of line %d: %s", v.walk.shot.pos.Source.Line, listed(regs))
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

// local says where the source assigns a variable, and which registers the instructions of that line write.
// Line information has no names of local variables. Of several lines it is the last up to where the warp
// stands, else the first.
func (v *Controller) local(name string) string {
	file, _ := v.code.Pointed()
	if p := v.walk.shot.pos.Source; p != nil {
		file = p.File
	}
	assigned := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) +
		`(\s*\[[^\]]*\])*\s*([-+*/%&|^]|<<|>>)?=[^=]`)
	line := 0
	for i, text := range v.codeOf(file) {
		here := 0
		if p := v.walk.shot.pos.Source; p != nil {
			here = p.Line
		}
		if (line == 0 || i+1 <= here) && assigned.MatchString(text) {
			line = i + 1
		}
	}
	if line == 0 {
		return ""
	}
	var regs []string
	for _, l := range v.walk.shot.listing {
		if l.PC < 0 || l.Line != line || path.Base(l.File) != path.Base(file) {
			continue
		}
		for _, r := range l.Writes {
			if !slices.Contains(regs, r) {
				regs = append(regs, r)
			}
		}
	}
	text := fmt.Sprintf("%s is a local variable, and line information has no names of registers: line %d "+
		"assigns it, ", name, line)
	if regs == nil {
		return text + "and none of its instructions writes a register"
	}
	return text + "its instructions write " + listed(regs)
}

// lineRegisters lists the registers of the line where the warp stands.
func (v *Controller) lineRegisters() (out []string) {
	if v.walk.shot.pos.Source == nil {
		return nil
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

// indexed is an element of a shared array, as an expression has it.
func (v *Controller) indexed(array string) string {
	i := slices.IndexFunc(v.walk.shot.arrays, func(a probes.SharedArray) bool { return a.Name == array })
	if i >= 0 && len(v.walk.shot.arrays[i].Dims) == 1 {
		return array + "[0]"
	}
	return array + "[0][lane]"
}

// example is an expression of names that the kernel has where the warp stands.
func (v *Controller) example(command string) string {
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
	case command == "break" && v.walk.shot.pos.Source != nil:
		return fmt.Sprintf(":break %d if %s > 0 && warp == 1 hits >= 3", v.walk.shot.pos.Source.Line, value)
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
// reached already.
func (s *walking) from() uint64 {
	if at := s.shot.pos.Step; s.walk != nil && at > 0 {
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
