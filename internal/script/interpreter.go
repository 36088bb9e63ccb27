// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// interpreter follows one script.
type interpreter struct {
	Run
	survey      *surveyor         // set in a survey: collects what the script shows
	modules     map[string]*scope // imported modules, nil while one is being imported
	noted       map[string]bool
	zeros       map[value]zeros    // tensors that contain or may contain zeros
	contents    map[value]contents // what is known about the elements of tensors
	result      Result
	hooks       map[*shadow.Tensor]value // called when the gradient of a tensor is ready
	length0     int                      // tokens per sample in the setup
	rows0       int                      // size of the first batch that the model is trained on
	rowsAt      pysrc.Pos                // where that batch is used
	asked       bool                     // the script reads its batch size from the setup
	lengthUsed  bool                     // the setup's length decided the shape of a tensor
	model       string                   // the name with which the script loads the setup's model
	configs     map[string]foundConfig   // configurations found so far, by model name
	lengths     bool                     // the script's own data has the setup's length
	fetched     int                      // number of training batches so far
	compares    bool                     // a training step compares answers, so it also runs models without gradients
	generated   int                      // number of generations so far
	collating   int                      // number of samples in the batch being made
	limits      []value                  // number of tokens to which texts are truncated in each training run, nil for the model's limit
	crops       [][2]int                 // heights and widths of the images that torchvision's crops make
	afterwards  []afterwards             // calls that follow the next backward pass
	statements  int
	assumed     int // number of conditions that were assumed to be false
	evaluated   int // number of expressions so far
	listed      int // number of items in all lists made so far
	searched    int // number of values searched for lists that contain themselves
	depth       int
	scopes      []*scope            // active functions, innermost last
	graphs      []*shadow.GradGraph // gradient graphs, until a backward runs through them
	pending     []value             // values of unfinished expressions
	at          pysrc.Pos
	built       bool             // a model is on the card
	first       int              // batch size of the script's first loader
	files       map[string]value // values written by torch.save
	host        *shadow.World    // world for operations on host tensors
	causal      []*shadow.Tensor // causal masks on the card
	device      string           // default device for new tensors, "" for the host
	dtype       shadow.DType     // default dtype for new tensors, None for float32
	microBegin  int              // number of events before the first micro-batch of a trainer
	microEvents int              // number of events in that micro-batch, once it has ended
	counted     int              // backward passes before the last update
	randoms     []*random        // random numbers that decide the length of tensors
	inLoops     int              // updates in loops that have ended
	optimizers  int              // optimizers that the script has made
	data        dataOf           // the last attribute .data of a tensor
}

func newInterpreter(run Run) *interpreter {
	register()
	if run.Import == nil {
		run.Import = func(string) (*pysrc.File, error) { return nil, fs.ErrNotExist }
	}
	return &interpreter{Run: run, length0: run.Seq, modules: map[string]*scope{}, noted: map[string]bool{}, configs: map[string]foundConfig{}}
}

// module runs a file and returns its scope.
func (in *interpreter) module(f *pysrc.File, name string) *scope {
	s := &scope{file: f, isModule: true}
	s.globals = s
	s.vars.set("__name__", name)
	s.vars.set("__file__", f.Path)
	in.scopes = append(in.scopes, s)
	in.block(f.Body)
	in.scopes = in.scopes[:len(in.scopes)-1]
	return s
}

// imported returns the scope of a module next to the script or in site-packages, or nil if it is in neither.
func (in *interpreter) imported(path string) *scope {
	if s, ok := in.modules[path]; ok {
		return s
	}
	in.modules[path] = nil
	if path == "snug" {
		in.modules[path] = in.ourNames()
		return in.modules[path]
	}
	f, err := library(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = in.Import(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		in.note("the module %s cannot be read: %v", path, err)
		return nil
	}
	at := in.at
	s := in.module(f, path)
	in.at = at
	in.modules[path] = s
	return s
}

func (in *interpreter) scope() *scope { return in.scopes[len(in.scopes)-1] }

// fail stops following the script.
func (in *interpreter) fail(format string, args ...any) {
	path, at := in.where()
	panic(failure{path: path, at: at, text: fmt.Sprintf(format, args...)})
}

// tooLong is fail for a limit of limits.go.
func (in *interpreter) tooLong(format string, args ...any) {
	path, at := in.where()
	panic(failure{path: path, at: at, text: fmt.Sprintf(format, args...), long: true})
}

// where returns the current file and position. Library code is reported at the script's call.
func (in *interpreter) where() (path string, at pysrc.Pos) {
	at = in.at
	for i := len(in.scopes) - 1; i >= 0; i-- {
		s := in.scopes[i]
		if path = s.file.Path; !strings.HasPrefix(path, libraryFolder) {
			return path, at
		}
		if s.called.Line > 0 {
			at = s.called
		}
	}
	return path, at
}

// grow counts items before they are added to a list.
func (in *interpreter) grow(n int) {
	if in.listed += n; in.listed > maxItems {
		in.tooLong("following the script requires lists of more than %d items; use a built-in loop instead, such as --loop script", maxItems)
	}
}

// note records, once, something that is not followed.
func (in *interpreter) note(format string, args ...any) {
	path, at := in.where()
	text := fmt.Sprintf("%s:%d: %s", path, at.Line, fmt.Sprintf(format, args...))
	if !in.noted[text] {
		in.noted[text] = true
		in.result.Notes = append(in.result.Notes, text)
	}
}
