package theme

import "strings"

// Fade returns finished lines without their own styles, in the dim style: what they show
// is of an earlier run.
func (t *Theme) Fade(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = t.fade(l)
	}
	return out
}

func (t *Theme) fade(line string) string {
	var b strings.Builder
	b.Grow(len(line) + 16)
	b.WriteString(string(t.Dim))
	for line != "" {
		i := strings.IndexByte(line, '\x1b')
		if i < 0 {
			b.WriteString(line)
			break
		}
		b.WriteString(line[:i])
		end := strings.IndexByte(line[i:], 'm')
		if end < 0 {
			break
		}
		line = line[i+end+1:]
	}
	if t.Dim != "" {
		b.WriteString(reset)
	}
	return b.String()
}

// Fader fades the lines of one view, and keeps what it made of each as long as the line stays.
type Fader struct {
	theme   *Theme
	in, out []string
}

// Fade is Theme.Fade for lines that change little from one call to the next. The result is valid
// until the next call.
func (f *Fader) Fade(t *Theme, lines []string) []string {
	if f.theme != t || len(f.in) != len(lines) {
		f.theme, f.in, f.out = t, make([]string, len(lines)), make([]string, len(lines))
		for i := range f.in {
			f.out[i] = t.fade("")
		}
	}
	for i, l := range lines {
		if l != f.in[i] {
			f.in[i], f.out[i] = l, t.fade(l)
		}
	}
	return append(make([]string, 0, len(lines)), f.out...)
}
