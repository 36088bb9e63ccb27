// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChoices checks the choices that are read from the call that declares a flag.
func TestChoices(t *testing.T) {
	d, err := OpenAs("t.py", Python, []byte(`
p.add_argument("--batch", type=int, default=4)
p.add_argument("-p", "--precision", default="no",
               choices=["no", 'fp16', "bf16"])  # words
p.add_argument("--bits", choices=(4, 8), help="choices")
p.add_argument("--kind", choices=KINDS)
p.add_argument("--size", choices=[f"a{n}", "b"])
`))
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string][]string{
		"--precision": {"no", "fp16", "bf16"}, "-p": {"no", "fp16", "bf16"}, "--bits": {"4", "8"},
		"--batch": nil, "--kind": nil, "--size": nil, "--other": nil, "--precision=": nil,
	} {
		if diff := cmp.Diff(want, d.Choices(flag)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", flag, diff)
		}
	}
}
