package tui

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"tilescope/debugkern/file"
	"tilescope/tui/theme"
)

// TestScreenshot: the picture is well-formed, has the theme's ground and the screen's text, and replaces no
// file.
func TestScreenshot(t *testing.T) {
	for name, ground := range map[string]string{
		"dark": "#0d1117", "light": "#ffffff", "high-contrast": "#000000",
	} {
		path := filepath.Join(t.TempDir(), "shot.svg")
		d := started(t, 80, 24, Look{Profile: colorprofile.TrueColor}, withRequest(faulty)).press("2")
		d.command("theme " + name)
		d.command("screenshot " + path)
		d.hasStatus("wrote " + path)
		svg, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range []string{
			`<rect width="100%" height="100%" rx="6" fill="` + ground, ">KERNEL<", "Tile",
		} {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: no %s in the picture", name, want)
			}
		}
		if strings.Contains(string(svg), "screenshot") {
			t.Errorf("%s: the command is in its own picture", name)
		}
		d.command("screenshot " + path)
		d.hasStatus(path + " exists: :screenshot! " + path + " replaces it")
		if now, _ := os.ReadFile(path); string(now) != string(svg) || !d.m.Status.Bad {
			t.Errorf("%s: the file was replaced", name)
		}
		d.press("3").command("screenshot! " + path).hasStatus("wrote " + path)
		if now, _ := os.ReadFile(path); string(now) == string(svg) {
			t.Errorf("%s: the file was not replaced", name)
		}
	}
}

// TestScreenshotInSixteenColours: a picture of a terminal with sixteen colours has no others, its ground and
// plain text among them.
func TestScreenshotInSixteenColours(t *testing.T) {
	for name, ground := range map[string]string{"dark": "#000000", "light": "#ffffff"} {
		path := filepath.Join(t.TempDir(), "shot.svg")
		d := started(t, 120, 40, Look{Profile: colorprofile.ANSI}, withRequest(faulty)).press("2")
		d.command("theme " + name)
		d.command("screenshot " + path)
		svg, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(svg), `rx="6" fill="`+ground) {
			t.Errorf("%s: the ground is not %s", name, ground)
		}
		for _, c := range regexp.MustCompile(`#[0-9a-f]{6}`).FindAllString(string(svg), -1) {
			if rgb, err := strconv.ParseUint(c[1:], 16, 32); err != nil ||
				!slices.Contains(theme.Xterm[:], uint32(rgb)) {
				t.Fatalf("%s: %s is none of the sixteen", name, c)
			}
		}
	}
}

func TestScreenshotThatCannotBeWritten(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.command("screenshot a.svg!").hasStatus(":screenshot a.svg!: the ! follows the command: :screenshot! a.svg")
	d.command("dump! a.npz!").hasStatus("the ! follows the command: :dump! a.npz")
	d.command("screenshot " + filepath.Join(t.TempDir(), "no", "such.svg"))
	if !d.m.Status.Bad {
		t.Errorf("status %q", d.m.Status.Text)
	}
	dir := t.TempDir()
	d.m.Files = file.Failing(func(step file.Step, path string) error { return os.ErrPermission })
	d.command("screenshot " + filepath.Join(dir, "shot.svg"))
	if left, _ := os.ReadDir(dir); !d.m.Status.Bad || len(left) != 0 {
		t.Errorf("status %q, files %v", d.m.Status.Text, left)
	}
}
