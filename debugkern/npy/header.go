package npy

import (
	"math"
	"strconv"
	"strings"
)

const (
	magic      = "\x93NUMPY"
	maxHeader  = 1 << 16 // bytes of a header's text; NumPy refuses more than 10,000
	maxRank    = 64      // NumPy's
	headerForm = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, spaces and a newline"
)

// parseHeader reads the text of an array's header, a Python dictionary (numpy.lib.format, versions 1.0 to
// 3.0).
func parseHeader(text string) (Header, error) {
	p := &literal{text: text}
	h := Header{}
	seen := map[string]bool{}
	p.expect("{")
	for !p.failed && !p.skip("}") {
		key := p.str()
		p.expect(":")
		if seen[key] && !p.failed {
			return h, wrong("", "the header has %s twice", quoteShort(key))
		}
		seen[key] = true
		var err error
		switch key {
		case "descr":
			h.DType, err = p.descr()
		case "fortran_order":
			err = p.order()
		case "shape":
			h.Shape, err = p.shape()
		default:
			if !p.failed {
				err = wrong("descr, fortran_order and shape", "the header has a key %s", quoteShort(key))
			}
		}
		if err != nil && !p.failed {
			return h, err
		}
		if !p.skip(",") {
			p.expect("}")
			break
		}
	}
	if p.failed || strings.TrimLeft(p.text, " ") != "\n" {
		return h, wrong(headerForm, "the header is %s", quoteShort(text))
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, wrong("descr, fortran_order and shape", "the header has no %q", key)
		}
	}
	return h, nil
}

// literal reads Python's notation for strings, truth values, integers and tuples. After a mistake failed is
// set, and what is read means nothing.
type literal struct {
	text   string // what is left
	failed bool
}

// skip passes over a token and the spaces before it, where it comes next.
func (p *literal) skip(token string) bool {
	text := strings.TrimLeft(p.text, " ")
	if !strings.HasPrefix(text, token) {
		return false
	}
	p.text = text[len(token):]
	return true
}

func (p *literal) expect(token string) {
	if !p.skip(token) {
		p.failed = true
	}
}

// str reads a string without escapes.
func (p *literal) str() string {
	quote := "'"
	if !p.skip(quote) {
		quote = `"`
		p.expect(quote)
	}
	s, rest, ok := strings.Cut(p.text, quote)
	if !ok || strings.ContainsAny(s, "\\\n") {
		p.failed = true
		return ""
	}
	p.text = rest
	return s
}

func (p *literal) descr() (DType, error) {
	if strings.HasPrefix(strings.TrimLeft(p.text, " "), "[") {
		return "", wrong(numbers(), "the elements are records")
	}
	s := p.str()
	if p.failed || s == "" {
		return "", wrong(numbers(), "the type is %s", quoteShort(s))
	}
	order, name := s[0], s[1:]
	for _, t := range dtypes {
		switch {
		case name != string(t):
		case order == '<' || order == '|' && t.Size() == 1:
			return t, nil
		case order == '>':
			return "", wrong("little endian, <"+name, "the elements are big endian, %s", quoteShort(s))
		}
	}
	if strings.HasPrefix(name, "O") {
		return "", wrong(numbers(), "the elements are Python objects, %s", quoteShort(s))
	}
	return "", wrong(numbers(), "the type is %s", quoteShort(s))
}

func numbers() string {
	names := make([]string, len(dtypes))
	for i, t := range dtypes {
		names[i] = t.descr()
	}
	return "one of " + strings.Join(names, " ")
}

func (p *literal) order() error {
	switch {
	case p.skip("False"):
		return nil
	case p.skip("True"):
		return wrong("C order, as numpy.ascontiguousarray makes it", "the elements are in Fortran order")
	}
	p.failed = true
	return nil
}

// shape reads a tuple of lengths: (), (2,), (2, 3).
func (p *literal) shape() ([]int, error) {
	dims := []int{}
	p.expect("(")
	comma := true
	for !p.failed && !p.skip(")") {
		if !comma {
			p.failed = true
		}
		n, err := p.length()
		if err != nil {
			return nil, err
		}
		dims = append(dims, n)
		if comma = p.skip(","); !comma && len(dims) == 1 {
			p.failed = true // (2) is a number
		}
	}
	if len(dims) > maxRank {
		return nil, wrong("", "the shape has %d dimensions, more than %d", len(dims), maxRank)
	}
	return dims, nil
}

func (p *literal) length() (int, error) {
	p.text = strings.TrimLeft(p.text, " ")
	n := 0
	for n < len(p.text) && p.text[n] >= '0' && p.text[n] <= '9' {
		n++
	}
	if n == 0 {
		p.failed = true
		return 0, nil
	}
	v, err := strconv.ParseUint(p.text[:n], 10, 64)
	if err != nil || v > math.MaxInt {
		return 0, wrong("", "the shape has a dimension of %s", quoteShort(p.text[:n]))
	}
	p.text = p.text[n:]
	return int(v), nil
}

// quoteShort quotes the beginning of what a file holds; it was checked to be printable, or is escaped.
func quoteShort(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
