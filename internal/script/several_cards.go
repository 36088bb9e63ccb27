// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// Native functions for trainers on several GPUs: site-packages/transformers.py, accelerate.py and trl_*.py.

func registerSeveralCards() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"over":          func(in *interpreter, _ arguments) value { return in.over() },
		"spread":        spread,
		"spread_frozen": spreadFrozen,
		"boundary":      boundary,
		"read":          read,
		"enter":         enter,
		"leave":         leave,
	} {
		natives["snug."+name] = f
	}
}

// over returns how the run is distributed over GPUs, as a setup names it; "" if it has one GPU.
func (in *interpreter) over() string {
	kind, _ := in.Settings["dist"].(string)
	return kind
}

// shards reports whether each GPU has only a part of the model, of its gradients or of the optimizer's states.
func (in *interpreter) shards() bool { return in.over() != "" && in.over() != "ddp" }

// mapped reports whether TRL loads a model with a device_map, directly to the card. Without one it stays in host memory until
// it is prepared. TRL gives none with DDP and DeepSpeed (trl 1.16, dpo_trainer.py), but forgets FSDP.
func (in *interpreter) mapped() bool { return in.over() == "" || strings.HasPrefix(in.over(), "fsdp") }

// spread implements snug.spread(model): the model that is trained is wrapped for several GPUs.
func spread(in *interpreter, a arguments) value {
	for _, n := range networks(a.or(0, "model", nil)) {
		made := n.wherever(in)
		decays := func(p *shadow.Tensor) bool {
			return !made.LayerNorm(p) && !undecayed.Regexp().MatchString(strings.ToLower(p.Name()))
		}
		if err := made.Spread(decays); err != nil {
			panic(stopped{err})
		}
	}
	return nil
}

// spreadFrozen implements snug.spread_frozen(model): TRL prepares a reference model for the library that shards the
// trained one.
func spreadFrozen(in *interpreter, a arguments) value {
	for _, n := range networks(a.or(0, "model", nil)) {
		n.wherever(in).SpreadFrozen()
	}
	return nil
}

// wherever returns a model that is about to be wrapped: one that will be sharded is still in host memory.
func (n *network) wherever(in *interpreter) Net {
	if !in.shards() {
		return n.there(in)
	}
	made := n.made(in)
	n.away, n.waits = false, false
	return made
}

// boundary implements snug.boundary(models, last): whether the next backward is the last one before an update.
func boundary(in *interpreter, a arguments) value {
	last, ok := a.or(1, "last", true).(bool)
	for _, n := range networks(a.or(0, "models", nil)) {
		n.there(in).Boundary(last || !ok)
	}
	return nil
}

// read implements snug.read(weight): a model's forward uses the weight of a module inside it.
func read(in *interpreter, a arguments) value {
	if t, ok := a.or(0, "weight", nil).(*shadow.Tensor); ok {
		in.World.Read(t)
	}
	return nil
}

// enter implements snug.enter(model): the hooks of wrappers before the model's own forward, if a trainer has replaced it.
func enter(in *interpreter, a arguments) value {
	for _, n := range networks(a.or(0, "model", nil)) {
		n.there(in).Enter()
	}
	return nil
}

// leave implements snug.leave(model, out): the hooks after a forward that snug.enter began, with its result.
func leave(in *interpreter, a arguments) value {
	out, _ := a.or(1, "out", nil).(*shadow.Tensor)
	for _, n := range networks(a.or(0, "model", nil)) {
		n.there(in).Leave(out)
	}
	return nil
}
