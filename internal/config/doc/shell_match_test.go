// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// The regular expressions that the functions in shell_match.go replace.
var (
	flag      = regexp.MustCompile(`^(--?[A-Za-z][A-Za-z0-9_.-]*)(=)?`)
	override  = regexp.MustCompile(`^[+]{0,2}([A-Za-z_][A-Za-z0-9_./@-]*)=`)
	dottedKey = regexp.MustCompile(`^[+]{0,2}[A-Za-z_]\w*(\.\w+)+=`)
	literal   = regexp.MustCompile(`^[A-Za-z0-9_./:+,=@%~^-]*$`)
	negative  = regexp.MustCompile(`^-[0-9.]`)
)

func TestShellWordsLookLikeTheirExpressions(t *testing.T) {
	for _, w := range []string{"", "a", "=", "A=1", "1=2", "-", "--", "---a", "-a", "--a-b.c=", "--1", "-1", "-.5", "+a=1", "++a.b=1", "+++a=1", "a.b=", "a..b=", "a.=", ".a=",
		"$", "$A", "${A}", "${A", "$A}", "${}", "$1", "${A:-4}", "${A-}", "${1:-x}", "${12:-x}", "${:-x}", "${A:-{}", "${A:-\n}", "${A:-$B}", "${A}-}", "é=1", "a/b@c-d=1"} {
		shellWord(t, w)
	}
	rapid.Check(t, func(t *rapid.T) {
		shellWord(t, rapid.StringOfN(rapid.SampledFrom([]rune("aZ_19+-.=${}:/@\"'`\\~\né")), 0, 12, -1).Draw(t, "word"))
	})
}

func shellWord(t interface {
	Errorf(string, ...any)
}, w string) {
	wrong := func(what string, got, want any) {
		if got != want {
			t.Errorf("%s of %q is %v, want %v", what, w, got, want)
		}
	}
	name, equals := flagOf(w)
	wrong("flag", name, submatch(flag, w, 1))
	wrong("equals", equals, submatch(flag, w, 2) != "")
	start, end, ok := overridden(w)
	wrong("override", ok, override.MatchString(w))
	if ok {
		wrong("key", w[start:end], submatch(override, w, 1))
	}
	wrong("dotted key", isDottedKey(w), dottedKey.MatchString(w))
	wrong("literal", isLiteral(w), literal.MatchString(w))
	wrong("negative", isNegative(w), negative.MatchString(w))
}

func submatch(re *regexp.Regexp, text string, n int) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return m[n]
	}
	return ""
}
