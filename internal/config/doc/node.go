// SPDX-License-Identifier: Apache-2.0

package doc

// node is a value in the tree that every format parses into.
type node struct {
	kind       Kind
	data       any
	start, end int    // the value's bytes, without anchor and tag
	fixed      string // why it cannot be replaced; "" if it can
	anchor     string
	entries    []entry
	// target is the definition of an alias or a variable, and name is its name.
	target *node
	name   string
	// derived are the definitions that a computed number depends on: a change of one of them changes the number.
	derived []*node
	// more are further words after a flag's value.
	more []string
	// ends is the end of a shell script's value whose beginning is not known.
	ends string
	// style is the format's own note of how the value is written.
	style string
	// parent is the map or list that contains the node, as its entry slot; index holds the keys of a large
	// map. All three are set once the tree is complete.
	parent *node
	slot   int
	index  *keyIndex
}

// entry is one key of a map or one item of a list.
type entry struct {
	key      string
	keyStart int // the beginning of the key; for a list item that of the value
	value    *node
	merge    bool // a YAML << key
}

// resolve follows references to the value itself.
func (n *node) resolve() *node {
	for range maxHops {
		if n == nil || n.target == nil {
			return n
		}
		n = n.target
	}
	return n
}

// Limits: how deep values may be nested, and how many references may lead from one to the next. The size
// of a file is limited in doc.go, merge keys in keys.go.
const (
	maxDepth = 64
	maxHops  = 64
)

// nestedTooDeep returns the error for a value at a byte that is nested too deeply.
func nestedTooDeep(at int) error {
	return failAt(at, "values are nested more than %d deep here, and are not read any deeper", maxDepth)
}

// tooDeep returns the first value that is nested too deep; nil if none is.
func tooDeep(n *node, depth int) *node {
	if depth > maxDepth {
		return n
	}
	for i := range n.entries {
		if deep := tooDeep(n.entries[i].value, depth+1); deep != nil {
			return deep
		}
	}
	return nil
}
