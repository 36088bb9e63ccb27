// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"slices"
	"strings"

	"snug/internal/config/branches"
	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/setup"
)

// The calls that a program executes with the values of the run's files show how it loads its model and which adapters it
// adds, whatever the program's arguments are called: LoraConfig(r=args.rank), BitsAndBytesConfig(load_in_4bit=True),
// from_pretrained(torch_dtype=dtype).

// Calls returns the executed calls of a function, class or method in the only program of the run.
func (p *Found) Calls(name string) []branches.Call {
	if e := p.onlyProgram(); e != nil {
		return e.read().Calls(name)
	}
	return nil
}

// onlyProgram returns the only program of the run, or nil.
func (p *Found) onlyProgram() *ExecutedProgram {
	if p.Primary == nil {
		return nil
	}
	programs := p.ExecutedPrograms(p.Primary)
	if len(programs) != 1 {
		return nil
	}
	return &programs[0]
}

// bindCalls binds what the calls of the run's program show, unless a file sets it. Nothing is bound for calls that may not be
// executed.
func (p *Found) bindCalls() {
	e := p.onlyProgram()
	if e == nil || !strings.Contains(e.Text, "LoraConfig(") && !strings.Contains(e.Text, "from_pretrained(") {
		return
	}
	given := map[string]bool{}
	for _, b := range p.Bound {
		if b.Value != nil || b.Unknown != "" { // otherwise the text contains an expression
			given[b.Setting] = true
		}
	}
	b := callBinder{p, e.read(), e.File, given}
	itself := p.Primary.Tree.Layers[0].Doc.Format() == doc.Python // its settings are found in its text; the calls only complete them
	if !itself || given["lora.rank"] {
		b.adapters()
	}
	if !itself || given["quantized"] {
		b.quantization()
	}
	if !itself {
		b.weights()
	}
}

// callBinder binds settings of a program's calls.
type callBinder struct {
	*Found
	program *branches.Program
	file    string
	given   map[string]bool
}

// one returns the only call of a name that is certainly executed; nil if there is none, or several.
func (b callBinder) one(name string) *branches.Call {
	calls := b.program.Calls(name)
	if len(calls) != 1 || calls[0].Undecided {
		return nil
	}
	return &calls[0]
}

// add binds a setting to a value that a call shows.
func (b callBinder) add(k systems.Key, call string, line int, v any) {
	if b.given[k.Setting] || b.ambiguous[k.Setting] != "" {
		return
	}
	b.unbindExpressions(k.Setting)
	at := doc.Path{call}
	if k.Path != "" {
		at = append(at, k.Path)
	}
	b.bind(Bound{Key: &k, Source: b.Primary, Place: tree.Place{At: at, File: b.file, Path: at, Computed: "computed by the program"}, Binding: Binding{
		Setting: k.Setting, System: b.Primary.System.Name, File: b.file, Path: at, Value: v, Line: line, Column: 1,
	}})
}

// adapters binds the adapters of PEFT: those of the only LoraConfig, or none if no code that creates one is executed.
func (b callBinder) adapters() {
	const name = "LoraConfig"
	if b.program.Skips(name) {
		b.add(systems.LoRAMade()[0], name, 1, false)
		return
	}
	call := b.one(name)
	if call == nil || len(b.program.Calls("get_peft_model"))+len(b.program.Calls("add_adapter"))+b.passedToTrainer() == 0 {
		return
	}
	if rank, is := call.Args["r"].(float64); is {
		b.add(systems.LoRAArguments()[0], name, call.Line, int(rank))
	} else if !b.given["lora.rank"] {
		return
	}
	for _, k := range systems.LoRAMade() {
		b.add(k, name, call.Line, true)
	}
	for _, k := range systems.LoRAArguments() {
		switch v := call.Args[k.Path].(type) {
		case []any:
			if names := texts(v); k.Kind == systems.Names && names != nil {
				b.add(k, name, call.Line, names)
			}
		case branches.Result:
			if k.Setting == "lora.targets" && findsLinear(b.program.Function(string(v))) {
				b.add(k, name, call.Line, []string{setup.AllLinear})
			}
		case string:
			if k.Setting == "lora.targets" && v == setup.AllLinear {
				b.add(k, name, call.Line, []string{v})
			}
		case bool:
			if k.Setting == "lora.dora" {
				b.add(k, name, call.Line, v)
			}
		}
	}
}

