package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// versionDoc is the document tilescope.version/1.
type versionDoc struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Version, commit, Go and platform", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

// version prints the program's version.
func (a *app) version() error {
	d := versionDoc{
		Schema: "tilescope.version/1", Version: a.Version, Go: runtime.Version(), OS: runtime.GOOS,
		Arch: runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if d.Version == "" {
			d.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				d.Commit = s.Value
			}
		}
	}
	return a.print(d, func(w io.Writer) {
		fmt.Fprintf(w, "tilescope %s (%s, %s/%s)\n", d.Version, d.Go, d.OS, d.Arch)
	})
}

// helpCommand prints the help of a command. The library's own takes any word.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", DisableFlagsInUseLine: true,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (
			names []string, _ cobra.ShellCompDirective) {
			of, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range of.Commands() {
				names = append(names, sub.Name())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if err != nil || of == nil || len(rest) > 0 {
				if of == nil {
					of = c.Root()
				}
				if len(rest) == 0 {
					rest = args
				}
				if did := didYouMean(of, rest[0]); did != "" {
					return usageError("unknown command %q: %s", strings.Join(args, " "), did)
				}
				return usageError("unknown command %q (%s --help says what there is)",
					strings.Join(args, " "), of.CommandPath())
			}
			of.InitDefaultHelpFlag()
			a.help(of)
			return nil
		},
	}
}

// manCommand prints the manual page; the library's own command ignores errors of writing.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page, for man -l -", Args: noArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := mango.NewManPage(1, c.Root())
			if err != nil {
				return err
			}
			manual := strings.Replace(page.Build(undated{roff.NewDocument()}), noDate, `""`, 1)
			_, err = io.WriteString(a.Stdout, manual)
			return err
		},
	}
}

// undated is a page whose date is noDate, not that of today: the same program prints the same page.
type undated struct{ *roff.Document }

const noDate = `"0001-01-01"`

func (u undated) Heading(section uint, title, description string, _ time.Time) {
	u.Document.Heading(section, title, description, time.Time{})
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return usageError("%s takes no arguments, and got %s", c.CommandPath(), text.JoinWords(args))
	}
	if did := didYouMean(c, args[0]); did != "" {
		return usageError("%s has no command %q: %s", c.CommandPath(), args[0], did)
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return usageError("%s has no command %q: expected %s", c.CommandPath(), args[0],
		strings.Join(names, ", "))
}

func (a *app) kernelsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "kernels [NAME...]", Short: "The catalogue: kernels, variants, flags, faults, shapes",
		RunE: func(_ *cobra.Command, names []string) error {
			cat, err := configs.Kernels()
			if err != nil {
				return fmt.Errorf("catalogue: %w", err)
			}
			doc := cat.Doc()
			if err := onlyKernels(cat, &doc, names); err != nil {
				return err
			}
			if err := markPrebuilt(cat, &doc); err != nil {
				return fmt.Errorf("catalogue: %w", err)
			}
			return a.print(doc, func(w io.Writer) { printCatalogue(w, doc) })
		},
	}
	c.ValidArgsFunction = completeTargets
	return c
}

// onlyKernels leaves those kernels in the document that are named, or a variant of them; all where there is
// no name.
func onlyKernels(cat *configs.Catalogue, doc *configs.CatalogueDoc, names []string) error {
	if len(names) == 0 {
		return nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		m, _, err := cat.Lookup(name)
		if err != nil {
			return usageError("%w", err)
		}
		wanted[m.Name] = true
	}
	doc.Kernels = slices.DeleteFunc(doc.Kernels, func(k configs.KernelDoc) bool { return !wanted[k.Name] })
	return nil
}

// markPrebuilt notes which variants, and which faults of their bases, the embedded archive has.
func markPrebuilt(cat *configs.Catalogue, doc *configs.CatalogueDoc) error {
	prebuilt := func(variant string, faults ...string) (bool, error) {
		m, _, err := cat.Lookup(variant)
		if err != nil {
			return false, err
		}
		sel, err := m.Select(variant, nil, faults, probes.GateNone)
		if err != nil {
			return false, err
		}
		return build.Prebuilt(sel)
	}
	var err error
	for k := range doc.Kernels {
		for i := range doc.Kernels[k].Variants {
			if v := &doc.Kernels[k].Variants[i]; err == nil {
				v.Prebuilt, err = prebuilt(v.Name)
			}
		}
		for i := range doc.Kernels[k].Faults {
			if f := &doc.Kernels[k].Faults[i]; err == nil {
				f.Prebuilt, err = prebuilt(f.Base, f.Name)
			}
		}
	}
	return err
}

// builtText says whether a compiler is needed.
func builtText(prebuilt bool) string {
	if prebuilt {
		return "prebuilt"
	}
	return "needs a compiler"
}

