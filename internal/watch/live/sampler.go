// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"snug/internal/gpu"
)

// again is how long to wait before retrying a source that failed.
const again = 5 * time.Second

// cards samples the GPUs of all vendors, each through its first source that answers.
type cards struct {
	sources []gpu.SampledSource
	wanted  []int
	note    func(string)

	open_  []*openSource
	silent map[string]bool // devices that do not answer
	missed map[int]bool    // wanted GPUs that were not found
}

// openSource is a source that responds, or has responded before.
type openSource struct {
	source  gpu.SampledSource
	sampler gpu.Sampler // nil if the source must be reopened
	retry   time.Time
}

// open opens each vendor's first source that responds. The error includes the errors of all sources.
func (c *cards) open(ctx context.Context) error {
	c.silent, c.missed = map[string]bool{}, map[int]bool{}
	var failed []string
	for _, s := range c.sources {
		if slices.ContainsFunc(c.open_, func(o *openSource) bool { return o.source.Maker() == s.Maker() }) {
			continue
		}
		sampler, err := s.Open(ctx)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", s.Name(), err))
			continue
		}
		c.open_ = append(c.open_, &openSource{source: s, sampler: sampler})
	}
	if len(c.open_) > 0 {
		return nil
	}
	if len(failed) == 0 {
		return errors.New("snug cannot query GPUs on this system")
	}
	return fmt.Errorf("no GPU can be watched (%s)", strings.Join(failed, "; "))
}

func (c *cards) close() {
	for _, o := range c.open_ {
		if o.sampler != nil {
			o.sampler.Close()
		}
	}
}

// sample returns the state of the wanted cards that respond.
func (c *cards) sample(ctx context.Context, now time.Time) []gpu.Sample {
	var out []gpu.Sample
	for _, o := range c.open_ {
		for _, x := range c.ask(ctx, o, now) {
			if len(c.wanted) > 0 && !slices.Contains(c.wanted, x.Index) {
				continue
			}
			if c.answers(x) {
				out = append(out, x)
			}
		}
	}
	c.checkWanted(out)
	return out
}

// ask samples one source. A source that fails is closed and reopened after a while; meanwhile another source for the
// same vendor replaces it if it responds.
func (c *cards) ask(ctx context.Context, o *openSource, now time.Time) []gpu.Sample {
	if o.sampler == nil {
		if now.Before(o.retry) {
			return nil
		}
		if !c.reopen(ctx, o) {
			o.retry = now.Add(again)
			return nil
		}
	}
	out, err := o.sampler.Sample(ctx)
	if err == nil || ctx.Err() != nil {
		return out
	}
	c.note(fmt.Sprintf("%s is not responding: %v; retrying", o.source.Name(), err))
	o.sampler.Close()
	o.sampler, o.retry = nil, now.Add(again)
	return nil
}

// reopen opens a source that failed, or another one for the same vendor.
func (c *cards) reopen(ctx context.Context, o *openSource) bool {
	for _, s := range c.sources {
		if s.Maker() != o.source.Maker() {
			continue
		}
		if sampler, err := s.Open(ctx); err == nil {
			c.note(fmt.Sprintf("%s is responding", s.Name()))
			o.source, o.sampler = s, sampler
			return true
		}
	}
	return false
}

// answers reports whether a card responds, and adds a note when that changes.
func (c *cards) answers(x gpu.Sample) bool {
	switch {
	case x.Err != nil && !c.silent[x.Label()]:
		c.silent[x.Label()] = true
		c.note(fmt.Sprintf("%s is not responding: %v; still watching the others", x.Label(), x.Err))
	case x.Err == nil && c.silent[x.Label()]:
		delete(c.silent, x.Label())
		c.note(fmt.Sprintf("%s is responding again", x.Label()))
	}
	return x.Err == nil
}

// checkWanted reports once which of the wanted cards do not exist.
func (c *cards) checkWanted(got []gpu.Sample) {
	for _, index := range c.wanted {
		here := slices.ContainsFunc(got, func(x gpu.Sample) bool { return x.Index == index })
		if !here && !c.silent[gpu.Sample{Index: index}.Label()] && !c.missed[index] && len(got) > 0 {
			c.missed[index] = true
			c.note(fmt.Sprintf("there is no GPU %d", index))
		}
	}
}
