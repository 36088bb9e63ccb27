// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// Every system has more keys than its table, and a custom file can have any keys. If a key's name suggests adapters,
// bits, a length or the like but no setting is read from it, a note reports what is counted instead.

// unreadKeys are the keys of one source about one topic that were not read.
type unreadKeys struct {
	topic systems.Topic
	keys  []tree.Value
}

// unread lists the keys that look as if they affect memory but are not read. run is the setup that is counted.
func (r *Run) unread(run map[string]any) []string {
	var out []string
	for _, s := range r.SourcesRead() {
		for _, u := range r.unreadIn(s, run) {
			out = append(out, u.note(s, run))
		}
	}
	return append(out, r.idleRank(run)...)
}

// idleRank returns the note that a file sets a rank but no key turns adapters on.
func (r *Run) idleRank(run map[string]any) []string {
	ranks := r.BindingsOf("lora.rank")
	if run["lora"] != nil || len(ranks) == 0 || slices.ContainsFunc(r.BindingsOf("lora"), func(b projects.Bound) bool { return b.Place.Value.Kind != doc.Null }) {
		return nil
	}
	for _, k := range r.Trainer().ForSetting("lora") {
		needs := "is on"
		if k.Kind == systems.Word {
			needs = "names them"
		}
		if offUnlessSet(k) {
			return []string{fmt.Sprintf("%s: %s has no effect in %s unless %s %s, so no adapters are counted", ranks[0].Where(), ranks[0].Path, r.Trainer().Title, k.Path, needs)}
		}
	}
	return nil
}

// offUnlessSet reports whether a key turns something on that is off by default.
func offUnlessSet(k *systems.Key) bool {
	if k.Kind == systems.Word && k.Default == "" {
		means, known := k.Understand("")
		return known && means == "false"
	}
	return projects.Default(k, 1) == false
}

// unreadIn returns the unread keys of a source, by topic, in file order.
func (r *Run) unreadIn(s *projects.Source, run map[string]any) []unreadKeys {
	var out []unreadKeys
	at := map[systems.Topic]int{}
	read := r.readPaths(s)
	under := ""
	for _, v := range s.OwnValues() {
		p := v.Path.String()
		if under != "" && strings.HasPrefix(p, under) {
			continue
		}
		topic := topicOf(v)
		if topic == systems.OfAdapters && run["lora"] != nil && systems.NamesBits(textOf(v)) {
			topic = systems.OfBits // the adapters are counted
		}
		if topic == systems.OfLength && run["model"] == nil && run["loop"] != nil {
			continue // a script that builds its own model reads its sizes itself, and is followed
		}
		if topic == "" || read[p] || r.Removed(s, p) || !r.deviates(topic, v, run) || r.isNoted(v.Parts[len(v.Parts)-1]) {
			continue
		}
		if v.Value.Kind == doc.Map {
			under = p + "."
		}
		if i, there := at[topic]; there {
			out[i].keys = append(out[i].keys, v)
			continue
		}
		at[topic] = len(out)
		out = append(out, unreadKeys{topic, []tree.Value{v}})
	}
	return out
}

// isNoted reports whether another note is about the same thing as a key.
func (r *Run) isNoted(key string) bool {
	return slices.ContainsFunc(r.BindingsOf("noted"), func(b projects.Bound) bool {
		does, _ := b.Value.(string)
		return does != "" && systems.SharesTopic(asWritten(b), key)
	})
}

// readPaths returns the paths in a source that settings are read from, and the sections around them.
func (r *Run) readPaths(s *projects.Source) map[string]bool {
	out := map[string]bool{}
	for _, b := range r.Bound {
		if b.Source.File != s.File {
			continue
		}
		for n := range b.Place.At {
			out[b.Place.At[:n+1].String()] = true
		}
	}
	return out
}

// topicOf returns what a value is about.
func topicOf(v tree.Value) systems.Topic {
	key := v.Parts[len(v.Parts)-1]
	if _, err := strconv.Atoi(key); err == nil {
		return "" // an item of a list
	}
	if topic := systems.TopicOfTuner(key, textOf(v)); topic != "" {
		return topic
	}
	return systems.TopicOf(key)
}

// deviates reports whether a key about a topic may make the run differ from what is counted.
func (r *Run) deviates(topic systems.Topic, v tree.Value, run map[string]any) bool {
	if !isOn(v.Value) {
		return false
	}
	key := v.Parts[len(v.Parts)-1]
	n, number := systems.AsNumber(v.Value)
	switch topic {
	case systems.OfLength:
		return number && n > 1 && run["seq"] != n && run["lengths"] == nil
	case systems.OfAdapters:
		if run["lora"] != nil {
			return systems.ChangesAdapters(key)
		}
		return len(r.BindingsOf("lora")) == 0
	case systems.OfBits:
		return run["quantization"] == nil && len(r.BindingsOf("quantized")) == 0
	case systems.OfFrozen:
		return run["lora"] == nil || systems.ChangesAdapters(key)
	case systems.OfAttention:
		return len(r.BindingsOf("attention")) == 0 && !number
	}
	return !number || n > 1
}

// note returns the note on the unread keys of a topic.
func (u unreadKeys) note(s *projects.Source, run map[string]any) string {
	first := u.keys[0]
	what, are := first.Path.String(), "is"
	if text := shortened(strings.Trim(first.Value.Text, `"'`)); len(u.keys) == 1 && first.Value.Kind != doc.Map && first.Value.Kind != doc.List && text != what {
		what += " " + text
	}
	if more := len(u.keys) - 1; more > 0 {
		are = "are"
		var names []string
		for _, k := range u.keys {
			names = append(names, k.Path.String())
		}
		what = projects.Enumerate(names)
	}
	return fmt.Sprintf("%s:%d: %s %s not read; %s", s.File, first.Value.Line, what, are, counted(u.topic, run, len(u.keys) > 1))
}

// counted returns what is counted for a topic.
func counted(topic systems.Topic, run map[string]any, several bool) string {
	lora, _ := run["lora"].(map[string]any)
	switch topic {
	case systems.OfAdapters:
		if lora == nil {
			return "no adapters are counted; give --lora-rank N if there are any"
		}
		return "adapters are counted without it"
	case systems.OfBits:
		return "weights are counted as unquantized"
	case systems.OfLength:
		if n, ok := run["seq"].(float64); ok {
			return fmt.Sprintf("%.0f tokens per sample are assumed; set the number with --seq", n)
		}
		return "give the tokens per sample with --seq"
	case systems.OfFrozen:
		if lora != nil {
			return "only the adapters are counted as trained"
		}
		return "all weights are counted as trained"
	case systems.OfAttention:
		kind, _ := run["attention"].(string)
		if kind == "" {
			kind = "sdpa"
		}
		return kind + " attention is assumed; choose another with --attention"
	}
	if several {
		return "their effect on memory is not counted"
	}
	return "its effect on memory is not counted"
}
