// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strconv"
	"strings"
)

// parser is an argparse.ArgumentParser: its defaults, and the values that the command line gives.
// HfArgumentParser is in hf_parser.go.
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
	bare  bool   // takes no argument
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
		p.add(a)
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

func (p *parser) add(a arguments) {
	o := option{value: hold(a.or(-1, "default", nil))}
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
	for _, o := range p.options {
		d.set(o.dest, in.sizeNamed(o.dest, hold(o.value)))
	}
	for i := 0; i < len(args); i++ {
		flag, given, joined := strings.Cut(args[i], "=")
		in.known(p, flag)
		for _, o := range p.options {
			if !has(o.flags, flag) {
				continue
			}
			switch {
			case o.bare:
				d.set(o.dest, o.on)
			case joined:
				d.set(o.dest, typed(o, given))
			case i+1 < len(args):
				i++
				d.set(o.dest, typed(o, args[i]))
			}
		}
	}
	return d
}

// known fails if the script's parser does not have an option of the command line.
func (in *interpreter) known(p *parser, flag string) {
	if !strings.HasPrefix(flag, "--") || p.others {
		return
	}
	for _, o := range p.options {
		if has(o.flags, flag) {
			return
		}
	}
	in.fail("the script has no option %s", flag)
}

// sizeNamed returns the value of an argument that the command line does not give. For the batch size and the
// length this is the setup's, whatever the default.
func (in *interpreter) sizeNamed(name string, otherwise value) value {
	switch name {
	case "batch_size", "train_batch_size", "per_device_train_batch_size", "per_device_batch_size", "micro_batch_size", "device_batch_size", "bs":
		in.asked = true
		return in.Batch
	case "seq_len", "seq_length", "max_seq_len", "max_seq_length", "sequence_length", "block_size", "context_length", "max_length":
		if in.Seq > 0 {
			return in.Seq
		}
	}
	return otherwise
}

func has(flags []string, flag string) bool {
	for _, f := range flags {
		if f == flag {
			return true
		}
	}
	return false
}

// typed converts the text of an argument to its type.
func typed(o option, text string) value {
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
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	case "float":
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
	}
	return text
}

// commandLine returns sys.argv.
func (in *interpreter) commandLine() value {
	l := &list{items: []value{in.File.Path}}
	for _, a := range in.Args {
		l.items = append(l.items, a)
	}
	return l
}
