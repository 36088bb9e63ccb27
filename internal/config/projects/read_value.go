// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// Auto is the value of a setting that a file leaves to another program: DeepSpeed takes "auto" values from
// TrainingArguments; Composer and Ultralytics find a batch themselves. snug never overwrites it.
const Auto = "auto"

// requiredLater is the placeholder of Hydra and OmegaConf for values that the command line must provide.
const requiredLater = "???"

// Phase is one phase of an accumulation schedule: the number of forward passes per optimizer step from an
// epoch on.
type Phase struct {
	From  int // the first epoch of the phase
	Count int // forward passes per optimizer step
}

// isPlaceholder reports whether a value only shows where users write their own: ..., <batch size>, TO_BE_FILLED.
func isPlaceholder(text string) bool {
	word := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(text))
	switch word {
	case "tobefilled", "fillme", "todo", "changeme":
		return true
	}
	return len(text) > 1 && (strings.Trim(text, ".") == "" || text[0] == '<' && text[len(text)-1] == '>')
}

// valueReader reads the values of a key.
type valueReader struct{ *systems.Key }

// read converts a value to a setup's terms: an int, float64, bool, string, []string, []Phase or
// map[string]any. It returns nil if the value has no effect.
func (k valueReader) read(t tree.Tree, at tree.Place) (any, error) {
	v := at.Value
	if v.Kind == doc.Null && k.Kind != systems.Word || at.Computed != "" {
		return nil, nil
	}
	if text, is := v.Data.(string); v.Data == requiredLater || is && isPlaceholder(text) && k.Kind != systems.Word && k.Kind != systems.Present {
		return nil, nil
	}
	if text, ok := v.Data.(string); ok && strings.EqualFold(text, "auto") && k.Kind != systems.Word && k.Kind != systems.Present {
		return Auto, nil
	}
	if IsComputed(v) && k.Kind != systems.Present && k.Kind != systems.Schedule {
		return k.readType(v), nil
	}
	if IsMade(v) && k.Kind != systems.Object && k.Kind != systems.Present && k.Kind != systems.Schedule {
		return nil, nil
	}
	switch k.Kind {
	case systems.Whole:
		return k.readWhole(t, at)
	case systems.Number, systems.Above0:
		f, ok := systems.AsNumber(v)
		if !ok {
			return nil, k.wrong(at)
		}
		if k.Kind == systems.Above0 && k.Means == "" {
			return f > 0, nil
		}
		if k.Kind == systems.Above0 {
			return map[bool]string{true: k.Means, false: ""}[f > 0], nil
		}
		return f, nil
	case systems.Above1, systems.Present:
		return k.readOn(at), nil
	case systems.Switch:
		return k.readSwitch(at)
	case systems.Word:
		return k.readWord(t, at)
	case systems.Names:
		return k.readNames(t, at)
	case systems.Schedule:
		return k.readSchedule(t, at)
	case systems.Object:
		return object(t, at)
	case systems.Slots:
		return slots(v), nil
	}
	text, ok := v.Data.(string)
	switch {
	case !ok && k.Kind == systems.Link && v.Kind == doc.Bool:
		return nil, nil // --deepspeed alone turns it on, and another flag names the file
	case !ok:
		return nil, k.wrong(at)
	case k.Setting == "model" && (strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml")):
		return nil, nil // Hydra's --config-name names a config; in transformers' programs it names a model
	}
	return text, nil
}

// slots returns the number of GPUs in an argument of DeepSpeed's launcher: localhost:0,1@other:0 is three. It returns nil
// for anything else, because other programs have the same flag, and for a host without numbers, which uses all its GPUs.
func slots(v doc.Value) any {
	text, _ := v.Data.(string)
	count := 0
	for host := range strings.SplitSeq(text, "@") {
		_, numbers, named := strings.Cut(host, ":")
		if !named || strings.Trim(numbers, "0123456789,") != "" {
			return nil
		}
		count += len(strings.FieldsFunc(numbers, func(r rune) bool { return r == ',' }))
	}
	if count == 0 {
		return nil
	}
	return count
}

// Read converts a value of a key to a setup's terms.
func Read(k *systems.Key, t tree.Tree, at tree.Place) (any, error) { return valueReader{k}.read(t, at) }

// IsComputed reports whether a value is computed at run time: an expression or a call.
func IsComputed(v doc.Value) bool {
	return v.Kind == doc.Expression || v.Kind == doc.Map && isCall(v.Text)
}

// IsMade reports whether a value is a section from which a program creates an object, with the class or function that
// _target_ names.
func IsMade(v doc.Value) bool { return v.Kind == doc.Map && slices.Contains(v.Keys, "_target_") }

// isCall reports whether text is a call in a program: name(…) or a.b.name(…).
func isCall(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case i > 0 && c == '(':
			return true
		case i == 0 && c >= '0' && c <= '9', !isWordByte(c) && (i == 0 || c != '.'):
			return false
		}
	}
	return false
}

