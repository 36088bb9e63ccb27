// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/setup"
)

// NewPlan works out the edits that give settings new values, in every file that
// holds them: all of them, or an error that says which one cannot be.
func NewPlan(p *Run, want setup.Values) (Plan, error) {
	c := &changing{project: p, want: want}
	for _, v := range want {
		s, err := settingNamed(v.Setting)
		if err != nil {
			return Plan{}, err
		}
		if err := s.Check(v.Value); err != nil {
			return Plan{}, err
		}
	}
	if err := c.readable(); err != nil {
		return Plan{}, err
	}
	if err := c.batches(); err != nil {
		return Plan{}, err
	}
	if err := c.unlocked(); err != nil {
		return Plan{}, err
	}
	for _, setting := range settingNames() {
		v := c.want.Get(setting)
		if v == nil {
			continue
		}
		change := c.setting
		switch setting {
		case "checkpointing":
			change = c.checkpointing
		case "optimizer":
			change = func(_ string, v any) error { return c.optimizer(fmt.Sprint(v)) }
		}
		if err := change(setting, v); err != nil {
			return Plan{}, err
		}
	}
	return c.finish()
}

// changing is a change being worked out.
type changing struct {
	project *Run
	want    setup.Values
	edits   []planned
	notes   []string
	kept    []bound // stages that stay as they are
}

// planned is an edit and the binding it came from.
type planned struct {
	change.Edit
	source *source
}

func (c *changing) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// setting plans the edits of one setting.
func (c *changing) setting(setting string, v any) error {
	return c.among(c.project.of(setting), setting, v)
}

// among plans the edits of one setting that some keys hold.
func (c *changing) among(of []bound, setting string, v any) error {
	written := 0
	for _, b := range of {
		switch {
		case b.Value == Auto && b.source.adapter.Tied:
			c.note("%s: %s stays \"auto\"", b.where(), b.Path)
			continue
		case b.place.computed != "":
			return fmt.Errorf("%s: %s is %s, which cannot be changed in place; write a number there first", b.where(), b.place.at, b.place.computed)
		case b.key.Vague && likeKinds(b.Value, v):
			continue // another key says which of them
		case c.keepsStage(b, v), c.namesWeights(b):
			written++
			continue
		}
		if err := c.write(b, v); err != nil {
			return err
		}
		written++
	}
	if c.says(of, setting, v) {
		return nil
	}
	if written > 0 && !slices.ContainsFunc(of, func(b bound) bool { return b.key.together() }) {
		return nil
	}
	return c.insert(setting, v)
}

// says is whether the keys that are there can say the value between them: bf16
// alone cannot say fp16.
func (c *changing) says(of []bound, setting string, v any) bool {
	if len(of) == 0 {
		return v == c.project.fallback(setting)
	}
	for _, b := range of {
		if b.source.adapter.Tied && b.source != c.project.main && setting != "dist.kind" {
			continue // it follows the main file, which has no word for a stage
		}
		if !b.key.together() || b.key.Means == v || reflect.DeepEqual(b.Value, v) {
			return true
		}
		if b.key.Kind == Word {
			if _, ok := spelled(b.key.Words, fmt.Sprint(v), ""); ok {
				return true
			}
		}
	}
	return setting == "precision" && v == "fp32"
}

// keepsStage is whether one of several stages stays: those below the largest
// value do, as long as the new one is not smaller still.
func (c *changing) keepsStage(b bound, v any) bool {
	n, ok := v.(int)
	now, also := b.Value.(int)
	top, _ := c.project.Value(b.Setting).(int)
	if !b.staged() || !ok || !also || now == top || now > n {
		return false
	}
	c.kept = append(c.kept, b)
	return true
}

// namesWeights is whether a key of the precision is the one of the weights as well,
// which get a value of their own.
func (c *changing) namesWeights(b bound) bool {
	return b.Setting == "precision" && c.want.Get("weights") != nil &&
		slices.ContainsFunc(c.project.of("weights"), func(w bound) bool { return w.File == b.File && w.Path.Equal(b.Path) })
}

