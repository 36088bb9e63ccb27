// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strconv"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/pattern"
)

// A program may take the samples of a whole step and those of a forward, and divide them itself, as alpaca-lora's does:
// batch_size // micro_batch_size. Then the smaller one is the batch, and the other decides the accumulation.

var (
	dividesTotal = pattern.New(`(?m)^[^#\n]*\bbatch_size[ \t]*//[ \t]*(?:\w+\.)*micro_batch_size\b`, "micro_batch_size")
	dividesWorld = pattern.New(`(?m)^[^#\n]*//=?[ \t]*(?:\w+\.)*world_size\b`, "world_size")
	totalDefault = pattern.New(`(?m)^[^#\n]*(?:\bbatch_size[ \t]*(?::[ \t]*int[ \t]*)?=|["']--batch_size["'][^#\n]*\bdefault[ \t]*=)[ \t]*(\d+)`, "batch_size")
)

// bindTotal binds the samples of a whole step for a script that starts such a program, unless a file sets the accumulation.
func (p *Found) bindTotal() {
	e := p.onlyProgram()
	if e == nil || p.Primary.System.Commands == nil || !dividesTotal.In(e.Text) || len(p.BindingsOf("accumulation"))+len(p.BindingsOf("effective")) > 0 {
		return
	}
	total := 0
	if n, given := p.argumentValues()["batch_size"].(float64); given {
		total = int(n)
	} else if m := totalDefault.Find(e.Text); m != nil {
		total, _ = strconv.Atoi(m[1])
	}
	batch := 0
	for _, b := range p.BindingsOf("batch") {
		if n, is := b.Value.(int); is && batch == 0 {
			batch = n
		}
	}
	if batch == 0 || total < batch {
		return
	}
	k := &systems.Key{Setting: "effective", Path: "batch_size", Kind: systems.Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: "the program, which divides it by micro_batch_size"}
	if !dividesWorld.In(e.Text) {
		k.Setting, k.OverGPUs, total = "accumulation", false, total/batch
	}
	at := doc.Path{k.Path}
	p.bind(Bound{Key: k, Source: p.Primary, Place: tree.Place{At: at, File: e.File, Path: at, Computed: "computed by the program"}, Binding: Binding{
		Setting: k.Setting, System: p.Primary.System.Name, File: e.File, Path: at, Value: total, Line: 1, Column: 1,
	}})
}
