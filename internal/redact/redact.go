// SPDX-License-Identifier: Apache-2.0

// Package redact removes secrets from command lines and texts before they are
// stored or shown. The name of a secret is kept, and its value becomes ***:
//
//	python train.py --hf_token *** --data https://me:***@host/x
//
//	names.go   which names denote secrets, and which of their values are harmless
//	named.go   values after a secret name
//	text.go    recognizes secrets within text
//	values.go  the secrets of one run, for removal from its output
package redact

import "strings"

// hidden replaces a secret.
const hidden = "***"

// Words returns a command line without its secrets.
func Words(words []string) []string {
	out := make([]string, len(words))
	before := ""
	for i, w := range words {
		out[i] = Text(w)
		if value := secretIn(before, w); value != "" {
			out[i] = strings.TrimSuffix(w, value) + hidden
		}
		before = w
	}
	return out
}

// secretIn returns the secret at the end of a word, as the value of the flag before it or of a name within it; "" if
// there is none. Another flag, the script that the command runs, and the text of sh -c are not the value of a flag.
func secretIn(before, word string) string {
	isFlag := strings.HasPrefix(before, "-") && !strings.ContainsAny(before, "= \t\n")
	if isFlag && !strings.HasPrefix(word, "-") && !isScript(word) && isSecret(kindOf(before), word) {
		return word
	}
	name, value, _ := strings.Cut(word, "=")
	isText := strings.HasPrefix(before, "-") && strings.HasSuffix(before, "c") || strings.ContainsAny(name, " \t\n?")
	if !isText && isSecret(kindOf(name), value) {
		return value
	}
	return ""
}

func isScript(word string) bool {
	return strings.HasSuffix(word, ".py") || strings.HasSuffix(word, ".sh")
}
