//go:build unix

package attack

import (
	"fmt"
	"strconv"
	"strings"
)

// yamlText is a string as YAML in double quotes.
func yamlText(s string) string { return strconv.QuoteToASCII(s) }

// nowhere fails where what is printed contains a secret.
func nowhere(got outcome, secret string) error {
	if strings.Contains(got.out+got.errors, secret) {
		return fmt.Errorf("prints the content of a file or environment that is not its own: %q", secret)
	}
	return nil
}
