// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// snugFile is the system of settings that snug.yaml binds.
var snugFile = System{
	Name: "snug.yaml", Title: "bound in snug.yaml", Keys: keysOf(func() []Key { return nil }),
	Finding: Finding{OwnProgram: true},
}

// SnugFile returns the system of settings that snug.yaml binds.
func SnugFile() *System { return &snugFile }

// unknownProgram is the system of a run with an unknown program.
var unknownProgram = System{Behavior: Behavior{UnknownDefaults: true}, Keys: keysOf(func() []Key { return nil })}

// UnknownProgram returns the system of a run with an unknown program. It has no defaults.
func UnknownProgram() *System { return &unknownProgram }

// BoundKey returns the key for a value that the user binds to a setting. It depends only on the setting, and
// understands the words of every system.
func (s Setting) BoundKey(path doc.Path) *Key {
	k := &Key{Setting: s.Name, Path: path.String(), Kind: s.Kind}
	for _, w := range s.Words {
		k.Words = append(k.Words, Term{w, w})
	}
	name := strings.ToLower(path[len(path)-1])
	switch s.Name {
	case "precision":
		k.Words, k.Reads = lightningOnly, slices.Concat(plainPrecision, weightTypes, k.Words)
		if strings.Contains(name, "type") { // dtype is the type of the weights
			k.Words, k.Reads = torchNames, slices.Concat(weightTypes, k.Reads)
		}
	case "optimizer":
		k.Words, k.Reads = nil, slices.Concat(anyOptimizer, hfOptimizers, k.Words)
		if flag, _, _ := strings.Cut(strings.TrimLeft(name, "-"), "#"); flag == "optim" { // TrainingArguments' name for the optimizer
			k.Words = hfOptimizers
		}
	case "attention":
		k.Words = slices.Concat(hfAttention, k.Words)
	case "dist.kind":
		k.Words = slices.Concat(lightningStrategies, k.Words)
	case "clip":
		k.Kind = Above0
	}
	return k
}
