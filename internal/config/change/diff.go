// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff is the change as a unified diff, which patch -p1 and git apply read.
func (c *Change) Diff() []byte {
	var out bytes.Buffer
	for _, f := range c.Files {
		from := "a/" + f.Path
		if f.Before == nil {
			from = "/dev/null"
		}
		text := diff.Diff(from, f.Before, "b/"+f.Path, f.After)
		if _, rest, ok := bytes.Cut(text, []byte("\n")); ok { // its first line is a command
			out.Write(rest)
		}
	}
	return out.Bytes()
}