// isDottedName reports whether text is name or a.b.name.
func isDottedName(text string) bool {
	for step := range strings.SplitSeq(text, ".") {
		if step == "" || step[0] >= '0' && step[0] <= '9' || strings.ContainsFunc(step, func(r rune) bool { return r >= 0x80 || !isWordByte(byte(r)) }) {
			return false
		}
	}
	return true
}

// readType reads a type in a program, such as torch.bfloat16; any other expression is unknown.
func (k valueReader) readType(v doc.Value) any {
	name, typed := strings.CutPrefix(v.Text, "torch.")
	if means, known := systems.Meaning(k.Words, name); typed && known {
		return means
	}
	if means, known := k.Understand(v.Text); known && k.Kind == systems.Word && k.Setting == "optimizer" {
		return means // the value is the optimizer's class
	}
	return nil
}

// wrong returns the error that the value is of the wrong kind.
func (k valueReader) wrong(at tree.Place) error {
	return fmt.Errorf("%s:%d:%d: %s is %s, but %s is expected (%s)",
		at.File, at.Value.Line, at.Value.Column, at.Path, article(string(at.Value.Kind)), article(string(k.Kind)), k.Setting)
}

// article returns the name of a kind with its article, if it needs one.
func article(kind string) string {
	switch {
	case kind == string(doc.Null), kind == string(systems.Present), kind == string(systems.Switch):
		return kind
	case strings.ContainsRune("aeio", rune(kind[0])):
		return "an " + kind
	}
	return "a " + kind
}

func (k valueReader) readWhole(t tree.Tree, at tree.Place) (any, error) {
	switch at.Value.Kind {
	case doc.Map:
		if k.Setting == "accumulation" {
			return k.readSchedule(t, at)
		}
	case doc.List:
		if k.Setting == "dist.world" { // devices: [0, 1]
			return at.Value.Len, nil
		}
	}
	f, ok := systems.AsNumber(at.Value)
	_, word := at.Value.Data.(string)
	switch {
	case !ok && word && k.Setting == "dist.world": // --nproc_per_node gpu
		return Auto, nil
	case !ok:
		return nil, k.wrong(at)
	case f < 0 || f > 0 && f < 1 || f == 0 && k.Setting == "seq": // -1, fractions and no limit: the system chooses
		return Auto, nil
	case f != math.Trunc(f) || f > 1<<40:
		return nil, fmt.Errorf("%s:%d:%d: %s is %s; a whole number is expected (%s)", at.File, at.Value.Line, at.Value.Column, at.Path, at.Value.Text, k.Setting)
	}
	return int(f), nil
}

func (k valueReader) readSwitch(at tree.Place) (any, error) {
	on, ok := systems.AsBool(at.Value)
	text, is := at.Value.Data.(string)
	if !ok && is {
		means, known := k.Understand(text) // a word that names a method also turns the switch on
		on, ok = means == "true", known
		if !ok && strings.HasSuffix(text, ".py") { // the program after a launcher's last flag: --use_deepspeed train.py
			on, ok = true, true
		}
	}
	switch {
	case !ok && is && k.Setting == "checkpointing": // one_in_four
		return unknownWord{text}, nil
	case !ok && is && k.Setting == "noted": // --compile default: the word is a mode
		return k.Means, nil
	case !ok:
		return nil, k.wrong(at)
	case k.Means != "" && on != k.Inverted:
		return k.Means, nil
	case k.Means != "":
		return "", nil
	}
	return on != k.Inverted, nil
}
