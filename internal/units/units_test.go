// SPDX-License-Identifier: Apache-2.0

package units

import (
	"strings"
	"testing"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]struct {
		bytes Bytes
		err   string
	}{
		"24GiB":       {24 * GiB, ""},
		"24GB":        {24e9, ""},
		"512 KiB":     {512 * KiB, ""}, // small, but intended
		"2097152":     {2 * MiB, ""},
		"24":          {0, "24 without a unit means bytes, which is too little; write 24GiB"},
		" 1.5 ":       {0, "1.5 without a unit means bytes, which is too little; write 1.5GiB"},
		"0":           {0, "nothing fits into 0 bytes"},
		"much":        {0, `"much" is not a size`},
		"99999999TiB": {0, "out of range"},
	} {
		got, err := ParseLimit(text)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != want.bytes || !strings.Contains(said, want.err) || (said == "") != (want.err == "") {
			t.Errorf("%q is %d, %q; want %d, %q", text, got, said, want.bytes, want.err)
		}
	}
}
