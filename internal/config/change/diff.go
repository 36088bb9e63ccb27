// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"
	"math"
)

// Diff returns the change as a unified diff for patch -p1 or git apply.
func (c *Change) Diff() []byte {
	out, _ := c.Shown(math.MaxInt)
	return out
}

// Shown returns the diff for display. Lines longer than width bytes are cut to the part around the change;
// cut is the number of those lines.
func (c *Change) Shown(width int) (diff []byte, cut int) {
	var out bytes.Buffer
	for _, f := range c.Files {
		from := "a/" + f.Path
		if f.Before == nil {
			from = "/dev/null"
		}
		text, n := unified(from, f.Before, "b/"+f.Path, f.After, width)
		out.Write(text)
		cut += n
	}
	return out.Bytes(), cut
}
