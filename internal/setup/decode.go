// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"snug/internal/allocator"
	"snug/internal/family"
)

// NewestTorch is the default PyTorch version: the newest with measured runs.
const NewestTorch = "2.11"

// Limits above which a number must be a typo. Their products still fit into 64 bits.
const (
	maxBatch  = 1 << 20
	maxSeq    = 1 << 22
	maxTokens = 1 << 31 // batch × seq
	maxPairs  = 1 << 46 // batch × seq × seq
	maxSteps  = 64
	maxWorld  = 1 << 16
	maxRank   = 1 << 16
	maxImages = 1 << 12
	maxSide   = 1 << 15

	maxEvaluated = 2000 // batches per evaluation
)

// Decode returns one setup. It checks every field, fills in defaults and looks up the model. The fields, defaults and
// limits are rows in table.go.
func Decode(fields map[string]any, from Source) (*Setup, error) {
	fields, own, unknown := learn(WithCurrentNames(fields), from)
	if unknown == nil && fields["batch"] == nil && from.AnyBatch {
		fields = with(fields, map[string]any{"batch": 1.0})
	}
	o := &object{keys: fields}
	s := &Setup{ID: o.text("id")}
	o.decodeSettings(s)
	if unknown != nil {
		return s, unknown
	}
	s.versionDefaults()
	o.checkAllocator(s)
	s.tidy(fields["precision"] != nil)
	model := o.inner("model")
	if o.keys["model"] == nil {
		o.err = cmp.Or(o.err, unknownModel("{model} is missing; give a config or a name"))
	} else if err := o.profile(s, model, from); err != nil {
		return s, err
	}
	if fields["batch"] == nil && o.err == nil && model.keys != nil {
		if err := (&object{keys: model.keys, at: "model."}).model(&Setup{}, from); errors.Is(err, ErrUnknownModel) {
			return s, err // report an unknown name before missing fields
		}
	}
	o.required("")
	if o.err == nil {
		o.err = s.readLengths(from)
	}
	if o.err == nil {
		o.err = s.completeLengths(fields["steps"] != nil)
	}
	if o.err == nil {
		o.err = s.readLoop(from, fields)
	}
	if s.Script != nil {
		s.Script.Own = own
	}
	if err := o.done(); err != nil {
		return s, err
	}
	if err := model.model(s, from); err != nil {
		return s, err
	}
	if s.Model.Program != nil {
		return s, s.recorded(o)
	}
	err := s.complete()
	if s.Script != nil {
		read := *s
		s.Script.completed = &read
	}
	return s, err
}

// tidy replaces equivalent values with a single form.
func (s *Setup) tidy(saysPrecision bool) {
	if s.Weights == Saved && !saysPrecision {
		s.Precision = "" // completeWeights takes it from the model's files
	}
	if s.Loop == StepLoop {
		s.Loop = ""
	}
	if s.Loss == ModelLoss {
		s.Loss = ""
	}
	s.Quantization.tidy()
	s.Liger = ligerParts(s.Liger)
}

// checkAllocator records an error for options that the PyTorch version does not support.
func (o *object) checkAllocator(s *Setup) {
	torch, err := allocator.ParseVersion(s.Versions.Torch)
	if err != nil {
		o.fail("versions.torch", ": %v", err)
		return
	}
	if _, err := allocator.ParseOptions(s.Allocator, torch); err != nil {
		o.fail("allocator", ": %v", err)
	}
}

