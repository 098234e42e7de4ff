package report

import "strings"

// BuilderText returns what a document's builder (Backend.Builder) means, in words: where the PTX comes from.
func BuilderText(builder string) string {
	switch builder {
	case "embedded":
		return "prebuilt PTX"
	case "none":
		return "PTX given"
	case "nvrtc":
		return "built with NVRTC"
	}
	return "built with " + builder
}

// RunBuild is what the instrumented build was made of.
type RunBuild struct {
	Compiler string   `json:"compiler"` // "NVRTC 12.0.140"; "" where a manifest brings its own PTX
	Options  []string `json:"options"`
	Headers  []Header `json:"headers"` // that were read, without the toolkit's and the system's
	Notes    []string `json:"notes"`   // which of one's own headers have the name of one of tilescope's
}

// Arch is the architecture that the PTX was compiled for, as the compiler's option has it: "compute_80"; ""
// where it is not known.
func (b *RunBuild) Arch() string {
	for _, o := range b.Options {
		if arch, ok := strings.CutPrefix(o, "-arch="); ok {
			return arch
		}
	}
	return ""
}

// Header is a header that a compiler read.
type Header struct {
	Path   string `json:"path"`   // absolute for a file of one's own, else the name it is included by
	Digest string `json:"digest"` // SHA-256 of its text, in hex
	Origin string `json:"origin"` // own, embedded or builtin
}

// Resources is what ptxas allotted.
type Resources struct {
	Registers       int    `json:"registers"`
	SharedBytes     int    `json:"shared_bytes"`
	SpillStoreBytes int    `json:"spill_store_bytes"`
	SpillLoadBytes  int    `json:"spill_load_bytes"`
	LocalBytes      int    `json:"local_bytes"`
	Arch            string `json:"arch"`
	// SpillsUnknown: local memory is used, and no compiler log explains for what
	SpillsUnknown bool `json:"spills_unknown,omitempty"`
	// Notes: what the compiler does otherwise than the PTX says, in its words
	Notes []string `json:"notes,omitempty"`
	// By: the source of the figures, for gates: "ptxas 12.0.140", "driver"
	By string `json:"by,omitempty"`
}

// Build is how a kernel was built: enough to build it again and to see that it is the same.
type Build struct {
	Entry              string   `json:"entry"`
	Builder            string   `json:"builder"`
	Compiler           string   `json:"compiler"` // "" for PTX that a manifest brings
	Options            []string `json:"options"`
	Defines            []string `json:"defines"`
	Patches            []string `json:"patches,omitempty"` // the faults whose patches were applied, by name
	PTXSHA256          string   `json:"ptx_sha256"`
	InstrumentedSHA256 string   `json:"instrumented_ptx_sha256"` // of the build with probes
}
