package keymap

// CountHelp says how a count is typed.
const CountHelp = "# and a number before a motion (#5j, #10n, #3s): the motion that often, at most 9999. The bottom " +
	"line shows the number while it is typed, Backspace takes a digit back, Esc drops it. A digit without # shows " +
	"a view"

// Digit returns the digit that a key types.
func Digit(key string) (d int, ok bool) {
	if len(key) == 1 && key[0] >= '0' && key[0] <= '9' {
		return int(key[0] - '0'), true
	}
	return 0, false
}
