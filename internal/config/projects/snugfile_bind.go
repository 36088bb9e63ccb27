// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// adopt puts what a snug.yaml binds in the place of what was found.
func (p *Found) adopt(own *OwnFile) error {
	p.Own = own
	open := map[string]*Source{}
	replaced := map[string]bool{}
	for _, b := range own.Bind {
		s := open[b.file]
		if s == nil {
			data, err := p.Files.ReadFile(b.file)
			if err != nil {
				return fmt.Errorf("%s binds %s to %s: %w", b.where, b.Setting, b.file, reason(err))
			}
			d, err := doc.Open(b.file, data)
			if err != nil {
				return err
			}
			s = NewSource(b.file, &systems.SnugFile, tree.New(tree.Layer{File: b.file, Doc: d}))
			open[b.file] = s
		}
		k, err := OwnKey(b)
		if err != nil {
			return err
		}
		found, err := s.bound(k, b.Path)
		if err != nil {
			return err
		}
		if found == nil {
			_, missing := s.Tree.Layers[0].Doc.Find(b.Path)
			return fmt.Errorf("%s binds %s to what is not there: %w", b.where, b.Setting, missing)
		}
		if !replaced[b.Setting] {
			p.unbind(b.Setting)
			replaced[b.Setting] = true
		}
		p.Notes = append(p.Notes, found.notes()...)
		p.bind(*found)
	}
	return nil
}

// OwnKey is how a bound value is read: by the setting alone, with the words of
// every system.
func OwnKey(b OwnBinding) (*systems.Key, error) {
	s, err := systems.SettingNamed(b.Setting)
	if err != nil {
		return nil, err
	}
	k := &systems.Key{Setting: b.Setting, Path: b.Path.String(), Kind: s.Kind, Inverted: b.Not, Source: SnugFile}
	if b.Not && s.Kind != systems.Switch {
		return nil, errors.New(b.where + ": not is for true and false; " + b.Setting + " is a " + string(s.Kind))
	}
	for _, w := range s.Words {
		k.Words = append(k.Words, systems.Term{File: w, Means: w})
	}
	switch b.Setting {
	case "precision":
		k.Words = slices.Concat(systems.PlainPrecision, systems.WeightTypes, k.Words)
		if strings.Contains(strings.ToLower(b.Path[len(b.Path)-1]), "type") { // dtype: of the weights
			k.Words = slices.Concat(systems.WeightTypes, systems.PlainPrecision, k.Words)
		}
	case "optimizer":
		k.Words, k.Reads = nil, slices.Concat(systems.AnyOptimizer, systems.HFOptimizers, k.Words)
		if slices.Equal(tree.NameParts(b.Path[len(b.Path)-1:]), []string{"optim"}) { // TrainingArguments' name for it
			k.Words = systems.HFOptimizers
		}
	case "attention":
		k.Words = slices.Concat(systems.HFAttention, k.Words)
	case "dist.kind":
		k.Words = slices.Concat(systems.LightningStrategies, k.Words)
	case "clip":
		k.Kind = systems.Above0
	}
	return k, nil
}
