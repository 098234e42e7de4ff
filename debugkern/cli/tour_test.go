package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"tilescope/configs"
)

// TestTour: the command opens the terminal on the tour, which remembers nothing.
func TestTour(t *testing.T) {
	var got Terminal
	run := func(open error, args ...string) (string, int) {
		var out, errOut bytes.Buffer
		got = Terminal{}
		code := Main(context.Background(), Program{
			Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
			OpenTerminal: func(_ context.Context, o Terminal) error {
				got = o
				return open
			},
		})
		return errOut.String(), code
	}
	if text, code := run(nil, "tour"); code != 0 || !got.Tour || got.StateDir != "" || got.Session == nil {
		t.Errorf("exit %d, %s: %+v", code, text, got)
	}
	for _, args := range [][]string{{"tour", "stage2"}, {"tour", "--json"}} {
		if text, code := run(nil, args...); code != 2 || text == "" || got.Session != nil {
			t.Errorf("%v: exit %d, %q", args, code, text)
		}
	}
	if _, code := run(errors.New("no terminal"), "tour"); code == 0 {
		t.Error("a terminal that cannot be opened is exit 0")
	}
}

// TestKeysAreCheckedByEveryCommand: a mistake in the keys is one of the configuration: exit 2, with its
// place.
func TestKeysAreCheckedByEveryCommand(t *testing.T) {
	t.Setenv("TILESCOPE_KEYS", "tile.heat=n")
	var out, errOut bytes.Buffer
	code := Main(context.Background(), Program{
		Args: []string{"kernels"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
		CheckKeys: func(list []configs.KeySetting) []*configs.Error {
			return []*configs.Error{list[0].Mistake("key n is taken")}
		},
	})
	want := "TILESCOPE_KEYS: keys.tile.heat: key n is taken"
	if code != 2 || !strings.Contains(errOut.String(), want) {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
}
