// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"snug/internal/config/configtest"
	"snug/internal/config/doc"
	"snug/internal/config/edits"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/shadow/train"
)

// TestChangeIsRead draws a fixture and settings for it, and checks that any plan that Change returns can be
// applied and the new values are read back.
func TestChangeIsRead(t *testing.T) {
	names, err := filepath.Glob("testdata/adapters/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			ar, err := txtar.ParseFile(rapid.SampledFrom(names).Draw(t, "fixture"))
			if err != nil {
				t.Fatal(err)
			}
			parseCase(ar).changeIsRead(t)
		}
	})
}

func (c *fixture) changeIsRead(t *rapid.T) {
	p, err := Open(c.files, ".", c.main...)
	if err != nil {
		t.Fatal(err)
	}
	want := drawSettings(t)
	plan, err := p.Change(configtest.Values(want))
	if err != nil {
		return // refused as a whole; the errors have their own tests
	}
	after, err := configtest.Applied(c.files, plan.Edits, plan.Creates)
	if err != nil {
		t.Fatalf("set %v: %v", want, err)
	}
	q, err := Open(after, ".", c.main...)
	if err != nil {
		t.Fatalf("set %v: %v", want, err)
	}
	ownWords(t, p, plan)
	for setting, v := range want {
		got := q.Value(setting)
		if setting == "accumulation" {
			got = q.Accumulation()
		}
		if got == nil {
			got = q.DefaultValue(setting)
		}
		if got != v {
			t.Fatalf("set %v: %s reads %v\n%s", want, setting, got, lineDiff(c.files, after))
		}
	}
}

// ownWords checks that the system accepts every word that a plan writes. snug also reads words that some
// systems do not accept.
func ownWords(t interface{ Fatalf(string, ...any) }, p *Project, plan edits.Plan) {
	for _, e := range plan.Edits {
		text, ok := e.Value.(string)
		if !ok {
			continue
		}
		if text == "null" { // of a flag; in a config it is no string
			text = ""
		}
		if !slices.ContainsFunc(keysAt(p, e.File, e.Path), func(k *systems.Key) bool {
			_, own := systems.Meaning(k.Words, text)
			return own || k.Kind != systems.Word
		}) {
			t.Fatalf("%s: %s is written, but no key of that system accepts it", e.Path, text)
		}
	}
}

// keysAt returns the writable keys that the tables have for a path.
func keysAt(p *Project, file string, at doc.Path) []*systems.Key {
	var out []*systems.Key
	for _, b := range p.Bound {
		if b.File == file && b.Path.Equal(at) && (slices.Contains(systems.SettingNames(), b.Setting) || b.Setting == "optimizer.kernel" || b.Setting == "link") {
			out = append(out, b.Key)
		}
	}
	if p.Primary == nil { // everything is bound in snug.yaml
		return out
	}
	keys := p.Primary.System.Keys().All
	if arguments := p.Primary.System.Arguments; arguments != nil {
		keys, at = arguments(), at[len(at)-1:]
	}
	if p.Primary.System.Commands != nil { // a flag of the trainer
		keys = slices.Concat(keys, p.Primary.Trainer().Keys().All)
		at = doc.Path{strings.TrimPrefix(at[0], "--")}
	}
	for i := range keys {
		k := &keys[i]
		if (k.Path == at.String() || k.Path == "**."+at[len(at)-1]) && slices.Contains(systems.SettingNames(), k.Setting) {
			out = append(out, k)
		}
		if k.Beside != nil && projects.PathBeside(strings.Split(k.Path, "."), k.Beside).Equal(at) {
			out = append(out, k.Beside)
		}
	}
	return out
}

// drawSettings draws values for a few settings.
func drawSettings(t *rapid.T) map[string]any {
	draws := map[string]*rapid.Generator[any]{
		"batch": asAny(rapid.IntRange(1, 64)), "accumulation": asAny(rapid.IntRange(1, 64)), "seq": asAny(rapid.IntRange(1, 8192)),
		"positives": asAny(rapid.IntRange(1, 64)), "negatives": asAny(rapid.IntRange(1, 64)), "workers": asAny(rapid.IntRange(0, 16)),
		"checkpointing": asAny(rapid.Bool()), "precision": asAny(rapid.SampledFrom([]string{"fp32", "amp-bf16", "amp-fp16", "bf16", "fp16"})),
		"optimizer": asAny(rapid.SampledFrom(train.OptimizerNames())), "lora.rank": asAny(rapid.IntRange(1, 128)),
	}
	names := slices.Sorted(maps.Keys(draws))
	want := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "settings") {
		want[name] = draws[name].Draw(t, name)
	}
	return want
}

func asAny[T any](g *rapid.Generator[T]) *rapid.Generator[any] {
	return rapid.Map(g, func(v T) any { return v })
}

// FuzzOpen opens arbitrary bytes as a project. The result is an error or a project, and every plan can be
// applied or is refused with a reason.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/adapters/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if !slices.Contains(outputs, file.Name) {
				f.Add(filepath.Base(file.Name), file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if _, ok := doc.FormatOf(name, data); !ok || !validName(name) {
			t.Skip()
		}
		files := fstest.MapFS{name: &fstest.MapFile{Data: data}}
		p, err := Open(files, ".")
		if err != nil {
			return
		}
		p.Warnings(p.Fields())
		p.Missing()
		p.Spell("weights", "fp32")
		if q, err := p.With(configtest.Values(map[string]any{"precision": "amp-fp16", "weights": "fp32"})); err == nil {
			q.Fields()
		}
		plan, err := p.Change(configtest.Values(map[string]any{"batch": 3, "accumulation": 5, "precision": "amp-bf16"}))
		if err == nil {
			_, _ = configtest.Applied(files, plan.Edits, plan.Creates)
		}
		for _, name := range train.OptimizerNames() {
			if plan, err := p.Change(configtest.Values(map[string]any{"optimizer": name})); err == nil {
				ownWords(t, p, plan)
			}
		}
	})
}

func validName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\\x00") && name != "." && name != ".."
}
