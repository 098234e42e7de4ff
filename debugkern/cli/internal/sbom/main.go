// Command sbom writes the software bill of materials of a built tilescope, as CycloneDX 1.5 in JSON: the Go
// modules that were linked, from the program itself, and the compiler's wheels with their hashes, from the
// requirements file of `make toolchain`.
//
// The one idea: what is listed is what was built, not what go.mod could build. The output has no time and no
// serial number, so the same program gives the same bytes.
//
//	sbom PROGRAM REQUIREMENTS > sbom.json
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: sbom PROGRAM REQUIREMENTS")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read %s: %w", args[0], err)
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	wheels, err := wheels(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(bill(info, wheels))
}

// document, metadata, component, hash and property are the parts of CycloneDX that are used here.
type document struct {
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Number     int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"`
	Package    string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// bill lists the program's modules and the wheels, in the order in which they are stated.
func bill(info *buildinfo.BuildInfo, wheels []component) document {
	d := document{
		Format: "CycloneDX", Version: "1.5", Number: 1,
		Metadata: metadata{module(info.Main.Path, info.Main.Version, "")},
	}
	d.Metadata.Component.Type = "application"
	d.Components = append(d.Components, module("std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, module(m.Path, m.Version, m.Sum))
	}
	d.Components = append(d.Components, wheels...)
	return d
}

// module describes a Go module; sum is its hash in go.sum's notation, "" for none.
func module(path, version, sum string) component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	c := component{Type: "library", Ref: purl, Name: path, Version: version, Package: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}

var requirement = regexp.MustCompile(`^([\w.-]+)==([\w.]+)((?: --hash=sha256:[0-9a-f]{64})+)$`)

// wheels reads a requirements file in which every line pins a version and its hashes; any
// other line is an error.
func wheels(text string) (all []component, err error) {
	text = strings.ReplaceAll(text, " \\\n    ", " ")
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		m := requirement.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("requirement %d: expected NAME==VERSION --hash=sha256:…, found %q", i+1,
				line)
		}
		purl := fmt.Sprintf("pkg:pypi/%s@%s", m[1], m[2])
		c := component{
			Type: "library", Ref: purl, Name: m[1], Version: m[2], Scope: "optional", Package: purl,
		}
		for _, h := range strings.Fields(m[3]) {
			c.Hashes = append(c.Hashes, hash{"SHA-256", strings.TrimPrefix(h, "--hash=sha256:")})
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("it names no wheel")
	}
	return all, nil
}
