// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"strconv"
	"strings"

	"snug/internal/pysrc"
	"snug/internal/spelling"
)

// parser is an argparse.ArgumentParser: its defaults, and the values from the command line. HfArgumentParser is
// in hf_parser.go.
type parser struct {
	options []option
	others  bool // accepts unknown options
}

type option struct {
	flags []string
	dest  string
	value value  // default value
	on    value  // value of a flag without an argument
	kind  string // "int", "float", "str", or "" if unknown
	make  value  // the script's own function that makes the value from the text; nil if there is none
	bare  bool   // takes no argument
	at    pysrc.Pos
	// choices are the allowed values; nil allows any.
	choices value
}

func registerParsers() {
	natives["argparse.ArgumentParser"] = func(*interpreter, arguments) value { return &parser{} }
	natives["argparse.Namespace"] = natives["types.SimpleNamespace"]
	natives["dataclasses.field"] = dataclassField
	natives["transformers.HfArgumentParser"] = newHfParser
}

// dataclassField implements field(default=…, default_factory=…).
func dataclassField(in *interpreter, a arguments) value {
	if v, ok := a.get(-1, "default"); ok {
		return hold(v)
	}
	if f, ok := a.get(-1, "default_factory"); ok {
		return in.invoke(f, arguments{})
	}
	return unknown{}
}

func (p *parser) call(in *interpreter, name string, a arguments) value {
	switch name {
	case "add_argument":
		p.add(in, a)
	case "add_argument_group", "add_mutually_exclusive_group":
		return p
	case "set_defaults":
		for i, n := range a.names {
			p.options = append(p.options, option{dest: n, value: a.named[i]})
		}
	case "parse_args":
		return p.parse(in, in.Args)
	case "parse_known_args":
		p.others = true
		return tupleOf(p.parse(in, in.Args), &list{})
	}
	return nil
}

func (p *parser) add(in *interpreter, a arguments) {
	o := option{at: in.at, choices: hold(a.or(-1, "choices", nil)), value: hold(a.or(-1, "default", nil))}
	for _, v := range a.pos {
		if s, ok := v.(string); ok {
			o.flags = append(o.flags, s)
		}
	}
	if len(o.flags) == 0 {
		return
	}
	o.dest = strings.ReplaceAll(strings.TrimLeft(longest(o.flags), "-"), "-", "_")
	if d, ok := a.or(-1, "dest", nil).(string); ok {
		o.dest = d
	}
	if t, ok := a.or(-1, "type", nil).(namespace); ok {
		o.kind = strings.TrimPrefix(string(t), "builtins.")
	}
	switch f := a.or(-1, "type", nil).(type) {
	case *function, *method, *partial:
		o.make = hold(f)
	}
	if a.or(-1, "action", nil) == namespace("argparse.BooleanOptionalAction") {
		o.bare, o.on = true, true
		no := option{flags: []string{"--no-" + strings.TrimPrefix(longest(o.flags), "--")}, dest: o.dest, value: o.value, bare: true, on: false}
		p.options = append(p.options, no)
	}
	switch action, _ := a.or(-1, "action", "").(string); action {
	case "store_true":
		o.bare, o.on = true, true
		if o.value == nil {
			o.value = false
		}
	case "store_false":
		o.bare, o.on = true, false
		if o.value == nil {
			o.value = true
		}
	case "store_const":
		o.bare, o.on = true, hold(a.or(-1, "const", nil))
	}
	if required, _ := a.or(-1, "required", false).(bool); required {
		o.value = unknown{}
	}
	p.options = append(p.options, o)
}

func longest(flags []string) string {
	out := flags[0]
	for _, f := range flags {
		if strings.HasPrefix(f, "--") {
			return f
		}
	}
	return out
}

// parse implements parse_args for the script's command line.
func (p *parser) parse(in *interpreter, args []string) value {
	d := &dict{record: true, open: true}
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		flag, text, joined := strings.Cut(args[i], "=")
		in.known(p, flag)
		for _, o := range p.options {
			if !has(o.flags, flag) {
				continue
			}
			given[o.dest] = flag
			switch {
			case o.bare:
				d.set(o.dest, o.on)
			case joined:
				d.set(o.dest, in.typed(o, flag, text))
			case i+1 < len(args):
				i++
				d.set(o.dest, in.typed(o, flag, args[i]))
			default:
				in.fail("the script's option %s needs a value", flag)
			}
		}
	}
	for _, o := range p.options {
		in.settle(d, o, given[o.dest])
	}
	return d
}

// settle sets an argument of the script to its default if it is not on the command line. The batch size and the
// length come from the setup.
func (in *interpreter) settle(d *dict, o option, flag string) {
	v, where := o.value, fmt.Sprintf("%s:%d", in.File.Path, o.at.Line)
	if text, isText := v.(string); isText && flag == "" && o.make != nil { // a default that is a text is converted too
		v = in.invoke(o.make, arguments{pos: []value{text}})
	}
	if flag != "" {
		v, _ = d.get(o.dest)
		where = flag + " of " + in.File.Path
	}
	in.sawSize(o.dest, v, where)
	d.set(o.dest, hold(in.switchOf(o.dest, in.sizeOfArgument(o.dest, v, flag != ""))))
}

// known fails if the script's parser does not define a command-line option.
func (in *interpreter) known(p *parser, flag string) {
	if !strings.HasPrefix(flag, "--") || p.others {
		return
	}
	for _, o := range p.options {
		if has(o.flags, flag) {
			return
		}
	}
	var flags []string
	for _, o := range p.options {
		flags = append(flags, o.flags...)
	}
	meant := ""
	if near := spelling.Nearest(flag, flags); near != "" {
		meant = "; did you mean " + near + "?"
	}
	path, at := in.where()
	panic(failure{path: path, at: at, text: fmt.Sprintf("the script has no option %s%s", flag, meant), option: true})
}

func has(flags []string, flag string) bool {
	for _, f := range flags {
		if f == flag {
			return true
		}
	}
	return false
}

// typed converts the text of an argument to its type. Like the script, it stops if the text is invalid.
func (in *interpreter) typed(o option, flag, text string) value {
	if o.make != nil {
		return in.invoke(o.make, arguments{pos: []value{text}})
	}
	kind := o.kind
	if kind == "" {
		switch o.value.(type) {
		case int:
			kind = "int"
		case float64:
			kind = "float"
		}
	}
	switch kind {
	case "int":
		if n, err := strconv.Atoi(strings.ReplaceAll(text, "_", "")); err == nil {
			return n
		}
		if o.kind == "int" {
			in.fail("the script's option %s is %q, which is not a whole number", flag, text)
		}
	case "float":
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
		if o.kind == "float" {
			in.fail("the script's option %s is %q, which is not a number", flag, text)
		}
	}
	return in.chosen(o, flag, text)
}

// chosen checks text against the choices of its option.
func (in *interpreter) chosen(o option, flag, text string) value {
	l, ok := o.choices.(*list)
	if !ok || o.kind != "" && o.kind != "str" {
		return text
	}
	var known []string
	for _, c := range l.items {
		s, isText := c.(string)
		if !isText || s == text {
			return text
		}
		known = append(known, s)
	}
	in.fail("the script's option %s is %q, which is not one of %s", flag, text, strings.Join(known, ", "))
	return nil
}

// commandLine returns sys.argv.
func (in *interpreter) commandLine() value {
	l := &list{items: []value{in.File.Path}}
	for _, a := range in.Args {
		l.items = append(l.items, a)
	}
	return l
}
