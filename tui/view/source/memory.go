package source

import (
	"encoding/json"
	"errors"

	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
)

// savedStop is a breakpoint as the state file has it.
type savedStop struct {
	walk.Breakpoint
	When string // as it is written
	Off  bool   `json:",omitempty"`
}

// remembered is what the next session takes up; "" for nothing.
func (s *walking) remembered() (stops, watches string) {
	var saved []savedStop
	for _, b := range s.breaks {
		one := savedStop{Breakpoint: b.Breakpoint, When: b.When.String(), Off: b.off}
		one.Breakpoint.When = expr.Condition{}
		saved = append(saved, one)
	}
	var texts []string
	for _, w := range s.watches {
		texts = append(texts, w.e.String())
	}
	text := func(v any, n int) string {
		if n == 0 {
			return ""
		}
		data, err := json.Marshal(v)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return string(data)
	}
	return text(saved, len(saved)), text(texts, len(texts))
}

// recall takes up what was remembered; what cannot be read is left out, and the error says what.
func (s *walking) recall(stops, watches string) error {
	var saved []savedStop
	var texts []string
	var errs []error
	if stops != "" {
		errs = append(errs, json.Unmarshal([]byte(stops), &saved))
	}
	if watches != "" {
		errs = append(errs, json.Unmarshal([]byte(watches), &texts))
	}
	for _, b := range saved {
		when, err := expr.ParseCondition(b.When)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.lastBreak++
		b.Breakpoint.When = when
		s.breaks = append(s.breaks, stop{id: s.lastBreak, off: b.Off, Breakpoint: b.Breakpoint})
	}
	for _, text := range texts {
		e, err := expr.Parse(text, cursorNames...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.lastWatch++
		s.watches = append(s.watches, watch{s.lastWatch, e})
	}
	return errors.Join(errs...)
}
