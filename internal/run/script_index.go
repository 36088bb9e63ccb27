// SPDX-License-Identifier: Apache-2.0

package run

import (
	"path/filepath"
	"slices"
	"strings"
)

// ScriptIndex returns the index of the word that names what a command line runs: the file, or the module after -m,
// after any interpreter and launcher; -1 if there is neither, as in axolotl train run.yml.
func ScriptIndex(words []string) int {
	for i, w := range words {
		switch {
		case (w == "-m" || w == "--module") && i+1 < len(words):
			if !slices.Contains(launchModules, words[i+1]) {
				return i + 1
			}
		case w == "-c" && i > 0 && runsText(program(words[i-1])):
			return -1
		case slices.Contains(scriptEndings, strings.ToLower(filepath.Ext(w))) && !strings.HasPrefix(w, "-"):
			return i
		}
	}
	return -1
}

// scriptEndings are the extensions of files that a command usually runs and rarely reads.
var scriptEndings = []string{".py", ".pyc", ".pyz", ".sh", ".bash", ".zsh", ".fish"}

// launchModules start another script, which is the training script.
var launchModules = []string{
	"torch.distributed.run", "torch.distributed.launch",
	"accelerate.commands.launch", "accelerate.commands.accelerate_cli", "deepspeed.launcher.runner", "deepspeed.launcher.launch",
}

// runsText reports whether a program accepts -c TEXT.
func runsText(name string) bool { return isPython(name) || strings.HasSuffix(name, "sh") }
