// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
)

// TestEverySettingHasAField gives each setting in the internal table a value in the public Setup, and checks that the
// table reads it. A setting without a public field fails here.
func TestEverySettingHasAField(t *testing.T) {
	for _, x := range setup.Settings() {
		s := &Setup{LoRA: &LoRA{}, Quantization: &Quantization{}, Dist: &Dist{}, Evaluation: &Evaluation{}}
		field, ok := fieldAt(reflect.ValueOf(s).Elem(), x.Name)
		if !ok {
			t.Errorf("Setup has no field for %s; add it to setup.go", x.Name)
			continue
		}
		want := example(t, field)
		fields, err := fieldsOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := valueAt(fields, x.Name); !cmp.Equal(got, want) {
			t.Errorf("%s is %v in JSON, want %v", x.Name, got, want)
		}
		if kind := kindOfField(field, x); kind != x.Kind() {
			t.Errorf("Setup's field for %s is a %v, but the table's is a %v", x.Name, kind, x.Kind())
		}
	}
}

// TestNoFieldIsLost compares the fields of the public and the internal struct.
func TestNoFieldIsLost(t *testing.T) {
	ours, theirs := leaves(reflect.TypeFor[Setup](), ""), leaves(reflect.TypeFor[setup.Setup](), "")
	for _, name := range theirs {
		if !strings.HasPrefix(name, "dist.") && !slices.Contains(ours, name) { // dist has its own JSON conversion
			t.Errorf("Setup has no %s", name)
		}
	}
	if len(theirs) < 30 {
		t.Errorf("only %d fields were checked", len(theirs))
	}
}

// TestEveryFieldIsASetting is the reverse check: every field of Setup is read.
func TestEveryFieldIsASetting(t *testing.T) {
	beside := map[string]bool{"id": true, "model.config": true, "model.name": true, "model.profile": true}
	for _, name := range leaves(reflect.TypeFor[Setup](), "") {
		if setup.Find(name) == nil && !beside[name] {
			t.Errorf("Setup has a field %s, but the table of settings has none", name)
		}
	}
}

// TestEveryWordHasAConstant compares the constants with the allowed words in the table.
func TestEveryWordHasAConstant(t *testing.T) {
	have := map[string][]any{
		"model.head":           {CausalLM, MaskedLM, Encoder, Seq2SeqLM, ImageClassification, SemanticSegmentation, Diffusion, SequenceClassification, TokenClassification, QuestionAnswering, MultipleChoice},
		"precision":            {FP32, AmpBF16, AmpFP16, BF16, FP16},
		"weights":              {Float32, BFloat16, Float16, Saved},
		"optimizer":            {Adafactor, Adagrad, Adam, AdamAmsgrad, AdamFused, AdamLoop, Adamax, AdamW, AdamW8Bit, AdamWFused, AdamWLoop, AdamWTorchAO8Bit, Lion, Lion8Bit, NAdam, RAdam, RMSprop, SGD, SGDMomentum},
		"reference":            {ReferenceModel, ReferenceAdapters, ReferenceBefore, ReferenceNone},
		"loss":                 {ModelLoss, TRLLoss, LigerLoss, UnslothLoss},
		"unsloth":              {UnslothRope, UnslothNorm, UnslothLoRA},
		"freeze":               {VisionTower, Projector, Language},
		"liger":                {LigerRope, LigerNorm, LigerMLP, LigerAll},
		"attention":            {SDPA, Eager, Flash},
		"lora.tuner":           {LoRATuner, IA3Tuner, AdaLoRA, VeRA, LoHa, LoKr, OFT, PromptTuning, PTuning, PrefixTuning},
		"quantization.method":  {BitsAndBytes, GPTQ, AWQ},
		"quantization.kernel":  {GPTQModel, TritonV2},
		"quantization.type":    {NF4, FP4},
		"quantization.compute": {BFloat16, Float16, Float32}, "quantization.adapters": {BFloat16, Float16, Float32},
		"dist.kind":        {DDP, FSDP1, FSDP2, FSDP2NoReshard, Zero1, Zero1DeepSpeed, Zero2, Zero3},
		"dist.param_dtype": {Float32, BFloat16, Float16}, "dist.reduce_dtype": {Float32, BFloat16, Float16},
		"dist.load": {LoadWhole, LoadSharded},
	}
	for _, x := range setup.Settings() {
		var words []string
		for _, c := range have[x.Name] {
			words = append(words, fmt.Sprint(c))
		}
		if diff := cmp.Diff(x.Words, words); diff != "" {
			t.Errorf("%s: (-table +constants)\n%s", x.Name, diff)
		}
	}
	goals := []plan.Goal{plan.Goal(Throughput), plan.Goal(Balanced), plan.Goal(Quick)}
	if diff := cmp.Diff(plan.Goals, goals); diff != "" {
		t.Error(diff)
	}
}

