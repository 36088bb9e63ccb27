// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// Some trainers are programs that take everything from flags. A script that starts one is a file of that
// trainer: the flags mean what the program's parser says, and missing ones have its defaults.

// programFinding is what all of them have in common.
func programFinding() Finding {
	return Finding{AlsoTelling: []string{"dist.world", "model"}, Commands: &Commands{}}
}

var shellOnly = []doc.Format{doc.Shell}

// flagsOf returns a program's flags, in any section, and those of what starts it. A flag has no section, so
// keys of DeepSpeed's config within another are left out.
func flagsOf(keys, launcher []Key) []Key {
	var out []Key
	for _, k := range keys {
		if strings.HasPrefix(k.Path, DeepSpeedPrefix) {
			continue
		}
		if k.Path != "" {
			k.Path = "**." + k.Path
		}
		k.Needs = ""
		out = append(out, k)
	}
	return append(out, launcher...)
}

// deepspeedLauncher returns the flags of deepspeed and torchrun, and the allocator's variables.
func deepspeedLauncher() []Key {
	return append(launching("dist.world", "nodes", "allocator"), Key{Setting: "dist.world", Path: "**.num_gpus", Kind: Whole, Unit: "GPUs", Source: launchers})
}

// anyLauncher returns the flags of every launcher.
func anyLauncher() []Key {
	return append(deepspeedLauncher(), launching("precision", "dist.kind", "dist.version", "link", "noted", "refused")...)
}

// launching returns the flags of launchers that decide some settings.
func launching(settings ...string) []Key {
	var out []Key
	for _, k := range shellKeys() {
		by := k.Source == launchers || k.Source == accelerateArgs || k.Setting == "allocator"
		if by && slices.Contains(settings, k.Setting) {
			out = append(out, k)
		}
	}
	return out
}

// always returns a note on what a trainer does whatever its flags say.
func always(does string, then Deviation, source string) Key {
	return Key{Setting: "noted", Kind: Switch, Means: does, Then: then, Default: "true", Source: source}
}

// refusedFlags returns keys that only another kind of training has.
func refusedFlags(does, source string, names ...string) []Key {
	var out []Key
	for _, name := range names {
		out = append(out, refusedWith(name, does, source))
	}
	return out
}
