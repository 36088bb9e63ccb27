// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// A baseline is a list of known findings, which are not reported again. It is a text file with one JSON object per
// line, {"rule": "SNG102", "path": "train.py", "source": "total += loss", "count": 1}, so that changes to it can be
// reviewed. Findings are matched by the line's text, not its number, so an edit above a known finding does not make
// it new.

// known is one line of a baseline.
type known struct {
	Rule   string `json:"rule"`
	Path   string `json:"path"`
	Source string `json:"source"`
	Count  int    `json:"count"`
}

// Baseline counts the known findings.
type Baseline map[known]int

func keyOf(f Finding) known {
	return known{Rule: f.Rule, Path: filepath.ToSlash(f.Path), Source: f.Source}
}

// ReadBaseline reads a baseline.
func ReadBaseline(name string, data []byte) (Baseline, error) {
	b := Baseline{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, MaxBytes)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var k known
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil || k.Rule == "" {
			return nil, fmt.Errorf("%s:%d: this line is not a baseline entry; regenerate the file with --write-baseline", name, n)
		}
		count := max(k.Count, 1)
		k.Count = 0
		b[k] += count
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// New returns the findings that are not in the baseline. A line that occurs n times there covers n findings.
func (b Baseline) New(findings []Finding) []Finding {
	var out []Finding
	for _, f := range findings {
		if k := keyOf(f); b[k] > 0 {
			b[k]--
			continue
		}
		out = append(out, f)
	}
	return out
}

// WriteBaseline returns a baseline of the findings, in their order.
func WriteBaseline(findings []Finding) []byte {
	count := Baseline{}
	var order []known
	for _, f := range findings {
		k := keyOf(f)
		if count[k] == 0 {
			order = append(order, k)
		}
		count[k]++
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, k := range order {
		n := count[k]
		k.Count = n
		_ = enc.Encode(k) // encoding strings and an int cannot fail
	}
	return out.Bytes()
}
