// SPDX-License-Identifier: Apache-2.0

package config

import "snug/internal/config/projects"

// CommandLine is the name under which a project's bindings refer to a command that is in no file.
const CommandLine = "--loop"

// OpenCommand is Open for a run that a command starts, although no file contains the command.
func OpenCommand(files projects.Files, root, command string) (*Project, error) {
	script := map[string][]byte{CommandLine: []byte("#!/bin/sh\n" + command + "\n")}
	return Open(edited{files, script}, root, CommandLine)
}
