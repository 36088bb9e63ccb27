// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"cmp"
	"fmt"

	"snug/internal/run"
)

// gone is the state of a job that Slurm has no record of and that left no exit code.
const gone = "GONE"

// fateOf returns the external cause that ended a job, with a description. It uses the job's state and what Slurm wrote
// into its output. For a job that ended by itself, it returns NoFate.
func fateOf(id string, i Info, output string) (run.Fate, string) {
	why, node, _ := endIn(output)
	on := ""
	if node = cmp.Or(i.Nodes, node); node != "" {
		on = " on " + node
	}
	killed := i.State == "CANCELLED" || i.State == "FAILED" || i.State == gone // the output may give a more specific reason
	switch {
	case i.State == "PREEMPTED" || killed && why == "PREEMPTION":
		return run.Preempted, fmt.Sprintf("job %s was preempted%s", id, on)
	case i.State == "NODE_FAIL" || i.State == "BOOT_FAIL" || i.State == "LAUNCH_FAILED" || i.State == "RECONFIG_FAIL" || killed && why == "NODE FAILURE":
		return run.NodeFailed, fmt.Sprintf("job %s was killed by a node failure%s", id, on)
	case i.State == "TIMEOUT" || i.State == "DEADLINE" || killed && why == "TIME LIMIT":
		limit := ""
		if i.Limit != "" {
			limit = " of " + i.Limit
		}
		return run.TimeLimit, fmt.Sprintf("job %s reached its time limit%s; raise --time in the script", id, limit)
	case i.State == "OUT_OF_MEMORY" || i.State == "FAILED" && hostMemory.In(output):
		return run.HostMemory, fmt.Sprintf("job %s used more CPU memory than it requested and was killed%s; raise --mem in the script", id, on)
	case i.State == "CANCELLED":
		by := "externally"
		if i.By != "" {
			by = "by user " + i.By
		}
		return run.Canceled, fmt.Sprintf("job %s was canceled %s", id, by)
	case i.State == "REVOKED" || i.State == gone:
		return run.NodeFailed, fmt.Sprintf("Slurm has no record of job %s, and it left no exit code", id)
	}
	return run.NoFate, ""
}
