// SPDX-License-Identifier: Apache-2.0

package shellsrc

import "strings"

// A Slurm script requests machines and GPUs in #SBATCH lines at its top, and reads the numbers back from variables
// that Slurm sets (sbatch(1), output environment variables).

// slurmVariables are the variables that sbatch's options set.
var slurmVariables = map[string][]string{
	"--nodes": {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, "-N": {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
	"--gpus-per-node": {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}, "--gres": {"SLURM_GPUS_ON_NODE"},
	"--ntasks": {"SLURM_NTASKS"}, "-n": {"SLURM_NTASKS"}, "--ntasks-per-node": {"SLURM_NTASKS_PER_NODE"},
	"--cpus-per-task": {"SLURM_CPUS_PER_TASK"}, "-c": {"SLURM_CPUS_PER_TASK"},
}

// directives sets the variables that follow from the #SBATCH lines before the first command.
func (r *runner) directives(text string) {
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i
		}
		line := text[at:end]
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "#SBATCH"):
			r.directive(text, at+len("#SBATCH"), end)
		case trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			return
		}
		at = end + 1
	}
}

// directive reads one #SBATCH line: --nodes=2, --nodes 2 or -N 2.
func (r *runner) directive(text string, begin, end int) {
	if i := strings.Index(text[begin:end], " #"); i >= 0 {
		end = begin + i
	}
	line := strings.TrimLeft(text[begin:end], " \t")
	start := end - len(line)
	size := strings.IndexAny(line, "= \t")
	if size < 0 {
		return
	}
	value := strings.TrimSpace(line[size+1:])
	at := start + size + 1 + strings.Index(line[size+1:], value)
	if line[:size] == "--gres" || line[:size] == "--gpus-per-node" { // gpu:a100:4
		last := strings.LastIndexByte(value, ':') + 1
		if last > 0 && !strings.HasPrefix(value, "gpu") && line[:size] == "--gres" {
			return
		}
		value, at = value[last:], at+last
	}
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return
	}
	for _, name := range slurmVariables[line[:size]] {
		r.set(name, &variable{pieces: []Piece{{Text: value, At: at}}, definition: -1, exported: true})
	}
}
