// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"testing"

	"snug/internal/setup"
)

// three returns a climb over batches of 8, 16 and 32, which need 10, 18 and 34 GiB, with a limit of 24 GiB. It starts
// at 16.
func three(t *testing.T, most int) (*Climb, []Candidate) {
	t.Helper()
	var list []Candidate
	for i, batch := range []int{16, 8, 32} {
		list = append(list, Candidate{
			Settings: setup.Assign("batch", batch).With("accumulation", 64/batch), Batch: batch, Accumulation: 64 / batch, World: 1,
			Predicted: []uint64{18, 10, 34}[i] << 30, Expected: []float64{100, 90, 105}[i],
		})
	}
	c, err := New(list, 0, Options{Limit: 24 << 30, Most: most})
	if err != nil {
		t.Fatal(err)
	}
	return c, list
}

// While a trial runs, the candidate that would follow if the trial did not fit is tried too. Candidates that cannot
// fit are not tried, and the number of trials stays within the limit.
func TestAhead(t *testing.T) {
	c, list := three(t, 5)
	if s := c.Ahead(nil); s.Verb != "start" || s.Next.Batch != 16 {
		t.Errorf("%+v", s)
	}
	s := c.Ahead(list[:1])
	if s.Next == nil || s.Next.Batch != 8 || s.Verb != "ahead" || s.Why != "next if batch 16 x 4, which is running, does not fit" {
		t.Errorf("%+v", s)
	}
	if s := c.Ahead(list[:2]); s.Next != nil {
		t.Errorf("nothing else can fit, but got %+v", s)
	}
	if c.Runs() != 0 || len(c.tried) != 0 {
		t.Error("an assumed result was recorded")
	}
	one, list := three(t, 1)
	if s := one.Ahead(list[:1]); s.Next != nil {
		t.Errorf("only one trial is allowed, but got %+v", s)
	}
}

func TestLeft(t *testing.T) {
	c, list := three(t, 5)
	before := c.Left()
	c.Record(list[0], Result{Outcome: OutOfMemory, Why: "x"})
	if before < 1 || c.Left() != 1 {
		t.Errorf("%d, then %d trials left; want at least 1, then 1", before, c.Left())
	}
	c.Record(list[1], Result{Outcome: Fits, Reserved: 10 << 30, Rate: 90})
	if c.Left() != 0 {
		t.Errorf("%d trials left at the end", c.Left())
	}
}

// A candidate that cannot be measured is skipped, even if it was the first. A candidate that cannot fit does not
// replace it.
func TestSkip(t *testing.T) {
	c, list := three(t, 5)
	c.Skip(list[0])
	if s := c.Next(); s.Next == nil || s.Next.Batch != 8 {
		t.Fatalf("%+v", s)
	}
	c.Skip(list[1])
	if s := c.Next(); s.Next != nil || s.Verb != "stop" {
		t.Errorf("%+v", s)
	}
}