func printCatalogue(w io.Writer, d configs.CatalogueDoc) {
	for i, k := range d.Kernels {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", k.Name, k.Title)
		tw := newTable(w)
		fmt.Fprintln(tw, "  variants")
		for _, v := range k.Variants {
			var on []string
			for _, f := range k.Flags {
				switch n := v.Flags[f.Name]; {
				case n == 1:
					on = append(on, f.Name)
				case n != 0 || n != f.Default:
					on = append(on, fmt.Sprintf("%s=%d", f.Name, n))
				}
			}
			fmt.Fprintf(tw, "    %s\t%s\t(%s)\n", v.Name, strings.Join(append(on, v.Faults...), " "),
				builtText(v.Prebuilt))
		}
		if len(k.Flags) > 0 {
			fmt.Fprintln(tw, "  flags\t\t(values, default)")
		}
		for _, f := range k.Flags {
			values := strings.Trim(fmt.Sprint(f.Values), "[]")
			fmt.Fprintf(tw, "    %s\t%s\t(%s, %d)\n", f.Name, f.Help, values, f.Default)
		}
		if len(k.Faults) > 0 {
			fmt.Fprintln(tw, "  faults\t\t(base, shape, on that base)")
		}
		for _, f := range k.Faults {
			fmt.Fprintf(tw, "    %s\t%s\t(%s, %s, %s)\n", f.Name, f.Help, f.Base, f.Shape,
				builtText(f.Prebuilt))
		}
		names := ""
		if len(k.Shapes) > 0 && k.Shapes[0].Shape.IsListed() { // others are printed with their names
			names = " " + strings.Join(k.Shapes[0].Shape.Names(), ",")
		}
		fmt.Fprintln(tw, "  shapes"+names)
		for _, s := range k.Shapes {
			fmt.Fprintf(tw, "    %s\t%s\n", s.Name, s.Shape)
		}
		tw.Flush()
	}
	fmt.Fprintln(w, "\nprebuilt: the program has the PTX, and no compiler is needed. Other combinations of flags and faults may need "+
		"one (tilescope doctor).")
}

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "What works on this machine, what does not, and what to install", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.session(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			d := s.Doctor(cmd.Context())
			return a.print(d, func(w io.Writer) { printDoctor(w, d) })
		},
	}
	bindHost(c)
	return c
}

func printDoctor(w io.Writer, d *report.Doctor) {
	tw := newTable(w)
	for _, c := range d.Checks {
		mark := "yes"
		if !c.OK {
			mark = "no"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", mark, c.Name, strings.TrimSpace(c.Version+" "+c.Path+" "+c.Detail))
		if c.Enables != "" {
			fmt.Fprintf(tw, "\t\t%s\n", c.Enables)
		}
		if !c.OK && c.Install != "" {
			fmt.Fprintf(tw, "\t\tto have it: %s\n", c.Install)
		}
	}
	tw.Flush()
}

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show and change the configuration",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.configShow(c.Context()) },
	}
	c.AddCommand(
		&cobra.Command{Use: "show", Short: "Every key, its value, and where it comes from", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.configShow(c.Context()) }},
		&cobra.Command{Use: "init", Short: "Write a commented configuration file for this user", Args: noArgs,
			RunE: func(*cobra.Command, []string) error {
				return a.configPath(configs.Init(configs.LoadOptions{Files: a.Files}))
			}},
		&cobra.Command{Use: "path", Short: "Where the user's configuration file is", Args: noArgs,
			RunE: func(*cobra.Command, []string) error {
				return a.configPath(configs.Path(configs.LoadOptions{}))
			}},
		&cobra.Command{Use: "get KEY", Short: "Print one value", Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				v, err := configs.Get(c.Context(), configs.LoadOptions{CheckKeys: a.CheckKeys}, args[0])
				if err != nil {
					return usageError("%w", err)
				}
				return a.print(map[string]any{"schema": "tilescope.config/1", args[0]: v}, func(w io.Writer) {
					fmt.Fprintln(w, settingText(v))
				})
			}},
		&cobra.Command{
			Use: "set KEY VALUE", Short: "Change one value in the user's configuration file",
			Args: cobra.ExactArgs(2),
			RunE: func(c *cobra.Command, args []string) error {
				return a.configPath(configs.Set(c.Context(), configs.LoadOptions{
					Files: a.Files, CheckKeys: a.CheckKeys,
				}, args[0], args[1]))
			},
		},
		&cobra.Command{
			Use: "unset KEY", Short: "Take one value out of the user's configuration file",
			Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				return a.configPath(configs.Unset(c.Context(), configs.LoadOptions{Files: a.Files}, args[0]))
			},
		},
	)
	return c
}

// settingText is a value as config set takes it: a list with commas.
func settingText(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}

func (a *app) configPath(path string, err error) error {
	if err != nil {
		return usageError("%w", err)
	}
	return a.print(map[string]string{"schema": "tilescope.config/1", "path": path}, func(w io.Writer) {
		fmt.Fprintln(w, path)
	})
}

// configShow prints every setting, where it comes from, and what the terminal remembers in its place: a theme
// that was chosen there.
func (a *app) configShow(ctx context.Context) error {
	doc := a.sources.Doc()
	if dir, err := configs.StateDir(os.Environ()); err == nil {
		doc.Remember(configs.Remembered(ctx, dir))
	}
	return a.print(doc, func(w io.Writer) {
		tw := newTable(w)
		for _, k := range doc.Keys {
			from := k.From
			if k.Remembered != "" {
				from += fmt.Sprintf("; the terminal remembers %s (:%s %v goes back)", k.Remembered, k.Key,
					k.Value)
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\n", k.Key, settingText(k.Value), from)
		}
		tw.Flush()
	})
}
