// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// insertFlag plans a new flag for the command that starts a known trainer, and reports whether the trainer
// has a flag for the value.
func (c *planner) insertFlag(setting string, v any) bool {
	main := c.project.Primary
	beside := c.trainerFlag()
	if beside == nil {
		return false
	}
	for _, k := range main.Trainer().ForSetting(setting) {
		if !flagOfTrainer(k) || !readsAs(main.System, k.Path, setting) || k.Means != "" && k.Means != v || k.Needs != "" && !main.Tree.Has(doc.Path{"--" + k.Needs}) {
			continue
		}
		file, ok := k.Spell(v)
		if !ok || file == systems.Unchanged {
			continue
		}
		at := doc.Path{"--" + k.Path}
		if !c.takesFlag(main, at[0], beside[0]) {
			continue
		}
		if _, err := main.Tree.Layers[0].Doc.InsertFlag(at, beside, file); err != nil {
			continue
		}
		if k.Remark != "" {
			c.note("%s %s", k.Path, k.Remark)
		}
		c.edits = append(c.edits, plannedEdit{change.Edit{File: main.File, Path: at, Value: file, Beside: beside}, main})
		return true
	}
	return false
}

// trainerFlag returns the batch flag in the command that starts a known trainer; nil if there is no such
// command.
func (c *planner) trainerFlag() doc.Path {
	main := c.project.Primary
	if main == nil || main.System.Commands == nil || main.Trainer().OwnProgram {
		return nil
	}
	for _, b := range c.project.BindingsOf("batch") {
		if at := b.Place.At; b.File == main.File && len(at) == 1 && strings.HasPrefix(at[0], "--") {
			return at
		}
	}
	return nil
}

// flagOfTrainer reports whether a key is an argument of the trainer that is also a flag. A common name may
// not be a flag, and the model's arguments belong to the program.
func flagOfTrainer(k *systems.Key) bool {
	return k.Path != "" && !strings.ContainsAny(k.Path, ".*") && !k.OfModel && !k.WithinDeepSpeed() && !k.IsCommonName()
}

// readsAs reports whether a script's flag is read as a setting: TRL's --dtype is the type of the weights, and the
// precision only if there is no autocast flag.
func readsAs(script *systems.System, flag, setting string) bool {
	settings := []string{setting}
	if setting == "precision" {
		settings = append(settings, "autocast")
	}
	for _, s := range settings {
		for _, k := range script.ForSetting(s) {
			if strings.TrimPrefix(k.Path, "**.") == flag {
				return true
			}
		}
	}
	return false
}

// valued reports whether a flag without a value can be turned off by giving it one: the trainers' parsers
// accept --bf16 False.
func (c *planner) valued(b projects.Bound, file any) bool {
	trainer := b.Source.Trainer()
	if b.Source.System.Commands == nil || trainer.OwnProgram || file != false || len(b.Path) != 1 {
		return false
	}
	name := strings.ReplaceAll(strings.TrimLeft(b.Path[0], "-"), "-", "_")
	for _, k := range trainer.Keys().All {
		if k.Path == name && k.Kind == systems.Switch && flagOfTrainer(&k) {
			_, err := b.Source.Tree.Layers[0].Doc.SetFlag(b.Path, file)
			return err == nil
		}
	}
	return false
}

// byHand returns the error for a value that cannot be replaced in place, with what to do instead.
func byHand(err error, file any) error {
	if file == false {
		return fmt.Errorf("%w; remove the flag yourself", err)
	}
	return fmt.Errorf("%w; write %v yourself", err, file)
}
