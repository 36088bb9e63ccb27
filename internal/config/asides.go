// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
)

// Some keys change what a run takes in ways that are not simulated. The tables list
// them beside the others, with what they do; here it becomes a sentence. What makes
// figures mean nothing is refused. What leaves them a bound is noted.

// side is where a run is, seen from figures that leave something out.
type side string

// The sides.
const (
	takesLess   side = "that is not counted, and the run takes less"
	takesMore   side = "that is not counted, and the run takes more"
	takesEither side = "that is not counted, and the run may take more or less"
)

// Training is what is missing where the training is not of the kind that is
// estimated. A recording of the run has it.
const Training = "training"

// less is a switch that saves memory which is counted.
func less(path, does, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Switch, Means: does, Then: takesLess, Source: source}
}

// either is a switch that moves memory one way or the other.
func either(path, does, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Switch, Means: does, Then: takesEither, Source: source}
}

// refusedWith is a key that is there only for a training of another kind.
func refusedWith(path, does, source string) Key {
	return Key{Setting: "refused", Path: path, Kind: Present, Means: "belongs to a run that " + does, Source: source}
}

// splits is a number of GPUs that share a model's layers.
func splits(path, source string) Key {
	return Key{Setting: "refused", Path: path, Kind: Above1, Means: splitsLayers, Source: source}
}

// shares is a number of GPUs that share the tokens of each sample.
func shares(path, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Above1, Means: splitsTokens, Then: takesLess, Source: source}
}

// asWritten is a key with its value where the value is what matters.
func (b bound) asWritten() string {
	if b.key.Kind == Word {
		return b.Path.String() + " " + strings.Trim(b.Text, `"'`)
	}
	return b.Path.String()
}

// refused is what no figure is given for.
func (p *Project) refused() []Missing {
	for _, b := range p.of("refused") {
		if does, _ := b.Value.(string); does != "" {
			return []Missing{{Training, refusal(b.where(), b.asWritten(), does)}}
		}
	}
	return p.otherTrainer()
}

// refusal is the sentence about it.
func refusal(where, what, does string) string {
	return fmt.Sprintf("%s: %s %s; that is not estimated, measure it: snug profile -- <your command>", where, what, does)
}

// noted is what the figures leave out by the word of a file.
func (p *Project) noted() []string {
	var out []string
	for _, b := range p.of("noted") {
		if does, _ := b.Value.(string); does != "" {
			out = append(out, fmt.Sprintf("%s: %s %s; %s", b.where(), b.asWritten(), does, b.key.Then))
		}
	}
	return append(out, p.notedByDefault()...)
}

// notedByDefault is what a system does that its files do not turn off.
func (p *Project) notedByDefault() []string {
	var out []string
	if p.main == nil {
		return nil
	}
	for _, k := range p.system().forSetting("noted") {
		said := slices.ContainsFunc(p.of("noted"), func(b bound) bool { return b.key.Path == k.Path })
		if does, _ := k.byDefault(1).(string); does != "" && !said {
			by := map[bool]string{true: "on", false: k.Default}[k.Kind == Switch]
			out = append(out, fmt.Sprintf("%s: %s is %s by default and %s; %s", p.main.file, k.Path, by, does, k.Then))
		}
	}
	return out
}
