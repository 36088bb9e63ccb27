// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"snug/internal/run"
	"snug/internal/setup"
)

// project is an in-memory folder, /home/me/project.
type project struct{ fstest.MapFS }

func (p project) Open(name string) (fs.File, error) { return p.MapFS.Open(p.inside(name)) }
func (p project) ReadFile(name string) ([]byte, error) {
	return p.MapFS.ReadFile(p.inside(name))
}
func (p project) Stat(name string) (fs.FileInfo, error)      { return p.MapFS.Stat(p.inside(name)) }
func (p project) MkdirAll(name string, _ fs.FileMode) error  { return nil }
func (p project) ReadDir(name string) ([]fs.DirEntry, error) { return p.MapFS.ReadDir(p.inside(name)) }
func (p project) WriteFile(name string, data []byte, mode fs.FileMode) error {
	if !strings.HasPrefix(name, "/run/") {
		return errors.New("the user's own folder is written to")
	}
	p.MapFS[name] = &fstest.MapFile{Data: data, Mode: mode}
	return nil
}

const home = "/home/me/project"

func (p project) Abs(name string) (string, error) {
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	return path.Join(home, name), nil
}

func (p project) Inside(name string) bool {
	abs, _ := p.Abs(name)
	return strings.HasPrefix(abs, home+"/")
}

func (p project) inside(name string) string {
	abs, _ := p.Abs(name)
	if abs == home {
		return "."
	}
	return strings.TrimPrefix(abs, home+"/")
}

func newProject(files map[string]string) project {
	p := project{fstest.MapFS{}}
	for name, text := range files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		p.MapFS[name] = &fstest.MapFile{Data: []byte(text), Mode: mode}
	}
	return p
}

var argparse = "import argparse\np = argparse.ArgumentParser()\np.add_argument('-b', '--batch-size', type=int, default=8)\n"

// TestBind checks where a batch of 2 is inserted, in an in-memory folder.
func TestBind(t *testing.T) {
	for _, c := range []struct {
		name, command string
		files         map[string]string
		args          string
		env           string
		placed        string
		copied, text  string // a file that was written, and its text
		err           string
	}{
		{name: "placeholder", command: "python train.py --bs={batch}", args: "python train.py --bs=2"},
		{name: "placeholder in a variable", command: "BATCH={batch} sh train.sh", args: "sh train.sh", env: "BATCH=2"},
		{name: "the shell's own", command: "sh -c ${batch}:{batch}", args: "sh -c ${batch}:2"},
		{name: "PYTHONPATH is set anew", command: "env PYTHONPATH=src python train.py {batch}", args: "env PYTHONPATH=/run:src python train.py 2"},
		{
			name: "option", command: "python train.py --epochs 1 -- x", files: map[string]string{"train.py": argparse},
			args: "python train.py --epochs 1 --batch-size 2 -- x", placed: "batch: --batch-size of train.py",
		},
		{
			name: "option by its other name", command: "python train.py -b 4", files: map[string]string{"train.py": argparse},
			err: "the command sets -b 4 for every size; write {batch} there: -b {batch}",
		},
		{
			name: "config", command: "python train.py --config conf/a.yaml",
			files: map[string]string{"train.py": "", "conf/a.yaml": "per_device_train_batch_size: 16 # many\noutput_dir: out\n"},
			args:  "python train.py --config /run/files/a.yaml", placed: "batch: per_device_train_batch_size in a copy of conf/a.yaml",
			copied: "/run/files/a.yaml", text: "per_device_train_batch_size: 2 # many\noutput_dir: out\n",
		},
		{
			name: "shell script", command: "./train.sh", files: map[string]string{"train.sh": "#!/bin/sh\npython train.py --per_device_train_batch_size 8\n"},
			args:   "/bin/sh -c #!/bin/sh\npython train.py --per_device_train_batch_size 2\n ./train.sh",
			placed: "batch: --per_device_train_batch_size in a copy of train.sh",
		},
		{
			name: "a file that the command does not name", command: "python train.py",
			files: map[string]string{"train.py": "", "a.yaml": "per_device_train_batch_size: 16\noutput_dir: out\n"},
			err:   "a.yaml contains the batch, but the command does not name that file; name it, as in --config a.yaml, or write {batch} into the command",
		},
		{
			name: "given already", command: "python train.py --batch-size 8", files: map[string]string{"train.py": ""},
			err: "the command sets --batch-size 8 for every size; write {batch} there: --batch-size {batch}",
		},
		{
			name: "nowhere", command: "python train.py", files: map[string]string{"train.py": ""},
			err: "the command has no {batch}, and no config file here contains the batch; put {batch} where its value goes, or name the file with --config-path",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(c.files)
			b := binder{files: userFiles{p}, launch: run.ReadLaunch(strings.Fields(c.command)), configs: nil}
			got, err := b.bind(setup.Assign("batch", 2), "/run")
			if err != nil || c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff([]string{c.args, c.env, c.placed}, []string{strings.Join(got.args, " "), strings.Join(got.env, " "), strings.Join(got.placements, " ")}); diff != "" {
				t.Error(diff)
			}
			if c.copied != "" && string(p.MapFS[c.copied].Data) != c.text {
				t.Errorf("%s says %q", c.copied, p.MapFS[c.copied].Data)
			}
		})
	}
}

// Settings other than sizes are written to files in the same way, several to one file if needed.
func TestBindSettings(t *testing.T) {
	p := newProject(map[string]string{"train.py": "", "a.yaml": "per_device_train_batch_size: 16\ngradient_checkpointing: false\noutput_dir: out\n"})
	b := binder{files: userFiles{p}, launch: run.ReadLaunch(strings.Fields("python train.py a.yaml")), configs: nil}
	if _, err := b.bind(setup.Assign("batch", 2).With("checkpointing", true), "/run"); err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.MapFS["/run/files/a.yaml"].Data), "per_device_train_batch_size: 2\ngradient_checkpointing: true\noutput_dir: out\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSettingName(t *testing.T) {
	for name, want := range map[string]string{"bs": "batch", "batch": "batch", "train_batch_size": "batch", "max_seq_length": "seq", "SEQ": "seq", "depth": "depth"} {
		if got := SettingName(name); got != want {
			t.Errorf("%s is called %s, want %s", name, got, want)
		}
	}
}
