package cuda

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/probes"
)

// Complaint is one thing that compute-sanitizer has found.
type Complaint struct {
	// Kind is "out-of-bounds", "misaligned", "race" or "other" (a failed call, a leak: see Text).
	Kind     string `json:"kind"`
	Severity string `json:"severity"` // error, warning, info
	// Access: "write", "read", "atomic"; of a race "WAW", "RAW", "WAR" where the tool reports it
	Access string `json:"access"`
	Bytes  int    `json:"bytes"` // of one access, 0 where unknown
	Space  string `json:"space"` // global, shared, local; "" where unknown
	// Address: in its space: global as the device counts, shared from the block's start
	Address uint64 `json:"address"`
	Located bool   `json:"located"` // Address is known

	At     SanitizerPlace   `json:"at"`
	Others []SanitizerPlace `json:"others"` // of a race: the other sides
	Frames []SanitizerPlace `json:"frames"` // who called At, where the compiler inlined it

	Block   probes.Dim3   `json:"block"`
	Threads []probes.Dim3 `json:"threads"` // of a race: both
	// Argument is the launch's argument that lies nearest to a global address, Distance how many bytes behind
	// its end (negative: before its start) the access is, 0 inside.
	Argument string `json:"argument"`
	Distance int64  `json:"distance"`
	Count    int    `json:"count"` // times that this was reported
	Text     string `json:"text"`  // the tool's own first line
}

// SanitizerPlace is a place in the device code.
type SanitizerPlace struct {
	Function string `json:"function"`
	Offset   uint64 `json:"offset"` // of the machine code
	File     string `json:"file"`   // "" without debug lines
	Line     int    `json:"line"`
	Access   string `json:"access"` // "write" or "read": what this side of a race does
}

// same reports the same code.
func (p SanitizerPlace) same(q SanitizerPlace) bool {
	if p.Line > 0 && q.Line > 0 {
		return p.Line == q.Line && p.File == q.File && p.Access == q.Access
	}
	return p.Function == q.Function && p.Offset == q.Offset && p.Access == q.Access
}

// compute-sanitizer's text, as its documentation shows it: every line begins with nine equals signs. Older
// versions write places as `0x90 in file.cu:10:f(int)`, newer ones as `f(int)+0x90 in file.cu:10`.
var (
	invalidLine = regexp.MustCompile(
		`^(?:Potential i|I)nvalid __(\w+)__ (read|write|atomic\w*) of size (\d+)`)
	severityLine = regexp.MustCompile(`^(?i:(error|warning|warn|info))\s*:\s*(?:\([^)]*\)\s*)?(.*)$`)
	raceLine     = regexp.MustCompile(
		`^(?:(\w+) )?[Rr]ace reported between (Read|Write|Atomic) access at (.*?)\s*$`)
	raceAndLine = regexp.MustCompile(
		`^and (Read|Write|Atomic) access at (.*?)(?:\s*\[(\d+) hazards?\])?\s*$`)
	hazardLine = regexp.MustCompile(
		`^Potential (WAW|RAW|WAR) hazard detected at __(\w+)__ 0x([0-9a-fA-F]+) in block \(\s*(\d+),\s*(\d+),\s*(\d+)\)`)
	uninitialisedLine = regexp.MustCompile(`^Uninitialized __(\w+)__ memory read of size`)
	hazardThread      = regexp.MustCompile(
		`^(Read|Write|Atomic) Thread \(\s*(\d+),\s*(\d+),\s*(\d+)\) at (.*?)\s*$`)
	threadLine = regexp.MustCompile(
		`^by thread \(\s*(\d+),\s*(\d+),\s*(\d+)\) in block \(\s*(\d+),\s*(\d+),\s*(\d+)\)`)
	addressLine = regexp.MustCompile(
		`^(?:Address|Access at|Access to) 0x([0-9a-fA-F]+) is (out of bounds|misaligned)`)
	atLine      = regexp.MustCompile(`^at (.*?)\s*$`)
	frameLine   = regexp.MustCompile(`^Device Frame:\s*(.*?)\s*$`)
	newPlace    = regexp.MustCompile(`^(.*?)[+:]0x([0-9a-fA-F]+)(?: in (.+):(\d+))?$`)
	oldPlace    = regexp.MustCompile(`^0x([0-9a-fA-F]+) in (?:(.+?):(\d+):)?(.*)$`)
	summaryLine = regexp.MustCompile(`^(?:ERROR|RACECHECK) SUMMARY: (.*)$`)
)

// ParseSanitizer reads what compute-sanitizer has written. Equal complaints (the same places) are one,
// counted. summary is the tool's last word, "" where it did not end.
func ParseSanitizer(text string) (complaints []Complaint, summary string) {
	p := &sanitizerParser{}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "=========")
		if !ok {
			continue // the program's own words
		}
		indented := strings.HasPrefix(rest, "  ")
		rest = strings.TrimSpace(rest)
		switch m := summaryLine.FindStringSubmatch(rest); {
		case m != nil:
			p.flush()
			summary = rest
		case rest == "":
			p.flush()
		case indented && p.current != nil:
			p.detail(rest)
		default:
			p.flush()
			p.begin(rest)
		}
	}
	p.flush()
	return p.out, summary
}

type sanitizerParser struct {
	out     []Complaint
	current *Complaint
	threads []SanitizerPlace // of the hazard under way
}

