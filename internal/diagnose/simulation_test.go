// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"

	"snug/internal/units"
)

const message24 = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 23.13 GiB memory in use. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n"

func judged(t *testing.T, text string) *Verdict {
	t.Helper()
	log, err := ReadLog(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return Judge(Evidence{Log: log})
}

// advice returns all fixes as one text.
func advice(v *Verdict) string {
	var b strings.Builder
	for _, f := range v.Fixes {
		b.WriteString(f.Text() + "\n")
	}
	return b.String()
}

// TestSimulated checks that the verdict and the advice agree with a simulation of the run.
func TestSimulated(t *testing.T) {
	const (
		steps     = "step 1 loss 2\nstep 2 loss 2\nstep 3 loss 2\nstep 4 loss 2\nstep 5 loss 2\nstep 6 loss 2\n"
		loads     = "Traceback (most recent call last):\n  File \"train.py\", line 6, in <module>\n    model.to(\"cuda\")\n  File \"/usr/lib/python3/site-packages/torch/nn/modules/module.py\", line 900, in _apply\n    module._apply(fn)\n"
		evaluates = "Traceback (most recent call last):\n  File \"train.py\", line 6, in evaluate\n    out = model(x)\n"
		larger    = "RuntimeError: CUDA out of memory. Tried to allocate 49.08 GiB (GPU 0; 23.65 GiB total capacity; 1.52 GiB already allocated; 12.30 GiB free; 1.61 GiB reserved in total by PyTorch)\n"
	)
	fits := Simulation{Fits: true, Needs: 14 * units.GiB, Most: 15 * units.GiB, Has: 23 * units.GiB, Tensors: 12 * units.GiB, Loading: units.GiB, Settings: "the given settings", Estimate: "snug estimate --model m", Optimize: "snug optimize --model m"}
	near, keeps, guessed, none := fits, fits, fits, fits
	near.Most = 24 * units.GiB
	keeps.Kept = &Kept{Where: "train.py:17", Code: "kept.append(out)", Bytes: units.GiB, File: "train.py"}
	guessed.Kept, guessed.Guessed = keeps.Kept, true
	none.Fits, none.Needs, none.Searched = false, 99*units.GiB, true
	found := none
	found.Fixes = []Fix{{Change: "train with --checkpointing"}}
	for _, c := range []struct {
		name, text string
		sim        Simulation
		code       Code
		confidence Confidence
		says, not  string // in the reason or the advice
	}{
		{"fits", message24, fits, TooBig, Possible, "had 22.10 GiB in tensors, and the simulated one has at most 12.00 GiB", "checkpointing"},
		{"fits narrowly", message24, near, TooBig, Likely, "too close to tell", "compare the settings"},
		{"fits and keeps", message24, keeps, Leak, Likely, "at train.py:17, keep numbers", "optimize"},
		{"another run may keep", message24, guessed, Leak, Possible, "snug lint train.py", "optimize"},
		{"a leak does not explain one large tensor", larger, keeps, TooBig, Possible, "a single tensor of 49.08 GiB", "keep numbers"},
		{"later step that keeps", steps + message24, keeps, Leak, Likely, "at train.py:17", "longest"},
		{"loading", loads + message24, fits, Loading, Possible, "being moved to the card, but with the given settings, the model takes 1.00 GiB", "16 bits"},
		{"loading a model that would fit alone", loads + message24, found, Loading, Possible, "the model takes 1.00 GiB", "--checkpointing"},
		{"evaluation of a run that does not fit", evaluates + message24, found, Evaluation, Certain, "so the earlier steps had other settings", "--checkpointing"},
		{"does not fit", message24, found, TooBig, Likely, "snug optimize --model m", "turn gradient checkpointing on"},
		{"nothing helps", message24, none, TooBig, Likely, "none of the changes", "snug optimize"},
	} {
		v := judged(t, c.text)
		v.Simulated(c.sim)
		all := v.Why + "\n" + advice(v)
		if v.Code != c.code || v.Confidence != c.confidence || !strings.Contains(all, c.says) || strings.Contains(all, c.not) {
			t.Errorf("%s: %s, %s; want %s, %s with %q and without %q\n%s", c.name, v.Code, v.Confidence, c.code, c.confidence, c.says, c.not, all)
		}
	}
}

// TestKeeps checks the verdict on a run that cannot be simulated but has a line that keeps tensors.
func TestKeeps(t *testing.T) {
	kept := &Kept{Where: "train.py:17", Code: "kept.append(out)", File: "train.py"}
	large := strings.Replace(message24, "786.00 MiB", "2.00 GiB", 1)
	v := judged(t, strings.Repeat("loss 2\n", 6)+large)
	if v.Code != LongBatch {
		t.Fatalf("%s before the script was read, want %s", v.Code, LongBatch)
	}
	if v.Keeps(kept); v.Code != Leak || v.Where != "train.py:17" {
		t.Errorf("%s at %s, want %s at the line that keeps", v.Code, v.Where, Leak)
	}
	v = judged(t, large)
	if v.Keeps(kept); v.Code != TooBig || !strings.Contains(advice(v), "at train.py:17") {
		t.Errorf("%s, want %s with advice on the line that keeps\n%s", v.Code, TooBig, advice(v))
	}
}

// TestSingleTensor checks the advice on a request that is larger than the card.
func TestSingleTensor(t *testing.T) {
	const message = "RuntimeError: CUDA out of memory. Tried to allocate 49.08 GiB (GPU 0; 14.76 GiB total capacity; 1.52 GiB already allocated; 12.30 GiB free; 1.61 GiB reserved in total by PyTorch)\n"
	at := func(code string) string {
		return "Traceback (most recent call last):\n  File \"train.py\", line 6, in forward\n    " + code + "\n" + message
	}
	for _, c := range []struct{ name, text, says string }{
		{"unknown", message, "find out which tensor it is"},
		{"attention", at("attn_weights = torch.matmul(query, key.transpose(2, 3))"), "sdpa"},
		{"a list", at("out = torch.stack(outputs)"), "outputs"},
		{"logits", at("loss = F.cross_entropy(logits.view(-1, v), y.view(-1))"), "fused cross-entropy"},
	} {
		got := advice(judged(t, c.text))
		if !strings.Contains(got, "at least 8 times smaller") || !strings.Contains(got, c.says) {
			t.Errorf("%s: want %q in\n%s", c.name, c.says, got)
		}
		if strings.Contains(got, halve) || strings.Contains(got, "turn gradient checkpointing on") {
			t.Errorf("%s: advice that cannot work:\n%s", c.name, got)
		}
	}
}

// TestUnknownSize checks that a message without the size of the request is not described as a request of 0 bytes.
func TestUnknownSize(t *testing.T) {
	v := judged(t, "Epoch 1:  32%|###       | 320/1000 [01:22<02:55,  3.87it/s, v_num=0]\nRuntimeError: CUDA error: out of memory\n")
	if v.Code != Leak || v.Confidence != Possible || !strings.Contains(v.Why, "whose size the message does not give") || strings.Contains(v.Why, "0 B") {
		t.Errorf("%s (%s): %s", v.Code, v.Confidence, v.Why)
	}
}

// TestRisingMemory checks which memory figures in a log show a leak.
func TestRisingMemory(t *testing.T) {
	for _, c := range []struct {
		name, steps string
		want        Code
	}{
		{"without units", "step 10 mem 4.1\nstep 20 mem 6.3\nstep 30 mem 8.2\n", Leak},
		{"levels off", "step 10 mem 4.1\nstep 20 mem 6.3\nstep 30 mem 6.3\n", LongBatch},
		{"first steps", "step 0 mem 1.1\nstep 1 mem 6.3\nstep 2 mem 8.1\n", TooBig},
		{"not memory", "step 10 member 4\nstep 20 member 6\nstep 30 member 8\n", LongBatch},
	} {
		v := judged(t, c.steps+strings.Replace(message24, "786.00 MiB", "2.00 GiB", 1))
		if v.Code != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Code, v.Why, c.want)
		}
	}
}

