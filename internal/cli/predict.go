// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/profile"
	"snug/internal/record"
)

type predictOptions struct {
	json bool
	at   []string
	save string
}

const predictLong = `Predict the memory of a training step at sizes that were never run.

Takes recordings of the same step at two or more sizes. Each is a snapshot file
(torch.cuda.memory._dump_snapshot, plain or gzip) followed by @ and its size.
snug finds a formula for the size of every allocation and plays the new step
through a model of PyTorch's allocator. Nothing in the files is executed, and no
GPU is needed.

With --out, the formulas are kept in a small file, the profile. Later
predictions can use it instead of the recordings.`

const predictExample = `  snug predict a.pickle@batch=2 b.pickle@batch=3 --at batch=8 --at batch=24
  snug predict a.pickle@batch=2,seq=128 b.pickle@batch=3,seq=128 \
      c.pickle@batch=2,seq=192 --at batch=16,seq=512
  snug predict a.pickle@batch=2 b.pickle@batch=3 -o memory.snug
  snug predict memory.snug --at batch=24`

func newPredict(env Env) *cobra.Command {
	var o predictOptions
	cmd := &cobra.Command{
		Use:     "predict SNAPSHOT@SIZE... | PROFILE",
		Short:   "Predict memory at other sizes from recordings at small ones",
		Long:    predictLong,
		Example: predictExample,
		RunE:    func(_ *cobra.Command, args []string) error { return runPredict(env, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object for each --at")
	f.StringArrayVar(&o.at, "at", nil, "`size` to predict, like batch=8,seq=128; may be repeated")
	f.StringVarP(&o.save, "out", "o", "", "`file` for the profile, usually memory.snug")
	alsoCalled(cmd, "out", "save")
	return cmd
}

// runPredict reads the recordings, fits formulas, saves them and prints predictions.
func runPredict(env Env, o predictOptions, args []string) error {
	if len(args) == 0 {
		return errors.New("predict needs recordings: snug predict a.pickle@batch=2 b.pickle@batch=3 --at batch=8")
	}
	points, err := o.points()
	if err != nil {
		return err
	}
	if err := record.CheckReplaceable(nil, o.save); err != nil {
		return fmt.Errorf("--out %s: %w", o.save, err)
	}
	done := env.working("predicting")
	defer done()
	program, err := readProgram(env, args)
	if err != nil {
		return err
	}
	done()
	for _, d := range program.Warnings {
		env.note(d)
	}
	report := predictReport{program: program, saved: o.save}
	for _, at := range points {
		p, err := program.Predict(at)
		if err == nil {
			err = program.WithInterval(p)
		}
		if err != nil {
			return fmt.Errorf("--at %s: %w", at, err)
		}
		report.predictions = append(report.predictions, p)
	}
	if err := o.write(env, program); err != nil {
		return err
	}
	if o.json {
		return report.json(env.Stdout)
	}
	return report.text(env.Stdout, env.screen())
}

// write writes the profile to the file given with --out.
func (o *predictOptions) write(env Env, program *profile.Program) error {
	if o.save == "" {
		return nil
	}
	var file bytes.Buffer
	if err := program.Write(&file); err != nil {
		return fmt.Errorf("writing %s: %w", o.save, err)
	}
	return env.write(o.save, file.Bytes())
}

func (o *predictOptions) points() ([]profile.Point, error) {
	if len(o.at) == 0 && o.save == "" {
		return nil, errors.New("no size to predict; add --at batch=8")
	}
	var out []profile.Point
	for _, text := range o.at {
		p, err := profile.ParsePoint(text)
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

// readProgram fits the recordings named on the command line, or reads an earlier profile.
func readProgram(env Env, args []string) (*profile.Program, error) {
	if len(args) == 1 && !strings.Contains(args[0], "@") {
		return readProfile(env, args[0])
	}
	var inputs []profile.Input
	for _, arg := range args {
		i := strings.LastIndex(arg, "@")
		file := arg
		if i > 0 {
			file = arg[:i]
		}
		if isProfile(env, file) {
			return nil, fmt.Errorf("%s is a profile, not a recording; give it alone, without a size", file)
		}
		if i < 0 {
			return nil, fmt.Errorf("%s: add the size it was recorded at, like %s@batch=2", arg, arg)
		}
		at, err := profile.ParsePoint(arg[i+1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		inputs = append(inputs, profile.Input{Name: arg[:i], At: at})
	}
	for i := range inputs {
		var err error
		if inputs[i].Recording, err = readSnapshot(env, inputs[i].Name); err != nil {
			return nil, err
		}
	}
	return profile.Fit(inputs)
}

// isProfile reports whether a file is a memory.snug. A pipe is not taken for a profile, because reading it
// would consume it.
func isProfile(env Env, path string) bool {
	f, err := env.find(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReader(f).Peek(8)
	return profile.Is(head)
}

// readProfile reads a memory.snug. Giving a single recording instead is a likely mistake.
func readProfile(env Env, path string) (*profile.Program, error) {
	f, err := env.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if head, _ := in.Peek(8); !profile.Is(head) {
		return nil, fmt.Errorf("%s is not a snug profile; if it is a recording, add its size, like %s@batch=2, and a second recording", path, path)
	}
	program, err := profile.Read(in)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return program, nil
}