// passedToTrainer counts the calls that get a config of adapters.
func (b callBinder) passedToTrainer() int {
	n := 0
	for _, name := range []string{"SFTTrainer", "DPOTrainer", "Trainer"} {
		for _, c := range b.program.Calls(name) {
			if c.Passed["peft_config"] {
				n++
			}
		}
	}
	return n
}

// findsLinear reports whether a function returns the names of all linear layers but the output's, as the program of QLoRA
// does.
func findsLinear(body string) bool {
	return strings.Contains(body, "named_modules()") && strings.Contains(body, "Linear") && strings.Contains(body, "lm_head")
}

// texts returns a list of texts, or nil if it has other values.
func texts(list []any) []string {
	var out []string
	for _, x := range list {
		text, is := x.(string)
		if !is {
			return nil
		}
		out = append(out, text)
	}
	return out
}

// quantization binds bitsandbytes' quantization: by the only BitsAndBytesConfig, or by the switches of from_pretrained.
func (b callBinder) quantization() {
	if call := b.one("BitsAndBytesConfig"); call != nil {
		if b.quantized("BitsAndBytesConfig", *call) {
			b.quantTypes(*call)
		}
		return
	}
	for _, call := range b.program.Calls("from_pretrained") {
		if !call.Undecided && b.quantized("from_pretrained", call) {
			return
		}
	}
}

// quantized binds the number of bits that a call turns on, if any.
func (b callBinder) quantized(name string, call branches.Call) bool {
	for arg, means := range map[string]string{"load_in_4bit": systems.FourBit, "load_in_8bit": systems.EightBit} {
		if call.Args[arg] == true {
			b.add(systems.Key{Setting: "quantized", Path: arg, Kind: systems.Switch, Means: means, Source: systems.BitsAndBytes}, name, call.Line, means)
			return true
		}
	}
	return false
}

// quantTypes binds the types of 4-bit weights.
func (b callBinder) quantTypes(call branches.Call) {
	for _, k := range systems.BitsAndBytesArguments() {
		v, known := call.Args[k.Path]
		if name, is := v.(branches.Name); is {
			v = strings.TrimPrefix(string(name), "torch.")
		}
		if text, is := v.(string); is && k.Kind == systems.Word {
			means, understood := k.Understand(text)
			v, known = means, understood
		}
		if _, is := v.(bool); known && v != nil && is == (k.Kind == systems.Switch) {
			b.add(k, "BitsAndBytesConfig", call.Line, v)
		}
	}
}

// weights binds the type that the program loads its model in.
func (b callBinder) weights() {
	var held []string
	line := 0
	for _, call := range b.program.Calls("from_pretrained") {
		for _, arg := range []string{"torch_dtype", "dtype"} {
			v, known := call.Args[arg]
			if !call.Passed[arg] {
				continue
			}
			name, is := v.(branches.Name)
			if !known || !is || call.Undecided {
				return
			}
			line = call.Line
			held = append(held, systems.TorchType(strings.TrimPrefix(string(name), "torch.")))
		}
	}
	if len(held) > 0 && held[0] != "" && !slices.ContainsFunc(held, func(h string) bool { return h != held[0] }) {
		b.add(systems.Key{Setting: "weights", Path: "torch_dtype", Kind: systems.Word, Source: systems.BitsAndBytes}, "from_pretrained", line, held[0])
	}
}
