// SPDX-License-Identifier: Apache-2.0

package cost

// update is the cost of an optimizer's step: how many times it reads or writes each element (of parameter,
// gradient, states and temporaries), how many kernels it launches per parameter, and how many in total for all
// parameters.
type update struct {
	passes    float64
	each, all float64
}

// updates is the cost by optimizer. The passes were counted in torch/optim (2.11): AdamW in its foreach form runs
// mul_, lerp_, mul_, addcmul_, sqrt, div_, add_, addcdiv_.
var updates = map[string]update{
	"adamw":              {passes: 20, all: 8},
	"adam":               {passes: 18, all: 7},
	"adamw-fused":        {passes: 7, all: 1},
	"adam-fused":         {passes: 7, all: 1},
	"adamw-loop":         {passes: 20, each: 8},
	"adam-loop":          {passes: 18, each: 7},
	"adam-amsgrad":       {passes: 21, all: 8},
	"adamax":             {passes: 19, all: 7},
	"nadam":              {passes: 22, all: 9},
	"radam":              {passes: 22, all: 10},
	"sgd":                {passes: 3, all: 1},
	"sgd-momentum":       {passes: 8, all: 3},
	"adafactor":          {passes: 24, each: 18},
	"rmsprop":            {passes: 12, all: 5},
	"adagrad":            {passes: 10, all: 5},
	"lion":               {passes: 12, each: 5},
	"lion-8bit":          {passes: 5, each: 1},
	"adamw-8bit":         {passes: 5, each: 1},
	"adamw-torchao-8bit": {passes: 9, each: 3},
}

// updated advances the clock by the optimizer's step over the trainable parameters, and by gradient clipping, if
// used.
func (k *clock) updated(w work) {
	u, ok := updates[w.optimizer]
	if !ok {
		u = updates["adamw"]
	}
	passes, each, all := u.passes, u.each, u.all
	if w.clip {
		passes, all = passes+3, all+6
		k.host += 12 * k.c.Op
	}
	n := float64(w.params)
	k.host += n*k.c.Param + n*each*k.c.Op + all*k.c.Op
	k.run(k.moving(passes*w.bytes, k.c.Stream)/w.share + n*each*k.c.Launch)
}

// microDone records the end of a micro-batch's forward and backward.
func (k *clock) microDone() { k.micro = append(k.micro, max(k.host, k.device)) }

// seconds returns the duration of a step with the given number of micro-batches. Micro-batches that were not played
// take as long as the last one.
func (k *clock) seconds(accumulation int) float64 {
	total := max(k.host, k.device) + k.c.Step
	if n := len(k.micro); n > 1 && accumulation > n {
		total += float64(accumulation-n) * (k.micro[n-1] - k.micro[n-2])
	}
	return total
}
