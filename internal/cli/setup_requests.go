// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
)

// request is one setup to process, or the error that kept it from being read.
type request struct {
	id    string
	from  origin
	setup *setup.Setup
	err   error
}

// requests are the setups to process, in order. If there is an error, it comes last, because nothing after it
// could be read.
type requests = iter.Seq2[request, error]

// requestsOver overrides the file's fields, or makes a setup from the given fields alone. A file may be
// larger than memory, so each setup is read when it is needed.
func (f *setupFlags) requestsOver(env Env, over map[string]any) (requests, error) {
	if f.file == "" {
		if loop, _ := over["loop"].(string); over["model"] == nil && !setup.ReadsScript(loop) {
			return nil, errors.New("no model is given; give --model NAME, --config PATH or --setup FILE")
		}
		r := f.decode(over, f.source(env))
		r.from = f.project
		r.from.flags = f.given()
		return each([]request{r}), nil
	}
	in, err := env.open(f.file)
	if err != nil {
		return nil, err
	}
	rs, err := f.requestsFrom(env, in, over)
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	return closing(rs, in), nil
}

// source returns where setups find the models and files that they name.
func (f *setupFlags) source(env Env) setup.Source {
	lengths, _ := f.flags.GetString("lengths")
	tokenizer, _ := f.flags.GetString("tokenizer")
	return setup.Source{Base: f.base, Open: env.opener(f.model, f.config, lengths, tokenizer), Hub: hub(env.Getenv), Profile: estimate.ReadProfile, Programs: map[string]setup.Program{}, Guessed: f.guessed, OwnClass: f.ownClass,
		Survey: estimate.Survey, AnyBatch: f.anyBatch, Asked: f.asked, Flags: f.takes, StandsFor: f.standsFor, Variables: f.variables}
}

// requestsFrom reads the setups of a file. It returns an error if the file does not begin like a setup.
func (f *setupFlags) requestsFrom(env Env, in io.Reader, over map[string]any) (requests, error) {
	read, from := setup.NewReader(in), f.source(env)
	first, err := read.Next()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.file, reason(err))
	}
	if f.file != "-" {
		from.Base = filepath.Dir(f.file)
		over = fromHere(over)
	}
	return func(yield func(request, error) bool) {
		raw, err := first, error(nil)
		for ; err == nil; raw, err = read.Next() {
			if !yield(f.requestOf(raw, over, from), nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(request{}, fmt.Errorf("reading %s: %w", f.file, reason(err)))
		}
	}, nil
}

// closing closes a file once it has been read.
func closing(rs requests, in io.Closer) requests {
	return func(yield func(request, error) bool) {
		defer in.Close()
		rs(yield)
	}
}

// begin reads the first n requests, or as many as there are. The second result is all requests, including the
// first n.
func begin(rs requests, n int) ([]request, requests, error) {
	next, stop := iter.Pull2(rs)
	var first []request
	for len(first) < n {
		r, err, ok := next()
		if err != nil {
			stop()
			return nil, nil, err
		}
		if !ok {
			break
		}
		first = append(first, r)
	}
	return first, func(yield func(request, error) bool) {
		defer stop()
		for _, r := range first {
			if !yield(r, nil) {
				return
			}
		}
		for r, err, ok := next(); ok && yield(r, err); r, err, ok = next() {
		}
	}, nil
}

// requestOf returns one setup of a file, with the flags applied.
func (f *setupFlags) requestOf(raw setup.Raw, over map[string]any, from setup.Source) request {
	if raw.Err != nil { // the error contains the position
		return request{err: fmt.Errorf("%s:%w", f.file, raw.Err)}
	}
	where := origin{flags: f.given(), under: maps.Clone(raw.Fields), place: fmt.Sprintf("%s:%d", f.file, raw.Line)}
	if len(raw.Lines) > 0 {
		where.lines = map[string]string{}
	}
	for field, line := range raw.Lines {
		where.lines[field] = fmt.Sprintf("%s:%d", f.file, line)
	}
	r := f.decode(lay(over, raw.Fields), from)
	r.from = where
	return r
}