// stagesKept says which stages stay, in one sentence a setting.
func (c *changing) stagesKept() {
	places := map[string][]string{}
	for _, b := range c.kept {
		places[b.Setting] = append(places[b.Setting], b.where())
	}
	for setting, at := range places {
		c.note("%s stays as it is at %s: it is below the largest there", setting, list(at))
	}
}

// write plans the edit of one binding.
func (c *changing) write(b bound, v any) error {
	if phases, ok := b.Value.([]Phase); ok {
		return c.schedule(b, phases, v)
	}
	if text, ok := v.(string); ok && b.source.adapter.NoAutocast && b.source.link != nil {
		v = strings.TrimPrefix(text, "amp-") // autocast belongs to the file that names it
	}
	file, err := b.key.write(v, b.place.value, c.project.world())
	if err != nil {
		return fmt.Errorf("%s: %w", b.where(), err)
	}
	if file == same || reflect.DeepEqual(b.Value, v) && !b.key.OverGPUs {
		return nil
	}
	if worked(b.place.value) {
		return fmt.Errorf("%s: %s is %s, which is worked out; write %v there yourself", b.where(), b.Path, b.Text, file)
	}
	if err := fixed(b, file); err != nil {
		return err
	}
	c.edit(b, b.Path, file)
	return nil
}

// fixed is why a value cannot be replaced where it stands, such as a flag of a
// script that has none: a plan with it in would be refused when it is written.
func fixed(b bound, v any) error {
	for _, l := range b.source.tree.layers {
		if l.file != b.File {
			continue
		}
		if _, err := l.doc.Set(b.Path, v); errors.Is(err, doc.ErrFixed) {
			return err
		}
	}
	return nil
}

// edit adds an edit, and says who else uses the value.
func (c *changing) edit(b bound, p doc.Path, v any) {
	for _, other := range b.source.tree.users(b.place) {
		c.note("%s takes its value from %s and changes with it", other, b.place.path)
	}
	aliases, ok := c.aliases(b, p)
	for _, u := range aliases {
		if ok {
			c.note("%s:%d: %s takes its value from %s and changes with it", b.File, u.Line, u.Path, b.place.path)
		}
	}
	c.edits = append(c.edits, planned{change.Edit{File: b.File, Path: p, Value: v, Shared: ok && len(aliases) > 0}, b.source})
}

// aliases are the places that hold the same value by a YAML alias, and whether
// they may change with it: not where one holds another setting, and not where
// more than the value is shared.
func (c *changing) aliases(b bound, p doc.Path) ([]doc.Reference, bool) {
	i := slices.IndexFunc(b.source.tree.layers, func(l layer) bool { return l.file == b.File })
	if i < 0 {
		return nil, false
	}
	d := b.source.tree.layers[i].doc
	users := d.Users(p)
	for _, u := range users {
		v, err := d.Find(u.Path)
		passed := err == nil && v.Kind == doc.Map && d.Format() == doc.Python // the call that has it as an argument
		if err != nil || v.Start != b.place.value.Start && !passed {
			return nil, false
		}
		if slices.ContainsFunc(c.project.bound, func(o bound) bool {
			return o.File == b.File && o.Setting != b.Setting && o.Setting != "eval.batch" && o.Path.Equal(u.Path)
		}) {
			return nil, false
		}
	}
	return users, true
}

// Plan is what changing some settings takes.
type Plan struct {
	Edits   []change.Edit
	Creates []change.Create
	// Notes say what was left as it is, and why.
	Notes []string
}

// likeKinds tells whether two kinds are one library's.
func likeKinds(a, b any) bool {
	of := func(v any) setup.Dist { kind, _ := v.(string); return setup.Dist{Kind: kind} }
	x, y := of(a), of(b)
	return x.DeepSpeed() && y.DeepSpeed() || strings.HasPrefix(x.Kind, "fsdp2") && strings.HasPrefix(y.Kind, "fsdp2")
}
