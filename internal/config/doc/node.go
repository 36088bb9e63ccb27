// SPDX-License-Identifier: Apache-2.0

package doc

// node is a value in the tree that every format parses into.
type node struct {
	kind       Kind
	data       any
	start, end int    // the value's bytes, without its anchor and tag
	fixed      string // why it cannot be replaced; "" if it can
	anchor     string
	entries    []entry
	// target is the definition of an alias or a variable, and name is its name.
	target *node
	name   string
	// derived are the definitions that a computed number depends on: changing one of them changes the number.
	derived []*node
	// more are further words after a flag's value.
	more []string
	// ends is the known end of a shell value whose beginning is unknown.
	ends string
	// style is how the value is written, in the format's own terms.
	style string
	// parent is the map or list that contains the node, and slot is the node's position in it; index contains
	// the keys of a large map. All three are set once the tree is complete.
	parent *node
	slot   int
	index  *keyIndex
}

// entry is one key of a map or one item of a list.
type entry struct {
	key      string
	keyStart int // where the key begins; for a list item, where the value begins
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

// Limits on how deep values may be nested and how many references may be chained. doc.go limits the file
// size, keys.go the merge keys.
const (
	maxDepth = 64
	maxHops  = 64
)

// nestedTooDeep returns the error for a value that is nested too deep.
func nestedTooDeep(at int) error {
	return failAt(at, "values are nested more than %d deep here; deeper values are not read", maxDepth)
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
