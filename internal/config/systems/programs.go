// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// Some trainers are programs that are configured only by flags. A script that starts one is read as that trainer's
// file; missing flags have the program's defaults.

// programFinding is the Finding that these programs have in common.
func programFinding() Finding {
	return Finding{AlsoDistinctive: []string{"dist.world", "model"}, Commands: &Commands{}}
}

var shellOnly = []doc.Format{doc.Shell}

// flagsOf returns keys for a program's flags and its launcher's. Flags have no sections, so the keys match at any
// depth, and keys of an embedded DeepSpeed config are omitted.
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

// launching returns the launcher flags for the given settings.
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

// always returns a note on what a trainer does regardless of its flags.
func always(does string, then Deviation, source string) Key {
	return Key{Setting: "noted", Kind: Switch, Means: does, Then: then, Default: "true", Source: source}
}

// refusedFlags returns keys for flags that exist only for another kind of training, which is refused.
func refusedFlags(does, source string, names ...string) []Key {
	var out []Key
	for _, name := range names {
		out = append(out, refusedWith(name, does, source))
	}
	return out
}
