// SPDX-License-Identifier: Apache-2.0

package run

import (
	"path/filepath"
	"slices"
	"strings"
)

// Launch is a parsed command line.
type Launch struct {
	Env      []string // NAME=value words before the command, as in a shell
	Args     []string // the command and its arguments
	Launcher string   // the program that starts the training: python, torchrun, accelerate, deepspeed, bash, …
	Program  int      // its index in Args, after commands that only run another command
	// Warning says why the probe may not be loaded in the training process; "" if it should be.
	Warning string
	Lost    bool // the probe cannot be loaded, so running the command would show nothing
}

// ReadLaunch analyzes a command line. The probe is loaded through the environment, so a launcher matters only if it
// does not pass the environment to its children.
func ReadLaunch(words []string) Launch {
	var l Launch
	for len(words) > 0 && isAssignment(words[0]) {
		l.Env, words = append(l.Env, words[0]), words[1:]
	}
	l.Args = words
	rest := words
	for len(rest) > 0 {
		name := program(rest[0])
		l.Launcher, l.Program = name, len(words)-len(rest)
		if why := cutOff[name]; why != "" {
			l.Warning, l.Lost = name+" "+why, name != "sudo" // sudo can be configured to keep the environment
			return l
		}
		if isPython(name) {
			l.Launcher = "python"
			if flag := isolated(rest[1:]); flag != "" {
				l.Warning, l.Lost = "python "+flag+" ignores PYTHONPATH, and with it the probe; run it without "+flag, true
			}
			return l
		}
		w, wraps := wrappers[name]
		if !wraps {
			return l
		}
		rest = w.behind(rest[1:])
	}
	return l
}

// wrapper is a command that runs another command.
type wrapper struct {
	own    []string // the wrapper's own words, such as run in uv run
	valued []string // flags whose value is a separate word
	first  int      // positional arguments before the other command
}

var inProject = wrapper{own: []string{"run"}}

var wrappers = map[string]wrapper{
	"uv": {own: []string{"run"}, valued: []string{
		"--with", "-w", "--with-requirements", "--with-editable", "--extra", "--group", "--env-file", "--python", "-p", "--project", "--directory", "--package", "--index-url", "-i",
	}},
	"poetry": {own: []string{"run"}, valued: []string{"-C", "--directory", "-P", "--project"}},
	"pdm":    inProject, "pipenv": inProject, "rye": inProject, "hatch": inProject,
	"pixi":    {own: []string{"run"}, valued: []string{"-e", "--environment", "--manifest-path"}},
	"conda":   {own: []string{"run"}, valued: []string{"-n", "--name", "-p", "--prefix", "--cwd"}},
	"mamba":   {own: []string{"run"}, valued: []string{"-n", "--name", "-p", "--prefix", "--cwd"}},
	"env":     {valued: []string{"-u", "--unset", "-C", "--chdir"}},
	"nice":    {valued: []string{"-n", "--adjustment"}},
	"time":    {valued: []string{"-f", "--format", "-o", "--output"}},
	"stdbuf":  {valued: []string{"-i", "-o", "-e"}},
	"numactl": {valued: []string{"-N", "-m", "-C", "-i", "-p"}},
	"taskset": {first: 1}, // the first argument selects the CPUs
	"timeout": {valued: []string{"-s", "--signal", "-k", "--kill-after"}, first: 1},
	"nohup":   {}, "exec": {}, "setsid": {},
}

// cutOff maps commands whose children do not inherit snug's environment to the warning about them.
var cutOff = map[string]string{
	"docker": "does not let the probe into the container; run snug inside it",
	"podman": "does not let the probe into the container; run snug inside it",
	"ssh":    "runs elsewhere; run snug on that machine",
	"sudo":   "drops the environment, and with it the probe; run snug itself under sudo",
	"sbatch": "only queues the run; use snug tune --launcher slurm to run trials as jobs, or run snug inside the script",
}

// behind returns the words after a wrapper's own words and flags.
func (w wrapper) behind(words []string) []string {
	for len(words) > 0 {
		switch {
		case slices.Contains(w.valued, words[0]):
			words = words[1:]
		case slices.Contains(w.own, words[0]) || strings.HasPrefix(words[0], "-") || isAssignment(words[0]):
		default:
			return words[min(w.first, len(words)):]
		}
		words = words[min(1, len(words)):]
	}
	return words
}

func program(word string) string { return strings.TrimSuffix(filepath.Base(word), ".exe") }

func isPython(name string) bool {
	return strings.HasPrefix(name, "python") && strings.Trim(name[len("python"):], "0123456789.") == ""
}

// isolated returns the Python option that disables PYTHONPATH or site, or "".
func isolated(args []string) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !strings.HasPrefix(a, "-") || a == "-" || a == "-c" || a == "-m":
			return "" // the script's arguments begin here
		case a == "-W" || a == "-X":
			i++
		case strings.HasPrefix(a, "--"):
		case strings.ContainsAny(a[1:], "IES"):
			return a
		}
	}
	return ""
}

// isAssignment reports whether a word is NAME=value.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	if !ok || name == "" {
		return false
	}
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
