package cuda

import (
	"embed"
	"io/fs"
	"sync"
)

// standinFiles are small headers under the names of the C and C++ libraries': NVRTC brings most of the
// functions, but none of the headers, and a kernel's source should compile as it is.
//
//go:embed standin
var standinFiles embed.FS

// preInclude is the stand-in for what nvcc reads before every source: INFINITY, NAN, INT_MAX and std::sqrt
// are there with no include. It defines macros and names in std and generates nothing: the PTX of a source
// that does without them is the same.
const preInclude = "tilescope_nvcc.h"

// HostShim is the stand-in for the headers of host code that are left out of a source's device part: what
// most of them bring of types, limits and functions.
const HostShim = "tilescope_host.h"

// HostStandins are the stand-ins for libraries whose types kernels are written with, by the library's name in
// hostcode.Libraries.
var HostStandins = map[string]string{"PyTorch": "tilescope_torch.h"}

// standins are the texts by the name a source includes them by: "cstdint".
var standins = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	entries, err := fs.ReadDir(standinFiles, "standin")
	if err != nil {
		panic("BUG: embedded headers: " + err.Error())
	}
	for _, e := range entries {
		text, err := fs.ReadFile(standinFiles, "standin/"+e.Name())
		if err != nil {
			panic("BUG: embedded header " + e.Name() + ": " + err.Error())
		}
		out[e.Name()] = string(text)
	}
	return out
})
