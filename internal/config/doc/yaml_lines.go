// SPDX-License-Identifier: Apache-2.0

package doc

// yamlLines returns where each line begins. YAML 1.1 has more line breaks than most.
func yamlLines(src []byte) []int {
	starts := []int{contentStart(src)}
	for i := 0; i < len(src); {
		n := yamlBreak(src[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		starts = append(starts, i)
	}
	return starts
}

// yamlBreak returns the length of the line break that a text begins with.
func yamlBreak(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '\r' && len(b) > 1 && b[1] == '\n':
		return 2
	case b[0] == '\r' || b[0] == '\n':
		return 1
	case b[0] == 0xC2 && len(b) > 1 && b[1] == 0x85: // NEL
		return 2
	case b[0] == 0xE2 && len(b) > 2 && b[1] == 0x80 && (b[2] == 0xA8 || b[2] == 0xA9): // LS, PS
		return 3
	}
	return 0
}
