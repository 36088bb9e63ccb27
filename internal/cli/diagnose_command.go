// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"snug/internal/gpu"
	"snug/internal/pattern"
	"snug/internal/setup"
	"snug/internal/units"
)

// runWords describes a run as command-line arguments, for any command that accepts such a description.
type runWords struct {
	flags []word // flags that describe the run
	card  []string
}

// word is a flag with its value.
type word struct{ name, text string }

// command returns the arguments that describe the failed run: the flags that were given, or the folder that it
// was found in, and the card from the error message.
func (o *diagnoseOptions) command(dir string, s *setup.Setup, card gpu.Card) (c runWords) {
	if dir != "" && dir != "." {
		c.flags = append(c.flags, word{"dir", "--dir " + shellWord(dir)})
	}
	o.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"json", "html", "watch", "keep", "last", "gpu", "gpu-memory", "limit"}, f.Name) {
			c.flags = append(c.flags, word{f.Name, flagText(f)})
		}
	})
	switch {
	case o.gpu != "":
		c.card = append(c.card, "--gpu "+shellWord(o.gpu))
		if o.gpuMemory != "" {
			c.card = append(c.card, "--gpu-memory "+shellWord(o.gpuMemory))
		}
	case card.Total > 0:
		c.card = append(c.card, "--gpu-memory "+inGiB(card.Total))
	}
	if s.Limit > 0 {
		c.card = append(c.card, "--limit "+inGiB(s.Limit))
	}
	return c
}

func inGiB(bytes uint64) string { return fmt.Sprintf("%.2fGiB", float64(bytes)/units.GiB) }

// with returns a command for the run with some of its flags changed; "" if a change is not a flag.
func (c runWords) with(command string, changed ...string) string {
	words, replaced := []string{"snug", command}, map[string]bool{}
	for _, f := range changed {
		name, isFlag := strings.CutPrefix(f, "--")
		if !isFlag {
			return ""
		}
		name, _, _ = strings.Cut(name, " ")
		name, _, _ = strings.Cut(name, "=")
		for _, n := range sameSetting(name) {
			replaced[n] = true
		}
	}
	for _, f := range c.flags {
		if !replaced[f.name] {
			words = append(words, f.text)
		}
	}
	return strings.Join(slices.Concat(words, changed, c.card), " ")
}

// sameSetting returns the names of all flags that set the same field as a flag.
func sameSetting(name string) []string {
	of := map[string][]string{}
	field := ""
	for x, flag := range settingFlags() {
		of[x.Name] = append(of[x.Name], flag.Name)
		if flag.Name == name {
			field = x.Name
		}
	}
	return append(of[field], name)
}

// flagText returns a flag as a user would type it.
func flagText(f *pflag.Flag) string {
	name := "--" + f.Name
	switch v, isList := f.Value.(pflag.SliceValue); {
	case f.Value.Type() == "bool" && f.Value.String() == "true":
		return name
	case f.NoOptDefVal != "":
		return name + "=" + shellWord(f.Value.String())
	case isList && f.Value.Type() == "stringArray":
		var words []string
		for _, value := range v.GetSlice() {
			words = append(words, name+" "+shellWord(value))
		}
		return strings.Join(words, " ")
	case isList:
		return name + " " + shellWord(strings.Join(v.GetSlice(), ","))
	}
	return name + " " + shellWord(f.Value.String())
}

// plainWord matches words that a shell passes on unchanged.
var plainWord = pattern.New(`^[\w@%+=:,./-]+$`)

// shellWord quotes a word for a shell, if necessary.
func shellWord(text string) string {
	if plainWord.In(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
