// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"path"
	"slices"
	"snug/internal/pattern"
	"strings"
)

// A hub has a hundred copies of each known model, and people keep them in their own folders. Assume maps the name
// of a copy to the known model. The comparison ignores only what cannot change a shape: the owner, the folder,
// and neutralWords next to a size. Anything else may mean a longer vocabulary or other layers.

// neutralWords describe how a model was trained or stored, not its architecture.
var neutralWords = []string{
	"hf", "chat", "instruct", "it", "base", "pt", "meta", "sft", "dpo", "orpo", "kto", "simpo", "ppo", "grpo", "finetuned", "checkpoints",
}

var (
	// sizeWord matches the size in a name: 7b, 1.5b, 350m, 8x7b.
	sizeWord = pattern.New(`^(\d+x)?\d+(\.\d+)?[bm]$`)
	// passedOver matches last elements of paths that do not name a model.
	passedOver = pattern.New(`^(checkpoint-\d+|original|snapshots|[0-9a-f]{40})$`)
)

// ownCode lists owners of checkpoints that come with their own code. The same models in transformers' format have hf
// in their names.
var ownCode = []string{"liuhaotian", "OpenGVLab"}

// typeWords maps words in the names of copies to the types of their weights.
var typeWords = map[string]string{"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}

// Assume returns the known model that a name or a path refers to under another owner or in another folder, and a
// description of it; nil if there is none. For a checkpoint saved in 4 bits, the model has the quantization_config that
// bitsandbytes saves; for one quantized by GPTQ or AWQ, the one that its name implies.
func Assume(name string) (*Entry, string) {
	own := words(lastElement(name))
	kept, format := unquantized(own)
	if ofTimm(name) || format != "" && !simulated(format) {
		return nil, ""
	}
	kept, dtype := untyped(kept)
	if slices.Contains(ownCode, owner(name)) && !slices.Contains(kept, "hf") {
		return nil, ""
	}
	e := sameName(kept, owner(name))
	if e == nil {
		return nil, ""
	}
	if dtype != "" {
		e.Config["dtype"] = dtype
	}
	if format == "" {
		return e, e.Name
	}
	if format != bnb4bit {
		config, text := savedPacked(format, own)
		e.Config["quantization_config"] = config
		if dtype == "" {
			e.Config["dtype"] = "float16"
		}
		return e, e.Name + " " + text
	}
	e.Config["quantization_config"] = savedIn4Bits()
	text := e.Name + " saved by bitsandbytes in 4 bits (nf4, double quantization)"
	if slices.Contains(own, "unsloth") {
		text += "; unsloth keeps some of its layers in 16 bits, which takes more"
	}
	return e, text
}

// untyped returns the words of a name without the type of the weights, and that type; "" if it has none.
func untyped(words []string) (kept []string, dtype string) {
	for _, w := range words {
		if t := typeWords[w]; t != "" {
			dtype = t
		} else {
			kept = append(kept, w)
		}
	}
	return kept, dtype
}

// owner returns the owner of a name on the hub; for a path, the folder.
func owner(name string) string { return path.Base(path.Dir(name)) }

// Known returns the model with the given or an equivalent name, or nil.
func Known(name string) *Entry {
	if e := Find(name); e != nil {
		return e
	}
	e, _ := Assume(name)
	return e
}

// lastElement returns the part of a name that identifies the model: the last element of a path, or the name in a
// Hugging Face cache folder (models--org--name).
func lastElement(name string) string {
	elements := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	for len(elements) > 1 && passedOver.In(elements[len(elements)-1]) {
		elements = elements[:len(elements)-1]
	}
	if len(elements) == 0 {
		return ""
	}
	last := elements[len(elements)-1]
	if hub, is := strings.CutPrefix(last, "models--"); is {
		last = path.Base(strings.ReplaceAll(hub, "--", "/"))
	}
	return last
}

// sameName returns the model whose name has the same words, or the same words apart from neutralWords. It prefers
// the owner's model, then the original. It returns nil if there is none, or if there are several of different
// sizes.
func sameName(own []string, owner string) *Entry {
	for _, key := range []func([]string) string{whole, neutral} {
		want := key(own)
		if want == "" {
			return nil
		}
		if found := allNamed(want, key); len(found) > 0 {
			if slices.ContainsFunc(found, func(e Entry) bool { return e.Params != found[0].Params }) {
				return nil
			}
			at := slices.IndexFunc(found, func(e Entry) bool { return path.Dir(e.Hub) == owner })
			return &found[max(at, 0)]
		}
	}
	return nil
}

// allNamed returns the models whose names have the given key, originals first.
func allNamed(want string, key func([]string) string) []Entry {
	var out []Entry
	for _, m := range models() {
		if key(words(m.name)) == want || key(words(path.Base(m.hub))) == want {
			out = append(out, decode[Entry](m.line))
		}
	}
	for _, m := range variants() {
		if key(words(path.Base(m.hub))) == want {
			out = append(out, m.entry())
		}
	}
	return out
}

// whole returns the words of a name without separators, so that llama2-7b equals llama-2-7b.
func whole(words []string) string { return strings.Join(words, "") }

// neutral is whole without neutralWords. A name without a size keeps them, so that t5 does not equal t5-base.
func neutral(words []string) string {
	if !slices.ContainsFunc(words, sizeWord.In) {
		return whole(words)
	}
	return whole(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(neutralWords, w) }))
}
