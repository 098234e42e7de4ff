package cli

import (
	"context"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

// helpInStyle prints a command's help as the library styles it. The library chooses colours after it has asked the terminal for its
// background, which takes up to 4 s where no answer comes, and it asks before every error as well, for styles that our errors do not
// use. So it is given a command tree of its own, for help alone; the command itself is executed without it.
func (a *app) helpInStyle(ctx context.Context, c *cobra.Command) error {
	root := a.root()
	root.SetArgs(append(strings.Fields(c.CommandPath())[1:], "--help"))
	root.SetOut(c.OutOrStdout())
	root.SetErr(c.ErrOrStderr())
	return fang.Execute(ctx, root, fang.WithoutVersion(), fang.WithoutManpage())
}
