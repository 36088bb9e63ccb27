// SPDX-License-Identifier: Apache-2.0

package doc

// splitAssignment splits target = value, with or without a type annotation.
func splitAssignment(tokens []pyToken) (target, value []pyToken) {
	for i, t := range tokens {
		if t.depth > 0 || t.kind != pySign {
			continue
		}
		switch t.text {
		case ":":
			if target == nil {
				target = tokens[:i]
			}
		case "=":
			if target == nil {
				target = tokens[:i]
			}
			return target, tokens[i+1:]
		}
	}
	return nil, nil
}

// targetSteps reads a, a.b and a["b"]; nil for anything else.
func targetSteps(tokens []pyToken) []pyToken {
	var steps []pyToken
	for i := 0; i < len(tokens); {
		switch t := tokens[i]; {
		case i == 0 && t.kind == pyName:
			steps = append(steps, t)
			i++
		case i > 0 && t.text == "." && i+1 < len(tokens) && tokens[i+1].kind == pyName:
			steps = append(steps, tokens[i+1])
			i += 2
		case i > 0 && t.text == "[" && i+2 < len(tokens) && tokens[i+1].kind == pyString && tokens[i+2].text == "]":
			key := tokens[i+1]
			text, ok := pyUnquote(key.text)
			if !ok {
				return nil
			}
			key.text = text
			steps = append(steps, key)
			i += 3
		default:
			return nil
		}
	}
	return steps
}

// unpacked splits an assignment of several values to several names, such as a, b = 1, 2, into its parts. It returns nil
// for other assignments, and if the numbers differ.
func unpacked(target, value []pyToken) (targets, values [][]pyToken) {
	if targets = listed(target); len(targets) < 2 {
		return nil, nil
	}
	if values = listed(value); len(values) != len(targets) {
		return nil, nil
	}
	return targets, values
}

// listed splits tokens at their commas; a tuple or a list may be in brackets.
func listed(tokens []pyToken) [][]pyToken {
	if len(tokens) < 3 {
		return nil
	}
	if enclosed(tokens) && (tokens[0].text == "(" || tokens[0].text == "[") {
		return parts(tokens)
	}
	var all [][]pyToken
	begin := 0
	for i := 0; i <= len(tokens); {
		if i == len(tokens) || tokens[i].text == "," {
			if i == begin && i < len(tokens) {
				return nil
			}
			if i > begin {
				all = append(all, tokens[begin:i])
			}
			begin = i + 1
		}
		if i == len(tokens) {
			break
		}
		i += 1 + tokens[i].closing
	}
	return all
}
