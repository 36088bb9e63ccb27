// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/family"
	"snug/internal/shadow"
)

// Survey is what a script reveals about its run. A field is empty if the script does not reveal it.
type Survey struct {
	Model         Sighting // the first model the script loads
	Batch         Sighting // the number of samples in a training batch
	Seq           Sighting // the number of tokens in a sample
	Image         Sighting // the height of an image
	Width         int      // the width of an image
	Cut           string   // the place where texts are truncated at the model's limit
	Open          string   // the place where a model with an unknown name is loaded
	UnknownModels []string // models unknown to snug, with their lines
	Why           string   // the first note on what is not followed
	Code          bool     // the script trains a model that it builds from PyTorch's modules
}

// Sighting is a value found in a script, and where it was found.
type Sighting struct {
	Name   string         // the model's name, as its library looks it up
	Config map[string]any // the model's configuration, if it is written in the script
	N      int            // the number, for a batch size or a length
	Where  string         // file:line, or the command-line option
}

// The batch size and length used in a survey if the setup does not specify them. Nothing is allocated for them.
// If a tensor has one of these sizes when it reaches the model, its size comes from data that the script does not
// contain.
const (
	OpenBatch = 1009
	OpenSeq   = 10007
)

// surveyed is the panic that ends a survey.
type surveyed struct{}

// surveyor collects what a script reveals.
type surveyor struct {
	Survey
	known   bool       // the model is known, so the survey ends when the model is called
	byName  bool       // Batch comes from an argument with a usual name; a loader's batch size replaces it
	crops   bool       // Image comes from a crop, not a resize
	lengths []Sighting // arguments with the usual names for the length
}

// Look follows the script until it loads its first model or, if known is set, until it calls the model for
// training. An error means that the script could not be followed that far; the survey then has what it revealed by then.
func Look(run Run, known bool) (out Survey, err error) {
	run.Batch, run.Seq = OpenBatch, OpenSeq
	in := newInterpreter(run)
	in.survey = &surveyor{known: known}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case shadow.TooLong:
			out, err = in.survey.unfinished(), e
		default:
			panic(e)
		}
	}()
	_, err = in.follow()
	in.survey.UnknownModels = in.result.UnknownModels
	if i := slices.IndexFunc(in.result.Notes, func(n string) bool { return !strings.Contains(n, ": the optimizer ") }); i >= 0 {
		in.survey.Why = in.result.Notes[i]
	}
	return in.survey.Survey, err
}

// unfinished returns what a survey has found if it ended before the model was called for training. The length is the one
// to which the script truncates its texts, if there is only one.
func (x *surveyor) unfinished() Survey {
	if len(x.lengths) == 1 && x.Seq.Where == "" {
		x.Seq = x.lengths[0]
	}
	return x.Survey
}

// loads records which model the script loads: by its name, or with a configuration in the script. class is the
// class of a model or a configuration.
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

// writtenConfig returns a configuration written in the script.
func writtenConfig(kind string, a arguments) map[string]any {
	c := newConfig(a).changed
	c["model_type"] = kind
	return c
}

// knownType returns the model_type of a configuration class, such as gpt_neox for GPTNeoX, or "" if there is
// none.
func knownType(class string) string {
	plain := strings.NewReplacer("_", "", "-", "")
	for _, t := range family.Known() {
		if plain.Replace(t) == strings.ToLower(class) {
			return t
		}
	}
	return ""
}

// sawModel records the script's first model, and ends the survey if only the model is needed.
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

// sawModelNamed implements snug.loads(name), for the files in site-packages.
func sawModelNamed(in *interpreter, a arguments) value {
	if name, ok := a.or(0, "name", nil).(string); ok {
		in.sawModel(Sighting{Name: name})
	}
	return nil
}

// cutsTexts implements snug.cuts_texts(most, trained), which reports that the tokenizer truncates texts to this many
// tokens, or to the model's own limit if most is None. If trained is set, this is the tokenizer of the model that is
// trained, and other models' limits do not matter.
func cutsTexts(in *interpreter, a arguments) value {
	if trained, _ := a.or(1, "trained", false).(bool); trained {
		in.trainsWithLimit(a.or(0, "most", nil))
	}
	if most := a.or(0, "most", nil); most != nil {
		in.sawSize("max_seq_length", most, in.place())
	} else if x := in.survey; x != nil && x.Cut == "" {
		x.Cut = in.place()
	}
	return nil
}

// trainsWithLimit records the limit to which the texts are truncated in a training run that begins now.
func (in *interpreter) trainsWithLimit(most value) {
	if in.survey != nil {
		in.survey.lengths, in.survey.Cut = nil, ""
	}
	if in.limits = append(in.limits, most); in.survey == nil && in.limits[0] != most {
		in.note("texts are truncated to a different length here than in this script's first training run; the figures assume the same length for both")
	}
}

// place returns the current file and line.
func (in *interpreter) place() string {
	path, at := in.where()
	return fmt.Sprintf("%s:%d", path, at.Line)
}

// sawBatch records the batch size of the script's first loader.
func (in *interpreter) sawBatch(n int) {
	if x := in.survey; x != nil && n > 0 && (x.Batch.Where == "" || x.byName) {
		x.Batch, x.byName = Sighting{N: n, Where: in.place()}, false
	}
}

// sawSize records the value of an argument with a usual name for the batch size or the length.
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

// sawField records a dataclass field that the command line can set: the value given there, or its default.
func (in *interpreter) sawField(name string, v, otherwise value, given bool) {
	if given {
		in.sawSize(name, v, "--"+name+" of "+in.File.Path)
		return
	}
	in.sawSize(name, otherwise, in.place())
}

// trains ends a survey when the model is called for training.
func (in *interpreter) trains(input *shadow.Tensor, tokens bool) {
	x := in.survey
	if x == nil || input == nil || !in.World.GradEnabled() {
		return
	}
	if n := input.Size(0); n != OpenBatch && x.Batch.Where == "" {
		x.Batch = Sighting{N: n, Where: in.place()}
	}
	if tokens && input.Dim() > 1 {
		n := input.Size(1)
		if n == x.Batch.N && input.Size(0) != n {
			n = input.Size(0) // some models expect the batch as the second dimension
		}
		x.sawLength(Sighting{N: n, Where: in.place()})
	}
	panic(surveyed{})
}

// sawLength records the length of the model's input. The value of an argument with a usual name for the length is
// preferred, because the script may drop a token.
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

// batchNames and lengthNames are the usual argument names for the batch size and the length.
var (
	batchNames = map[string]bool{
		"batch_size": true, "train_batch_size": true, "per_device_train_batch_size": true, "per_device_batch_size": true,
		"micro_batch_size": true, "device_batch_size": true, "per_gpu_batch_size": true, "local_batch_size": true,
		"batch": true, "batchsize": true, "bs": true, "bsz": true,
	}
	lengthNames = map[string]bool{
		"seq_len": true, "seq_length": true, "max_seq_len": true, "max_seq_length": true, "sequence_length": true,
		"block_size": true, "context_length": true, "max_length": true, "max_len": true, "seqlen": true, "seq": true,
	}
)

// sizeOfArgument returns the value of an argument with a usual name for a size. The setup's size replaces a value
// equal to the one the survey found. It also replaces a default, unless the setup's sizes come from the script.
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
	in.asked, in.lengthUsed = in.asked || batchNames[name], in.lengthUsed || lengthNames[name]
	return size
}
