// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// interpolation matches OmegaConf's ${name} if it is the whole value.
var interpolation = pattern.New(`^\$\{([^${}:]+)\}$`)

// interpolated returns the name in a ${name}; simple is false for a resolver (${oc.env:X}) or if there is
// text around it.
func interpolated(text string) (name string, simple bool) {
	m := interpolation.Find(strings.TrimSpace(text))
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(m[1]), true
}

// resolveName returns the path that an interpolation at p refers to. It is relative to the root or, with
// leading dots, to p: one dot for its own map and one more for each map further up.
func resolveName(p doc.Path, name string) (doc.Path, error) {
	rest := strings.TrimLeft(name, ".")
	up := len(name) - len(rest)
	target, err := doc.ParsePath(rest)
	if err != nil || up == 0 {
		return target, err
	}
	if up > len(p) {
		return nil, fmt.Errorf("${%s} points outside the file", name)
	}
	return p[:len(p)-up].Join(target...), nil
}
