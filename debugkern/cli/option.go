package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"tilescope/configs"
)

// keyOption is the value of an option that overrides a configuration key: what the key refuses,
// the option refuses.
type keyOption struct {
	pflag.Value
	key string
}

// overKey makes each named option of f, all of which have been added, one that overrides the
// configuration key of its name.
func overKey(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		o := f.Lookup(name)
		o.Value = &keyOption{o.Value, name}
	}
}

// Set parses a value and stores it.
func (o *keyOption) Set(text string) error {
	if err := configs.CheckValue(o.key, text); err != nil {
		return err
	}
	if err := o.Value.Set(text); err != nil {
		return fmt.Errorf("%w: expected %s", err, configs.Expected(o.key))
	}
	return nil
}
