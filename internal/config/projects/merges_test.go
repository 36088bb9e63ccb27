// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"strings"
	"testing"
)

// merged returns n maps, each of which merges the previous one several times, and a trainer section that
// merges the last.
func merged(n, times int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: 1}\n")
	for i := range n {
		fmt.Fprintf(&b, "a%d: &a%[1]d\n  <<: [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), times), ", "))
	}
	fmt.Fprintf(&b, "trainer:\n  <<: *a%d\n  devices: 1\nbatch_size: 4\n", n)
	return b.String()
}

// Maps that merge each other many times take no longer to read.
func TestMerges(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"as people do": {merged(5, 2), ""},
		"a bomb":       {merged(15, 8), ""},
	} {
		bounded(t, 64<<20, func() {
			_, err := Find(mapFS(map[string]string{"config.yaml": c.text}), ".", "config.yaml")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
		})
	}
}
