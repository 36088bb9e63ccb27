// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"snug/internal/allocator"
	"snug/internal/replay"
	"snug/internal/snapshot"
	"snug/internal/units"
)

type replayOptions struct {
	json      bool
	conf      string
	confSet   bool
	limit     string
	compare   bool
	torch     string
	device    int
	addresses string
	script    string
}

const replayLong = `Replay a memory snapshot through a model of PyTorch's caching allocator.

A snapshot is the file that torch.cuda.memory._dump_snapshot writes after
torch.cuda.memory._record_memory_history, plain or gzip. By default the replay
is compared with the recording, segment by segment. With --alloc-conf, --limit
or --compare, it shows the memory of the same run under other settings. Nothing
in the file is executed.

With --script, run a script of allocator commands instead (- is standard input).`

const replayExample = `  snug replay snapshot.pickle
  snug replay snapshot.pickle.gz --compare
  snug replay snapshot.pickle --alloc-conf max_split_size_mb:128 --limit 24GiB
  snug replay --script commands.txt --torch 2.12`

func newReplay(env Env) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:     "replay SNAPSHOT",
		Short:   "Replay a memory snapshot, as recorded or under other settings",
		Long:    replayLong,
		Example: replayExample,
		Args:    func(_ *cobra.Command, args []string) error { return o.check(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			o.confSet = cmd.Flags().Changed("alloc-conf")
			if o.script != "" {
				return runScript(env, o)
			}
			return runReplay(env, o, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.conf, "alloc-conf", "", "replay under this PYTORCH_CUDA_ALLOC_CONF `string`")
	f.StringVar(&o.limit, "limit", "", "cap on reserved memory: a `size` like 24GiB, or bytes")
	f.BoolVar(&o.compare, "compare", false, "compare all useful allocator settings")
	f.StringVar(&o.torch, "torch", "", "PyTorch `version` (default: the file's, or 2.11 for a script)")
	f.IntVar(&o.device, "device", -1, "`index` of the GPU")
	f.Lookup("device").DefValue = "the busiest"
	f.StringVar(&o.addresses, "addresses", "recorded", "segment `addresses`: recorded, or own to let snug choose")
	alsoCalled(cmd, "alloc-conf", "allocator") // its name in a setup
	f.StringVar(&o.script, "script", "", "run allocator commands from a `file`")
	return cmd
}

func (o *replayOptions) check(args []string) error {
	switch {
	case o.script != "" && len(args) > 0:
		return errors.New("--script replaces the snapshot; give one of them")
	case o.script == "" && len(args) == 0:
		return errors.New("replay needs a snapshot file; see snug replay --help")
	case len(args) > 1:
		return fmt.Errorf("replay accepts one snapshot, not %d", len(args))
	case o.device < -1:
		return fmt.Errorf("--device %d: write the index of a GPU, starting at 0", o.device)
	case o.addresses != "recorded" && o.addresses != "own":
		return fmt.Errorf("--addresses %q: write recorded or own", o.addresses)
	}
	return nil
}

// runReplay reads the snapshot, replays it, compares and prints.
func runReplay(env Env, o replayOptions, path string) error {
	opt, err := o.replay()
	if err != nil {
		return err
	}
	done := env.working("replaying")
	defer done()
	rec, err := readSnapshot(env, path)
	if err != nil {
		return err
	}
	if err := o.checkConf(rec); err != nil {
		return err
	}
	device, err := o.pick(rec)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	report := replayReport{path: path, rec: rec, device: device, options: o, limit: opt.Limit}
	opt.Samples = chartColumns(env.screen())
	if report.result, err = replay.Run(rec, device, opt); err != nil {
		return fmt.Errorf("replaying %s: %w", path, err)
	}
	if o.compare {
		if report.outcomes, err = replay.Compare(rec, device, opt); err != nil {
			return fmt.Errorf("replaying %s: %w", path, err)
		}
	}
	done()
	if o.json {
		err = report.json(env.Stdout)
	} else {
		err = report.text(env.Stdout, env.screen())
	}
	if err == nil && report.result.OOM != nil {
		err = found{report.result.OOM.Error()}
	}
	return err
}

// replay returns the replay options from the flags.
func (o *replayOptions) replay() (replay.Options, error) {
	opt := replay.Options{Torch: o.torch, Own: o.addresses == "own"}
	if o.confSet {
		opt.Conf = &o.conf
	}
	if o.torch != "" {
		if _, err := allocator.ParseVersion(o.torch); err != nil {
			return opt, fmt.Errorf("--torch: %w", err)
		}
	}
	if o.limit != "" {
		limit, err := units.ParseLimit(o.limit)
		if err != nil {
			return opt, fmt.Errorf("--limit: %w", err)
		}
		opt.Limit = uint64(limit)
	}
	return opt, nil
}

func readSnapshot(env Env, path string) (*snapshot.Recording, error) {
	f, err := env.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, reason(err))
	}
	return rec, nil
}

// checkConf returns an error for options that the recording's PyTorch version, or the one given with --torch,
// does not have.
func (o *replayOptions) checkConf(rec *snapshot.Recording) error {
	version, err := replay.Version(rec, o.torch)
	if err != nil || !o.confSet {
		return nil // the replay reports this error
	}
	if _, err := allocator.ParseOptions(o.conf, version); err != nil {
		return fmt.Errorf("--alloc-conf: %w", err)
	}
	return nil
}

// pick returns the requested device, or the busiest.
func (o *replayOptions) pick(rec *snapshot.Recording) (*snapshot.Device, error) {
	d := rec.Busiest()
	if o.device >= 0 {
		if d = rec.Device(o.device); d == nil {
			return nil, fmt.Errorf("GPU %d is not in the snapshot; omit --device to use the busiest one", o.device)
		}
	}
	if d.Entries == 0 {
		return nil, errors.New("the snapshot has no trace; call torch.cuda.memory._record_memory_history() before the run")
	}
	return d, nil
}

// runScript runs a script in the allocator's test language.
func runScript(env Env, o replayOptions) error {
	version, err := allocator.ParseVersion(withDefault(o.torch, "2.11"))
	if err != nil {
		return fmt.Errorf("--torch: %w", err)
	}
	var in io.ReadCloser
	if in, err = env.open(o.script); err != nil {
		return err
	}
	defer in.Close()
	if err := allocator.RunScript(in, env.Stdout, version); err != nil {
		return fmt.Errorf("%s: %w", o.script, err)
	}
	return nil
}

func withDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
