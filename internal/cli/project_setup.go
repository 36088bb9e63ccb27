// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"snug/internal/config"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/setup"
)

// requestsIn reads the setups from --setup or from flags or, if neither names a model, from the folder's
// config files. Flags override files.
func (f *setupFlags) requestsIn(env Env, p *projectFlags) (requests, error) {
	over, err := f.fields()
	if err != nil {
		return nil, err
	}
	if f.base != "" {
		over = fromHere(over)
	}
	asked := len(p.paths) > 0 || p.given != "" || f.flags.Changed("dir") || p.wanted
	if f.file != "" && asked {
		return nil, errors.New("--setup and --config-path both describe the run; give one of them")
	}
	if f.file != "" || over["model"] != nil && !asked && !p.completedBy(env, over, !f.anyBatch) {
		return f.requestsOver(env, over)
	}
	project, err := p.open(env)
	if !asked && p.standsAlone(over, project) {
		return f.requestsOver(env, over)
	}
	if errors.Is(err, projects.ErrNothing) && (!asked || p.wanted) {
		if why := projects.Unusable(err); why != "" {
			return nil, unusable(why)
		}
		if loop := p.loneLoop(); loop != "" && over["loop"] == nil {
			over["loop"] = loop
			return f.requestsOver(env, over)
		}
		return nil, errors.New("no model and no training config found here; give --model NAME, --config PATH or --setup FILE")
	}
	if err != nil {
		return nil, p.several(env, over, err)
	}
	if project, err = p.commanded(project, over); err != nil {
		return nil, err
	}
	if project == nil {
		return f.requestsOver(env, over)
	}
	project.SetTransformers(transformersOf(over))
	project.SetGPUs(f.gpus())
	files, dropped := beneath(p.modeled(env, project.Fields()), over)
	fields := lay(over, files)
	p.withReader(project, fields)
	f.follows(project, over)
	for _, m := range project.Missing() {
		if f.lacks(fields, m.Setting) {
			return nil, p.lacksModel(project, m)
		}
	}
	f.warnings = append(notesOf(project, fields), dropped...)
	f.from, f.project = "settings of "+project.Origin(), fromProject(project)
	out, err := f.requestsOver(env, fields)
	out = lengthInCode(project, out)
	if file, _ := project.Main(); err != nil || fields["model"] != nil || filepath.Ext(file) == ".py" {
		return out, err // a program's own code shows the model, so the files need not be described
	}
	return p.describing(project, out), nil
}

// follows records what following the project's script depends on: whether the script builds the model, whether the user
// named the loop, and the program's own flags.
func (f *setupFlags) follows(project *config.Project, over map[string]any) {
	f.standsFor = project.BuildsModel() && over["model"] == nil
	f.guessed, f.takes = over["loop"] == nil && !f.standsFor, project.ProgramFlags()
	if f.guessed {
		f.ownClass = sync.OnceValue(project.OwnClass)
	}
	if f.standsFor {
		f.variables = project.ProgramVariables()
	}
}

// notesOf returns the notes on a project's files: which were chosen, and which settings have no effect.
func notesOf(project *config.Project, fields map[string]any) []string {
	found := slices.DeleteFunc(slices.Clone(project.Notes), func(n string) bool { return strings.HasSuffix(n, projects.Nonexistent) })
	return briefly(slices.Concat(found, project.Warnings(fields)))
}

