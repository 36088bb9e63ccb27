// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"snug/internal/units"
)

// The keys and the grammar of PYTORCH_ALLOC_CONF. options_values.go has the values and their bounds.

// setting is one key of PYTORCH_ALLOC_CONF: the minor version that introduced it, and the function that reads its
// value. Like PyTorch, a version refuses keys that it does not know.
type setting struct {
	since int
	read  func(p *parser, key string) error
}

var settings = map[string]setting{
	"backend":                           {0, (*parser).backend},
	"max_split_size_mb":                 {0, (*parser).maxSplit},
	"garbage_collection_threshold":      {0, (*parser).threshold},
	"roundup_power2_divisions":          {0, (*parser).divisions},
	"expandable_segments":               {1, func(p *parser, key string) error { return p.flag(key, &p.out.Expandable) }},
	"release_lock_on_cudamalloc":        {2, (*parser).ignoredFlag},
	"pinned_use_cuda_host_register":     {2, (*parser).ignoredFlag},
	"pinned_num_register_threads":       {2, (*parser).ignoredNumber},
	"max_non_split_rounding_mb":         {6, (*parser).nonSplitRounding},
	"pinned_use_background_threads":     {6, (*parser).ignoredFlag},
	"graph_capture_record_stream_reuse": {9, (*parser).ignoredFlag},
	"per_process_memory_fraction":       {10, (*parser).fraction},
	"pinned_reserve_segment_size_mb":    {10, (*parser).ignoredNumber},
	"large_segment_size_mb":             {11, (*parser).ignoredNumber}, // parsed in a separate pass
	"throw_on_cudamalloc_oom":           {12, func(p *parser, key string) error { return p.flag(key, &p.out.ThrowOnOOM) }},
	"pinned_free_catch_all":             {12, (*parser).ignoredFlag},
	"pinned_max_round_threshold_mb":     {13, (*parser).ignoredNumber},
	"pinned_max_cached_size_mb":         {13, (*parser).ignoredNumber},
}

// tokenize splits conf at the four separators and drops blanks, as every version does.
func tokenize(conf string) []string {
	var tokens []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			tokens = append(tokens, word.String())
			word.Reset()
		}
	}
	for _, r := range conf {
		switch r {
		case ',', ':', '[', ']':
			flush()
			tokens = append(tokens, string(r))
		case ' ':
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return tokens
}

// parser walks the tokens once, writing into out.
type parser struct {
	tokens []string
	at     int // index of the next token
	v      Version
	rules  rules
	out    *Options
}

// options returns the names of the settings in a version.
func (v Version) options() []string {
	var out []string
	for name, s := range settings {
		if v.AtLeast(s.since) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (p *parser) parse() error {
	if err := p.largeSegment(); err != nil {
		return err
	}
	if p.rules.roundingResets {
		p.out.MaxNonSplitRounding = p.out.LargeSegment
	}
	for p.at < len(p.tokens) {
		key := p.next()
		s, known := settings[key]
		if !known {
			return fmt.Errorf("unknown allocator option %q; PyTorch %s supports %s", key, p.v, strings.Join(p.v.options(), ", "))
		}
		if !p.v.AtLeast(s.since) {
			return fmt.Errorf("allocator option %q needs PyTorch 2.%d, but this is %s", key, s.since, p.v)
		}
		if err := p.separator(key, ":"); err != nil {
			return err
		}
		if err := s.read(p, key); err != nil {
			return err
		}
		if p.at < len(p.tokens) {
			if err := p.separator(key, ","); err != nil {
				return err
			}
		}
	}
	return nil
}

// largeSegment reads large_segment_size_mb first, because the limits of other options depend on it.
func (p *parser) largeSegment() error {
	if !p.v.AtLeast(11) {
		return nil
	}
	for i, key := range p.tokens {
		if key != "large_segment_size_mb" {
			continue
		}
		sub := parser{tokens: p.tokens, at: min(i+2, len(p.tokens)), v: p.v, rules: p.rules}
		mb, err := sub.number(key)
		if err != nil {
			return err
		}
		if mb <= MinLarge/units.MiB {
			return fmt.Errorf("%s:%d: must be greater than %d", key, mb, MinLarge/units.MiB)
		}
		p.out.LargeSegment = mb * units.MiB
	}
	return nil
}

func (p *parser) next() string {
	if p.at >= len(p.tokens) {
		p.at++
		return ""
	}
	p.at++
	return p.tokens[p.at-1]
}

// separator skips one token. From 2.10, PyTorch ignores which token it is.
func (p *parser) separator(key, want string) error {
	if got := p.next(); got != want && (!p.rules.lenientSeparators || got == "") {
		return fmt.Errorf("allocator option %q: expected %q, got %q", key, want, got)
	}
	return nil
}

// number reads an integer that is small enough to be a size in megabytes.
func (p *parser) number(key string) (uint64, error) {
	text := p.next()
	n, err := strconv.ParseUint(text, 10, 40)
	if err != nil {
		return 0, fmt.Errorf("allocator option %q: %q is not a whole number", key, text)
	}
	return n, nil
}

func (p *parser) decimal(key string) (float64, error) {
	text := p.next()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != x {
		return 0, fmt.Errorf("allocator option %q: %q is not a number", key, text)
	}
	return x, nil
}

func (p *parser) flag(key string, to *bool) error {
	switch text := p.next(); text {
	case "True":
		*to = true
	case "False":
		*to = false
	default:
		return fmt.Errorf("allocator option %q: expected True or False, got %q", key, text)
	}
	return nil
}

func (p *parser) ignoredFlag(key string) error { return p.flag(key, new(bool)) }

func (p *parser) ignoredNumber(key string) error {
	_, err := p.number(key)
	return err
}

func powerOfTwo(n uint64) bool { return bits.OnesCount64(n) == 1 }
