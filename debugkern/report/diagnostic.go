package report

// Diagnostic is one complaint of a compiler, or of the PTX parser. The errors of a failed build come before
// its warnings, each in source order.
type Diagnostic struct {
	File     string `json:"file"` // as the compiler names it; "": the complaint is about no place
	Line     int    `json:"line"` // from 1
	Col      int    `json:"col"`  // from 1, in bytes; 0 where the compiler does not give it
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Text     string `json:"text"` // the source line; "" where it is not available
}
