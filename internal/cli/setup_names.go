// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"snug/internal/config"
	"snug/internal/setup"
)

// A setup comes from flags, from a file, or from both. An error about a field names the flag if a flag set
// it, and otherwise the field with its position in the file.

// origin is where the fields of one setup were read.
type origin struct {
	flags map[string]string // the fields set by flags, with the flags
	under map[string]any    // the fields of a file before flags were applied; nil if there is no file
	place string            // position of the whole setup: file, or file:line
	lines map[string]string
	spell func(field string, value any) string // returns a field as the files would write it; nil if there are no files
}

// modelFlags are the flags for a model, which set more than one field.
var modelFlags = map[string]string{"model": "model", "model.name": "model", "model.profile": "model", "model.config": "config"}

// questionFlags are flags about what to compute for a run, not about the run itself.
var questionFlags = map[string]string{
	"lock": "lock", "allow": "allow", "goal": "goal", "margin": "margin", "target": "target-effective-batch", "at": "at",
}

// flagOf returns the flag that sets a field, or "".
func flagOf(field string) string {
	return cmp.Or(setup.FlagOf(field), modelFlags[field])
}

// flagSaying returns how a field is set on the command line, such as --batch 8, or "".
func flagSaying(field, value string) string {
	for x, flag := range settingFlags() {
		if x.Name == field && flag.Means != nil && fmt.Sprint(flag.Means) == value {
			return "--" + flag.Name
		}
	}
	if flag := flagOf(field); flag != "" {
		return "--" + flag + " " + value
	}
	return ""
}

// name returns the user's name for a field. A missing field has the name of its flag if only flags were given,
// or if flags created the object that it belongs to.
func (o origin) name(field string) string {
	field, value, assigned := strings.Cut(field, "=")
	if assigned {
		return o.assigned(field, value)
	}
	if asks := questionFlags[field]; asks != "" {
		return "--" + asks
	}
	if field == "loop" && o.spell != nil { // a project's files have no key for it
		return "--loop"
	}
	flag := cmp.Or(o.flags[field], flagOf(field))
	outer, _, nested := strings.Cut(field, ".")
	isProject := o.spell != nil
	if flag != "" && (o.flags[field] != "" || o.under == nil || (nested || isProject && outer != "model") && o.under[outer] == nil) {
		return "--" + flag
	}
	return field
}

// assigned returns how the user sets a field: in the run's file if that has a key for it and no flag
// overrides it, otherwise by its flag or name.
func (o origin) assigned(field, value string) string {
	if o.spell != nil && o.flags[field] == "" {
		if text := o.spell(field, value); text != "" {
			return text
		}
	}
	if flag := flagSaying(field, value); flag != "" && (o.spell != nil || o.under == nil || o.flags[field] != "") {
		return flag
	}
	return field + " " + value
}

// text returns an error with the user's names for fields.
func (o origin) text(err error) string {
	var field *setup.FieldError
	if errors.As(err, &field) && field.Error() == err.Error() {
		return oneLine(field.Named(o.name))
	}
	return oneLine(err.Error())
}

// located returns an error's text with the file position that it refers to. Text that begins with a flag does not
// refer to a file.
func (o origin) located(err error) string {
	text, place := o.text(err), o.place
	var field *setup.FieldError
	if errors.As(err, &field) && o.lines[field.Field] != "" {
		place = o.lines[field.Field]
	}
	if o.spell != nil && field != nil && field.Field == "model.name" && o.flags["model.name"] == "" {
		text += fmt.Sprintf("; to use a model of the same shape: --config-path %s --model NAME", o.place) // with --model alone, the file would not be used
	}
	var l lacking // this error contains its position
	if place == "" || errors.As(err, &l) || strings.HasPrefix(text, "--") || strings.HasPrefix(text, place+":") {
		return text
	}
	return place + ": " + text
}

// given returns the fields set by flags.
func (f *setupFlags) given() map[string]string {
	out := map[string]string{}
	put := func(field, flag string) {
		if f.flags.Changed(flag) {
			out[field] = flag
		}
	}
	for x, flag := range settingFlags() {
		if f.means(flag) {
			put(x.Name, flag.Name)
		}
	}
	for field, flag := range modelFlags {
		put(field, flag)
	}
	return out
}

// fromProject returns the origin of fields that were read from the config files of a folder.
func fromProject(p *config.Project) origin {
	file, _ := p.Main()
	o := origin{under: p.Fields(), place: file, lines: map[string]string{}, spell: p.Suggest}
	if at := p.QuantizedAt(); at != "" {
		o.lines["quantization.bits"] = at
	}
	decided := map[string]bool{}
	for _, b := range p.Bindings {
		field := b.Setting
		if field == "model" {
			field = "model.name"
		}
		if says := b.Value != ""; o.lines[field] == "" || says && !decided[field] { // fp16: true wins over bf16: false
			o.lines[field], decided[field] = fmt.Sprintf("%s:%d", b.File, b.Line), says
		}
	}
	return o
}
