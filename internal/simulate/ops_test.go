// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// moment is one allocation of a recorded run of two steps: its size and op, and the sizes freed since the
// previous one.
type moment struct {
	op    string
	size  uint64
	queue int      // number of the CUDA stream, in order of first appearance
	freed []uint64 // sizes, sorted
}

// readOps reads a recording; its first line describes the case. skips marks the steps in which the gradient
// scaler found an overflow and did not call the optimizer.
func readOps(t *testing.T, path string) (c map[string]any, out []moment, skips []bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<22)
	size := map[string]uint64{}
	queues := map[string]int{}
	var freed []uint64
	op := ""
	for sc.Scan() {
		l := sc.Text()
		switch {
		case c == nil:
			if err := json.Unmarshal([]byte(strings.TrimPrefix(l, "# ")), &c); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(l, "    + "):
			w := strings.Fields(l)
			n, _ := strconv.ParseUint(w[1], 10, 64)
			size[w[2]] = n
			out = append(out, moment{op: op, size: n, queue: order(queues, strings.Join(w[3:], " ")), freed: sorted(freed)})
			freed = nil
		case strings.HasPrefix(l, "    - "):
			freed = append(freed, size[strings.Fields(l)[1]])
		default:
			op = l
			switch {
			case l == "# optimizer":
				skips = append(skips, true)
			case strings.Contains(l, "'Optimizer.step#"):
				skips[len(skips)-1] = false
			}
		}
	}
	return c, append(out, moment{op: "end", freed: sorted(freed)}), skips
}

// order numbers names by first appearance; the empty name is 0.
func order(seen map[string]int, name string) int {
	if name == "" {
		return 0
	}
	if seen[name] == 0 {
		seen[name] = len(seen) + 1
	}
	return seen[name]
}

func sorted(v []uint64) []uint64 {
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return v
}

// caseSetup turns a recorded case into a setup.
func caseSetup(c map[string]any) *setup.Setup {
	cfg := map[string]any{"model_type": c["model_type"]}
	if m, ok := c["config"].(map[string]any); ok {
		for k, v := range m {
			cfg[k] = v
		}
	}
	num := func(k string, def int) int {
		if f, ok := c[k].(float64); ok {
			return int(f)
		}
		return def
	}
	str := func(k string) string { s, _ := c[k].(string); return s }
	s := &setup.Setup{Model: setup.Model{Config: cfg}, Batch: num("batch", 1), Seq: num("seq", 0), Precision: str("precision"), Steps: 2, Attention: "sdpa"}
	s.Model.Head = map[string]string{"causal": "causal-lm", "masked": "masked-lm", "plain": "encoder", "seq2seq": "seq2seq-lm", "image": "image-classification", "vision": "causal-lm", "speech": "seq2seq-lm", "segment": "semantic-segmentation",
		"texts": "sequence-classification", "tokens": "token-classification", "question": "question-answering", "choice": "multiple-choice"}[str("head")]
	if c["model"] == "torchvision" {
		s.Model = setup.Model{Name: "torchvision/" + str("arch"), Head: "image-classification"}
	}
	if c["model"] == "naics" {
		args, _ := c["args"].(map[string]any)
		s.Model = setup.Model{Config: map[string]any{"model_type": "multi-encoder", "num_hidden_layers": args["layers"]}}
		s.Positives, s.Negatives = num("n_positives", 0), num("n_negatives", 0)
		c["checkpointing"] = args["ckpt"]
	}
	s.TargetSeq, s.Resolution = num("tgt", s.Seq/4), num("resolution", 0)
	if s.Model.Head == "multiple-choice" {
		s.Choices = num("choices", 4)
	}
	s.Optimizer = strings.ReplaceAll(str("optimizer"), "_", "-")
	if s.Optimizer == "sgdm" {
		s.Optimizer = "sgd-momentum"
	}
	s.Checkpointing, _ = c["checkpointing"].(bool)
	s.Clip, _ = c["clip"].(bool)
	s.Weights, s.Loss = str("weights"), str("loss")
	imagesOf(s, c)
	parts, _ := c["liger"].([]any)
	for _, p := range parts {
		s.Liger = append(s.Liger, p.(string))
	}
	if d, ok := c["dist"].(map[string]any); ok {
		s.Dist = setup.Over(d["kind"].(string), int(d["world"].(float64)))
		s.Dist.BucketView, _ = d["bucket_view"].(bool)
		if s.Precision == "fsdp-bf16" {
			s.Precision, s.Dist.ParamDType, s.Dist.ReduceDType = "fp32", "bf16", "fp32"
		}
	}
	if a := str("attn"); a != "" {
		s.Attention = a
	}
	if m, ok := c["mask"].(bool); ok {
		s.AttentionMask = &m
	}
	if p, ok := c["quantization"].(map[string]any); ok {
		s.Quantization = &setup.Quantization{Bits: 4, Prepare: p["prepare"].(bool)}
		if bits, ok := p["bits"].(float64); ok {
			s.Quantization.Bits = int(bits)
		}
		s.Quantization.Double, _ = p["double"].(bool)
		s.Quantization.Compute, _ = p["compute"].(string)
		s.Quantization.Adapters, _ = p["adapters"].(string)
		s.Versions.BitsAndBytes = str("bitsandbytes")
	}
	if l, ok := c["lora"].(map[string]any); ok {
		rank, _ := l["r"].(float64)
		s.LoRA = &setup.LoRA{Rank: int(rank)}
		s.LoRA.Dropout, _ = l["dropout"].(float64)
		s.LoRA.PEFT, _ = l["peft"].(bool)
		if base, ok := l["base"].(string); ok {
			s.Weights = base
		}
		s.LoRA.DoRA, _ = l["dora"].(bool)
		s.LoRA.Tuner, _ = l["tuner"].(string)
		if names, ok := l["feedforward"].([]any); ok {
			for _, name := range names {
				s.LoRA.Feedforward = append(s.LoRA.Feedforward, name.(string))
			}
		}
		if save, ok := l["save"].([]any); ok {
			for _, name := range save {
				s.LoRA.Save = append(s.LoRA.Save, name.(string))
			}
		}
		for _, key := range []struct {
			name string
			at   *int
		}{{"virtual_tokens", &s.LoRA.Virtual}, {"encoder_hidden", &s.LoRA.Encoder}} {
			if n, ok := l[key.name].(float64); ok {
				*key.at = int(n)
			}
		}
		if s.LoRA.Tuner == "oft" {
			s.LoRA.Rank, s.LoRA.Block = 0, s.LoRA.Rank
		}
		s.LoRA.Projection = s.LoRA.Tuner == "prefix" && s.LoRA.Encoder > 0
		targets, _ := l["targets"].([]any)
		for _, t := range targets {
			s.LoRA.Targets = append(s.LoRA.Targets, t.(string))
		}
	}
	return s
}

