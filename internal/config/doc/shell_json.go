// SPDX-License-Identifier: Apache-2.0

package doc

import "strings"

// inJSON is the reason why a value inside a JSON argument cannot be replaced.
const inJSON = "it is inside a JSON argument"

// jsonEntries returns the keys of an argument that is a JSON object, such as
// --gradient_checkpointing_kwargs '{"use_reentrant": false}'; nil for other text. The values have the
// argument's position and cannot be changed.
func jsonEntries(text string, at *node) []entry {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return nil
	}
	root, err := jsonSyntax{}.parse([]byte(text))
	if err != nil || root.kind != Map || len(root.entries) == 0 {
		return nil
	}
	place(root, at)
	return root.entries
}

// place gives the nodes of a parsed argument the position of the word that contains it.
func place(n, at *node) {
	n.start, n.end, n.fixed, n.style = at.start, at.end, inJSON, shComputed
	for i := range n.entries {
		n.entries[i].keyStart = at.start
		place(n.entries[i].value, at)
	}
}
