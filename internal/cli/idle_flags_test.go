// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/files"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// flagCase is a command without and with a flag. The two must print different answers or leave different
// files.
type flagCase struct{ without, with string }

// planned is a run that snug optimize plans for.
const planned = "optimize --model gpt2 --batch 4 --accumulation 4 --seq 128 --gpu T4 --goal quick --json"

// failedRun is a run that ran out of memory and is described by flags.
const failedRun = "diagnose oom.txt --model gpt2 --batch 2 --seq 64 --json"

// flagCases has a case for each flag that is not a field of a setup, by command and flag. A * is any command that
// accepts a setup.
var flagCases = map[string]flagCase{
	"* --setup":       {"* --model gpt2 --batch 2 --seq 64 --gpu T4 --json", "* --setup run.json --gpu T4 --json"},
	"* --model":       {"* --model gpt2 --batch 2 --seq 64 --gpu T4 --json", "* --model distilgpt2 --batch 2 --seq 64 --gpu T4 --json"},
	"* --config":      {"* --model gpt2 --batch 2 --seq 64 --gpu T4 --json", "* --config model --batch 2 --seq 64 --gpu T4 --json"},
	"* --gpu":         {"* --model gpt2 --batch 2 --seq 64 --gpu-memory 16 --json", "* --model gpt2 --batch 2 --seq 64 --gpu T4 --json"},
	"* --gpu-memory":  {"* --model gpt2 --batch 2 --seq 64 --gpu H200 --json", "* --model gpt2 --batch 2 --seq 64 --gpu H200 --gpu-memory 3GiB --json"},
	"* --dir":         {"* --gpu T4 --json", "* --dir ../other --gpu T4 --json"},
	"* --config-path": {"* --gpu T4 --json", "* --config-path ../other/b.yaml --gpu T4 --json"},

	"diagnose --setup":       {failedRun, "diagnose oom.txt --setup run.json --json"},
	"diagnose --model":       {failedRun, strings.Replace(failedRun, "gpt2", "distilgpt2", 1)},
	"diagnose --config":      {failedRun, "diagnose oom.txt --config model --batch 2 --seq 64 --json"},
	"diagnose --gpu":         {failedRun, failedRun + " --gpu T4"},
	"diagnose --gpu-memory":  {failedRun, failedRun + " --gpu-memory 3GiB"},
	"diagnose --dir":         {"diagnose oom.txt --json", "diagnose oom.txt --dir ../other --json"},
	"diagnose --config-path": {"diagnose oom.txt --json", "diagnose oom.txt --config-path ../other/b.yaml --json"},
	"diagnose --html":        {"diagnose $S", "diagnose $S --html page.html"},

	"* --short":          {"* --model gpt2 --batch 2 --seq 64 --gpu T4", "* --model gpt2 --batch 2 --seq 64 --gpu T4 --short"},
	"estimate --explain": {"estimate --model gpt2 --batch 2 --seq 64", "estimate --model gpt2 --batch 2 --seq 64 --explain"},
	"estimate --top":     {"estimate --model gpt2 --batch 2 --seq 64 --explain", "estimate --model gpt2 --batch 2 --seq 64 --explain --top 2"},

	"optimize --auto":                   {"optimize --model gpt2 --batch 2 --seq 64 --limit 8GiB --json", "optimize --model gpt2 --batch 2 --seq 64 --limit 8GiB --auto --json"},
	"optimize --nodes":                  {planned + " --gpus 2", planned + " --gpus 2 --nodes 2"},
	"optimize --target-effective-batch": {planned, planned + " --target-effective-batch 64"},
	"optimize --margin":                 {planned, planned + " --margin 0.8"},
	"optimize --reserve":                {planned, planned + " --reserve 10GiB"},
	"optimize --goal":                   {planned, strings.Replace(planned, "quick", "throughput", 1)},
	"optimize --lock":                   {planned, planned + " --lock batch"},
	"optimize --allow":                  {"optimize --model gpt2 --batch 4 --seq 128 --gpu H200 --json", "optimize --model gpt2 --batch 4 --seq 128 --gpu H200 --allow precision --json"},
	"optimize --apply":                  {"optimize --gpu T4 --json", "optimize --gpu T4 --apply --json"},

	"init --dir":          {"init", "init --dir ../other"},
	"init --config-path":  {"init --dir ../several", "init --dir ../several --config-path c.yaml"},
	"init --dry-run":      {"init", "init --dry-run"},
	"apply --set":         {"apply --set batch=8", "apply --set batch=16"},
	"apply --rung":        {"apply", "apply --rung maximum"},
	"apply --dir":         {"apply --set batch=8", "apply --set batch=8 --dir ../other"},
	"apply --config-path": {"apply --set batch=8", "apply --set batch=8 --config-path ../other/b.yaml"},
	"apply --yes":         {"apply --set batch=8", "apply --set batch=8 --yes"},
	"apply --apply":       {"apply --set batch=8", "apply --set batch=8 --apply"},
	"apply --dry-run":     {"apply --set batch=8 --yes", "apply --set batch=8 --yes --dry-run"},
	"revert --changes":    {"apply --set batch=8 --yes; apply --set batch=16 --yes; revert", "apply --set batch=8 --yes; apply --set batch=16 --yes; revert --changes 2"},
	"revert --list":       {"apply --set batch=8 --yes; revert", "apply --set batch=8 --yes; revert --list"},
	"revert --force":      {"apply --set batch=8 --yes; edit; revert", "apply --set batch=8 --yes; edit; revert --force"},
	"revert --dir":        {"apply --set batch=8 --yes --dir ../other; revert", "apply --set batch=8 --yes --dir ../other; revert --dir ../other"},
	"gpus --all":          {"gpus", "gpus --all"},

	"lint --format":         {"lint lint.txt", "lint lint.txt --format github"},
	"lint --select":         {"lint lint.txt", "lint lint.txt --select SNG1"},
	"lint --ignore":         {"lint lint.txt", "lint lint.txt --ignore SNG8"},
	"lint --baseline":       {"lint lint.txt", "lint lint.txt --baseline known.txt"},
	"lint --write-baseline": {"lint lint.txt --baseline known.txt", "lint lint.txt --baseline known.txt --write-baseline"},
	"lint --fix":            {"lint lint.txt", "lint lint.txt --fix"},
	"lint --explain":        {"lint lint.txt", "lint lint.txt --explain SNG101"},

	"replay --script":     {"replay rules.txt", "replay --script rules.txt"},
	"replay --torch":      {"replay --script rules.txt", "replay --script rules.txt --torch 2.12"},
	"replay --alloc-conf": {"replay $S --json", "replay $S --json --alloc-conf max_split_size_mb:20"},
	"replay --limit":      {"replay $S --json", "replay $S --json --limit 1MiB"},
	"replay --compare":    {"replay $S", "replay $S --compare"},
	"replay --device":     {"replay $S", "replay $S --device 1"},
	"replay --addresses":  {"replay $S --json", "replay $S --json --addresses own"},
	"predict --at":        {"predict $A@batch=64 $B@batch=96 --at batch=128 --json", "predict $A@batch=64 $B@batch=96 --at batch=256 --json"},
	"predict --out":       {"predict $A@batch=64 $B@batch=96 --at batch=128 --json", "predict $A@batch=64 $B@batch=96 --at batch=128 --json --out m.snug"},
}

