// SPDX-License-Identifier: Apache-2.0

package setup

import "strings"

// loopWords splits a loop into the script and its arguments as a shell would: at white space outside quotes.
func loopWords(loop string) ([]string, error) {
	var out []string
	word, in, quote := strings.Builder{}, false, rune(0)
	for _, c := range loop {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if in {
				out = append(out, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, Wrong("{loop} %s: the quote (%c) is not closed", loop, quote)
	}
	if in {
		out = append(out, word.String())
	}
	return out, nil
}

// LoopOf joins words into a loop, the reverse of loopWords.
func LoopOf(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		switch {
		case w != "" && !strings.ContainsAny(w, " \t\r\n\"'"):
			out[i] = w
		case strings.Contains(w, `"`):
			out[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		default:
			out[i] = `"` + w + `"`
		}
	}
	return strings.Join(out, " ")
}

// ReadsScript reports whether a loop is read from a script.
func ReadsScript(loop string) bool {
	words, err := loopWords(loop)
	if err != nil { // the error is reported when the loop is read
		words = strings.Fields(loop)
	}
	return len(words) > 0 && isScript(words[0])
}

// ScriptOf returns the script of a loop without its arguments.
func ScriptOf(loop string) string {
	if words, err := loopWords(loop); err == nil && len(words) > 0 {
		return words[0]
	}
	name, _, _ := strings.Cut(loop, " ")
	return name
}

// isScript reports whether a file is a script or a notebook.
func isScript(name string) bool { return strings.HasSuffix(name, ".py") || isNotebook(name) }

func isNotebook(name string) bool { return strings.HasSuffix(name, ".ipynb") }
