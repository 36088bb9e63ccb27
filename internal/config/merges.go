// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strings"

	"snug/internal/config/doc"
)

// A YAML map may merge others (<<: [*a, *b]), which may merge others again, and a key
// that none of them has is looked for in all. Fifteen maps that merge each other
// eight times are more than a computer counts to, so they are counted first.

// mostMerged is how many maps a lookup may lead through. People merge a handful.
const mostMerged = 1_000

// openFile takes a file apart whose name says what it is.
func openFile(name string, data []byte) (*doc.Document, error) {
	d, err := doc.Open(name, data)
	if err != nil {
		return nil, err
	}
	return d, checkMerges(d, data)
}

// openYAML takes a YAML file apart.
func openYAML(name string, data []byte) (*doc.Document, error) {
	d, err := doc.OpenAs(name, doc.YAML, data)
	if err != nil {
		return nil, err
	}
	return d, checkMerges(d, data)
}

// checkMerges refuses merge keys that lead too far.
func checkMerges(d *doc.Document, data []byte) error {
	if d.Format() != doc.YAML || !bytes.Contains(data, []byte("<<")) {
		return nil
	}
	m := mergesOf(d)
	for at := range m.sources {
		if m.reached(at, 0) > mostMerged {
			return fmt.Errorf("%s: its merge keys (<<) lead through more than %d maps, which no config's do", d.Name(), mostMerged)
		}
	}
	return nil
}

// merges is which maps of a document merge which.
type merges struct {
	sources map[string][]string // by the path of a map: the anchors that it merges
	anchors map[string][]string // by anchor: the paths of the values that have it
	counts  map[string]int      // maps that a lookup leads through, by the path of the first
}

func mergesOf(d *doc.Document) *merges {
	m := &merges{map[string][]string{}, map[string][]string{}, map[string]int{}}
	d.Walk(func(v doc.Value) bool {
		if v.Via == nil {
			if v.Anchor != "" {
				m.anchors[v.Anchor] = append(m.anchors[v.Anchor], pathKey(v.Path))
			}
			return true
		}
		n := len(v.Path) - 1
		if n > 0 && v.Path[n] != "<<" { // an item of a list of maps to merge
			n--
		}
		if v.Path[n] == "<<" {
			at := pathKey(v.Path[:n])
			m.sources[at] = append(m.sources[at], strings.TrimPrefix(v.Via.Name, "*"))
		}
		return true
	})
	return m
}

// reached counts the maps that a lookup in one leads through, up to a few more than
// there may be. References that lead in a circle do not come to an end by themselves.
func (m *merges) reached(at string, depth int) int {
	if n, ok := m.counts[at]; ok {
		return n
	}
	n := 1
	for _, name := range m.sources[at] {
		for _, to := range m.anchors[name] {
			if n <= mostMerged && depth <= deepestDefaults {
				n += m.reached(to, depth+1)
			}
		}
	}
	m.counts[at] = n
	return n
}
