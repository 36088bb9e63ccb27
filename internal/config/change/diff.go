// SPDX-License-Identifier: Apache-2.0

package change

import "bytes"

// Diff is the change as a unified diff, which patch -p1 and git apply read.
func (c *Change) Diff() []byte {
	var out bytes.Buffer
	for _, f := range c.Files {
		from := "a/" + f.Path
		if f.Before == nil {
			from = "/dev/null"
		}
		out.Write(unified(from, f.Before, "b/"+f.Path, f.After))
	}
	return out.Bytes()
}
