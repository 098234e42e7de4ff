package fragment_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
)

// TestBanks: degrees worked out by hand from bank = address/4 % 32. With r = lane/4 and c = 2·(lane%4), a
// float accumulator's pair is stored as 8 bytes, half a warp (4 rows) at a time: row r starts at bank r·LD %
// 32 and covers 8 banks, so rows of 64 floats are all in the same banks, and 4 rows make 4 words of a bank;
// 72 floats shift each row by 8 banks.
func TestBanks(t *testing.T) {
	doc, err := debugtest.Open(t).Lut(t.Context(), debugkern.Request{Backend: "emu"}, fragment.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	lanes := map[string][][]report.Cell16{}
	for _, m := range doc.Maps {
		lanes[m.Kind+m.DType+m.Layout] = m.Lanes
	}
	for _, c := range []struct {
		name    string
		p       fragment.BankPattern
		degrees []int
	}{
		{"f32 of 64", fragment.BankPattern{Lanes: lanes["accf32"], Bits: 32, LD: 64},
			[]int{4, 4, 4, 4, 4, 4, 4, 4}},
		{"f32 of 72", fragment.BankPattern{Lanes: lanes["accf32"], Bits: 32, LD: 72},
			[]int{1, 1, 1, 1, 1, 1, 1, 1}},
		{"f32 of 16", fragment.BankPattern{Lanes: lanes["accf32"], Bits: 32, LD: 16},
			[]int{2, 2, 2, 2, 2, 2, 2, 2}},
		{"f16 of 64", fragment.BankPattern{Lanes: lanes["accf16"], Bits: 16, LD: 64}, []int{8, 8, 8, 8}},
		{"f16 of 72", fragment.BankPattern{Lanes: lanes["accf16"], Bits: 16, LD: 72}, []int{1, 1, 1, 1}},
		{"rows of 64", fragment.BankPattern{Lanes: lanes["af16row"], Bits: 16, LD: 64, Matrix: true},
			[]int{8, 8, 8, 8}},
		{
			"rows of 64, n&1", fragment.BankPattern{
				Lanes: lanes["af16row"], Bits: 16, LD: 64, Matrix: true, Swizzle: 1,
			}, []int{4, 4, 4, 4},
		},
		{
			"rows of 64, n&7", fragment.BankPattern{
				Lanes: lanes["af16row"], Bits: 16, LD: 64, Matrix: true, Swizzle: 7,
			}, []int{1, 1, 1, 1},
		},
		{"rows of 72", fragment.BankPattern{Lanes: lanes["af16row"], Bits: 16, LD: 72, Matrix: true},
			[]int{1, 1, 1, 1}},
	} {
		phases, err := fragment.Banks(c.p)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []int
		words := 0
		for _, ph := range phases {
			got = append(got, ph.Degree)
			for _, n := range ph.Words {
				words += int(n)
			}
		}
		if !slices.Equal(got, c.degrees) {
			t.Errorf("%s: degrees %v, expected %v", c.name, got, c.degrees)
		}
		if want := 256 * c.p.Bits / 32; words != want {
			t.Errorf("%s: %d words moved, a tile has %d", c.name, words, want)
		}
	}
}

// A column-major pair is not side by side: each lane moves single halves, two lanes of a column share words.
func TestBanksOfColumns(t *testing.T) {
	doc, err := debugtest.Open(t).Lut(t.Context(), debugkern.Request{Backend: "emu"}, fragment.Filter{
		Kind: "acc", DType: "f16",
	})
	if err != nil {
		t.Fatal(err)
	}
	phases, err := fragment.Banks(fragment.BankPattern{
		Lanes: doc.Maps[0].Lanes, Columns: true, Bits: 16, LD: 64,
	})
	if err != nil || len(phases) != 8 {
		t.Fatalf("%d phases, %v", len(phases), err)
	}
	if phases[0].Degree != 4 { // columns 0, 2, 4, 6 lie 64 words apart; rows 0 to 7 are 4 words of each
		t.Errorf("degree %d, expected 4", phases[0].Degree)
	}
}

func TestBanksRefuses(t *testing.T) {
	for _, p := range []fragment.BankPattern{
		{Bits: 16, LD: 15}, {Bits: 24, LD: 64}, {Bits: 16, LD: 60, Matrix: true},
	} {
		if _, err := fragment.Banks(p); err == nil {
			t.Errorf("%+v was taken", p)
		}
	}
}

// The addresses and widths that a pattern is asked for are those of the kernel that ran: the checker measures
// the same degrees on q, p and the accumulator of stage2, at the leading dimensions that it has.
func TestBanksAreTheCheckers(t *testing.T) {
	s := debugtest.Open(t)
	doc, err := s.Lut(t.Context(), debugkern.Request{Backend: "emu"}, fragment.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(t.Context(), debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := run.Try(t.Context(), debugkern.Trial{Check: check.Banks})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		array string
		p     fragment.BankPattern
	}{
		{"sQ", fragment.BankPattern{Lanes: doc.Maps[2].Lanes, Bits: 16, LD: 64, Matrix: true}},
		{"sP", fragment.BankPattern{Lanes: doc.Maps[2].Lanes, Bits: 16, LD: 32, Matrix: true}},
		{"sPV_frag", fragment.BankPattern{Lanes: doc.Maps[0].Lanes, Bits: 32, LD: 16}},
	} {
		phases, err := fragment.Banks(c.p)
		if err != nil {
			t.Fatal(err)
		}
		degree := 0
		for _, ph := range phases {
			degree = max(degree, ph.Degree)
		}
		found := false
		for _, f := range checked.Report.Findings {
			if f.Kind == "bank-conflict" && f.Variable == c.array {
				found = found || strings.Contains(f.Message, fmt.Sprintf("%d-way at worst", degree))
				t.Logf("%s: %d-way here; %s", c.array, degree, f.Message)
			}
		}
		if !found {
			t.Errorf("%s: the checker reports no %d-way conflicts", c.array, degree)
		}
	}
}

// The bank of a cell is the one that its phase asks for a word of.
func TestBankOfACell(t *testing.T) {
	doc, err := debugtest.Open(t).Lut(t.Context(), debugkern.Request{Backend: "emu"}, fragment.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range doc.Maps {
		for _, p := range []fragment.BankPattern{
			{LD: 64}, {LD: 72, Swizzle: 1}, {LD: 64, Swizzle: 7, Matrix: true},
		} {
			p.Lanes, p.Columns, p.Bits = m.Lanes, m.Layout == "col", 16
			phases, err := fragment.Banks(p)
			if err != nil {
				t.Fatal(err)
			}
			for l, cells := range m.Lanes {
				for e, c := range cells {
					asked := 0
					for i := range phases {
						if p.Asks(&phases[i], l, e, c) {
							asked++
							if phases[i].Words[p.Bank(c)] == 0 {
								t.Fatalf("%s %s: lane %d element %d: nothing is asked of bank %d", m.Kind,
									m.Layout, l, e, p.Bank(c))
							}
						}
					}
					if asked != 1 {
						t.Fatalf("%s %s: lane %d element %d is moved in %d phases", m.Kind,
							m.Layout, l, e, asked)
					}
				}
			}
		}
	}
}