// TestJoinedList checks a failure in a line that copies a list of tensors into one, after several steps.
func TestJoinedList(t *testing.T) {
	steps := strings.Repeat("loss 2\n", 6)
	at := func(frames string) string {
		return steps + "Traceback (most recent call last):\n" + frames + strings.Replace(message24, "786.00 MiB", "12.00 GiB", 1)
	}
	const (
		inLoop  = "  File \"train.py\", line 61, in main\n    all = torch.cat(outputs, dim=0)\n"
		inModel = "  File \"train.py\", line 61, in main\n    y = model(x)\n  File \"/x/site-packages/torch/nn/modules/module.py\", line 1511, in _call_impl\n    return forward_call(*args, **kwargs)\n  File \"train.py\", line 33, in forward\n    y = torch.stack(outputs)\n"
		ofTwo   = "  File \"train.py\", line 61, in main\n    x = torch.cat([x, y], dim=1)\n"
	)
	for _, c := range []struct {
		name, text string
		want       Code
		names      bool
	}{
		{"in the loop", at(inLoop), Leak, true},
		{"in the model", at(inModel), LongBatch, true},
		{"of two tensors", at(ofTwo), LongBatch, false},
	} {
		v := judged(t, c.text)
		if v.Code != c.want || strings.Contains(v.Why+advice(v), "outputs") != c.names {
			t.Errorf("%s: %s (%s), want %s\n%s", c.name, v.Code, v.Why, c.want, advice(v))
		}
	}
}
