// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// kind is how certainly a name denotes a secret.
type kind int

const (
	none    kind = iota
	likely       // token, key: the value decides, because max_tokens and num_key_value_heads are numbers
	certain      // password, secret, api_key: any value is secret
)

// certainWords denote secrets as a word of a name or at its end: password, db_password, PGPASSWORD.
var certainWords = []string{
	"password", "passwords", "passwd", "passphrase", "passcode", "secret", "secrets", "credential", "credentials", "creds",
	"apikey", "accesskey", "secretkey", "privatekey", "authtoken", "accesstoken", "apitoken", "refreshtoken",
}

// likelyWords denote secrets as a word of a name; token also at its end.
var likelyWords = []string{"token", "tokens", "key", "keys", "pass", "apikeys", "bearer", "authorization"}

// counted are words before "tokens" in names of numbers of tokens: --virtual-tokens, max_new_tokens.
var counted = []string{"virtual", "max", "min", "num", "new", "total"}

// hints are substrings: every secret name contains one of them, and most other names contain none.
var hints = []string{"token", "key", "pass", "pwd", "secret", "cred", "auth", "bearer"}

// kindOf returns the kind of a name, judging by its words: --hf_token, hubToken and +trainer.hub_token all contain
// the word token, but tokenizer does not.
func kindOf(name string) kind {
	if !hasAny(strings.ToLower(name), hints) {
		return none
	}
	words := wordsOf(name)
	all, last := strings.Join(words, ""), words[len(words)-1]
	for _, w := range certainWords {
		if strings.HasSuffix(all, w) || slices.Contains(words, w) {
			return certain
		}
	}
	for i := range words[1:] { // two words that together are one of certainWords, as in api_key_file
		if slices.Contains(certainWords, words[i]+words[i+1]) {
			return certain
		}
	}
	if last == "tokens" && len(words) > 1 && slices.Contains(counted, words[len(words)-2]) {
		return none
	}
	switch {
	case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(likelyWords, w) }), strings.HasSuffix(all, "token"):
		return likely
	case last == "auth", last == "pwd" && len(words) > 1: // PWD by itself is a folder
		return likely
	}
	return none
}

// wordsOf splits a name at punctuation and at capital letters.
func wordsOf(name string) []string {
	var out []string
	begin, runes := 0, []rune(name)
	cut := func(end int) {
		if end > begin {
			out = append(out, strings.ToLower(string(runes[begin:end])))
		}
		begin = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			begin = i + 1
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]): // hub|Token
			cut(i)
		case i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]): // HF|Token
			cut(i)
		}
	}
	cut(len(runes))
	return out
}

// isSecret reports whether a value under a name of some kind must be hidden.
func isSecret(k kind, value string) bool {
	switch k {
	case certain:
		return value != "" && value != hidden
	case likely:
		return value != hidden && !isHarmless(value)
	}
	return false
}

// isHarmless reports whether a value is never secret: numbers, booleans, placeholders, a tokenizer's special tokens.
func isHarmless(value string) bool {
	value = strings.Trim(value, `"'`)
	switch strings.ToLower(value) {
	case "", "true", "false", "none", "null", "yes", "no", "on", "off":
		return true
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return true
	}
	first, last := value[0], value[len(value)-1]
	return first == '<' && last == '>' || first == '[' && last == ']' || first == '{' && last == '}' || first == '$'
}
