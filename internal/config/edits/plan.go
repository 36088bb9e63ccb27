// SPDX-License-Identifier: Apache-2.0

// Package edits works out the edits to a project's files that change its settings. A plan covers every
// requested setting or is refused. The package writes nothing; package change applies the plan.
package edits

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/setup"
)

// New works out the edits that change settings in every file that contains them. It returns all edits, or an
// error that names the setting that cannot be changed.
func New(p *meaning.Run, want setup.Values) (Plan, error) {
	c := &planner{project: p, want: want}
	for _, v := range want {
		s, err := systems.SettingNamed(v.Setting)
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
	for _, setting := range systems.SettingNames() {
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
		case "allocator":
			change = c.allocator
		}
		if err := change(setting, v); err != nil {
			return Plan{}, err
		}
	}
	return c.finish()
}

// planner is a change being worked out.
type planner struct {
	project *meaning.Run
	want    setup.Values
	edits   []plannedEdit
	notes   []string
	kept    []projects.Bound // stages that do not change
}

// plannedEdit is an edit and the binding it came from.
type plannedEdit struct {
	change.Edit
	source *projects.Source
}

func (c *planner) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// setting plans the edits of one setting.
func (c *planner) setting(setting string, v any) error {
	return c.among(c.project.BindingsOf(setting), setting, v)
}

// among plans the edits of one setting that is set by the given keys.
func (c *planner) among(of []projects.Bound, setting string, v any) error {
	written := 0
	for _, b := range of {
		switch {
		case b.Value == projects.Auto && b.Source.System.Tied:
			c.note("%s: %s stays \"auto\"", b.Where(), b.Path)
			continue
		case b.Place.Computed != "":
			return fmt.Errorf("%s: %s is %s, which cannot be changed in place; write a number there first", b.Where(), b.Place.At, b.Place.Computed)
		case b.Key.Vague && likeKinds(b.Value, v):
			continue // another key expresses the value
		case c.keepsStage(b, v), c.namesWeights(b):
			written++
			continue
		}
		if err := c.write(b, v); err != nil {
			return err
		}
		written++
	}
	if c.canSay(of, setting, v) {
		return nil
	}
	if written > 0 && !slices.ContainsFunc(of, func(b projects.Bound) bool { return b.Key.Together() }) {
		return nil
	}
	return c.insert(setting, v)
}

// canSay reports whether the existing keys together can express the value: the key bf16 alone cannot express
// fp16.
func (c *planner) canSay(of []projects.Bound, setting string, v any) bool {
	if len(of) == 0 {
		return v == c.project.DefaultValue(setting)
	}
	for _, b := range of {
		if b.Source.System.Tied && b.Source != c.project.Primary && setting != "dist.kind" {
			continue // the main file has no value for a stage
		}
		if !b.Key.Together() || b.Key.Means == v || reflect.DeepEqual(b.Value, v) {
			return true
		}
		if b.Key.Kind == systems.Word && c.hasWord(b, v) {
			return true
		}
	}
	return setting == "precision" && v == "fp32"
}

// keepsStage reports whether one of several stages keeps its value: those below the largest value do, unless
// the new value is even smaller.
func (c *planner) keepsStage(b projects.Bound, v any) bool {
	n, ok := v.(int)
	now, also := b.Value.(int)
	top, _ := c.project.Value(b.Setting).(int)
	if !b.Staged() || !ok || !also || now == top || now > n {
		return false
	}
	c.kept = append(c.kept, b)
	return true
}

// namesWeights reports whether the precision key that b binds also sets the type of the weights, which the
// plan sets separately.
func (c *planner) namesWeights(b projects.Bound) bool {
	return b.Setting == "precision" && c.want.Get("weights") != nil &&
		slices.ContainsFunc(c.project.BindingsOf("weights"), func(w projects.Bound) bool { return w.File == b.File && w.Path.Equal(b.Path) })
}

// stagesKept adds notes about the stages that do not change, one for each setting.
func (c *planner) stagesKept() {
	places := map[string][]string{}
	for _, b := range c.kept {
		places[b.Setting] = append(places[b.Setting], b.Where())
	}
	for setting, at := range places {
		c.note("%s is not changed at %s, where it is smaller", setting, projects.Enumerate(at))
	}
}

