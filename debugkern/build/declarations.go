package build

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"

	"tilescope/debugkern/hostcode"
)

// ptxParameter is a kernel or a parameter in PTX, and preprocessorLine a line that decides what is compiled.
var (
	ptxParameter     = regexp.MustCompile(`(?m)^[ \t]*(?:\.visible[ \t]+)?\.(?:entry|param)\b.*$`)
	preprocessorLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*(?:if|elif|else|endif|define|undef).*$`)
)

// Declarations is what decides which parameters the kernels of a source or a header have, as a text that is
// to be compared with that of another version: equal texts have equal parameters.
func Declarations(path string, src []byte) string {
	if filepath.Ext(path) == ".ptx" {
		return string(bytes.Join(ptxParameter.FindAll(src, -1), []byte("\n")))
	}
	out := string(bytes.Join(preprocessorLine.FindAll(src, -1), []byte("\n")))
	for _, k := range hostcode.Kernels(hostcode.Read(path, src)) {
		out += fmt.Sprintf("\n%s%v", k.Qualified(), k.Parameters)
	}
	return out
}
