package argument

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tilescope/debugkern/tensormap"
)

// tensorMap reads what follows tensormap: {KEY: VALUE, ...}.
func (v *Value) tensorMap(s string) error {
	if !strings.HasPrefix(s, "{") {
		return errors.New("expected tensormap{of: NAME, box: [..], ...}")
	}
	body, ok := strings.CutSuffix(s[1:], "}")
	if !ok {
		return errors.New("the tensor map has no closing brace")
	}
	m, given := &TensorMap{}, map[string]bool{}
	for _, part := range split(body) {
		key, value, ok := strings.Cut(part, ":")
		if key, value = strings.TrimSpace(key), strings.TrimSpace(value); !ok || value == "" {
			return fmt.Errorf("%q in the tensor map: expected KEY: VALUE", clip(part))
		}
		if given[key] {
			return fmt.Errorf("%s of the tensor map is given twice", clip(key))
		}
		given[key] = true
		if err := m.set(key, value); err != nil {
			return fmt.Errorf("%s: %w", clip(key), err)
		}
	}
	for _, key := range []string{"of", "box"} {
		if !given[key] {
			return fmt.Errorf("the tensor map needs %s", key)
		}
	}
	v.Map = m
	return m.Check()
}

// set sets one key.
func (m *TensorMap) set(key, value string) (err error) {
	switch key {
	case "of":
		m.Of = value
	case "dtype":
		m.DType = value
		_, err = tensormap.ParseDType(value)
	case "dims":
		m.Dims, err = numbers(value)
	case "strides":
		m.Strides, err = numbers(value)
	case "box":
		m.Box, err = numbers(value)
	case "steps":
		m.Steps, err = numbers(value)
	case "interleave":
		m.Interleave = value
	case "swizzle":
		m.Swizzle = value
	case "promotion":
		m.Promotion = value
	case "fill":
		m.Fill = value
	case "offset":
		if m.Offset, err = strconv.ParseInt(value, 0, 64); err != nil {
			return fmt.Errorf("%q is not a whole number", clip(value))
		}
	default:
		return fmt.Errorf("unknown key %q; a tensor map has of, dtype, dims, strides, box, steps, interleave, "+
			"swizzle, promotion, fill and offset", clip(key))
	}
	return err
}

// numbers reads a list in brackets.
func numbers(text string) ([]int64, error) {
	body, opened := strings.CutPrefix(text, "[")
	body, closed := strings.CutSuffix(body, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("%q: expected numbers in brackets, such as [64, 64]", clip(text))
	}
	var out []int64
	for _, part := range strings.Split(body, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 0, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", clip(part))
		}
		out = append(out, n)
	}
	return out, nil
}
