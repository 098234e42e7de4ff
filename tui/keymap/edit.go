package keymap

// Editor is what a key does while a line is being typed.
type Editor uint8

// The editor's keys. EditInsert is every key that types itself.
const (
	EditInsert Editor = iota
	EditAccept
	EditAbort
	EditBackspace
	EditDelete
	EditDeleteWord
	EditClear
	EditLeft
	EditRight
	EditHome
	EditEnd
	EditComplete
	EditCompleteBack
	EditOlder
	EditNewer
)

// Editing returns what a key does in a prompt.
func Editing(key string) Editor {
	switch key {
	case "enter":
		return EditAccept
	case "esc", "ctrl+c":
		return EditAbort
	case "backspace", "ctrl+h":
		return EditBackspace
	case "delete", "ctrl+d":
		return EditDelete
	case "ctrl+w", "alt+backspace":
		return EditDeleteWord
	case "ctrl+u":
		return EditClear
	case "left", "ctrl+b":
		return EditLeft
	case "right", "ctrl+f":
		return EditRight
	case "home", "ctrl+a":
		return EditHome
	case "end", "ctrl+e":
		return EditEnd
	case "tab", "ctrl+n":
		return EditComplete
	case "shift+tab", "ctrl+p":
		return EditCompleteBack
	case "up":
		return EditOlder
	case "down":
		return EditNewer
	}
	return EditInsert
}
