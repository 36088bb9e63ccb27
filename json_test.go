// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug"
	"snug/internal/cli"
	"snug/internal/files"
)

// command returns the output of `snug` with a setup on its standard input.
func command(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	open := func(path string) (io.ReadCloser, error) { return files.OpenNamed(path) }
	code := cli.Run(context.Background(), cli.Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Open: open,
	}, args)
	if code > 1 {
		t.Fatalf("snug %s: %s", strings.Join(args, " "), errs.String())
	}
	return strings.TrimSpace(out.String())
}

// setups are runs of many kinds, as setup files.
var setups = map[string]string{
	"plain":     `{"id":"plain","model":{"name":"gpt2"},"batch":2,"seq":64}`,
	"config":    `{"model":{"config":{"model_type":"llama","num_hidden_layers":2,"hidden_size":256,"num_attention_heads":4,"intermediate_size":512}},"batch":2,"seq":64,"precision":"bf16"}`,
	"images":    `{"model":{"name":"torchvision/resnet18"},"batch":4,"optimizer":"sgd-momentum","precision":"amp-bf16"}`,
	"adapters":  `{"model":{"name":"gpt2"},"batch":1,"seq":64,"precision":"amp-bf16","weights":"bf16","lora":{"rank":8,"alpha":16,"targets":["c_attn"],"peft":true}}`,
	"quantized": `{"model":{"name":"llama-3.2-1b"},"batch":1,"seq":64,"precision":"amp-bf16","lora":{"rank":8,"targets":["q_proj"],"peft":true},"quantization":{"bits":4,"type":"nf4","double":true,"compute":"bf16"}}`,
	"spread":    `{"model":{"name":"gpt2"},"batch":2,"seq":64,"precision":"bf16","checkpointing":true,"clip":true,"dist":{"kind":"fsdp2","world":4,"load":"sharded"},"limit":8589934592}`,
	"encoder":   `{"model":{"name":"bert-base","head":"encoder"},"batch":4,"seq":32,"negatives":1,"attention":"eager","attention_mask":false,"accumulation":2,"set_to_none":false,"allocator":"expandable_segments:True","versions":{"torch":"2.10"},"steps":4}`,
}

// TestSetupsInJSON checks that a setup is unchanged after it is read and written again.
func TestSetupsInJSON(t *testing.T) {
	for name, text := range setups {
		s, err := snug.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(t, text), object(t, string(again))); diff != "" {
			t.Errorf("%s: (-read +written)\n%s", name, diff)
		}
	}
}

func object(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// agrees checks that the library's answer is what the command prints, and that the output decodes to the
// same answer.
func agrees[T any](t *testing.T, printed string, answer *T) {
	t.Helper()
	data, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object(t, printed), object(t, string(data))); diff != "" {
		t.Errorf("(-command +library)\n%s", diff)
	}
	var read T
	if err := json.Unmarshal([]byte(printed), &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object(t, printed), object(t, string(again))); diff != "" {
		t.Errorf("(-printed +decoded and encoded)\n%s", diff)
	}
}

func TestEstimateIsTheCommands(t *testing.T) {
	card, err := snug.FindCard("RTX 4090")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]struct {
		card  snug.Card
		flags []string
	}{
		"nowhere": {},
		"card":    {card, []string{"--gpu", "RTX-4090"}},
		"memory":  {snug.CardWithMemory(24 * snug.GiB), []string{"--gpu-memory", "24"}},
		"total":   {snug.Card{Total: 24 * snug.GiB}, []string{"--gpu-memory", "24"}},
		"resized": {card.WithTotal(12 * snug.GiB), []string{"--gpu", "RTX-4090", "--gpu-memory", "12"}},
	}
	for name, text := range setups {
		for where, at := range places {
			t.Run(name+" "+where, func(t *testing.T) {
				s, err := snug.Parse([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				a, err := snug.Estimate(context.Background(), s, at.card)
				if err != nil {
					t.Fatal(err)
				}
				agrees(t, command(t, text, append([]string{"estimate", "--setup", "-", "--json"}, at.flags...)...), a)
			})
		}
	}
}

func TestSearchesAreTheCommands(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"plain", "images", "spread"} {
		t.Run(name, func(t *testing.T) {
			s, err := snug.Parse([]byte(setups[name]))
			if err != nil {
				t.Fatal(err)
			}
			card := snug.CardWithMemory(8 * snug.GiB)
			m, err := snug.MaxBatch(ctx, s, card)
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, command(t, setups[name], "max-batch", "--setup", "-", "--json", "--gpu-memory", "8GiB"), m)
			p, err := snug.Optimize(ctx, s, card, snug.PlanOptions{Target: 16, Lock: []string{"precision"}})
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, command(t, setups[name], "optimize", "--setup", "-", "--json", "--gpu-memory", "8GiB", "--target-effective-batch", "16", "--lock", "precision"), p)
		})
	}
}

func TestRecordingsAreTheCommands(t *testing.T) {
	ctx := context.Background()
	two, three := "testdata/measured/traces/gsa-b2-s1024-amp-bf16-adamw.pickle.gz", "testdata/measured/traces/gsa-b4-s1024-amp-bf16-adamw.pickle.gz"
	p, err := snug.FitProfile(ctx, []snug.Recording{{two, snug.Size{"batch": 2}}, {three, snug.Size{"batch": 4}}})
	if err != nil {
		t.Fatal(err)
	}
	if q := p.Quantities(); len(q) != 1 || q[0] != "batch" || p.Torch() != "2.11" {
		t.Errorf("quantities %v, PyTorch %s", q, p.Torch())
	}
	got, err := p.Predict(ctx, snug.Size{"batch": 16})
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, command(t, "", "predict", two+"@batch=2", three+"@batch=4", "--at", "batch=16", "--json"), got)

	r, err := snug.Replay(ctx, two, snug.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, command(t, "", "replay", two, "--json"), r)
	conf := "max_split_size_mb:128"
	r, err = snug.Replay(ctx, two, snug.ReplayOptions{Allocator: &conf, Limit: 1 << 30, Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, command(t, "", "replay", two, "--json", "--alloc-conf", conf, "--limit", "1GiB", "--compare"), r)

	// A profile can be used as a model too.
	file := filepath.Join(t.TempDir(), "memory.snug")
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &snug.Setup{Model: snug.Model{Profile: file}, Batch: 8}
	a, err := snug.Estimate(ctx, s, snug.Card{})
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, command(t, "", "estimate", "--model", file, "--batch", "8", "--json"), a)
}

// TestParseEarlierNames checks that the setting names of earlier versions are read as the command reads them.
func TestParseEarlierNames(t *testing.T) {
	const text = `{"model": {"name": "gpt2"}, "batch": 4, "seq": 128, "lora": {"rank": 8}, "packed": {"bits": 4, "raised": true}}`
	s, err := snug.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if q := s.Quantization; q == nil || q.Bits != 4 || !q.Prepare {
		t.Errorf("read as %+v", q)
	}
	if _, err := snug.Parse([]byte(`{"model": {"name": "gpt2"}, "batch": 4, "packed": {"bits": 4}, "quantization": {"bits": 8}}`)); err == nil || !strings.Contains(err.Error(), `"packed" is not known`) {
		t.Errorf("with both names: %v", err)
	}
}