// write plans the edit of one binding.
func (c *planner) write(b projects.Bound, v any) error {
	if phases, ok := b.Value.([]projects.Phase); ok {
		return c.schedule(b, phases, v)
	}
	if text, ok := v.(string); ok && b.Source.System.NoAutocast && b.Source.Link != nil {
		v = strings.TrimPrefix(text, "amp-") // the file that refers to this one sets autocast
	}
	file, err := c.spelled(b, v)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Where(), err)
	}
	if file == systems.Unchanged || reflect.DeepEqual(b.Value, v) && !b.Key.OverGPUs {
		return nil
	}
	if projects.IsComputed(b.Place.Value) {
		return fmt.Errorf("%s: %s is %s, which is computed at run time; write %v there yourself", b.Where(), b.Path, b.Text, file)
	}
	if err := c.oneMeaning(b, file); err != nil {
		return err
	}
	if err := whyFixed(b, file); err != nil {
		if c.valued(b, file) {
			c.edits = append(c.edits, plannedEdit{change.Edit{File: b.File, Path: b.Path, Value: file, Valued: true}, b.Source})
			return nil
		}
		return byHand(err, file)
	}
	c.edit(b, b.Path, file)
	return nil
}

// whyFixed returns an error if a value cannot be replaced in place, such as a flag without a value: a
// plan that includes it would fail when written.
func whyFixed(b projects.Bound, v any) error {
	for _, l := range b.Source.Tree.Layers {
		if l.File != b.File {
			continue
		}
		if _, err := l.Doc.Set(b.Path, v); errors.Is(err, doc.ErrFixed) {
			return err
		}
	}
	return nil
}

// edit adds an edit, with notes on the other users of the value.
func (c *planner) edit(b projects.Bound, p doc.Path, v any) {
	for _, other := range b.Source.Tree.Users(b.Place) {
		c.note("%s takes its value from %s and changes with it", other, b.Place.Path)
	}
	aliases, ok := c.aliases(b, p)
	for _, u := range aliases {
		if ok {
			c.note("%s:%d: %s takes its value from %s and changes with it", b.File, u.Line, u.Path, b.Place.Path)
		}
	}
	c.edits = append(c.edits, plannedEdit{change.Edit{File: b.File, Path: p, Value: v, Shared: ok && len(aliases) > 0}, b.Source})
}

// aliases returns the places that have the same value through a YAML alias, and whether they may change with
// it. They may not if one of them is another setting, or if the alias covers more than the value.
func (c *planner) aliases(b projects.Bound, p doc.Path) ([]doc.Reference, bool) {
	i := slices.IndexFunc(b.Source.Tree.Layers, func(l tree.Layer) bool { return l.File == b.File })
	if i < 0 {
		return nil, false
	}
	d := b.Source.Tree.Layers[i].Doc
	users := d.Users(p)
	for _, u := range users {
		v, err := d.Find(u.Path)
		passed := err == nil && v.Kind == doc.Map && d.Format() == doc.Python // the user is a call with the value as an argument
		if err != nil || v.Start != b.Place.Value.Start && !passed {
			return nil, false
		}
		if slices.ContainsFunc(c.project.Bound, func(o projects.Bound) bool {
			return o.File == b.File && o.Setting != b.Setting && o.Setting != "eval.batch" && o.Path.Equal(u.Path)
		}) {
			return nil, false
		}
	}
	return users, true
}

// Plan is a set of edits that changes settings.
type Plan struct {
	Edits   []change.Edit   // edits of existing files
	Creates []change.Create // copies of shared presets
	// Notes are for the user, on what was not changed and why, for example.
	Notes []string
}

// likeKinds reports whether two kinds of data parallelism belong to the same library.
func likeKinds(a, b any) bool {
	of := func(v any) setup.Dist { kind, _ := v.(string); return setup.Dist{Kind: kind} }
	x, y := of(a), of(b)
	return x.DeepSpeed() && y.DeepSpeed() || strings.HasPrefix(x.Kind, "fsdp2") && strings.HasPrefix(y.Kind, "fsdp2")
}