// complete fills in the settings that depend on the model, and checks the numbers against it.
func (s *Setup) complete() error {
	if err := s.completeLoop(); err != nil {
		return err
	}
	if err := s.checkAnswers(); err != nil {
		return err
	}
	f := s.Model.facts()
	if s.Model.Head == "" && len(f.Heads) > 0 {
		s.Model.Head = f.Heads[0]
	}
	for _, complete := range []func() error{s.completeLoRA, s.assumeLitGPT, s.completeQuantization, s.completeUnsloth, s.completeDiffusion, s.completeWeights, s.completeEvaluation} {
		if err := complete(); err != nil {
			return err
		}
	}
	if s.Loss == TRLLoss && s.Versions.TRL != "" && release(s.Versions.TRL) < firstTRLLoss {
		return Wrong("{loss} is trl, which requires TRL 1.4, but {versions.trl} is %s; choose {loss=model}", s.Versions.TRL)
	}
	if s.Loss != "" && s.Model.Head != "causal-lm" {
		return Wrong("{loss} %s is for a causal-lm, but %s is trained as %s; remove it", s.Loss, s.Model.Title(), s.Model.Head)
	}
	if n := cmp.Or(s.Positives, s.Negatives); n > 0 && s.Model.Head != "encoder" && !s.Script.Readable() {
		field := map[bool]string{true: "positives", false: "negatives"}[s.Positives > 0]
		return Wrong("{"+field+"} is %d, but %s is trained as %s, which does not compare samples; remove it, or set {model.head=encoder}", n, s.Model.Title(), s.Model.Head)
	}
	if err := s.completeChoices(); err != nil {
		return err
	}
	if f.Positions.Images && s.Lengths != nil {
		return Wrong("{lengths}: %s takes images, which have no tokens; remove it", s.Model.Title())
	}
	if f.Positions.Images { // images have no tokens, even if a file specifies a number
		s.Seq, s.TargetSeq = 0, 0
		return s.completeClassified()
	}
	if s.Attention == Flash && s.Precision == FP32 {
		return Wrong("{attention} flash computes in 16 bits, but {precision} is fp32; choose amp-bf16 or bf16, or {attention} sdpa")
	}
	if err := s.completeSound(f.Positions); err != nil {
		return err
	}
	if err := s.completeLength(f.Positions); err != nil {
		return err
	}
	return s.completeImages(f.Vision)
}

// SWAGChoices is the number of endings in SWAG, the usual data set of multiple-choice models.
const SWAGChoices = 4

// completeChoices fills in and checks the number of texts to choose from.
func (s *Setup) completeChoices() error {
	switch {
	case s.Model.Head == family.MultipleChoice:
		s.Choices = cmp.Or(s.Choices, SWAGChoices)
	case s.Choices > 0:
		return Wrong("{choices} is %d, but %s is trained as %s, which does not choose between texts; remove it, or set {model.head=multiple-choice}", s.Choices, s.Model.Title(), s.Model.Head)
	}
	return nil
}

// completeLength checks the number of tokens per sample against the model's positions.
func (s *Setup) completeLength(p family.Positions) error {
	longest := s.Model.Longest()
	if s.Seq == 0 && p.Filled {
		s.Seq = longest
	}
	if s.Seq == 0 && s.Model.Code {
		return nil // not every model takes tokens
	}
	if s.Seq == 0 {
		upTo := ""
		if longest > 0 {
			upTo = fmt.Sprintf(" (%s accepts up to %d)", s.Model.Title(), longest)
		}
		return Wrong("{seq} is missing; give the tokens per sample%s, or {lengths}", upTo)
	}
	if s.Model.Head == "seq2seq-lm" && s.Lengths != nil && !p.Sound {
		return Wrong("{lengths} is not simulated for %s, because its decoder has its own lengths; give {seq} and {target_seq}", s.Model.Title())
	}
	if s.Model.Head == "seq2seq-lm" && s.TargetSeq == 0 && !p.Sound {
		s.TargetSeq = s.Seq
	}
	for _, x := range []struct {
		field string
		n     int
	}{{"seq", s.Seq}, {"target_seq", s.TargetSeq}} {
		if x.field == "seq" && s.Lengths != nil {
			x.field = "lengths"
		}
		if p.Learned && x.n > longest && s.Lengths != nil && s.Lengths.Samples != nil {
			return Wrong("{lengths} has a sample of %d tokens; %s has %d learned positions, and a longer sequence crashes; truncate longer samples with {seq}", x.n, s.Model.Title(), longest)
		}
		if p.Learned && x.n > longest {
			return Wrong("{"+x.field+"} is %d; %s has %d learned positions, and a longer sequence crashes", x.n, s.Model.Title(), longest)
		}
		field, batch := s.largestBatch()
		if n := batch * s.Rows(); n*x.n > maxTokens || n*x.n > maxPairs/max(x.n, 1) {
			return Wrong("{"+field+"} %d times {"+x.field+"} %d%s is more than any GPU could hold", batch, x.n, s.timesRows())
		}
	}
	return nil
}

// Title returns the model's name for use in a sentence.
func (m Model) Title() string {
	if m.Name != "" {
		return m.Name
	}
	if filepath.IsAbs(m.Profile) {
		return filepath.Base(m.Profile) // the file name is enough in a sentence
	}
	if m.Profile != "" {
		return m.Profile
	}
	if m.Code {
		return "the script's model"
	}
	if t, ok := m.Config["model_type"].(string); ok && t != "" {
		return t
	}
	return "the model"
}

// Family returns the model's kind: its model_type, or a name without its size.
func (m Model) Family() string {
	if t, ok := m.Config["model_type"].(string); ok {
		return t
	}
	return strings.TrimRight(m.Name, "0123456789")
}
