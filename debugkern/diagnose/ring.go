package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/probes"
)

// A ring of buffers exists so that one is filled while another is read. Where the index into it stays the
// same, a fill meets the reads of the tile before: a barrier makes that race go, and gives up what the second
// buffer is there for.

// ring is a buffer of several that nothing uses, of an array that races.
type ring struct {
	at          *report.Source // the line of the index
	why, advice string
}

// rings looks, for each race on a shared array of several buffers, whether one of them is never used although
// the block has as many tiles.
func (q *inquiry) rings() error {
	for _, s := range q.suspects {
		if !slices.Contains(racing, s.cause.Kind) || s.cause.Finding < 0 {
			continue
		}
		for _, name := range s.cause.Place.Variables {
			block := s.cause.Place.Block
			c, err := scene.Cover(q.ctx, q.run, []probes.Dim3{block}, name)
			if err != nil {
				if err = q.fatal(err); err != nil {
					return err
				}
				continue
			}
			if c == nil || len(c.Idle()) == 0 {
				continue
			}
			if _, tiles := q.run.Tiles(block); tiles < c.Buffers() {
				continue
			}
			s.ring = q.ring(s, name, c)
			break
		}
	}
	return nil
}

// ring words a buffer that is never used, with the line of the index.
func (q *inquiry) ring(s *suspect, name string, c *scene.Covered) *ring {
	f := &q.doc.Findings[s.cause.Finding]
	r := &ring{at: f.Source}
	text := ""
	for _, side := range []*report.Source{f.Source, f.Other} {
		if at := q.subscript(side, name); at != nil {
			r.at, text = at, q.quoted(at)
			break
		}
	}
	r.why = fmt.Sprintf("%s has %d buffers, and %s never written or read: every tile uses the same one", name,
		c.Buffers(), elementsAt(name, c.Idle()))
	r.advice = fmt.Sprintf("look at the index of the buffer at %s, which should change from tile to tile",
		callText(r.at))
	if text != "" {
		r.advice += ": " + quote(text)
	}
	return r
}

// elementsAt is "sA[1] is", "sA[1], sA[2] are".
func elementsAt(name string, index []int) string {
	text := ""
	for i, x := range index {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s[%d]", name, x)
	}
	if len(index) == 1 {
		return text + " is"
	}
	return text + " are"
}

// subscript is the line of the first index of an array that is accessed at a line, or at one that it is
// called from: where the index is a variable, the line before that sets it; else the line itself. nil where
// the source does not show the array there.
func (q *inquiry) subscript(at *report.Source, array string) *report.Source {
	if at == nil {
		return nil
	}
	index := regexp.MustCompile(`\b` + regexp.QuoteMeta(array) + `\s*\[([^\]]*)\]`)
	places := []report.Source{*at}
	for _, site := range at.Calls.Sites() {
		places = append(places, report.Source{File: site.File, Line: site.Line})
	}
	for _, p := range places {
		m := index.FindStringSubmatch(q.quoted(&p))
		if m == nil {
			continue
		}
		if !identifier.MatchString(m[1]) {
			return &p
		}
		set := regexp.MustCompile(`\b` + strings.TrimSpace(m[1]) + `\s*([-+*/%^&|]|<<|>>)?=[^=]`)
		for line := p.Line - 1; line > 0; line-- {
			o := report.Source{File: p.File, Line: line, Function: p.Function}
			if set.MatchString(q.quoted(&o)) {
				return &o
			}
		}
		return &p
	}
	return nil
}

var identifier = regexp.MustCompile(`^\s*[A-Za-z_]\w*\s*$`)
