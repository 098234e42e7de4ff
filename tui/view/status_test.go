package view

import "testing"

// TestHeldStatus: a protected text stays on the status line until Release; the messages have what
// came meanwhile, and a refusal is always shown.
func TestHeldStatus(t *testing.T) {
	s := Status{Log: &Log{}}
	s.Hold("red.cu saved: no change")
	s.Say("block 0,0,0 from its start")
	if s.Text != "red.cu saved: no change" {
		t.Errorf("the status is %q", s.Text)
	}
	if list, _ := s.Log.Entries(); len(list) != 2 {
		t.Errorf("messages: %v", list)
	}
	s.Hold("again")
	if s.Release(); s.Text != "again" {
		t.Errorf("the status is %q", s.Text)
	}
	if s.Say("next"); s.Text != "next" {
		t.Errorf("the status is %q", s.Text)
	}
	s.Hold("result")
	if s.Complain("refused"); s.Text != "refused" || !s.Bad {
		t.Errorf("the status is %q", s.Text)
	}
}