// untriedFlags lists the flags that affect no figure, and why they are not tried here.
var untriedFlags = map[string]string{
	"--help":             "prints the help",
	"--version":          "prints the version",
	"--json":             "is the form of the output",
	"diagnose --watch":   "starts the user's program: diagnose.txtar",
	"diagnose --last":    "is for --watch: diagnose.txtar, and TestWatchFailures of internal/record",
	"diagnose --keep":    "is for --watch: diagnose.txtar, and TestWatchFailures of internal/record",
	"optimize --explain": "shows what a short terminal has no room for: TestFirstScreen",
	"optimize --profile": "starts the user's program: optimize_profile.txtar and optimize_measured.txtar",
	"optimize --vary":    "is for --profile: optimize_measured.txtar",
	"profile":            "starts the user's program: profile*.txtar has every flag",
	"history":            "reads the store of measured runs: history.txtar",
	"check":              "compares with a git revision: check.txtar",
	"serve":              "serves until it is stopped: TestServe",
	"tune":               "starts the user's program: tune*.txtar has every flag",
	"watch":              "watches a machine or a run: watch.txtar has every flag",
}

// folderFiles are the files that the cases read.
var folderFiles = map[string]string{
	"here/run.json":          `{"model": {"name": "distilgpt2"}, "batch": 4, "seq": 64}`,
	"here/model/config.json": `{"model_type": "gpt2", "n_layer": 2, "architectures": ["GPT2LMHeadModel"]}`,
	"here/a.yaml":            "model_name_or_path: gpt2\nblock_size: 64\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\noutput_dir: out\n",
	"several/b.yaml":         "per_device_train_batch_size: 2\noutput_dir: out\n",
	"several/c.yaml":         "per_device_train_batch_size: 3\noutput_dir: out\n",
	"other/b.yaml":           "model_name_or_path: distilgpt2\nblock_size: 64\nper_device_train_batch_size: 2\noutput_dir: out\n",
	"here/oom.txt":           "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 7.20 GiB already allocated; 6.69 MiB free; 7.30 GiB reserved in total by PyTorch)\n",
	"here/lint.txt":          "import torch\ntorch.cuda.amp.GradScaler()\n",
	"here/known.txt":         `{"rule": "SNG801", "path": "lint.txt", "source": "torch.cuda.amp.GradScaler()", "count": 1}`,
	"here/rules.txt":         "a 1 1048064\na 2 512\na 3 512\nf 1\na 4 1048064\nsnap\n",
}