// imagesOf sets the images and the frozen parts of a recorded case.
func imagesOf(s *setup.Setup, c map[string]any) {
	if size, ok := c["image_size"].([]any); ok && c["images"] == nil {
		s.ImageSize, s.ImageWidth = int(size[0].(float64)), int(size[1].(float64))
	}
	if n, ok := c["images"].(float64); ok {
		size := c["image_size"].([]any)
		s.Images, s.ImageSize, s.ImageWidth = int(n), int(size[0].(float64)), int(size[1].(float64))
	}
	frozen, _ := c["freeze"].([]any)
	for _, part := range frozen {
		s.Freeze = append(s.Freeze, part.(string))
	}
}

// simulated returns the moments of a simulated run.
func simulated(t *testing.T, s *setup.Setup, o Options) []moment {
	t.Helper()
	type at struct {
		event int
		op    string
	}
	var ops []at
	o.Undivided, o.OutOfPlace = true, true
	o.Log = func(w *shadow.World, op string) { ops = append(ops, at{len(w.Trace.Events), op}) }
	r, err := Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []moment
	var freed []uint64
	size := map[uint32]uint64{}
	k, op := 0, ""
	for i, e := range r.World.Trace.Events {
		for k < len(ops) && ops[k].event <= i {
			op = ops[k].op
			k++
		}
		switch e.Kind {
		case stream.Alloc:
			size[e.ID] = e.Size
			out = append(out, moment{op: op, size: e.Size, queue: int(e.Queue), freed: sorted(freed)})
			freed = nil
		case stream.Free:
			freed = append(freed, size[e.ID])
		}
	}
	return append(out, moment{op: "end", freed: sorted(freed)})
}

// fromFirstStep drops the loading of the model.
func fromFirstStep(m []moment) []moment {
	for i := range m {
		if strings.Contains(m[i].op, "step") || strings.Contains(m[i].op, "randint") || strings.Contains(m[i].op, "randn") {
			m[i].freed = nil // at the end of loading
			return m[i:]
		}
	}
	return m
}

func TestOps(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/measured/ops*/*.txt.gz")
	standin, _ := filepath.Glob("../../testdata/standin/ops/*.txt.gz")
	files = append(files, standin...)
	if dir := os.Getenv("SNUG_OPS"); dir != "" {
		files, _ = filepath.Glob(filepath.Join(dir, "*.txt.gz"))
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txt.gz")
		t.Run(name, func(t *testing.T) {
			c, want, skips := readOps(t, f)
			got := simulated(t, caseSetup(c), Options{Skips: skips, Standin: strings.Contains(f, "standin")})
			compare(t, fromFirstStep(got), fromFirstStep(want))
		})
	}
}

func compare(t *testing.T, got, want []moment) {
	t.Helper()
	for i := range want {
		if i >= len(got) {
			t.Fatalf("the stream ends after %d allocations of %d; next is %d bytes in %s", len(got), len(want), want[i].size, want[i].op)
		}
		g, w := got[i], want[i]
		if g.size != w.size || g.queue != w.queue || fmt.Sprint(g.freed) != fmt.Sprint(w.freed) {
			for j := max(0, i-3); j < i; j++ {
				t.Logf("  same %d  freed %v  [%s | %s]", want[j].size, want[j].freed, got[j].op, want[j].op)
			}
			t.Fatalf("allocation %d of %d:\n got %d on %d, freed before it %v, in %s\nwant %d on %d, freed before it %v, in %s", i, len(want), g.size, g.queue, g.freed, g.op, w.size, w.queue, w.freed, w.op)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the stream is too long: %d allocations, want %d", len(got), len(want))
	}
}