// lengthInCode returns requests whose errors for a missing length name the places in the files that may contain it.
func lengthInCode(project *config.Project, rs requests) requests {
	if rs == nil || project == nil || project.Ambiguous("seq") == "" {
		return rs
	}
	places := project.Ambiguous("seq")
	return func(yield func(request, error) bool) {
		for r, err := range rs {
			var wrong *setup.FieldError
			if errors.As(r.err, &wrong) && wrong.Field == "seq" {
				r.err = wrong.With(places)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// describes reports whether flags describe a run.
func (f *setupFlags) describes(p *projectFlags) bool {
	over, err := f.fields()
	return err != nil || len(over) > 0 || f.file != "" || len(p.paths) > 0 || f.flags.Changed("dir")
}

// describing returns requests whose errors describe the model as found in the files, if the program's code does
// not show it.
func (f *projectFlags) describing(project *config.Project, rs requests) requests {
	return func(yield func(request, error) bool) {
		for r, err := range rs {
			if errors.Is(r.err, setup.ErrUnknownModel) {
				r.err = f.described(project, r.err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// described returns an error that describes the model as found in the files, if the program's code does not show it;
// otherwise err.
func (f *projectFlags) described(project *config.Project, err error) error {
	for _, m := range project.Missing() {
		if m.Setting == "model" && m.Say != meaning.NoModel {
			return f.lacksModel(project, m)
		}
	}
	return err
}

// unusable returns the error for a configuration that exists but cannot be used.
func unusable(why string) error {
	return fmt.Errorf("no training config could be read here: %s; you can describe the run with --model, --config or --setup instead", why)
}

// transformersOf returns the version of transformers given by a flag, or "".
func transformersOf(over map[string]any) string {
	versions, _ := over["versions"].(map[string]any)
	text, _ := versions["transformers"].(string)
	return text
}

// gpus returns the number of GPUs given by a flag, or 0.
func (f *setupFlags) gpus() int {
	if !f.flags.Changed("gpus") {
		return 0
	}
	n, _ := f.flags.GetInt("gpus")
	return max(n, 0)
}

// completedBy reports whether the flags give the model of a run that the folder's files describe otherwise: the files lack
// it, or have the batch that the flags lack. A model with a batch, or for a command that needs none, is a separate run.
func (f *projectFlags) completedBy(env Env, over map[string]any, needsBatch bool) bool {
	model, _ := over["model"].(map[string]any)
	if model["name"] == nil && model["config"] == nil && model["profile"] == nil {
		return model != nil // a head alone belongs to the folder's model
	}
	if over["batch"] != nil {
		return false
	}
	project, err := f.open(env)
	if err != nil {
		return false
	}
	fields := project.Fields()
	return needsBatch && fields["batch"] != nil || fields["model"] == nil && model["profile"] == nil
}

// standsAlone reports whether the flags name a script that describes its run by itself: the folder's files name no
// model, and use a different script or give it no arguments.
func (f *projectFlags) standsAlone(over map[string]any, project *config.Project) bool {
	loop, _ := over["loop"].(string)
	if !setup.ReadsScript(loop) {
		return false
	}
	if project == nil {
		return true
	}
	fields := project.Fields()
	theirs, _ := fields["loop"].(string)
	same := setup.ReadsScript(theirs) && filepath.Clean(setup.ScriptOf(theirs)) == filepath.Clean(setup.ScriptOf(loop))
	return fields["model"] == nil && (!same || loop != setup.ScriptOf(loop)) // arguments replace what the files say
}

// lacks reports whether neither the files nor a flag set a field.
func (f *setupFlags) lacks(fields map[string]any, field string) bool {
	if loop, _ := fields["loop"].(string); (field == "model" || field == "batch" || field == "seq") && setup.ReadsScript(loop) {
		return false // the script may show it
	}
	if loop, _ := fields["loop"].(string); fields["lora"] == nil && fields["dist"] == nil && strings.HasPrefix(field, "lora.") && setup.ReadsScript(loop) {
		return false // the script's code adds the adapters; on several GPUs, only the files' adapters are counted
	}
	model, _ := fields["model"].(map[string]any)
	if field == "seq" && (fields["lengths"] != nil || model["profile"] != nil) {
		return false
	}
	if field == "batch" && f.anyBatch || field == "dist.world" && f.gpus() > 0 {
		return false
	}
	if field == meaning.Weights || field == meaning.Training {
		return model["profile"] == nil
	}
	if field == "model" { // a head alone is not a model
		return model["name"] == nil && model["config"] == nil && model["profile"] == nil && model["custom"] == nil
	}
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		return fields[field] == nil
	}
	in, _ := fields[outer].(map[string]any)
	return in[inner] == nil
}

// lacking means that a required field is set by neither files nor flags.
type lacking struct{ meaning.Missing }

func (l lacking) Error() string { return l.Setting + ": " + l.Say }

// Is reports whether target is the error for a missing field that only a recording can provide.
func (l lacking) Is(target error) bool {
	return target == setup.ErrUnknownModel && (l.Setting == "model" || l.Setting == meaning.Weights || l.Setting == meaning.Training)
}
