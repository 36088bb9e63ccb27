// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// setupFlags are the flags of commands that accept a setup: a file, a flag for each field, and the card.
// Flags override the file's fields.
type setupFlags struct {
	file      string
	gpu       string
	gpuMemory string
	model     string
	config    string
	flags     *pflag.FlagSet
	anyBatch  bool   // the command searches for a batch, so none is required
	base      string // the base of relative paths in the files; "" for this folder

	guessed   bool          // the setup's loop is derived from files
	ownClass  func() string // names the model class that the loop trains, if the project defines it
	standsFor bool          // the model only stands for the one that the script's code builds
	variables map[string]setup.Variable
	from      string            // a description of the files that the setup was found in
	project   origin            // origin of their settings; zero if there are none
	asked     map[string]bool   // the fields set by flags
	takes     map[string]string // the flags of the project's program, by the field that each sets
	warnings  []string          // about settings in files that the figures do not include
}

func (f *setupFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "setup", "", "`file` of setups, JSON or YAML (- is stdin)")
	f.addRun(cmd)
}

// addRun adds the flags that describe one run, and the card.
func (f *setupFlags) addRun(cmd *cobra.Command) {
	f.addSettings(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.gpu, "gpu", "", "`name` of the card: H200, RTX-4090, ... (default: this machine's)")
	fs.StringVar(&f.gpuMemory, "gpu-memory", "", "memory of the card: a `size` like 24 (as sold), 24GiB or 24GB")
}

// addSettings adds the flags that describe one run.
func (f *setupFlags) addSettings(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.flags = fs
	fs.StringVar(&f.model, "model", "", "model `name`: built in, org/name in the HF cache, a path, or a .snug profile")
	fs.StringVar(&f.config, "config", "", "`path` to a config.json or its folder")
	for x, flag := range settingFlags() {
		addFlag(fs, x, flag)
	}
	alsoCalled(cmd, "allocator", "alloc-conf") // its name in snug replay
}

// profileExt is the file name extension of a profile.
const profileExt = ".snug"

// fields returns the fields set by flags, in the form of a setup file.
func (f *setupFlags) fields() (map[string]any, error) {
	out, err := f.givenFields()
	f.asked = map[string]bool{}
	for field := range out {
		f.asked[field] = true
	}
	return out, err
}

func (f *setupFlags) givenFields() (map[string]any, error) {
	out := map[string]any{}
	if f.model != "" && f.config != "" {
		return nil, errors.New("--model and --config both name a model; give one of them")
	}
	switch {
	case strings.HasSuffix(f.model, profileExt):
		setup.Put(out, "model.profile", f.model)
	case f.model != "":
		setup.Put(out, "model.name", f.model)
	}
	if f.config != "" {
		setup.Put(out, "model.config", f.config)
	}
	given := map[string]string{}
	for x, flag := range settingFlags() {
		switch isSet := f.flags.Changed(flag.Name) && f.means(flag); {
		case isSet && flag.Means != nil && given[x.Name] != "":
			return nil, fmt.Errorf("--%s and --%s set the same field; give one of them", given[x.Name], flag.Name)
		case isSet:
			given[x.Name] = flag.Name
			setup.Put(out, x.Name, f.value(x, flag))
		}
	}
	if _, has := out["dist"]; has {
		if d := out["dist"].(map[string]any); d["kind"] == nil && f.file == "" && d["world"] == 1.0 {
			delete(out, "dist") // --gpus 1 is not distributed
		}
	}
	return out, nil
}

// assumesFP32 reports whether a run is in fp32 only because nothing gives a precision.
func (f *setupFlags) assumesFP32(s *setup.Setup) bool {
	return s.Precision == "fp32" && f.file == "" && f.project.place == "" && !f.flags.Changed("precision") && s.Model.Program == nil && !setup.ReadsScript(s.Loop)
}

// card returns the named GPU, or one with the given memory; without either, the reference card without a
// size.
func (f *setupFlags) card() (gpu.Card, error) {
	card := gpu.Reference
	card.Total = 0
	var err error
	if strings.EqualFold(f.gpu, "all") {
		return card, errors.New("--gpu all: only snug optimize compares all cards; name one, or use snug optimize --gpu all")
	}
	if f.gpu != "" {
		if card, err = gpu.Find(f.gpu); err != nil {
			return card, err
		}
	}
	if f.gpuMemory == "" {
		return card, nil
	}
	sized, err := gpu.Sized(f.gpuMemory)
	switch {
	case err != nil:
		return card, fmt.Errorf("--gpu-memory: %w", err)
	case f.gpu == "":
		return sized, nil
	case sized.Least && sized.Memory == card.Memory:
		return card, nil // --gpu RTX-4090 --gpu-memory 24 is redundant
	}
	card.Resized = sized.Total != card.Total
	card.Total = sized.Total
	return card, nil
}
