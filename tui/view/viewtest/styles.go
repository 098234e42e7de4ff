package viewtest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"tilescope/configs"
	"tilescope/tui"
	"tilescope/tui/theme"
)

// kinds are the terminals that styles are compared on.
var kinds = []struct {
	name    string
	theme   string
	profile colorprofile.Profile
}{
	{"dark", "dark", colorprofile.TrueColor}, {"light", "light", colorprofile.TrueColor},
	{"16 colours", "dark", colorprofile.ANSI}, {"NO_COLOR", "dark", colorprofile.ASCII},
}

// Styles is a screen's styles on every kind of terminal, as text that can be read in a diff: for each kind
// its styles, lettered as they first occur, and lines of letters, each with the number of cells it is for. A
// line that is the same on the kind before is left out, and so is text that is the same as without colours.
//
// open makes a terminal of such options show what is compared.
func Styles(t *testing.T, open func(more ...Option) *Driver) string {
	t.Helper()
	plain := strings.Split(open().Text(), "\n")
	var out strings.Builder
	var before []string
	for _, k := range kinds {
		d := open(func(o *Terminal) {
			o.Look = tui.Look{Profile: k.profile}
			c := configs.Config{}
			if o.Config != nil {
				c = *o.Config
			}
			c.Theme, c.Shape, c.Gate, c.Mouse = k.theme, "validation", "none", true
			o.Config = &c
		})
		d.Fits(k.name)
		lines, legend := lettered(d.Lines())
		fmt.Fprintf(&out, "== %s\n%s\n", k.name, strings.Join(legend, "\n"))
		for y, l := range lines {
			if y >= len(before) || before[y] != l {
				fmt.Fprintf(&out, "%2d %s\n", y+1, l)
			}
		}
		for y, l := range strings.Split(d.Text(), "\n") {
			if y < len(plain) && plain[y] != l {
				fmt.Fprintf(&out, "%2d text %s\n", y+1, l)
			}
		}
		before = lines
	}
	return out.String()
}

// letters name styles; what comes after the last is named by it and a number.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// lettered are lines as letters of their styles, each with its number of cells, "." for no style, and the
// styles by letter.
func lettered(lines []string) (out, legend []string) {
	names := map[string]string{"": ".", "\x1b[0m": ".", "\x1b[m": "."}
	for _, line := range lines {
		var b strings.Builder
		now, cells := ".", 0
		flush := func() {
			if cells > 0 {
				fmt.Fprintf(&b, "%s%d", now, cells)
			}
			cells = 0
		}
		for i := 0; i < len(line); {
			if n := theme.StyleLen(line[i:]); n > 0 {
				seq := line[i : i+n]
				i += n
				if names[seq] == "" {
					k := len(legend)
					names[seq] = letters[k%len(letters) : k%len(letters)+1]
					if k >= len(letters) {
						names[seq] += strings.Repeat("'", k/len(letters))
					}
					legend = append(legend, names[seq]+" "+strings.Trim(seq, "\x1b[m"))
				}
				if names[seq] != now {
					flush()
					now = names[seq]
				}
				continue
			}
			_, n := utf8.DecodeRuneInString(line[i:])
			i += n
			cells++
		}
		flush()
		out = append(out, b.String())
	}
	return out, legend
}
