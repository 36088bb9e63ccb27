// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strconv"
	"strings"
)

// How settings are displayed: as phrases above an estimate, and as cells in the table that compares the current
// settings with others.

// Phrases describes the setup in short phrases, without its sizes.
func Phrases(s *Setup) []string {
	var out []string
	for _, x := range Settings() {
		if x.Phrases != nil {
			out = append(out, x.Phrases(s)...)
		}
	}
	return out
}

// Rows compares two setups. Each row has a name and a cell for each setup.
func Rows(now, then *Setup) [][]string {
	var out [][]string
	for _, x := range Settings() {
		if x.Row == nil {
			continue
		}
		name := x.Row.Label
		if name == "" {
			name = x.Name
		}
		a, b := x.Row.Cell(now), x.Row.Cell(then)
		if x.Row.Shown == nil && a != b || x.Row.Shown != nil && x.Row.Shown(now, then) {
			out = append(out, []string{name, a, b})
		}
	}
	return out
}

// phrase returns a function that formats a phrase with values of the setup, if its condition holds.
func phrase(holds func(*Setup) bool, format string, values ...func(*Setup) any) func(*Setup) []string {
	return func(s *Setup) []string {
		if !holds(s) {
			return nil
		}
		var args []any
		for _, v := range values {
			args = append(args, v(s))
		}
		return []string{fmt.Sprintf(format, args...)}
	}
}

func shownAlways(_, _ *Setup) bool { return true }

func number(n int) string { return strconv.Itoa(n) }

func spaced(names []string) string { return strings.Join(names, " ") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orDefault(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

// precisionText returns the precision, with a remark if it comes from the model's files.
func (s *Setup) precisionText() string {
	if s.Loaded == Saved && !s.Autocasts() && s.Precision == s.Model.SavedIn() {
		return s.Precision + " as saved"
	}
	if d := s.Dist; d.FSDP() && d.ParamDType != "" && d.ParamDType != s.Precision {
		return s.Precision + " (" + d.ParamDType + " in FSDP)"
	}
	return s.Precision
}

// WeightsText returns the type of the weights, with or without autocast.
func (s *Setup) WeightsText() string {
	switch {
	case s.Weights != "" && s.Loaded == Saved:
		return s.Weights + " as saved"
	case s.Weights != "":
		return s.Weights
	case s.Autocasts():
		return FP32
	}
	return s.Precision
}

// weightsPhrase returns the type of the weights, if it is not the usual one. If weights are quantized, this is the
// type of the unquantized ones.
func (s *Setup) weightsPhrase() []string {
	switch {
	case s.Weights == "" || s.Quantization != nil:
		return nil
	case s.LoRA != nil:
		return []string{"frozen weights in " + s.WeightsText()}
	}
	return []string{"weights in " + s.WeightsText()}
}

// checkpointingPhrase returns the words for checkpointing, with its kind if the setup sets one.
func (s *Setup) checkpointingPhrase() []string {
	switch {
	case !s.Recomputes():
		return nil
	case s.UseReentrant == nil:
		return []string{"checkpointing"}
	case s.Reentrant():
		return []string{"reentrant checkpointing"}
	}
	return []string{"non-reentrant checkpointing"}
}

// loraPhrase describes the adapters.
func (s *Setup) loraPhrase() []string {
	l := s.LoRA
	if l == nil {
		return nil
	}
	switch t := l.tuner(); {
	case t.prompts:
		return []string{fmt.Sprintf("PEFT's %s with %d virtual tokens", t.title, l.Virtual)}
	case !t.ranked:
		return []string{"PEFT's " + t.title + " on " + spaced(l.Targets)}
	case l.Tuner != LoRATuner && l.Tuner != "":
		return []string{fmt.Sprintf("PEFT's %s rank %d on %s", t.title, l.Rank, spaced(l.Targets))}
	}
	name := "LoRA"
	if l.DoRA {
		name = "DoRA"
	}
	if l.PEFT {
		name = "PEFT's " + name
	}
	return []string{fmt.Sprintf("%s rank %d on %s", name, l.Rank, spaced(l.Targets))}
}

// unquantizedPhrase returns the type of the unquantized weights.
func (s *Setup) unquantizedPhrase() []string {
	switch q := s.Quantization; {
	case q == nil:
		return nil
	case q.CastsEmbeddings():
		return []string{"norms cast to fp32", "embeddings and head in bf16"}
	case q.Prepare && !q.CastBack:
		return []string{"the rest cast to fp32"}
	case s.Weights != "":
		return []string{"the rest in " + s.WeightsText()}
	}
	return nil
}

// attends reports whether the model has attention.
func (s *Setup) attends() bool {
	return s.attention() != "" && !s.Model.Code && !strings.HasPrefix(s.Model.Name, "torchvision/")
}

// attention returns the kind of attention that the model computes; "" if it has none, or if only a script's code shows it.
func (s *Setup) attention() string {
	if s.Attention == "" || s.Model.Program != nil {
		return s.Attention
	}
	if s.Script != nil && s.Script.OwnModel() {
		return ""
	}
	return s.Model.facts().Attends(s.Attention, s.Versions.TransformersRelease())
}

// knowsCheckpointing reports whether the setup or its profile shows if the run uses checkpointing.
func (s *Setup) knowsCheckpointing() bool {
	return s.Model.Program == nil || s.Model.Program.Recorded().Checkpointing != nil
}

// KeepsEager reports whether eager attention cannot become sdpa: transformers has no sdpa for the model, or its sdpa
// ignores the cap on the model's attention scores and so computes something else.
func (s *Setup) KeepsEager() bool {
	f := s.Model.facts()
	scores, there := s.Model.Config[f.Cap]
	caps := f.Cap != "" && (!there || scores != nil)
	return caps || f.Attends(SDPA, s.Versions.TransformersRelease()) != SDPA
}