// each returns requests that have already been read.
func each(list []request) requests {
	return func(yield func(request, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// all reads requests to the end.
func all(rs requests, err error) ([]request, error) {
	if err != nil {
		return nil, err
	}
	var out []request
	for r, err := range rs {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// fromHere makes the path of a model given by flags relative to this folder; otherwise it would be
// relative to the folder of the setups' file.
func fromHere(over map[string]any) map[string]any {
	model, _ := over["model"].(map[string]any)
	for key, v := range model {
		at, _ := v.(string)
		isPath := key == "profile" || key == "config" || key == "name" && strings.HasPrefix(at, ".")
		if whole, err := filepath.Abs(at); isPath && at != "" && err == nil {
			model[key] = whole
		}
	}
	return over
}

func (f *setupFlags) decode(fields map[string]any, from setup.Source) request {
	id, _ := fields["id"].(string)
	s, err := setup.Decode(fields, from)
	if err == nil && (s.Model.Head == "image-classification" || s.Model.Head == "semantic-segmentation") && f.flags.Changed("seq") {
		err = fmt.Errorf("--seq is given, but %s takes images, which have no tokens; remove it", s.Model.Title())
	}
	if err == nil && s.Model.Program == nil && s.Model.Head != "seq2seq-lm" && f.flags.Changed("target-seq") {
		err = fmt.Errorf("--target-seq is given, but %s has no decoder; remove it", s.Model.Title())
	}
	if err == nil {
		f.withoutLiger(s)
		if f.flags.Changed("use-reentrant") && !s.Checkpointing && s.Model.Program == nil && !s.Script.Readable() {
			f.warnings = append(f.warnings, "--use-reentrant has no effect without checkpointing; add --checkpointing")
		}
		err = f.refuseUnrecordedSizes(s)
	}
	return request{id: id, setup: s, err: err}
}

// withoutLiger removes Liger if it has no kernels for the model. A file may turn it on anyway, and Liger then
// does not change the model.
func (f *setupFlags) withoutLiger(s *setup.Setup) {
	asked := f.flags.Changed("liger") || f.flags.Changed("loss")
	on := len(s.Liger) > 0 || s.Loss == setup.LigerLoss
	if asked || !on || f.project.place == "" || s.Model.Config == nil || s.Model.HasLiger() {
		return
	}
	s.Liger, s.Loss = nil, ""
	f.warnings = append(f.warnings, fmt.Sprintf("%s: Liger has no kernels for %s and does not change it, so none are counted", f.project.place, s.Model.Title()))
}

// lay overrides the fields of a file with those of over.
func lay(over, fields map[string]any) map[string]any {
	for k, v := range over {
		if in, ok := v.(map[string]any); ok {
			if under, ok := fields[k].(map[string]any); ok {
				if k == "model" && (in["name"] != nil || in["config"] != nil || in["profile"] != nil) {
					under = map[string]any{} // a different model replaces the file's, with all its fields
				}
				if kind, ok := in["kind"].(string); ok && k == "dist" {
					under = maps.Clone(under)
					maps.DeleteFunc(under, func(field string, _ any) bool { return !setup.DistTakes(kind, field) })
				}
				fields[k] = lay(in, under)
				continue
			}
		}
		fields[k] = v
	}
	return fields
}

// hub returns the cache folder of the Hugging Face libraries, in which setup/model.go looks up models.
func hub(getenv func(string) string) string {
	if v := getenv("HF_HUB_CACHE"); v != "" {
		return v
	}
	home := getenv("HF_HOME")
	if home == "" {
		user := getenv("HOME")
		if user == "" {
			return ""
		}
		home = filepath.Join(user, ".cache", "huggingface")
	}
	return filepath.Join(home, "hub")
}
