// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"snug/internal/setup"
)

// loopSource reads the programs' files and the files they load.
func loopSource() setup.Source {
	open := func(name string) (io.ReadCloser, error) { return os.Open(name) }
	return setup.Source{Open: open, Base: loopsDir, Survey: Survey}
}

// TestSurveyedPrograms compares each program, given only by its command line, with the same program in a setup
// that specifies model, batch and length.
func TestSurveyedPrograms(t *testing.T) {
	tried := map[string]bool{}
	for _, file := range []string{"measured_plain.jsonl", "measured_libraries.jsonl", "measured_trainer.jsonl", "measured_wild.jsonl"} {
		for _, p := range programs(t, file) {
			if !p.models(t) || strings.HasPrefix(p.Program, "sentence_transformers/") || strings.HasPrefix(p.Program, "torchtune/") {
				continue
			}
			t.Run(p.ID, func(t *testing.T) { p.surveyed(t, tried) })
		}
	}
}

// surveyed runs TestSurveyedPrograms for one measured run. Figures are compared once for each program.
func (p program) surveyed(t *testing.T, tried map[string]bool) {
	want := p.setup(t)
	words := []string{p.Program}
	for _, a := range p.Args {
		words = append(words, fmt.Sprint(a))
	}
	loop := strings.Join(words, " ")
	got, err := setup.Decode(map[string]any{"loop": loop}, loopSource())
	if err != nil && !want.Model.Known() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Model.Head == "image-classification" {
		want.Seq = 0
	}
	if got.Batch != want.Batch || got.Seq != want.Seq {
		t.Errorf("batch %d of %d tokens, want %d of %d", got.Batch, got.Seq, want.Batch, want.Seq)
	}
	if !reflect.DeepEqual(got.Model.Config, want.Model.Config) && want.Model.Config != nil {
		t.Errorf("a different model: %s", got.Script.Origins())
	}
	if tried[p.Program] || t.Failed() {
		return
	}
	tried[p.Program] = true
	model := map[string]any{"config": want.Model.Config}
	if want.Model.Config == nil {
		model = map[string]any{"name": want.Model.Name}
	}
	fields := map[string]any{"loop": loop, "model": model, "batch": float64(want.Batch)}
	if want.Seq > 0 {
		fields["seq"] = float64(want.Seq)
	}
	whole, err := setup.Decode(fields, setup.Source{Open: loopSource().Open, Base: loopsDir})
	if err != nil {
		t.Fatal(err)
	}
	a, errA := Run(got, Options{})
	b, errB := Run(whole, Options{})
	if errA != nil || errB != nil {
		if fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("%v, but with an explicit setup %v", errA, errB)
		}
		return
	}
	if x, y := played(t, a), played(t, b); x.PeakReserved != y.PeakReserved || x.PeakAllocated != y.PeakAllocated {
		t.Errorf("%d bytes, but with an explicit setup %d", x.PeakReserved, y.PeakReserved)
	}
}

// TestVisionModelByName checks that torchvision's get_model returns the named model.
func TestVisionModelByName(t *testing.T) {
	text := "import torch, torchvision\nmodel = torchvision.models.get_model(\"resnet18\", weights=None).cuda()\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
	open := func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	s, err := setup.Decode(map[string]any{"loop": "train.py", "batch": 4.0}, setup.Source{Open: open, Survey: Survey})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Model.Title(); got != "torchvision/resnet18" {
		t.Errorf("the model is %s", got)
	}
}

// TestCutTexts checks that texts for a sentence transformer are counted at the model's limit, unless its repository
// may set another one.
func TestCutTexts(t *testing.T) {
	const train = `
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, models
from sentence_transformers.losses import MultipleNegativesRankingLoss
model = %s
args = SentenceTransformerTrainingArguments(output_dir="out", per_device_train_batch_size=4)
SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=MultipleNegativesRankingLoss(model)).train()
`
	for model, want := range map[string]int{
		`SentenceTransformer("bert-base-uncased")`: 512,
		`SentenceTransformer("roberta-base")`:      512, // two of its 514 positions are reserved
		`SentenceTransformer(modules=[models.Transformer("bert-base-uncased", max_seq_length=128), models.Pooling(768)])`: 128,
		`SentenceTransformer("all-mpnet-base-v2")`:                       384, // the limit that its repository sets
		`SentenceTransformer("sentence-transformers/all-mpnet-base-v2")`: 384,
	} {
		from := setup.Source{Survey: Survey, Open: func(string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(fmt.Sprintf(train, model))), nil
		}}
		got, err := setup.Decode(map[string]any{"loop": "train.py"}, from)
		if want == 0 && err == nil || want > 0 && (err != nil || got.Seq != want) {
			t.Errorf("%s: %d tokens, want %d; %v", model, got.Seq, want, err)
		}
	}
}
