// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/setup"
)

// NoModel is the message if no file names a model.
const NoModel = "no file names the model; give --model NAME, or model: {name: ...} in snug.yaml; for custom code, snug profile -- <your command>"

// noModel returns the message if the files contain no known model, because it is given in another way, the
// program builds it, or there is none.
func (r *Run) noModel() string {
	if why := r.notKnown("model"); why != "" {
		return why + "; give --model NAME"
	}
	for _, b := range r.BindingsOf("model") {
		section, _ := b.Value.(map[string]any)
		switch _, why := r.describedConfig(section); {
		case section != nil && why != "":
			return fmt.Sprintf("%s: %s %s, and is not simulated; measure the run: snug profile -- <your command>", b.Where(), b.Path, why)
		case b.Unknown != "":
			return notSimulated(b.Where(), b.Unknown)
		case b.Place.Computed != "" || projects.IsComputed(b.Place.Value) || strings.Contains(b.Text, "${"):
			return fmt.Sprintf("%s: %s is %s, which is only known when the run starts; give --model NAME", b.Where(), b.Path, shortened(b.Text))
		}
	}
	if r.Primary != nil {
		d := r.Primary.Described()
		if r.Trainer().DescribesAtTop && d != nil {
			_, why := r.describedConfig(r.topLevel())
			return fmt.Sprintf("%s: the model %s, and is not simulated; measure the run: snug profile -- <your command>", d.Where, why)
		}
		if d != nil {
			return described(d)
		}
		if d := r.DescribedBeside(); d != nil {
			return d.Refusal()
		}
	}
	return NoModel
}

// described returns the error for a model that a file describes. If it might be a published model, the error
// explains how to name that.
func described(d *projects.DescribedModel) string {
	switch {
	case d.Class == "":
		return d.Refusal()
	case setup.KnowsModel(d.Class):
		return fmt.Sprintf("%s: %s a name that snug knows; if you mean the published model, give --model %s; otherwise measure the run: snug profile -- <your command>", d.Where, d.What, d.Class)
	}
	return notSimulated(d.Where, d.Class)
}

// notSimulated returns the error for a named model that is not simulated.
func notSimulated(where, name string) string {
	if what := setup.UnsimulatedModel(name); what != "" {
		return fmt.Sprintf("%s: %s is %s, which is not simulated; measure the run: snug profile -- <your command>", where, name, what)
	}
	return fmt.Sprintf("%s: %s is not a model that snug knows; give one like it with --model NAME, or measure the run: snug profile -- <your command>", where, name)
}

// modelInFile returns the model in the files. A path with an unknown variable counts if its last element is a known
// name, as in $MODELS/Llama-2-7b-hf.
func (r *Run) modelInFile() any {
	v := r.Value("model")
	if text, is := v.(string); v != nil && !(is && strings.Contains(text, "${")) {
		return v
	}
	for _, b := range r.BindingsOf("model") {
		text := strings.Trim(b.Text, `"'`)
		if ends := b.Place.Value.Ends; ends != "" {
			text = "$" + ends // the beginning is unknown
		}
		if strings.Contains(text, "$") && !strings.ContainsAny(path.Base(text), "${}") && setup.KnowsModel(text) {
			return text
		}
	}
	return nil
}
