// Package python has the code of the Python package that writes bundles, for tilescope to run it where it is
// not installed.
package python

import (
	"embed"
	"io/fs"
)

//go:embed tilescope/*.py
var files embed.FS

// Name is the package's name, and the folder that Files has.
const Name = "tilescope"

// Files returns the package's files, in a folder of its name.
func Files() fs.FS { return files }
