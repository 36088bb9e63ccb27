// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/catalog"
	"snug/internal/pysrc"
)

// Survey is what a script shows about its run. Each part is empty if the script does not show it.
type Survey struct {
	Model         Sighting // the first model that the script loads
	Batch         Sighting // samples of a training batch
	Seq           Sighting // tokens of a sample
	Image         Sighting // height of an image
	Width         int      // width of an image
	Cut           string   // the place where the tokenizer truncates texts at the model's limit
	Open          string   // the place where the script loads a model whose name is only known when it runs
	UnknownModels []string // models that snug does not know, with their lines
	Why           string   // the first thing in the script that is not followed; "" if all of it is
	Code          bool     // the script trains a model that it builds from PyTorch's modules
}

// Sighting is a value found in a script, and its place.
type Sighting struct {
	Name   string         // the model's name, as used with its library
	Config map[string]any // the model's configuration, if it is written in the script
	N      int            // the number, for a batch size or a length
	Where  string         // file:line, or the command-line option
}

// learn fills in missing fields from the loop's script. It also returns what it took from the script. If a required
// field is in neither, it returns an error.
func learn(fields map[string]any, from Source) (map[string]any, Survey, error) {
	var own Survey
	loop, _ := fields["loop"].(string)
	if from.Survey == nil || !ReadsScript(loop) || !lacksAny(fields) {
		return fields, own, nil
	}
	if _, err := loopWords(loop); err != nil {
		return fields, own, err
	}
	s := &Setup{Loop: loop, Precision: FP32, Optimizer: "adamw"}
	if err := s.findLoop(from); err != nil {
		return fields, own, err
	}
	fields = with(fields, nil)
	if fields["model"] == nil {
		seen, err := from.Survey(s)
		if own.Model = seen.Model; seen.Model.Where != "" {
			fields["model"] = from.modelOf(own.Model, filepath.Dir(s.scriptPath(from)))
		} else if model, at := from.learnCode(s, seen, err); model != nil {
			fields["model"], own.Model = model, at
		} else {
			return fields, own, noModel(s, seen, err)
		}
	}
	model, isObject := fields["model"].(map[string]any)
	if !isObject || model["profile"] != nil || model["custom"] != nil {
		return fields, own, nil
	}
	if (&object{keys: model, at: "model."}).model(s, from) != nil {
		return fields, own, nil // Decode reports the error
	}
	seen, err := from.Survey(s)
	if err != nil && (!s.Model.Known() || errors.Is(err, ErrUnknownModel)) {
		return fields, own, err
	}
	if fields["batch"] == nil && seen.Batch.N > 0 {
		fields["batch"], own.Batch = float64(seen.Batch.N), seen.Batch
	}
	if fields["batch"] == nil && !from.AnyBatch {
		return fields, own, noBatch(s, err)
	}
	if fields["seq"] == nil && fields["lengths"] == nil && seen.Seq.N > 0 {
		fields["seq"], own.Seq = float64(seen.Seq.N), seen.Seq
	}
	if s.Model.Config == nil && s.Model.facts().Positions.Images && fields["image_size"] == nil && seen.Image.N > 0 {
		fields["image_size"], own.Image, own.Width = float64(seen.Image.N), seen.Image, seen.Width
		if seen.Width != seen.Image.N && fields["image_width"] == nil {
			fields["image_width"] = float64(seen.Width)
		}
	}
	if n := s.Model.Longest(); fields["seq"] == nil && fields["lengths"] == nil && seen.Cut != "" && n > 0 && n <= shortLimit && !hasOwnLimit(s.Model.Name) {
		fields["seq"], own.Seq = float64(n), Sighting{N: n, Where: seen.Cut + ", where texts are truncated only at the model's limit"}
	}
	return fields, own, nil
}

// shortLimit is the largest model limit, in tokens, that is taken as the sample length. Texts are rarely as long as
// larger limits.
const shortLimit = 512

// hasOwnLimit reports whether a model is one of sentence-transformers' own, which have their own length limit.
func hasOwnLimit(name string) bool {
	e := catalog.Known(name)
	return strings.HasPrefix(name, "sentence-transformers/") || e != nil && strings.HasPrefix(e.Hub, "sentence-transformers/")
}

// lacksAny reports whether a field that a script may show is missing.
func lacksAny(fields map[string]any) bool {
	return fields["model"] == nil || fields["batch"] == nil || fields["seq"] == nil && fields["lengths"] == nil
}

