// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strings"

	"snug/internal/config"
	"snug/internal/pattern"
	"snug/internal/profile"
)

// shortNames are names for settings that people use in their own scripts, besides those of libraries.
var shortNames = map[string]string{
	"bs": "batch", "bsz": "batch", "mbs": "batch", "b": "batch", "batchsize": "batch", "BATCH": "batch",
	"len": "seq", "length": "seq", "seqlen": "seq", "SEQ": "seq",
}

// SettingName returns snug's name for a quantity: batch for bs and batch_size. Other names are returned unchanged.
func SettingName(name string) string {
	if own, ok := shortNames[name]; ok {
		return own
	}
	if isSetting(name) {
		return name
	}
	for _, b := range config.CommandSettings([]string{"--" + name, "2"}) {
		return b.Setting
	}
	return name
}

// placeholder matches a placeholder for a value: {bs} as a word or after an =.
var placeholder = pattern.New(`^(?:.*=)?\{([A-Za-z_][A-Za-z0-9_-]*)\}$`)

// placeholderIn returns the name of the placeholder in a word, or "".
func placeholderIn(word string) string {
	if m := placeholder.Find(word); m != nil {
		return m[1]
	}
	if strings.Contains(strings.ReplaceAll(word, "${", ""), "{batch}") { // as part of a longer text, such as that of sh -c
		return "batch"
	}
	return ""
}

// checkPlaceholders returns an error for a placeholder in the command that the size does not fill.
func checkPlaceholders(words []string, at profile.Point) error {
	for _, w := range words {
		name := placeholderIn(w)
		if _, filled := at[name]; name == "" || filled {
			continue
		}
		own := SettingName(name)
		_, given := at[own]
		switch {
		case given:
			return fmt.Errorf("the command has {%s}, which --vary does not set; write {%s} there", name, own)
		case own != name:
			return fmt.Errorf("the command has {%s}, but no values are given; write {%s} there, and add --vary %[2]s=2,3", name, own)
		case len(at) == 0:
			return fmt.Errorf("the command has {%s}, but no values are given; add --vary %s=2,3", name, name)
		}
		return fmt.Errorf("the command has {%s}, which --vary does not set; write {%s} there, or add --vary %s=2,3", name, at.Names()[0], name)
	}
	return nil
}
