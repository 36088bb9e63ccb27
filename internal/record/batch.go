// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"path/filepath"
	"slices"

	"snug/internal/pattern"
	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/slurm"
)

// A command may be a Slurm batch script, with or without sbatch. The training command is in the script, so the script is
// treated as part of the command: values go into its placeholders, and it reads copies of the files that it names. The
// script may be submitted from another path, because sbatch copies it anyway.

// readBatch reads the batch script of the command.
func (b *binder) readBatch() error {
	l := &b.launch
	at, err := slurm.Script(l.Args)
	if err != nil {
		return err
	}
	l.Launcher, l.Program, l.Warning, l.Lost = "sbatch", at, "", false
	name := l.Args[at]
	text, err := b.files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s cannot be read as a batch script (%w); write snug tune --launcher slurm -- train.sbatch", name, cause(err))
	}
	if err := slurm.CheckScript(name, string(text)); err != nil {
		return err
	}
	script := string(text)
	b.batch = &script
	return nil
}

// batchWords returns the words of the batch script.
func (b *binder) batchWords() []string {
	if b.batch == nil {
		return nil
	}
	return slurm.Words(*b.batch)
}

// inBatch matches a placeholder in a script, or a shell variable that looks like one.
var inBatch = pattern.New(`\$?\{([a-z_]+)\}`)

// batchPlaceholders returns the placeholders in the batch script, which are setting names in braces. Other words in
// braces belong to the shell.
func (b *binder) batchPlaceholders() []string {
	if b.batch == nil {
		return nil
	}
	var out []string
	for _, m := range inBatch.Regexp().FindAllStringSubmatch(*b.batch, -1) {
		if m[0][0] != '$' && (isSetting(m[1]) || m[1] == "workers") {
			out = append(out, m[1])
		}
	}
	return out
}

// isBatch reports whether a file is the batch script of a command.
func (b *binder) isBatch(c *command, file string) bool {
	return b.batch != nil && c.files.local(b.launch.Args[b.launch.Program]) == file
}

// replaceBatch replaces the text of the command's script.
func (c *command) replaceBatch(text string) {
	c.batch = text
	for _, v := range c.filled {
		c.fill(v.Setting, v.Value)
	}
}

// writeBatch writes a trial's batch script, under its original name.
func (b *binder) writeBatch(c *command, folder string) error {
	if b.batch == nil {
		return nil
	}
	to := filepath.Join(folder, "files", filepath.Base(b.launch.Args[b.launch.Program]))
	err := c.files.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = c.files.WriteFile(to, []byte(c.batch), 0o600)
	}
	if err != nil {
		return fmt.Errorf("copying the batch script: %w", cause(err))
	}
	c.args[b.launch.Program] = to
	return nil
}

// runs returns the parent folder for run folders.
func (s *Session) runs() (string, error) {
	if s.plan.Shared == "" {
		return s.work.Path, nil
	}
	if err := s.env.Files.MkdirAll(s.plan.Shared, 0o700); err != nil {
		return "", fmt.Errorf("--shared %s: %w", s.plan.Shared, cause(err))
	}
	return s.plan.Shared, nil
}

// removeShared removes the folder of the runs and its parent if they are empty.
func (s *Session) removeShared() {
	if s.plan.Shared != "" {
		run.RemoveEmpty(s.plan.Shared)
	}
}

// Adopt returns the run in a folder, which an earlier snug started, so that it can be followed to its end.
func (s *Session) Adopt(at profile.Point, settings setup.Values, folder string) (*Trial, error) {
	t, err := s.newTrial(s.work.Path, at, settings)
	if err != nil {
		return nil, s.hide(err)
	}
	_ = t.Discard()
	t.folder = run.OpenFolder(folder)
	return t, nil
}

// Folder returns the folder of the run.
func (t *Trial) Folder() string { return t.folder.Path }

// InScript returns the batch script's name and its placeholders with the values of this run.
func (t *Trial) InScript() (script string, filled setup.Values) {
	b := &t.session.binder
	for _, v := range t.command.filled {
		if slices.Contains(b.batchPlaceholders(), v.Setting) {
			filled = append(filled, v)
		}
	}
	if b.batch != nil {
		script = b.launch.Args[b.launch.Program]
	}
	return script, filled
}
