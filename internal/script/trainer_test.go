// SPDX-License-Identifier: Apache-2.0

package script

import (
	"reflect"
	"slices"
	"testing"

	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

func TestFlags(t *testing.T) {
	got := flagsOf([]string{
		"--bf16", "--max-steps", "-1", "--optim=sgd", "--include_for_metrics", "inputs", "loss", "--max_steps", "6",
		"--gradient_checkpointing_kwargs", `{"use_reentrant": true, "every_n_layers": 2}`, "--eval_strategy", "no",
	})
	kwargs, _ := got["gradient_checkpointing_kwargs"].(*dict)
	if kwargs == nil {
		t.Fatal("JSON was not parsed")
	}
	if v, _ := kwargs.get("use_reentrant"); v != true {
		t.Errorf("use_reentrant is %v", v)
	}
	if v, _ := kwargs.get("every_n_layers"); v != 2 {
		t.Errorf("every_n_layers is %v", v)
	}
	if l, _ := got["include_for_metrics"].(*list); l == nil || !slices.Equal(l.items, []value{"inputs", "loss"}) {
		t.Errorf("include_for_metrics is %v", got["include_for_metrics"])
	}
	delete(got, "gradient_checkpointing_kwargs")
	delete(got, "include_for_metrics")
	want := map[string]any{"bf16": true, "optim": "sgd", "max_steps": 6, "eval_strategy": "no"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestChosen checks which updates of a long epoch are followed: the first, the last, and those at which something
// happens, with their neighbors.
func TestChosen(t *testing.T) {
	for _, c := range []struct {
		n, before int
		periods   []int
		last      int
		want      []int
	}{
		{n: 1000, last: 2000, want: []int{0, 1, 2, 3, 999}},
		{n: 1000, periods: []int{100}, last: 400, want: []int{0, 1, 2, 3, 99, 100, 101, 199, 200, 201, 399, 999}},
		{n: 1000, before: 1000, periods: []int{600}, last: 5000, want: []int{0, 1, 199, 200, 201, 999}},
	} {
		if got := chosen(c.n, c.before, c.periods, c.last); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	if n := len(chosen(1<<40, 0, []int{500, 500, 500, 2}, 1<<40)); n > 40 {
		t.Errorf("%d updates of a very long epoch", n)
	}
}

func TestDecay(t *testing.T) {
	for name, decays := range map[string]bool{
		"model.layers.0.mlp.up_proj.weight": true, "model.layers.0.self_attn.q_proj.bias": false,
		"model.layers.0.input_layernorm.weight": false, "model.norm.weight": false, "model.layers.0.self_attn.q_norm.weight": false,
		"model.normal.weight": true, "model.embed_tokens.weight": true,
	} {
		if got := !undecayed.Regexp().MatchString(name); got != decays {
			t.Errorf("%s decays: %v", name, got)
		}
	}
}

// TestTrainerOptimizers checks that every name maps to an existing optimizer, and that approximations are noted.
func TestTrainerOptimizers(t *testing.T) {
	for _, c := range []struct {
		optim, extra, want string
		said               bool
	}{
		{optim: "adamw_torch_fused", want: "adamw-fused"},
		{optim: "adamw_torch", want: "adamw"},
		{optim: "sgd", want: "sgd"},
		{optim: "sgd", extra: "momentum=0.9, nesterov=true", want: "sgd-momentum"},
		{optim: "sgd", extra: "momentum=0", want: "sgd"},
		{optim: "adafactor", want: "adafactor"},
		{optim: "rmsprop", extra: "centered=true", want: "rmsprop", said: true},
		{optim: "adamw_8bit", want: "adamw-8bit"},
		{optim: "paged_adamw_8bit", want: "adamw-8bit", said: true},
		{optim: "lion_8bit", want: "lion-8bit"},
		{optim: "galore_adamw", want: "adamw-fused", said: true},
		{optim: "schedule_free_adamw", want: "adamw-fused", said: true},
	} {
		got, text := optimizerOf(c.optim, c.extra)
		if got != c.want || (text != "") != c.said {
			t.Errorf("%s %s: %s, %q", c.optim, c.extra, got, text)
		}
		if !slices.Contains(train.OptimizerNames(), got) {
			t.Errorf("%s: there is no %s", c.optim, got)
		}
	}
}

// TestEventBudget checks when a run counts as long: if its updates, each with a few micro-batches, need more than half
// of the events that the world allows. A world without a limit has no long runs.
func TestEventBudget(t *testing.T) {
	for _, c := range []struct {
		limit, micro, updates int
		want                  bool
	}{
		{limit: 0, micro: 1 << 40, updates: 100},
		{limit: 1000, micro: 0, updates: 100}, // the first micro-batch has not run yet
		{limit: 1000, micro: 125, updates: 1},
		{limit: 1000, micro: 126, updates: 1, want: true},
		{limit: 1000, micro: 10, updates: 12},
		{limit: 1000, micro: 11, updates: 12, want: true},
	} {
		in := &interpreter{microEvents: c.micro}
		in.World = &shadow.World{MaxEvents: c.limit}
		if got := in.isLong(c.updates); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestWithinLimit checks which updates of a run beyond the budget are simulated: the first two of the whole run, and
// those at which something periodic happens. The decision is made anew for each update, because the size of a
// micro-batch is only known after the first.
func TestWithinLimit(t *testing.T) {
	const n = 12
	for name, c := range map[string]struct {
		limit, before int
		periods       []int
		want          []int
	}{
		"no limit":      {0, 0, nil, upTo(n)},
		"a high limit":  {1 << 20, 0, nil, upTo(n)},
		"a low limit":   {1000, 0, nil, []int{0, 1}},
		"with a period": {1000, 0, []int{5}, []int{0, 1, 4, 5}},
		"second epoch":  {1000, 12, []int{20}, []int{7, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			in := &interpreter{}
			in.World = &shadow.World{MaxEvents: c.limit}
			if c.before > 0 {
				in.microEvents = 100 // known from the epoch before
			}
			var got []int
			it := in.withinLimit(whole(upTo(n)), n, c.before, c.periods)
			for v, ok := it.next(); ok; v, ok = it.next() {
				got = append(got, v.(int))
				in.microEvents = 100 // known after the first update
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