// TestNoFlagDoesNothing checks that every flag of every command has an effect.
func TestNoFlagDoesNothing(t *testing.T) {
	recorded := recordingsFor(t)
	tried := map[string]bool{}
	for _, c := range commandsOf(newRoot(Env{})) {
		name := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "snug"), " ")
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if isUntried(name, f.Name) || isField(c, f.Name) {
				return
			}
			key, inAny := name+" --"+f.Name, "* --"+f.Name
			run, ok := flagCases[key]
			if !ok {
				key = inAny
				run, ok = flagCases[inAny]
			}
			if tried[key] = true; !ok {
				t.Errorf("%s --%s: no case shows that it has an effect", name, f.Name)
				return
			}
			t.Run(name+" --"+f.Name, func(t *testing.T) {
				without, with := leaves(t, recorded, strings.ReplaceAll(run.without, "*", name)), leaves(t, recorded, strings.ReplaceAll(run.with, "*", name))
				if last := with["last"]; strings.HasPrefix(last, "exit 2") && !strings.Contains(last, "--"+f.Name) {
					t.Errorf("%s failed: %s", run.with, last)
				}
				if maps.Equal(without, with) {
					t.Errorf("%s and %s have the same result: %v", run.without, run.with, with)
				}
			})
		})
	}
	for key := range flagCases {
		if !tried[key] {
			t.Errorf("%s: there is no such flag", key)
		}
	}
}

// commandsOf returns a command and its subcommands.
func commandsOf(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		out = append(out, commandsOf(sub)...)
	}
	return out
}

// isUntried reports whether a flag is one of untriedFlags.
func isUntried(command, flag string) bool {
	first, _, _ := strings.Cut(command, " ")
	return untriedFlags["--"+flag] != "" || untriedFlags[command+" --"+flag] != "" || untriedFlags[first] != ""
}

