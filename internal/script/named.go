// SPDX-License-Identifier: Apache-2.0

package script

import (
	"embed"
	"fmt"

	"snug/internal/pysrc"
)

//go:embed loops
var loops embed.FS

// Named is a loop that is known by name: a short script of ours, written as such scripts are.
func Named(name string) (*pysrc.File, error) {
	path := "loops/" + name + ".py"
	src, err := loops.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the loop %q is not known", name)
	}
	return pysrc.Parse(path, src)
}
