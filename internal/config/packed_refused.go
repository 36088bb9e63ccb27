// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
)

// Packed weights that are not simulated, and what files leave open about others.

// idles tells whether nothing is packed for want of a second flag: ms-swift wants to
// be told by what.
func (p *Project) idles(b *bound) bool { return b.from("quant_bits") && len(p.of("packs")) == 0 }

// unpackable is why packed weights are not simulated, "" where they are.
func (p *Project) unpackable(b *bound) string {
	switch {
	case p.system() == &torchtune:
		return "packs them into fewer bits by code of torchtune's own, which is not simulated"
	case b.Value != packedTo4:
		return "packs them into fewer bits, which is not estimated yet"
	case slices.ContainsFunc(p.of("packs"), func(b bound) bool { return b.Value == otherLibrary }):
		return "packs them by another library than bitsandbytes, which is not simulated"
	case p.deepspeed() && p.world() > 1:
		return "packs them, which is not simulated with DeepSpeed around it; leave that out"
	}
	return ""
}

// refusedPacking is what is missing where weights are packed in a way that is not
// simulated.
func (p *Project) refusedPacking() []Missing {
	b := p.packing()
	if b == nil || p.unpackable(b) == "" {
		return nil
	}
	return []Missing{{Weights, fmt.Sprintf("%s: %s %s; measure it: snug profile -- <your command>", b.where(), b.Path, p.unpackable(b))}}
}

// packedDoubts is what files leave open about packed weights: a program of one's own
// decides the rest.
func (p *Project) packedDoubts(run map[string]any) []string {
	b, in := p.packing(), run["packed"]
	if b != nil && p.idles(b) && in == nil {
		return []string{fmt.Sprintf("%s: %s packs nothing without --quant_method bnb, and nothing is counted as packed", b.where(), b.Path)}
	}
	if b == nil || in == nil || p.unpackable(b) != "" || p.says("packed.bits") {
		return nil
	}
	if older := p.olderTRL(); older != "" {
		return []string{older}
	}
	own := p.system() == &hf || p.system() == &plain || p.system() == &shell
	switch {
	case own && !p.inCode() && !b.from("quantization_bit") && !b.from("quant_bits"):
		return []string{fmt.Sprintf("%s: %s packs weights; whether the program raises the rest to float32 (prepare_model_for_kbit_training) no file says: it is counted as loaded, --packed-raised counts it raised", b.where(), b.Path)}
	case p.inCode() && !p.raises() && p.system() != &trl:
		return []string{fmt.Sprintf("%s: %s packs weights; the rest is counted as loaded, as prepare_model_for_kbit_training is not called here", b.where(), b.Path)}
	}
	return nil
}

// olderTRL is that the TRL that is installed has another way with packed weights:
// before 0.26 it raised them by PEFT's function, and with bf16 lowered embeddings and
// head again (models/utils.py: prepare_peft_model).
func (p *Project) olderTRL() string {
	var minor int
	if n, _ := fmt.Sscanf(p.trl, "0.%d", &minor); p.system() != &trl || n != 1 || minor >= 26 {
		return ""
	}
	return fmt.Sprintf("TRL %s, which is installed, keeps norms and adapters beside packed weights in float32; they are counted as TRL 1.16 has them, and the run takes more", p.trl)
}
