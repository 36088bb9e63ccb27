// SPDX-License-Identifier: Apache-2.0

package cost

// update is what an optimizer does to each parameter: how often it reads or
// writes an element of it (parameter, gradient, states, temporaries), how many
// kernels it launches for each parameter, and how many for all together.
type update struct {
	passes    float64
	each, all float64
}

// updates by optimizer. The passes are counted in torch/optim (2.11): AdamW in
// its foreach form runs mul_, lerp_, mul_, addcmul_, sqrt, div_, add_, addcdiv_.
var updates = map[string]update{
	"adamw":        {passes: 20, all: 8},
	"adam":         {passes: 18, all: 7},
	"adamw-fused":  {passes: 7, all: 1},
	"adam-fused":   {passes: 7, all: 1},
	"adamw-loop":   {passes: 20, each: 8},
	"adam-loop":    {passes: 18, each: 7},
	"adam-amsgrad": {passes: 21, all: 8},
	"adamax":       {passes: 19, all: 7},
	"nadam":        {passes: 22, all: 9},
	"radam":        {passes: 22, all: 10},
	"sgd":          {passes: 3, all: 1},
	"sgd-momentum": {passes: 8, all: 3},
	"adafactor":    {passes: 24, each: 18},
	"rmsprop":      {passes: 12, all: 5},
	"adagrad":      {passes: 10, all: 5},
	"lion":         {passes: 12, each: 5},
	"lion-8bit":    {passes: 5, each: 1},
	"adamw-8bit":   {passes: 5, each: 1},
}

// updated advances the clock by the optimizer's step over the trainable parameters, and by clipping if
// there is any.
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

// microDone notes that the forward and backward of a micro-batch are done.
func (k *clock) microDone() { k.micro = append(k.micro, max(k.host, k.device)) }

// seconds returns the length of a step with the given number of micro-batches. Those that the clock has
// not seen take as long as the last.
func (k *clock) seconds(accumulation int) float64 {
	total := max(k.host, k.device) + k.c.Step
	if n := len(k.micro); n > 1 && accumulation > n {
		total += float64(accumulation-n) * (k.micro[n-1] - k.micro[n-2])
	}
	return total
}