// begin starts a complaint; a line that is none (a headline, a leak's trailer) starts nothing.
func (p *sanitizerParser) begin(line string) {
	severity := "error"
	text := line
	if m := severityLine.FindStringSubmatch(line); m != nil {
		severity, text = strings.ToLower(m[1]), m[2]
		if severity == "warn" {
			severity = "warning"
		}
	}
	c := &Complaint{Severity: severity, Text: line, Count: 1}
	if m := invalidLine.FindStringSubmatch(text); m != nil {
		c.Kind, c.Space, c.Access, c.Bytes = "out-of-bounds", m[1], m[2], number([]byte(m[3]))
	} else if m := raceLine.FindStringSubmatch(text); m != nil {
		c.Kind, c.Space = "race", "shared"
		c.At = parsePlace(m[3])
		c.At.Access = strings.ToLower(m[2])
	} else if m := hazardLine.FindStringSubmatch(text); m != nil {
		c.Kind, c.Access, c.Space, c.Located = "race", m[1], m[2], true
		c.Address = hexadecimal(m[3])
		c.Block = dim3(m[4:7])
	} else if m := uninitialisedLine.FindStringSubmatch(text); m != nil {
		c.Kind, c.Space, c.Access = "uninitialised", m[1], "read"
	} else if strings.HasPrefix(text, "Barrier error") {
		c.Kind = "barrier"
	} else if strings.HasPrefix(text, "Program hit") || strings.HasPrefix(text, "Leaked") ||
		strings.HasPrefix(text, "Uninitialized") {
		c.Kind = "other"
	} else {
		return
	}
	p.current, p.threads = c, nil
}

// detail reads an indented line of the complaint under way.
func (p *sanitizerParser) detail(line string) {
	c := p.current
	if m := raceAndLine.FindStringSubmatch(line); m != nil {
		place := parsePlace(m[2])
		place.Access = strings.ToLower(m[1])
		if c.Others = append(c.Others, place); len(c.Others) == 1 {
			c.Count = 0
		}
		c.Count += max(number([]byte(m[3])), 1)
	} else if m := hazardThread.FindStringSubmatch(line); m != nil {
		place := parsePlace(m[5])
		place.Access = strings.ToLower(m[1])
		p.threads = append(p.threads, place)
		c.Threads = append(c.Threads, dim3(m[2:5]))
	} else if m := threadLine.FindStringSubmatch(line); m != nil {
		c.Threads, c.Block = []probes.Dim3{dim3(m[1:4])}, dim3(m[4:7])
	} else if m := addressLine.FindStringSubmatch(line); m != nil {
		c.Address, c.Located = hexadecimal(m[1]), true
		if m[2] == "misaligned" {
			c.Kind = "misaligned"
		}
	} else if m := frameLine.FindStringSubmatch(line); m != nil {
		c.Frames = append(c.Frames, parsePlace(m[1]))
	} else if m := atLine.FindStringSubmatch(line); m != nil && c.At == (SanitizerPlace{}) {
		c.At = parsePlace(m[1])
	}
}

// flush ends the complaint under way: one more of an earlier one, or a new one.
func (p *sanitizerParser) flush() {
	c := p.current
	if c == nil {
		return
	}
	p.current = nil
	if len(p.threads) > 0 {
		c.At, c.Others = p.threads[0], p.threads[1:]
	}
	if c.Kind == "race" && !c.Located {
		p.analysis(c)
		return
	}
	for i := range p.out {
		if p.out[i].again(c) {
			return
		}
	}
	p.out = append(p.out, *c)
}

// analysis takes the place of the single hazards that it sums up, and keeps the first one's
// address and threads.
func (p *sanitizerParser) analysis(c *Complaint) {
	kept := p.out[:0]
	for _, o := range p.out {
		if o.Kind != "race" || !o.Located || !c.covers(&o) {
			kept = append(kept, o)
			continue
		}
		if !c.Located {
			c.Located, c.Address, c.Block, c.Threads, c.Access = true, o.Address, o.Block, o.Threads, o.Access
		}
	}
	p.out = append(kept, *c)
}

// again counts another report of the same code.
func (c *Complaint) again(d *Complaint) bool {
	switch {
	case c.Kind != d.Kind || c.Space != d.Space || c.Kind == "other" && c.Text != d.Text:
		return false
	case c.Kind == "race" && !c.covers(d), c.Kind != "race" && (!c.At.same(d.At) || c.Access != d.Access):
		return false
	}
	c.Count += d.Count
	return true
}

// covers reports that the two places of hazard d are among the pairs of c.
func (c *Complaint) covers(d *Complaint) bool {
	if len(d.Others) != 1 {
		return false
	}
	forwards := c.At.same(d.At) && slices.ContainsFunc(c.Others, d.Others[0].same)
	return forwards || c.At.same(d.Others[0]) && slices.ContainsFunc(c.Others, d.At.same)
}

func parsePlace(s string) SanitizerPlace {
	if m := oldPlace.FindStringSubmatch(s); m != nil {
		line, _ := strconv.Atoi(m[3]) // absent: 0
		return SanitizerPlace{Function: m[4], Offset: hexadecimal(m[1]), File: m[2], Line: line}
	}
	if m := newPlace.FindStringSubmatch(s); m != nil {
		line, _ := strconv.Atoi(m[4])
		return SanitizerPlace{Function: m[1], Offset: hexadecimal(m[2]), File: m[3], Line: line}
	}
	return SanitizerPlace{Function: s}
}

func hexadecimal(s string) uint64 {
	n, _ := strconv.ParseUint(s, 16, 64) // a regular expression has matched its digits
	return n
}

func dim3(digits []string) (d probes.Dim3) {
	for i := range d {
		d[i] = number([]byte(digits[i]))
	}
	return d
}
