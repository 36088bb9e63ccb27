// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// A shell script that starts a trainer's own command passes the trainer's keys as flags. So its table combines the
// trainer's keys with the launchers' keys.

// shellOf returns the system of scripts that start a trainer; the pattern matches the command.
func shellOf(trainer *System, starts *pattern.Pattern) System {
	return System{
		Name: trainer.Name + "-shell", Title: "a shell script that starts " + trainer.Title, Formats: []doc.Format{doc.Shell}, ByName: true,
		Makes: starts, For: trainer,
		Keys: keysOf(func() []Key { return startedKeys(trainer) }),

		Finding: Finding{OwnProgram: true, AlsoDistinctive: []string{"dist.world", "link", "model"}, Commands: &shellCommands},
	}
}

func startedKeys(trainer *System) []Key {
	var out []Key
	for _, k := range trainer.Keys().All {
		if k.Path != "" && (!strings.Contains(k.Path, ".") || k.Setting == "use_reentrant") { // an argument in JSON
			out = append(out, at("**.", k)...)
		}
	}
	if trainer.SplitsVisible {
		out = append(out, Key{Setting: "visible", Path: "**.cuda_visible_devices", Kind: Names, Source: "CUDA's environment variable"})
	}
	return append(out, launcherKeys()...)
}
