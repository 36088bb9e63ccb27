// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"os"
	"strings"

	"snug/internal/config"
	"snug/internal/setup"
)

// command is the user's command with the values inserted.
type command struct {
	files      userFiles
	args       []string
	shown      []string // args, with the user's own file names instead of the copies' names
	env        []string // NAME=value, overriding the environment
	placements []string // descriptions of the values that were put somewhere without a placeholder
	batch      string   // the text of the batch script, if any
	filled     setup.Values
}

// fill writes a value into its placeholders, {batch}, and reports whether there are any. A shell's
// ${batch} is left alone.
func (c *command) fill(name string, value any) (found bool) {
	hole := "{" + name + "}"
	put := func(w string) string {
		own := strings.ReplaceAll(w, "$"+hole, "\x00") // no command word can contain a NUL
		found = found || strings.Contains(own, hole)
		own = strings.ReplaceAll(own, hole, fmt.Sprint(value))
		return strings.ReplaceAll(own, "\x00", "$"+hole)
	}
	for _, list := range [][]string{c.args, c.env} {
		for i, w := range list {
			list[i] = put(w)
		}
	}
	c.batch = put(c.batch)
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
