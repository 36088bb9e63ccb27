// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestOutputShowsControls(t *testing.T) {
	var b bytes.Buffer
	o := NewOutput(&b, func(string) string { return "" })
	for text, want := range map[string]string{
		"plain\ttext\n":            "plain\ttext\n",
		"a\x1b[31mred\x1b[0m":      `a\u001b[31mred\u001b[0m`,
		"title\x1b]0;pwned\a":      `title\u001b]0;pwned\u0007`,
		"back\b\b\bspace\r":        `back\u0008\u0008\u0008space\u000d`,
		"line\r\n":                 "line\r\n",
		"c1 \u009b2J":              `c1 \u009b2J`,
		"byte \x9b2J":              `byte \x9b2J`,
		"caf\xe9":                  "caf\xe9",
		"evil\u202egnp.exe":        `evil\u202egnp.exe`,
		"memory — ▇▇ 45.21 GiB, é": "memory — ▇▇ 45.21 GiB, é",
	} {
		b.Reset()
		if _, err := io.WriteString(o, text); err != nil {
			t.Fatal(err)
		}
		// An incomplete character is written once it is complete.
		_, _ = io.WriteString(o, "\n")
		if got := strings.TrimSuffix(b.String(), "\n"); got != strings.TrimSuffix(want, "\n") && got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestOutputKeepsSplitCharacters(t *testing.T) {
	var b bytes.Buffer
	o := NewOutput(&b, func(string) string { return "" })
	text := "▇ é \u009b\n"
	for i := range len(text) {
		if n, err := o.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := b.String(), "▇ é \\u009b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutputSendsItsOwnColors(t *testing.T) {
	var b bytes.Buffer
	o := &Output{to: &b, screen: Screen{Color: true, mark: firstPrivate + 7}}
	_, _ = io.WriteString(o, o.Screen().Paint(Red, "\x1b[2Jbad")+"\n")
	if got, want := b.String(), "\x1b[31m\\u001b[2Jbad\x1b[0m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
