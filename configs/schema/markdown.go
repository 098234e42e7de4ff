package schema

import (
	"fmt"
	"strings"
)

const head = `# The manifest

Every key of a kernel manifest, as the reader takes it: this page is generated from its table (` + "`make docs`" + `),
and so is the JSON Schema for editors, [manifest.schema.json](manifest.schema.json). ` + "`tilescope init`" + ` writes a
copy of it next to a manifest, and a first line that names it: editors with a YAML language server then complete
keys and mark mistakes.

[own-kernel.md](own-kernel.md) is about writing one, [operators.md](operators.md) about what stages compute.

A **name** has letters, digits and ` + "`_ - . +`" + `, an **identifier** letters, digits and ` + "`_`" + `.
An **expression** is a number, or is computed: ` + "`+ - * / %`" + `, comparisons, ` + "`&& || !`" + `,
` + "`x ? y : z`" + `, functions, over the dimensions of the shape, constants and flags, and where a section says
so over positions. A **condition** is an expression that holds where it is not 0. A key that is **needed** is refused
where it is missing, any other may be left out. An unknown key is an error.
`

// Markdown returns the reference.
func Markdown() []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := range sections {
		s := &sections[i]
		if i > 0 && s.Name == operations[0].Name {
			b.WriteString(
				"\n## operators\n\nExactly one operator's name with its operands, and its parameters. An operand is a stage, " +
					"an operation in place, or of\n`load` and `gather` an input.\n")
		}
		s.markdown(&b)
	}
	return []byte(b.String())
}

func (s *Section) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", s.Name)
	if s.At != "" {
		fmt.Fprintf(b, "Where: `%s`. ", s.At)
	}
	b.WriteString(strings.TrimSpace(s.Help + "\n"))
	b.WriteString("\n\n| key | value | default | meaning | example |\n|---|---|---|---|---|\n")
	keys := s.Keys
	if s.Others != nil {
		keys = append(keys[:len(keys):len(keys)], *s.Others)
	}
	for _, k := range keys {
		def := code(k.Default)
		if strings.Contains(k.Default, "the ") {
			def = k.Default // in words
		}
		if k.Need {
			def = "needed"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", k.Name, cell(k.Value.Kind), def, cell(k.Help),
			code(k.Example))
	}
}

// cell is a text in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// code is a text as code in a table; nothing for none.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}
