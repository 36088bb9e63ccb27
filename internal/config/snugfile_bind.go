// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// adopt puts what a snug.yaml binds in the place of what was found.
func (p *Found) adopt(own *ownFile) error {
	p.own = own
	open := map[string]*source{}
	replaced := map[string]bool{}
	for _, b := range own.Bind {
		s := open[b.file]
		if s == nil {
			data, err := p.files.ReadFile(b.file)
			if err != nil {
				return fmt.Errorf("%s binds %s to %s: %w", b.where, b.setting, b.file, reason(err))
			}
			d, err := doc.Open(b.file, data)
			if err != nil {
				return err
			}
			s = newSource(b.file, &bindings, newTree(layer{file: b.file, doc: d}))
			open[b.file] = s
		}
		k, err := ownKey(b)
		if err != nil {
			return err
		}
		found, err := s.bound(k, b.path)
		if err != nil {
			return err
		}
		if found == nil {
			_, missing := s.tree.layers[0].doc.Find(b.path)
			return fmt.Errorf("%s binds %s to what is not there: %w", b.where, b.setting, missing)
		}
		if !replaced[b.setting] {
			p.unbind(b.setting)
			replaced[b.setting] = true
		}
		p.Notes = append(p.Notes, found.notes()...)
		p.bind(*found)
	}
	return nil
}

// ownKey is how a bound value is read: by the setting alone, with the words of
// every system.
func ownKey(b ownBinding) (*Key, error) {
	s, err := settingNamed(b.setting)
	if err != nil {
		return nil, err
	}
	k := &Key{Setting: b.setting, Path: b.path.String(), Kind: s.Kind, Inverted: b.not, Source: snugFile}
	if b.not && s.Kind != Switch {
		return nil, errors.New(b.where + ": not is for true and false; " + b.setting + " is a " + string(s.Kind))
	}
	for _, w := range s.Words {
		k.Words = append(k.Words, word{w, w})
	}
	switch b.setting {
	case "precision":
		k.Words = slices.Concat(plainPrecision, weightTypes, k.Words)
		if strings.Contains(strings.ToLower(b.path[len(b.path)-1]), "type") { // dtype: of the weights
			k.Words = slices.Concat(weightTypes, plainPrecision, k.Words)
		}
	case "optimizer":
		k.Words, k.Reads = nil, slices.Concat(anyOptimizer, hfOptimizers, k.Words)
		if slices.Equal(nameParts(b.path[len(b.path)-1:]), []string{"optim"}) { // TrainingArguments' name for it
			k.Words = hfOptimizers
		}
	case "attention":
		k.Words = slices.Concat(hfAttention, k.Words)
	case "dist.kind":
		k.Words = slices.Concat(lightningStrategies, k.Words)
	case "clip":
		k.Kind = Above0
	}
	return k, nil
}
