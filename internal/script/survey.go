// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"fmt"
	"strings"

	"snug/internal/family"
	"snug/internal/shadow"
)

// Survey is what a script itself shows of its run. Each part is empty until the script shows it.
type Survey struct {
	Model Sighting // the first model that it loads
	Batch Sighting // samples of a training batch
	Seq   Sighting // tokens of a sample
	Open  string   // where a model is loaded whose name is not known
	Saw   []string // models that are not known, with their lines
}

// Sighting is a value that a script shows, and where.
type Sighting struct {
	Name   string         // of a model, as its libraries look it up
	Config map[string]any // of a model whose configuration is written in the script
	N      int
	Where  string // file:line, or the option of the command line
}

// Sizes of what a script leaves open while it is surveyed. Nothing is allocated for them; a tensor that still has
// them when it enters the model came from data that the script does not show.
const (
	OpenBatch = 1009
	OpenSeq   = 10007
)

// surveyed is the panic that ends a survey.
type surveyed struct{}

// surveyor collects what a script shows.
type surveyor struct {
	Survey
	known   bool       // the model is known: the survey ends where it is called
	byName  bool       // the batch size is that of an argument, which a loader's takes the place of
	lengths []Sighting // arguments that are named for the length
}

// Look follows the script until it has shown its first model or, if that is known, until it calls it for training.
// An error means that it could not be followed so far.
func Look(run Run, known bool) (Survey, error) {
	run.Batch, run.Seq = OpenBatch, OpenSeq
	in := newInterpreter(run)
	in.survey = &surveyor{known: known}
	_, err := in.follow()
	in.survey.Saw = in.result.Saw
	return in.survey.Survey, err
}

// loads notes which model the script loads: by its name, or with a configuration that the script writes. The class
// is that of a model or a configuration.
func (in *interpreter) loads(class, method string, a arguments) {
	if in.survey == nil {
		return
	}
	name, named := a.or(0, "pretrained_model_name_or_path", nil).(string)
	kind, isConfig := strings.CutSuffix(class[strings.LastIndexByte(class, '.')+1:], "Config")
	switch {
	case method == "from_pretrained" && named:
		in.sawModel(Sighting{Name: name})
	case method == "from_pretrained":
		in.survey.Open = in.place()
	case method == "for_model" && named:
		in.sawModel(Sighting{Config: writtenConfig(name, a)})
	case method == "" && isConfig && knownType(kind) != "":
		in.sawModel(Sighting{Config: writtenConfig(knownType(kind), a)})
	}
}

// writtenConfig returns a configuration that a script writes.
func writtenConfig(kind string, a arguments) map[string]any {
	c := newConfig(a).changed
	c["model_type"] = kind
	return c
}

// knownType returns the model_type of a configuration class, such as gpt_neox for GPTNeoX; "" if there is none.
func knownType(class string) string {
	plain := strings.NewReplacer("_", "", "-", "")
	for _, t := range family.Known() {
		if plain.Replace(t) == strings.ToLower(class) {
			return t
		}
	}
	return ""
}

// sawModel notes the first model of the script, and ends the survey if that was what it is for.
func (in *interpreter) sawModel(m Sighting) {
	x := in.survey
	if x == nil || x.Model.Where != "" {
		return
	}
	m.Where = in.place()
	x.Model = m
	if !x.known {
		panic(surveyed{})
	}
}

// sawModelNamed is snug.loads(name), for library files.
func sawModelNamed(in *interpreter, a arguments) value {
	if name, ok := a.or(0, "name", nil).(string); ok {
		in.sawModel(Sighting{Name: name})
	}
	return nil
}

// place returns the current file and line.
func (in *interpreter) place() string {
	path, at := in.where()
	return fmt.Sprintf("%s:%d", path, at.Line)
}

// sawBatch notes the batch size that the script gives its first loader.
func (in *interpreter) sawBatch(n int) {
	if x := in.survey; x != nil && n > 0 && (x.Batch.Where == "" || x.byName) {
		x.Batch, x.byName = Sighting{N: n, Where: in.place()}, false
	}
}

// sawSize notes the value of an argument that is named for the batch size or the length.
func (in *interpreter) sawSize(name string, v value, where string) {
	x := in.survey
	n, ok := v.(int)
	if x == nil || !ok || n < 1 {
		return
	}
	switch {
	case batchNames[name] && x.Batch.Where == "":
		x.Batch, x.byName = Sighting{N: n, Where: where}, true
	case lengthNames[name]:
		x.lengths = append(x.lengths, Sighting{N: n, Where: where})
	}
}

// sawField notes a field of a dataclass that the command line fills in: its value there, or its default.
func (in *interpreter) sawField(name string, v, otherwise value, given bool) {
	if given {
		in.sawSize(name, v, "--"+name+" of "+in.File.Path)
		return
	}
	in.sawSize(name, otherwise, in.place())
}

// trains ends a survey where the model is called for training.
func (in *interpreter) trains(input *shadow.Tensor, tokens bool) {
	x := in.survey
	if x == nil || input == nil || !in.World.GradEnabled() {
		return
	}
	if n := input.Size(0); n != OpenBatch && x.Batch.Where == "" {
		x.Batch = Sighting{N: n, Where: in.place()}
	}
	if tokens && input.Dim() > 1 {
		x.sawLength(Sighting{N: input.Size(1), Where: in.place()})
	}
	panic(surveyed{})
}

// sawLength notes the length of the model's input. An argument that is named for it is preferred, since the script
// may cut a token off.
func (x *surveyor) sawLength(input Sighting) {
	for off := range 2 {
		for _, named := range x.lengths {
			if d := named.N - input.N; d == off || d == -off {
				x.Seq = named
				return
			}
		}
	}
	switch {
	case input.N != OpenSeq:
		x.Seq = input
	case len(x.lengths) > 0:
		x.Seq = x.lengths[0]
	}
}

// batchNames and lengthNames list the usual names of arguments for the batch size and the length.
var (
	batchNames = map[string]bool{
		"batch_size": true, "train_batch_size": true, "per_device_train_batch_size": true, "per_device_batch_size": true,
		"micro_batch_size": true, "device_batch_size": true, "bs": true,
	}
	lengthNames = map[string]bool{
		"seq_len": true, "seq_length": true, "max_seq_len": true, "max_seq_length": true, "sequence_length": true,
		"block_size": true, "context_length": true, "max_length": true,
	}
)

// sizeOfArgument returns the value of an argument that is named for a size. One with the setup's size stands for it,
// and so does a default, unless the setup has its sizes from the script.
func (in *interpreter) sizeOfArgument(name string, v value, given bool) value {
	if in.survey != nil {
		return v
	}
	size, base := 0, 0
	switch {
	case batchNames[name]:
		size, base = in.Batch, cmp.Or(in.ScriptBatch, in.Batch)
	case lengthNames[name] && in.length0 > 0:
		size, base = in.length0, cmp.Or(in.ScriptSeq, in.length0)
	default:
		return v
	}
	learned := batchNames[name] && in.ScriptBatch > 0 || lengthNames[name] && in.ScriptSeq > 0
	if n, ok := v.(int); (given || learned) && (!ok || n != base) {
		return v
	}
	in.asked = in.asked || batchNames[name]
	return size
}
