package probes

import _ "embed"

// Header is tilescope.cuh, the probes as a kernel's source includes them.
//
//go:embed tilescope.cuh
var Header string

// HeaderName is how a kernel's source includes Header, and how the debug lines of an
// instrumented build name it.
const HeaderName = "tilescope.cuh"