// isField reports whether a flag of a command is a field of a setup. TestFlagsAreFields and TestNoFieldDoesNothing
// cover those.
func isField(c *cobra.Command, flag string) bool {
	if c.Flags().Lookup("setup") == nil || c.Flags().Lookup("lora-rank") == nil {
		return false
	}
	for _, f := range settingFlags() {
		if f.Name == flag {
			return true
		}
	}
	return false
}

// TestFlagsAreFields checks that each flag in the table of settings sets its field in the setup.
func TestFlagsAreFields(t *testing.T) {
	for x, flag := range settingFlags() {
		f := &setupFlags{}
		f.add(&cobra.Command{})
		value := map[setup.Kind]string{setup.Whole: "2", setup.Number: "2", setup.Switch: "true"}[x.Kind()]
		if flag.Means != nil {
			value = "true"
		}
		if value == "" {
			value = "word"
		}
		if err := f.flags.Set(flag.Name, value); err != nil {
			t.Fatal(err)
		}
		fields, err := f.fields()
		if err != nil || len(fields) != 1 {
			t.Errorf("--%s %s gives the fields %v, %v", flag.Name, value, fields, err)
		}
	}
}

// leaves runs commands in order in a new folder, and returns their output and the files they leave. The command
// edit changes a file as a user would.
func leaves(t *testing.T, recorded *strings.Replacer, commands string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range folderFiles {
		writeIn(t, folder, name, text)
	}
	t.Chdir(filepath.Join(folder, "here"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(folder, "config"))
	out := map[string]string{}
	for line := range strings.SplitSeq(commands, "; ") {
		if line == "edit" {
			writeIn(t, folder, "here/a.yaml", folderFiles["here/a.yaml"]+"seed: 1\n")
			continue
		}
		var text strings.Builder
		code := Run(context.Background(), flagEnv(&text, folder), strings.Fields(recorded.Replace(line)))
		out["last"] = fmt.Sprintf("exit %d\n%s", code, text.String())
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "/.snug") && !strings.Contains(path, "config/") {
			data, _ := os.ReadFile(path)
			out[strings.TrimPrefix(path, folder)] = string(data)
		}
		return nil
	})
	return out
}

// flagEnv is a machine with one GPU. Its standard input is the answer of snug optimize for the files in the folder.
func flagEnv(out io.Writer, folder string) Env {
	const optimized = `{"recommended": {"settings": {"batch": 8, "accumulation": 1}}, "ladder": [{"name": "safe", "settings": {"batch": 8, "accumulation": 1}}, {"name": "maximum", "settings": {"batch": 2, "accumulation": 4}}]}`
	return Env{
		Stdin: strings.NewReader(optimized), Stdout: out, Stderr: out, GPUs: []gpu.Source{oneCard{}}, CPUs: 4,
		Getenv: func(name string) string {
			return map[string]string{"SNUG_STORE": filepath.Join(folder, ".snug-store")}[name]
		},
		Open:      func(path string) (io.ReadCloser, error) { return files.OpenNamed(path) },
		WriteFile: func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) },
	}
}

func writeIn(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recordingsFor returns the paths of the recordings that cases name.
func recordingsFor(t *testing.T) *strings.Replacer {
	t.Helper()
	snapshots, err := filepath.Abs("../snapshot/testdata")
	if err != nil {
		t.Fatal(err)
	}
	traces, err := filepath.Abs("../../testdata/measured/traces")
	if err != nil {
		t.Fatal(err)
	}
	tower := filepath.Join(traces, "two-tower-b%d-s128-amp-fp16-adamw-stacks.pickle.gz")
	return strings.NewReplacer("$S", filepath.Join(snapshots, "gpt2-2l-b4-s128-fp32-adamw.pickle.gz"), "$A", fmt.Sprintf(tower, 64), "$B", fmt.Sprintf(tower, 96))
}
