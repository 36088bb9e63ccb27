// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"

	"snug/internal/pattern"
)

var (
	// scheme://user:password@host
	userinfo = pattern.New(`([A-Za-z][A-Za-z0-9+.\-]*)://([^\s/"'@]*(?:@[^\s/"'@]+)*)@`)
	// Bearer x, as in a header.
	bearer = pattern.New(`(?i)\b(bearer|authorization:\s*\w+)(\s+)[A-Za-z0-9._~+/=\-]{8,}`)
	// Tokens with a known form.
	formed = pattern.New(`\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w\-]{16,}|sk-[\w\-]{20,}|xox[abeprs]-[\w\-]{10,}|A[KS]IA[A-Z0-9]{16}|AIza[\w\-]{30,}|eyJ[\w\-]{8,}\.[\w\-]{8,}\.[\w\-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?`)
)

// forms are prefixes of known tokens; searching for them first is much faster.
var forms = []string{"hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xox", "AKIA", "ASIA", "AIza", "eyJ", "-----BEGIN"}

// Text returns a text without the secrets that are recognized by their names or forms.
func Text(text string) string {
	if strings.Contains(text, "://") {
		text = userinfo.Regexp().ReplaceAllStringFunc(text, func(m string) string {
			parts := userinfo.Find(m)
			return parts[1] + "://" + hideUser(parts[1], parts[2]) + "@"
		})
	}
	if hasAny(text, forms) {
		text = formed.Regexp().ReplaceAllString(text, hidden)
	}
	if hasAny(strings.ToLower(text), []string{"bearer", "authorization"}) {
		text = bearer.Regexp().ReplaceAllString(text, "${1}${2}"+hidden)
	}
	return hideNamed(text)
}

func hasAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// hideUser returns the user part of an address without its secret: it keeps the user name before a password. A lone
// name in a web address is a token, and so is a name that no person would type.
func hideUser(scheme, user string) string {
	name, password, both := strings.Cut(user, ":")
	switch {
	case !both && strings.Contains(scheme, "http") && name != "git":
		return hidden
	case !both || password == "" && len(name) < 20:
		return user
	case len(name) >= 20:
		return hidden + ":" + hidden
	}
	return name + ":" + hidden
}