// TestSetupComesBack checks that a setup with every field set survives conversion in both directions.
func TestSetupComesBack(t *testing.T) {
	yes := true
	want := &Setup{
		ID: "x", Model: Model{Name: "gpt2", Head: CausalLM}, Batch: 2, Seq: 64, TargetSeq: 3, Lengths: "30,50", Tokenizer: "tokenizer.json", Seed: 2, Loop: ScriptLoop, Images: 1, ImageSize: 28, ImageWidth: 56, Freeze: []Part{VisionTower}, Positives: 4, Negatives: 5, Choices: 6, Completion: 9, Resolution: 64, Reference: ReferenceModel, Precision: AmpBF16,
		Weights: BFloat16, Optimizer: Lion, Checkpointing: true, Loss: TRLLoss, Liger: []LigerLayer{LigerNorm}, Unsloth: []UnslothLayer{UnslothRope}, Attention: Eager,
		AttentionMask: &yes, Accumulation: 6, Clip: true, Compile: true, Evaluation: &Evaluation{3, 2, 9, true}, SetToNone: &yes, UseReentrant: &yes, LoRA: &LoRA{Rank: 7, Alpha: 8, Dropout: 0.5, Targets: []string{"c_attn"}, PEFT: true, Tuner: LoRATuner, DoRA: true, Save: []string{"lm_head"}},
		Quantization: &Quantization{4, GPTQ, 64, TritonV2, FP4, true, Float16, true, true, BFloat16}, Allocator: "expandable_segments:True",
		Dist: &Dist{FSDP2, 8, true, BFloat16, Float32, LoadSharded}, Limit: 9, Versions: Versions{"2.11", "5.1", "13.0", "0.50", "0.21", "1.16", "1.15"}, Steps: 10,
	}
	for f, v := range reflect.ValueOf(*want).Fields() {
		if v.IsZero() && f.Name != "Sizes" {
			t.Errorf("this test's setup does not set %s", f.Name)
		}
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	in := &setup.Setup{}
	if err := json.Unmarshal(data, in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, setupOf(in, want.Model)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestCardComesBack checks that a card with every field set survives conversion in both directions.
func TestCardComesBack(t *testing.T) {
	var in gpu.Card
	fill(reflect.ValueOf(&in).Elem())
	if diff := cmp.Diff(in, cardOf(in).internal()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAnswersHaveEveryField fills each JSON field of an internal answer or plan, and checks that the public type has
// the same JSON.
func TestAnswersHaveEveryField(t *testing.T) {
	var a estimate.Answer
	fill(reflect.ValueOf(&a).Elem())
	same(t, "answer", a, answerOf(&a, Model{}))
	var p plan.Plan
	fill(reflect.ValueOf(&p).Elem())
	same(t, "plan", p, planOf(&p, Model{}))
}

func same(t *testing.T, what string, in, out any) {
	t.Helper()
	want, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s:\ninternal %s\npublic   %s", what, want, got)
	}
}

// fill sets every exported field that appears in JSON or has no tag.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for f, x := range v.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				fill(x)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf("anything"))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(4)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic(v.Type().String())
	}
}

// fieldAt returns the field with a JSON name such as "lora.rank".
func fieldAt(v reflect.Value, name string) (reflect.Value, bool) {
	outer, inner, nested := strings.Cut(name, ".")
	if v.Type() == reflect.TypeFor[Model]() {
		return v.FieldByName("Head"), name == "head"
	}
	for f, x := range v.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == outer {
			if x.Kind() == reflect.Pointer && nested {
				x = x.Elem()
			}
			if nested {
				return fieldAt(x, inner)
			}
			return x, true
		}
	}
	return reflect.Value{}, false
}

// example sets a field to some value, and returns that value as in JSON.
func example(t *testing.T, v reflect.Value) any {
	switch v.Kind() {
	case reflect.Int:
		v.SetInt(7)
		return 7.0
	case reflect.Uint64:
		v.SetUint(7)
		return 7.0
	case reflect.Float64:
		v.SetFloat(0.5)
		return 0.5
	case reflect.Bool:
		v.SetBool(true)
		return true
	case reflect.Pointer:
		no := false
		v.Set(reflect.ValueOf(&no))
		return false
	case reflect.String:
		v.SetString("word")
		return "word"
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		v.Index(0).SetString("word")
		return []any{"word"}
	}
	t.Fatalf("no example for a field of type %v", v.Type())
	return nil
}

// kindOfField returns the table's kind for a public field.
func kindOfField(v reflect.Value, x *setup.Setting) setup.Kind {
	switch v.Kind() {
	case reflect.Int:
		return setup.Whole
	case reflect.Uint64:
		return setup.Bytes
	case reflect.Float64:
		return setup.Number
	case reflect.Bool, reflect.Pointer:
		return setup.Switch
	case reflect.Slice:
		return setup.Names
	case reflect.String:
		if len(x.Words) > 0 {
			return setup.Word
		}
	}
	return setup.Text
}

// valueAt returns the value at a dotted name in nested fields.
func valueAt(fields map[string]any, name string) any {
	outer, inner, nested := strings.Cut(name, ".")
	if !nested {
		return fields[outer]
	}
	in, _ := fields[outer].(map[string]any)
	return valueAt(in, inner)
}

// leaves returns the JSON names of all fields of a struct and its nested structs.
func leaves(t reflect.Type, at string) []string {
	var out []string
	for name, of := range jsonNames(t) {
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[setup.Lengths]() { // Lengths is a string in JSON
			out = append(out, leaves(of, at+name+".")...)
		} else {
			out = append(out, at+name)
		}
	}
	return out
}
