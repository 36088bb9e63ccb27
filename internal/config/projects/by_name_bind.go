// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"cmp"
	"slices"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// bindNamed binds the best candidate for each setting. If two are equally good, neither is bound and the user
// must choose.
func (s *Source) bindNamed() ([]Bound, error) {
	found := candidates(s.System, s.Tree)
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	bySetting := map[string][]candidate{}
	for _, c := range found {
		bySetting[c.key.Setting] = append(bySetting[c.key.Setting], c)
	}
	out := readings{at: map[string]int{}}
	for _, setting := range append(systems.SettingNames(), filesOwn...) {
		if err := s.bindSetting(&out, bySetting[setting]); err != nil {
			return nil, err
		}
	}
	if s.Tree.Layers[0].Doc.Format() == doc.Python {
		return s.adaptersInCode(out.all)
	}
	return out.all, nil
}

// bindSetting binds the candidates for one setting, best first.
func (s *Source) bindSetting(out *readings, of []candidate) error {
	claims := s.claims(of)
	for i, c := range of {
		link := c.key.Setting == "link"
		if i > 0 && !c.key.Together() && !link {
			break
		}
		b, err := s.bound(c.key, c.path)
		if err != nil {
			return err
		}
		if b == nil {
			continue
		}
		if !link && !c.key.OnlyNoted() {
			b.rivals = claims.rivals(i)
		}
		out.add(*b)
		more, err := s.beside(c.key, c.path)
		if err != nil {
			return err
		}
		out.all = append(out.all, more...)
	}
	return nil
}

// filesOwn are the settings that exist only in files, not in a setup.
var filesOwn = []string{"link", "nodes", "visible", "uncast", "reference", "lora", "autocast", "chunks", "liger.rope", "liger.norm", "liger.mlp", "liger.loss", "quantized", "quant_method", "refused", "noted", "uncounted", "target_seq", "eval.batch", "eval.when", "dist.version", "dist.reshard", "image.pixels", "image.tiles", "freeze.vision", "freeze.projector", "freeze.language"}

// readings are bindings, with the index of the binding for each setting and value.
type readings struct {
	all []Bound
	at  map[string]int
}

// add adds a binding. If two keys match the same value, the first key that knows its word is used.
func (r *readings) add(b Bound) {
	at := b.Setting + " " + b.Place.At.String()
	i, there := r.at[at]
	switch {
	case !there:
		r.at[at] = len(r.all)
		r.all = append(r.all, b)
	case r.all[i].Unknown != "" && b.Unknown == "":
		r.all[i] = b
	}
}
