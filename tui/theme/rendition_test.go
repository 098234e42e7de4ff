package theme

import "testing"

// TestAStyleIsWrittenByWhatDiffers covers the ways from one style to the next.
func TestAStyleIsWrittenByWhatDiffers(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"0;38;5;16;48;2;1;2;3", "0;38;5;16;48;2;4;2;3", "48;2;4;2;3"},
		{"0", "0;1;38;5;9", "1;38;5;9"},
		{"0;7", "0;31", "27;31"},
		{"0;4;94", "0;94", "24"},
		{"0;38;5;9;48;5;8", "0;48;5;8", "39"},
		{"0;38;5;9;48;5;8", "0;38;5;9", "49"},
		{"0;1;31", "0;31", ""},   // bold cannot be ended without faint
		{"0;2", "0;1", ""},       // nor faint without bold
		{"31", "0;31;44", ""},    // what is on before a sequence without a reset is not known
		{"0;9;31", "0;31", ""},   // an attribute that is not told apart
		{"0;38;31", "0;31", ""},  // a broken colour
		{"0;31", "0;48;5", ""},   // a cut one
		{"0;1;0;31", "0;31", ""}, // a reset in the middle
	} {
		got, ok := ReadRendition("\x1b[" + tt.to + "m").After(ReadRendition("\x1b[" + tt.from + "m"))
		if want := "\x1b[" + tt.want + "m"; ok != (tt.want != "") || ok && got != want {
			t.Errorf("%s after %s: %q %t, expected %q", tt.to, tt.from, got, ok, tt.want)
		}
	}
}
