// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// candidate is a value whose name suggests a setting.
type candidate struct {
	key   *systems.Key
	path  doc.Path
	value doc.Value
	rank  int
}

// hit is a value and the table key that its name matches.
type hit struct{ value, key int }

// candidates finds the values of a source that can only be recognized by their names. It returns none if no name in the
// source is specific enough.
func candidates(a *systems.System, t tree.Tree) []candidate {
	x, keys := t.Index(), a.Keys().All
	var out []candidate
	elsewhere := sync.OnceValue(func() map[int]bool { return passedElsewhere(x) })
	told, telling := false, slices.Concat(systems.DistinctiveSettings(), a.AlsoDistinctive)
	counts := inCommand(a, t)
	format := t.Layers[0].Doc.Format()
	programmed := format == doc.Python || format == doc.Shell // in other formats a short name alone could be for any data
	for _, h := range hits(a, t) {
		v := x.Values[h.value]
		if h.key < 0 {
			out = append(out, passedDeepSpeed(a, t, v.Path, v.Value)...)
			continue
		}
		k := &keys[h.key]
		if !counts(k, v.Path) {
			continue
		}
		if passedOver(around(v.Parts, k), format == doc.Python && k.Setting == "seq") && !strings.HasPrefix(k.Setting, "eval") || !fits(k, v.Value) {
			continue
		}
		if a.For != nil && !strings.Contains(k.Path, "zero_optimization") && inDeepSpeed(t, v.Path) {
			continue
		}
		if k.Short && !saysSetting(t, v) {
			continue
		}
		if isIdle(t, v, k) || k.Setting == "seq" && a.Commands != nil && isVariable(v.Path) && elsewhere()[v.Value.Start] {
			continue
		}
		rank := h.key*4 + section(v.Parts, v.Path)
		if IsComputed(v.Value) || format == doc.Python && k.Kind == systems.Whole && v.Value.Kind == doc.Null {
			rank += 4 * len(keys) // prefer candidates with a literal value
		}
		out = append(out, candidate{k, v.Path, v.Value, rank})
		told = told || slices.Contains(telling, k.Setting) && (!k.Short || programmed)
	}
	if !told {
		return nil
	}
	return out
}

// hits returns the values whose names end like a key, in file order and then table order. A DeepSpeed config
// that a script passes comes first, as key -1.
func hits(a *systems.System, t tree.Tree) []hit {
	table, x := a.Keys(), t.Index()
	out := renamedHits(table, t)
	for name, keys := range table.ByName {
		if t.Renamed[name] == doc.BF16 {
			continue // amp alone would be float16
		}
		for i, v := range x.Named(name) {
			for _, k := range keys {
				if endsIn(v.Parts, table.All[k].Path) {
					out = append(out, hit{i, k})
				}
			}
		}
	}
	if a.For != nil {
		for i := range x.Named(strings.TrimSuffix(systems.DeepSpeedPrefix, ".")) {
			out = append(out, hit{i, -1})
		}
	}
	slices.SortFunc(out, func(a, b hit) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.key, b.key)) })
	return out
}

// renamedHits returns the settings that the user's program has its own flag names for.
func renamedHits(table *systems.KeyTable, t tree.Tree) (out []hit) {
	for name, usual := range t.Renamed {
		if len(table.ByName[name]) > 0 && usual != doc.BF16 {
			continue // the name itself matches
		}
		for i, v := range t.Index().Named(name) {
			for _, k := range table.ByName[usual] {
				if table.All[k].Path == "**."+usual && isFlagOrField(v.Path) {
					out = append(out, hit{i, k})
				}
			}
		}
	}
	return out
}

// isFlagOrField reports whether a path names a flag, or a field of a class, which is a flag of the program that parses
// it.
func isFlagOrField(p doc.Path) bool {
	n := len(p)
	return n > 0 && strings.HasPrefix(p[n-1], "-") || n > 1 && p[n-2] != "" && unicode.IsUpper(rune(p[n-2][0]))
}

// endsIn reports whether a name ends with a pattern's steps.
func endsIn(parts []string, pattern string) bool {
	pattern = strings.TrimPrefix(pattern, "**.")
	for i := len(parts) - 1; i >= 0; i-- {
		rest, ok := strings.CutSuffix(pattern, parts[i])
		if !ok || rest != "" && rest[len(rest)-1] != '.' {
			return false
		}
		if rest == "" {
			return true
		}
		pattern = rest[:len(rest)-1]
	}
	return false
}

// passedElsewhere returns the variables of a shell script, by value position, that are passed to flags unrelated to
// sequence length, such as BLOCK_SIZE in --boft_block_size $BLOCK_SIZE.
func passedElsewhere(x *tree.Index) map[int]bool {
	out := map[int]bool{}
	for _, v := range x.Values {
		if v.Value.Via == nil || len(v.Path) == 0 || !strings.HasPrefix(v.Path[0], "-") {
			continue
		}
		length := systems.TopicOf(v.Parts[len(v.Parts)-1]) == systems.OfLength
		if before, there := out[v.Value.Start]; !there || before {
			out[v.Value.Start] = !length
		}
	}
	return out
}

// isVariable reports whether a path in a shell script names a variable rather than a flag.
func isVariable(p doc.Path) bool { return len(p) == 1 && !strings.HasPrefix(p[0], "-") }

// around returns the sections that a value is in, without the words of its key: gradient_clip_val is not about
// validation.
func around(parts []string, k *systems.Key) []string {
	own := 1 + strings.Count(strings.TrimPrefix(k.Path, "**."), ".")
	return parts[:len(parts)-own]
}

// passedOver reports whether a value belongs to something other than training, such as evaluation. The length in a program's
// own function tokenize is that of its samples.
func passedOver(parts []string, lengthInCode bool) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.ContainsFunc(strings.Split(part, "_"), func(w string) bool {
			switch w {
			case "eval", "val", "valid", "validation", "test", "testing", "infer", "inference", "predict", "generation", "serve":
				return true
			case "tokenize":
				return !lengthInCode
			}
			return false
		})
	})
}

// section returns the rank of a value by its section: sections for training data come first, and flags
// before the variables that they use.
func section(parts []string, p doc.Path) int {
	if len(p) == 1 && strings.HasPrefix(p[0], "-") {
		return 0
	}
	for _, part := range parts[:len(parts)-1] {
		if strings.HasPrefix(part, "train") || strings.HasPrefix(part, "data") || strings.Contains(part, "loader") {
			return 1
		}
	}
	return 2
}

// fits reports whether a key can have this value. An optimizer may be a section that contains its name.
func fits(k *systems.Key, v doc.Value) bool {
	if _, number := systems.AsNumber(v); k.Short && !number && !IsComputed(v) {
		return false
	}
	switch v.Kind {
	case doc.Map:
		return k.Kind == systems.Schedule || IsComputed(v) && k.Setting != "optimizer"
	case doc.List:
		return k.Kind == systems.Whole || k.Kind == systems.Names
	}
	if k.Kind == systems.Link && len(k.Endings) > 0 {
		text, _ := v.Data.(string)
		return slices.Contains(k.Endings, path.Ext(text))
	}
	if k.Setting == "lora" && k.IsCommonName() && v.Kind == doc.Text {
		_, ok := systems.AsBool(v)
		return ok // lora may also be an adapter's folder
	}
	return k.Kind != systems.Schedule
}
