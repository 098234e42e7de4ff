package keymap

// Answer is what a key does while a question is open.
type Answer uint8

// The answers. AnswerNone is every key that means nothing to a question.
const (
	AnswerNone Answer = iota
	AnswerYes
	AnswerNo
	AnswerDown
	AnswerUp
)

// YesLabel and NoLabel are how a question names the keys that answer it.
const (
	YesLabel = "y"
	NoLabel  = "n"
)

// Answering returns what a key does to a question. Enter is no answer: a question that opens by itself must
// not be answered by the key that ends most lines.
func Answering(key string) Answer {
	switch key {
	case YesLabel:
		return AnswerYes
	case NoLabel, "N", "q", "esc", "ctrl+c":
		return AnswerNo
	case "j", "down", "pgdown", "ctrl+d":
		return AnswerDown
	case "k", "up", "pgup", "ctrl+u":
		return AnswerUp
	}
	return AnswerNone
}
