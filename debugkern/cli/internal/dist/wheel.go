package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// project is what pyproject.toml says of the Python package.
type project struct {
	Name, Version, Description string
	Requires                   string                `toml:"requires-python"`
	License                    struct{ Text string } `toml:"license"`
	Extras                     map[string][]string   `toml:"optional-dependencies"`
	Readme                     string                `toml:"readme"`
	dir                        string
}

// readProject reads the pyproject.toml of a folder.
func readProject(dir string) (*project, error) {
	path := filepath.Join(dir, "pyproject.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct{ Project project }
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &doc.Project
	if p.Name == "" || p.Version == "" || p.Readme == "" || p.License.Text == "" {
		return nil, fmt.Errorf("%s: expected name, version, readme and license", path)
	}
	p.dir = dir
	return p, nil
}

// wheel makes the wheel of a platform (Binary Distribution Format 1.0): the package's modules, the program as
// a script, which installers put where commands are, and its completions and manual page below share.
func (p *project) wheel(at platform, built *program, b *builder) (name string, content []byte, err error) {
	platform, err := tag(at, built.content)
	if err != nil {
		return "", nil, err
	}
	base := p.Name + "-" + p.Version
	members := []member{
		{base + ".data/scripts/" + at.executable(), built.content, true},
		{base + ".dist-info/WHEEL", fmt.Appendf(nil,
			"Wheel-Version: 1.0\nGenerator: tilescope dist\nRoot-Is-Purelib: false\nTag: py3-none-%s\n",
			platform), false},
		{base + ".dist-info/sboms/tilescope.json", built.bill, false},
	}
	if at.os != "windows" {
		share := base + ".data/data/share/"
		members = append(members, member{share + "man/man1/tilescope.1", b.manual, false})
		for _, s := range shells {
			if s.share != "" {
				members = append(members, member{share + s.share, b.completions[s.name], false})
			}
		}
	}
	metadata, err := p.metadata()
	if err != nil {
		return "", nil, err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", nil, err
	}
	members = append(members, member{base + ".dist-info/METADATA", metadata, false},
		member{base + ".dist-info/licenses/LICENSE", license, false})
	modules, err := filepath.Glob(filepath.Join(p.dir, p.Name, "*.py"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range modules {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		members = append(members, member{p.Name + "/" + filepath.Base(path), text, false})
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	record := base + ".dist-info/RECORD" // the last member
	members = append(members, member{record, recordOf(members, record), false})
	content, err = zipped(members, b.time)
	return fmt.Sprintf("%s-py3-none-%s.whl", base, platform), content, err
}

// recordOf lists members with digest and size; the list itself has neither.
func recordOf(members []member, own string) []byte {
	var out bytes.Buffer
	for i := range members {
		sum := sha256.Sum256(members[i].content)
		fmt.Fprintf(&out, "%s,sha256=%s,%d\n", members[i].name,
			base64.RawURLEncoding.EncodeToString(sum[:]), len(members[i].content))
	}
	fmt.Fprintf(&out, "%s,,\n", own)
	return out.Bytes()
}

// metadata is the package's description, as core metadata 2.1.
func (p *project) metadata() ([]byte, error) {
	readme, err := os.ReadFile(filepath.Join(p.dir, p.Readme))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, line := range [][2]string{
		{"Metadata-Version", "2.1"}, {"Name", p.Name}, {"Version", p.Version}, {"Summary", p.Description},
		{"License", p.License.Text}, {"License-File", "LICENSE"}, {"Requires-Python", p.Requires},
		{"Description-Content-Type", "text/markdown"},
	} {
		fmt.Fprintf(&out, "%s: %s\n", line[0], line[1])
	}
	for _, extra := range slices.Sorted(maps.Keys(p.Extras)) {
		fmt.Fprintf(&out, "Provides-Extra: %s\n", extra)
		for _, needs := range p.Extras[extra] {
			fmt.Fprintf(&out, "Requires-Dist: %s; extra == %q\n", needs, extra)
		}
	}
	return append([]byte(out.String()+"\n"), readme...), nil
}
