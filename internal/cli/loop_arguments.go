// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"

	"snug/internal/config"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// commanded returns the project as --loop "script.py ARGS" starts its script: the arguments replace the command in the
// folder's files and the script's defaults. It returns the project itself if there are none, or, if the folder's settings are
// those of another script, the settings in the script itself; nil if that has none.
func (f *projectFlags) commanded(project *config.Project, over map[string]any) (*config.Project, error) {
	loop, _ := over["loop"].(string)
	script := filepath.ToSlash(filepath.Clean(setup.ScriptOf(loop)))
	if project == nil || len(f.paths) > 0 || !setup.ReadsScript(loop) {
		return project, nil
	}
	files := projectFiles{f.folder}
	if _, err := files.ReadFile(script); err != nil {
		return project, nil
	}
	if loop != setup.ScriptOf(loop) {
		started, err := config.OpenCommand(files, f.folder, "python "+loop)
		if err == nil {
			return started, nil
		}
		if started = f.withItsBatch(script, loop); started != nil {
			return started, nil
		}
		return project, f.unreadArguments(script, loop)
	}
	if main, _ := project.Main(); path.Ext(main) != ".py" || main == script && !(f.plain && project.Fields()["dist"] != nil) {
		return project, nil
	}
	own, err := config.Open(files, f.folder, script)
	if err != nil {
		return nil, nil
	}
	return own, nil
}

// batchOption matches an option of a script that may be its batch.
var batchOption = pattern.New(`add_argument\(\s*["'](--[\w-]*(?:bs|bsz|batch[_-]?size)[\w-]*)["']`, "add_argument(")

// withItsBatch reads a command that leaves the batch at the script's default: with that default in the command. It returns nil if
// the default is not known.
func (f *projectFlags) withItsBatch(script, loop string) *config.Project {
	files := projectFiles{f.folder}
	text, err := files.ReadFile(script)
	if err != nil {
		return nil
	}
	batch, options := any(8), []string{"--per_device_train_batch_size"} // TrainingArguments' default
	if !bytes.Contains(text, []byte("HfArgumentParser(")) {
		own, err := config.Open(files, f.folder, script)
		if err != nil || own.Fields()["batch"] == nil {
			return nil
		}
		batch, options = own.Fields()["batch"], nil
		for _, m := range batchOption.Regexp().FindAllSubmatch(text, -1) {
			options = append(options, string(m[1]))
		}
	}
	for _, option := range options {
		started, err := config.OpenCommand(files, f.folder, fmt.Sprintf("python %s %s %v", loop, option, batch))
		if err == nil && fmt.Sprint(started.Fields()["batch"]) == fmt.Sprint(batch) {
			return started
		}
	}
	return nil
}

// unreadArguments returns an error if a script's settings are those in the code around a trainer, which the command's
// arguments may change: they are read only together with the batch. A script with its own loop is followed with its arguments.
func (f *projectFlags) unreadArguments(script, loop string) error {
	text, err := (projectFiles{f.folder}).ReadFile(script)
	if err != nil || !bytes.Contains(text, []byte("TrainingArguments(")) && !bytes.Contains(text, []byte("HfArgumentParser(")) || bytes.Contains(text, []byte(".backward(")) {
		return nil
	}
	return fmt.Errorf("the arguments in %q are read only with the batch among them; add it, as the script calls it, such as --per_device_train_batch_size 8", loop)
}
