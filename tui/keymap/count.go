package keymap

// CountHelp says how a count is typed.
const CountHelp = "a number and a motion without a pause (5j, 10n, 3s): the motion that often. A digit alone shows " +
	"its view at once; a motion less than 0.3 s after it, but after 1, goes back to the view before and is " +
	"counted there. To move in the view that a digit shows, pause first. At most 9999"

// Digit returns the digit that a key types.
func Digit(key string) (d int, ok bool) {
	if len(key) == 1 && key[0] >= '0' && key[0] <= '9' {
		return int(key[0] - '0'), true
	}
	return 0, false
}
