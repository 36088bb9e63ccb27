// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
	"strings"
)

// A program often takes a setting from its command line and passes it on: batch_size=args.bs. The value is then the
// default of the flag --bs.

// pyPassed is a value args.name, which may come from a flag.
type pyPassed struct {
	value        *node
	object, name string
}

// isAttribute reports whether tokens are object.name.
func isAttribute(tokens []pyToken) bool {
	return len(tokens) == 3 && tokens[0].kind == pyName && tokens[1].text == "." && tokens[2].kind == pyName
}

// noteParsed records the variable that gets the parsed arguments: args = parser.parse_args().
func (p *pyParser) noteParsed(target, value []pyToken) {
	if len(target) == 0 || target[0].kind != pyName || len(target) > 1 && target[1].text != "," {
		return
	}
	for i, t := range value {
		if parses(t) && i+1 < len(value) && value[i+1].text == "(" {
			p.parsed[target[0].text] = true
			return
		}
	}
}

// parses reports whether a function's name suggests that it returns parsed arguments: a parser's method, or a function
// such as get_args, which may be in another module.
func parses(function pyToken) bool {
	if function.kind != pyName {
		return false
	}
	words := strings.Split(strings.ToLower(function.text), "_")
	if slices.Contains(words, "dataclasses") {
		return false // a dataclass has its own field names
	}
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "args", "arguments", "parse", "opts", "options", "cli":
			return true
		}
		return false
	})
}

// attributeOf returns a flag's name in the parsed arguments: dest, or the flag without its dashes.
func attributeOf(flag string, call *node) string {
	if e, _ := call.own("dest"); e != nil {
		if name, ok := e.value.data.(string); ok {
			return name
		}
	}
	return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
}

// option records the default of a flag.
func (p *pyParser) option(name string, value *node) {
	if _, twice := p.options[name]; twice {
		value = nil
	}
	p.options[name] = value
}

// resolveArguments resolves each use of args.name to the default of its flag. It runs last, because functions that use
// arguments often come before those that parse them.
func (p *pyParser) resolveArguments() {
	for _, a := range p.passed {
		to, name := p.options[a.name], a.object+"."+a.name
		if to != nil && p.parsed[a.object] && !p.overwritten[name] && to.resolve() != a.value {
			a.value.target, a.value.name = to.resolve(), name
		}
	}
}

// Passed returns what a Python program uses its flags for, by their names in the parsed arguments: the argument that
// gets the flag, as in batch_size for DataLoader(batch_size=args.bs), or AccumulationSteps if the loss is divided by
// it. A flag that is used in two ways is omitted.
func (d *Document) Passed() map[string]string {
	if d.format != Python {
		return nil
	}
	tokens, err := scanPython(d.src)
	if err != nil {
		return nil
	}
	p := pyParser{parsed: map[string]bool{}}
	for _, line := range pyLines(d.src, tokens) {
		p.noteParsed(splitAssignment(line.tokens))
	}
	out := map[string]string{}
	for i := 2; i+2 < len(tokens); i++ {
		if !p.parsed[tokens[i].text] || !isAttribute(tokens[i:i+3]) {
			continue
		}
		use := useOf(tokens[i-2 : i])
		flag := tokens[i+2].text
		if before, there := out[flag]; use != "" && there && before != use {
			use = ""
		}
		if use != "" {
			out[flag] = use
		}
	}
	p.castFlags(tokens, out)
	adapterFlags(tokens, out)
	p.modelFlags(tokens, out)
	return out
}

// ModelName is the use of a flag that names the model to load.
const ModelName = "model_name_or_path"

// modelFlags adds the flags that name a model: AutoModelForCausalLM.from_pretrained(args.backbone). Tokenizers and
// configs have the same method.
func (p *pyParser) modelFlags(tokens []pyToken, out map[string]string) {
	for i := 2; i+5 < len(tokens); i++ {
		if tokens[i].text != "from_pretrained" || tokens[i+1].text != "(" || tokens[i-1].text != "." {
			continue
		}
		class, passed := tokens[i-2].text, tokens[i+2:i+5]
		loads := strings.Contains(class, "Model") || strings.Contains(class, "For")
		if loads && !strings.Contains(class, "Peft") && isAttribute(passed) && p.parsed[passed[0].text] && (tokens[i+5].text == "," || tokens[i+5].text == ")") {
			out[passed[2].text] = ModelName
		}
	}
}

// adapterUses maps arguments of PEFT's LoraConfig to the usual names of their flags. The argument's own name may be too
// short for a flag.
var adapterUses = map[string]string{"r": "lora_r", "target_modules": "lora_target_modules", "lora_dropout": "lora_dropout", "modules_to_save": "modules_to_save", "use_dora": "use_dora"}

// adapterFlags adds the flags that a program passes to LoraConfig: LoraConfig(r=own.peft_r). The object may be any
// dataclass, because a name such as peft_r does not show its use.
func adapterFlags(tokens []pyToken, out map[string]string) {
	for i, t := range tokens {
		if t.kind != pyName || t.text != "LoraConfig" || i+1 >= len(tokens) || tokens[i+1].text != "(" {
			continue
		}
		call := tokens[i+1 : i+2+tokens[i+1].closing]
		for j := 1; j+5 < len(call); j++ {
			use := adapterUses[call[j].text]
			if use == "" || call[j+1].text != "=" || !isAttribute(call[j+2:j+5]) || call[j+5].text != "," && call[j+5].text != ")" {
				continue
			}
			if flag := call[j+4].text; out[flag] == "" || out[flag] == call[j].text {
				out[flag] = use
			}
		}
	}
}

// BF16 is the use of a flag that turns on autocast to bfloat16.
const BF16 = "bf16"

// castFlags adds the flags that turn on autocast to bfloat16: those in autocast(dtype=torch.bfloat16,
// enabled=args.amp), and --amp if the program has no other autocast.
func (p *pyParser) castFlags(tokens []pyToken, out map[string]string) {
	all, inBF16 := 0, 0
	var named []string
	for i, t := range tokens {
		if t.kind != pyName || t.text != "autocast" || i+1 >= len(tokens) || tokens[i+1].text != "(" {
			continue
		}
		all++
		call := tokens[i+1 : i+2+tokens[i+1].closing]
		if !slices.ContainsFunc(call, func(t pyToken) bool { return t.text == "bfloat16" }) {
			continue
		}
		inBF16++
		for j := 1; j+2 < len(call); j++ {
			if p.parsed[call[j].text] && isAttribute(call[j:j+3]) {
				named = append(named, call[j+2].text)
			}
		}
	}
	if all == 0 || inBF16 < all {
		return
	}
	for _, flag := range append(named, "amp", "use_amp") {
		out[flag] = BF16
	}
}

// AccumulationSteps is the use of a flag that a program divides its loss by.
const AccumulationSteps = "accumulation_steps"

// useOf returns what a program uses a value for, judging by the two tokens before it; "" if they do not show
// it.
func useOf(before []pyToken) string {
	name, sign := before[0], before[1].text
	switch {
	case name.kind == pyName && sign == "=" && name.depth > 0:
		return name.text
	case sign == "/" && (name.kind == pyName && strings.Contains(strings.ToLower(name.text), "loss")), sign == "/=" && strings.Contains(strings.ToLower(name.text), "loss"):
		return AccumulationSteps
	}
	return ""
}
