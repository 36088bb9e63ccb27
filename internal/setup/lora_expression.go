// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"regexp"
	"strings"
)

// Expression returns a function that matches the paths of layers, if the only target is a regular expression, which
// PEFT compares with whole paths (peft 0.21, tuners/tuners_utils.py: check_target_module_exists); otherwise nil. An
// expression that Go cannot compile matches nothing, so that the run is refused.
func (l *LoRA) Expression() func(path string) bool {
	if len(l.Targets) != 1 || !strings.ContainsAny(l.Targets[0], `()[]{}|*+?\^$`) {
		return nil
	}
	re, err := regexp.Compile(`^(?:` + l.Targets[0] + `)$`)
	if err != nil {
		return func(string) bool { return false }
	}
	return re.MatchString
}
