// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A name and its value appear in a text as
//
//	name=value       as a separate word: up to the next space
//	(name=value,     within a word, as in f(token=x, n=3) and ?token=x&n=3
//	--name value     a flag and the next word
//	"name": "value"  JSON, Python
//	name: value      YAML, headers
//
// and a value may be in quotes.

// hideNamed returns the text with the values of secret names hidden. names.go decides which names are secret.
func hideNamed(text string) string {
	var b strings.Builder
	done := 0
	for begin := 0; begin < len(text); begin++ {
		if !isLetter(text[begin]) {
			continue
		}
		end := begin + 1
		for end < len(text) && isNamePart(text[end]) {
			end++
		}
		if k := kindOf(text[begin:end]); k != none {
			from, to, with := valueOf(text, begin, end, k)
			b.WriteString(text[done:from])
			b.WriteString(with)
			done, end = to, max(to, end)
		}
		begin = end - 1
	}
	return b.String() + text[done:]
}

// valueOf returns the position of the value of the name at text[begin:end], and its replacement; with is "" if there
// is no secret.
func valueOf(text string, begin, end int, k kind) (from, to int, with string) {
	from, ends, ok := valueAt(text, begin, end, k)
	if !ok {
		return end, end, ""
	}
	quote := ""
	if c := text[from]; c == '"' || c == '\'' {
		closing := strings.IndexByte(text[from+1:], c)
		if closing < 0 {
			return end, end, ""
		}
		from, to, quote = from+1, from+1+closing, text[from:from+1]
	} else if to = from + strings.IndexAny(text[from:], ends); to < from {
		to = len(text)
	}
	value := text[from:to]
	if !isSecret(k, value) || isScript(value) {
		return end, end, ""
	}
	if inJSON := end < len(text) && text[end] == '"'; inJSON && quote == "" {
		return from, to, `"` + hidden + `"`
	}
	return from, to, hidden
}

const (
	spaces  = " \t\r\n"
	stops   = spaces + `"'`
	closers = stops + "&,;)}]"
)

// valueAt returns where a name's value begins, and the characters that end it unless it is quoted; ok is false if
// there is no value.
func valueAt(text string, begin, end int, k kind) (from int, ends string, ok bool) {
	rest := text[end:]
	quoted := begin > 0 && rest != "" && rest[0] == text[begin-1] && (rest[0] == '"' || rest[0] == '\'')
	if quoted {
		rest = rest[1:]
	}
	word := strings.TrimRight(text[:begin], "-+~")
	starts := word == "" || strings.ContainsRune(spaces, rune(word[len(word)-1])) // the name begins a word
	isFlag := len(word) < begin && text[begin-1] == '-' && (starts || strings.ContainsRune(`"'(`, rune(word[len(word)-1])))
	trimmed := strings.TrimLeft(rest, spaces)
	switch {
	case strings.HasPrefix(trimmed, "=") && len(rest)-len(trimmed) <= 1:
		rest, ends = trimmed[1:], closers
		if starts {
			ends = stops
		}
	case strings.HasPrefix(trimmed, ":") && isKey(text[begin:end], quoted, trimmed[1:], k):
		rest, ends = trimmed[1:], closers
	case isFlag && len(trimmed) < len(rest) && !strings.HasPrefix(trimmed, "-"):
		rest, ends = trimmed, stops
	default:
		return 0, "", false
	}
	rest = strings.TrimLeft(rest, spaces)
	return len(text) - len(rest), ends, rest != "" && !strings.ContainsRune("[{(=", rune(rest[0]))
}

// isKey reports whether a name before a colon is a key: it is quoted, or can hardly be anything else. KeyError: 'x'
// contains no secret.
func isKey(name string, quoted bool, value string, k kind) bool {
	word := strings.TrimLeft(value, spaces)
	if i := strings.IndexAny(word, closers); i >= 0 {
		word = word[:i]
	}
	return quoted || len(word) >= 8 && (k == certain || strings.ContainsAny(name, "_-"))
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isNamePart(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '.' || c == '-' }