// with returns a copy of fields with others set.
func with(fields, others map[string]any) map[string]any {
	out := make(map[string]any, len(fields)+len(others))
	for _, m := range []map[string]any{fields, others} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// modelOf returns the model field for a model that a script in a folder loads. As in transformers, a folder with a
// config.json takes precedence over a name; the folder may also be next to the script.
func (from Source) modelOf(m Sighting, folder string) map[string]any {
	if m.Config != nil {
		return map[string]any{"config": m.Config}
	}
	for _, at := range []string{m.Name, filepath.Join(folder, m.Name)} {
		if _, _, err := from.config(at); err == nil {
			return map[string]any{"config": at}
		}
	}
	return map[string]any{"name": m.Name}
}

// noModel returns the error for a script that does not show its model.
func noModel(s *Setup, own Survey, err error) error {
	var option interface{ UnknownOption() bool }
	switch {
	case errors.Is(err, ErrUnknownModel):
		return err
	case errors.As(err, &option) && option.UnknownOption():
		return Wrong("%v", err)
	case s.otherFramework() != "":
		return unknownModel("%s trains with %s; snug reads PyTorch only", s.loopName(), s.otherFramework())
	case own.Open != "":
		return unknownModel("{model} is missing, and %s loads one whose name is known only at run time; give it with {model.name}, or the script's arguments with {loop} \"%s ARGUMENTS\"", own.Open, s.loopName())
	case err != nil:
		what, _, _ := strings.Cut(err.Error(), "; ") // drop the advice after the semicolon, which assumes that the model is known
		return unknownModel("{model} is missing, and snug could not find one in %s (%s); give it with {model.name}, or record the run: %s", s.loopName(), what, s.recording())
	}
	if own.Why != "" {
		return unknownModel("{model} is missing, and %s loads none that snug can simulate%s (%s); record the run: %s, and then give {model.name} memory.snug", s.loopName(), UnknownModelsText(own.UnknownModels), own.Why, s.recording())
	}
	return unknownModel("{model} is missing, and %s loads none that snug can simulate%s; record the run: %s, and then give {model.name} memory.snug", s.loopName(), UnknownModelsText(own.UnknownModels), s.recording())
}

// otherFramework returns the framework that the script of the loop imports instead of PyTorch; "" if it imports
// PyTorch, a library that does not show which one it uses, or none.
func (s *Setup) otherFramework() (found string) {
	if s.Script == nil || s.Script.File == nil {
		return ""
	}
	others := map[string]string{"tensorflow": "TensorFlow", "jax": "JAX", "flax": "JAX"}
	var modules []string
	for _, x := range s.Script.File.Body {
		switch x := x.(type) {
		case *pysrc.Import:
			for _, n := range x.Names {
				modules = append(modules, n.Name)
			}
		case *pysrc.ImportFrom:
			if x.Level > 0 {
				return "" // a module of the project may import PyTorch
			}
			modules = append(modules, x.Module)
		}
	}
	for _, m := range modules {
		top, _, _ := strings.Cut(m, ".")
		switch {
		case slices.Contains([]string{"torch", "transformers", "lightning", "pytorch_lightning", "accelerate", "trl", "diffusers"}, top):
			return ""
		case found == "":
			found = others[top]
		}
	}
	return found
}

// recording returns the command that records the script of the loop.
func (s *Setup) recording() string { return "snug profile --vary batch=2,3 -- python3 " + s.Loop }

// UnknownModelsText returns a phrase that lists the unknown models in a script.
func UnknownModelsText(saw []string) string {
	if len(saw) == 0 {
		return ""
	}
	return ", only " + strings.Join(saw, ", ")
}

// Unsimulated returns the error for a model of a script that no family simulates.
func Unsimulated(text string) error { return unknownModel("%s", text) }

// noBatch returns the error for a script that does not show its batch size.
func noBatch(s *Setup, err error) error {
	if err != nil {
		return Wrong("{batch} is missing, and snug could not find it in %s (%v); give the samples per forward pass with {batch}", s.loopName(), err)
	}
	return Wrong("{batch} is missing, and snug could not find it in %s; give the samples per forward pass with {batch}", s.loopName())
}

// scriptPath returns the path of the loop's script.
func (s *Setup) scriptPath(from Source) string {
	path := s.loopName()
	if !filepath.IsAbs(path) {
		path = filepath.Join(from.Base, path)
	}
	return path
}

// Origins describes what the setup takes from its script, or returns "".
func (x *Script) Origins() string {
	if x == nil {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		what string
		of   Sighting
	}{{"the model", x.Own.Model}, {fmt.Sprintf("batch %d", x.Own.Batch.N), x.Own.Batch}, {fmt.Sprintf("seq %d", x.Own.Seq.N), x.Own.Seq}, {fmt.Sprintf("images of %dx%d", x.Own.Width, x.Own.Image.N), x.Own.Image}} {
		if p.of.Where != "" {
			parts = append(parts, fmt.Sprintf("%s from %s", p.what, p.of.Where))
		}
	}
	return strings.Join(parts, ", ")
}
