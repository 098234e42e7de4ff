package report

// InitSchema names the document that init prints.
const InitSchema = "tilescope.init/1"

// Init is the document tilescope.init/1: a manifest made from a kernel alone.
type Init struct {
	Schema  string   `json:"schema"`
	File    string   `json:"file"`
	Out     string   `json:"out"`
	Entry   string   `json:"entry"`
	Entries []string `json:"entries"` // all that the module has
	Unknown []string `json:"unknown"` // what the manifest marks with "# ?"
	Notes   []string `json:"notes"`
	Refused []string `json:"refused"` // instructions that the emulator does not model, with their places
	// Check: the command that checks the kernel without the manifest; "" where it is not known
	Check string   `json:"check"`
	Words []string `json:"-"` // of Check, as a shell passes them
	Error *Failure `json:"error"`
	Text  string   `json:"-"` // the manifest
	// Computes reports that the manifest of a kernel that is no attention has a stage with an operation,
	// guessed from the source.
	Computes bool `json:"-"`
}

// ExitCode is the contract's exit code: 0 written, 4 the kernel did not build or parse.
func (d *Init) ExitCode() int {
	if d.Error != nil {
		return int(CodeFailed)
	}
	return 0
}
