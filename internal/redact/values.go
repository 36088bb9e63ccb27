// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Values are the secrets of one run: a command that fails may print them in any form. The zero value has none.
type Values struct{ values []string }

// shortest is the minimum length of a secret that is searched for in texts: shorter ones occur in
// other words.
const shortest = 6

// ValuesOf returns the secrets in a command line and in an environment, given as NAME=value.
func ValuesOf(words, env []string) Values {
	var out []string
	add := func(k kind, value string) {
		if len(value) >= shortest && isSecret(k, value) {
			out = append(out, value)
		}
	}
	before := ""
	for _, w := range words {
		add(certain, secretIn(before, w))
		before = w
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if k := kindOf(name); k == certain || !strings.HasPrefix(value, "/") { // a file's path is not a secret
			add(k, value)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return Values{slices.Compact(out)}
}

// Hide returns a text without these secrets and without any other recognizable ones.
func (v Values) Hide(text string) string {
	for _, secret := range v.values {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return Text(text)
}
