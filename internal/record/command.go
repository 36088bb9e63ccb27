// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"os"
	"strings"

	"snug/internal/config"
)

// command is the user's command with the values inserted.
type command struct {
	files      userFiles
	args       []string
	shown      []string // args, with copied files under the user's own names
	env        []string // NAME=value, added to the environment
	placements []string // where values without a placeholder were inserted
}

// fill writes a value into its placeholders, {batch}, and reports whether there are any. A shell's
// ${batch} is left alone.
func (c *command) fill(name string, value any) (found bool) {
	hole := "{" + name + "}"
	for _, list := range [][]string{c.args, c.env} {
		for i, w := range list {
			own := strings.ReplaceAll(w, "$"+hole, "\x00") // cannot occur in a command's word
			found = found || strings.Contains(own, hole)
			own = strings.ReplaceAll(own, hole, fmt.Sprint(value))
			list[i] = strings.ReplaceAll(own, "\x00", "$"+hole)
		}
	}
	return found
}

// keepProbeFirst keeps the probe loaded even if the command sets PYTHONPATH before the program, as in env
// PYTHONPATH=src python train.py.
func (c *command) keepProbeFirst(program int, folder string) {
	for i, w := range c.args[:program] {
		if path, ok := strings.CutPrefix(w, "PYTHONPATH="); ok {
			c.args[i] = "PYTHONPATH=" + folder + string(os.PathListSeparator) + path
		}
	}
}

// checkNotGiven returns an error if the command itself sets the setting, which would override any file.
func (c *command) checkNotGiven(name string) error {
	for _, b := range config.CommandSettings(c.args) {
		if b.Setting == name {
			return alreadyGiven(name, b.Path[len(b.Path)-1], b.Text)
		}
	}
	return nil
}

func alreadyGiven(name, flag, value string) error {
	glue := "="
	if strings.HasPrefix(flag, "-") {
		glue = " "
	}
	return fmt.Errorf("the command sets %s%s%s for every size; write {%s} there: %s%s{%s}", flag, glue, value, name, flag, glue, name)
}
