// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"strconv"
	"strings"
	"syscall"

	"snug/internal/pattern"
	"snug/internal/run"
)

// The output of the Slurm commands that snug runs:
//
//	sbatch --parsable                             12 or 12;cluster
//	squeue --noheader --format=%i|%T|%r|%N        12|RUNNING|None|n1
//	scontrol --oneliner show job 12               JobId=12 JobName=... JobState=RUNNING Reason=None ...
//	sacct --noheader --parsable2 --format=...     12|CANCELLED by 1000|0:15|n1
//
// The formats have been stable since Slurm 14; new versions add states and keys. A job in an unknown state is taken to
// be running.

// Info is what Slurm reports about a job.
type Info struct {
	State    string   // RUNNING, PENDING, NODE_FAIL, ...
	Reason   string   // why it waits, or why it ended
	Nodes    string   // the nodes it runs on
	By       string   // the user ID that canceled it, from sacct
	Limit    string   // its time limit, [days-]hours:minutes:seconds
	Restarts int      // how often it was queued again
	Exit     run.Exit // how its script ended
}

// phase is whether a job is running, waiting or over.
type phase int

const (
	running phase = iota
	waiting       // the job is not running; its time limits are paused
	over          // the job will not run again
)

// phases contains the states in which a job is not running.
var phases = map[string]phase{
	"PENDING": waiting, "CONFIGURING": waiting, "REQUEUED": waiting, "REQUEUE_HOLD": waiting, "REQUEUE_FED": waiting,
	"SPECIAL_EXIT": waiting, "RESV_DEL_HOLD": waiting, "SUSPENDED": waiting, "STOPPED": waiting, "POWER_UP_NODE": waiting,

	"COMPLETED": over, "FAILED": over, "CANCELLED": over, "TIMEOUT": over, "DEADLINE": over, "PREEMPTED": over, "NODE_FAIL": over,
	"BOOT_FAIL": over, "OUT_OF_MEMORY": over, "LAUNCH_FAILED": over, "RECONFIG_FAIL": over, "REVOKED": over,
}

func (i Info) phase() phase { return phases[i.State] }

// submitted matches the output of sbatch --parsable. A site's own wrapper may print other lines around it.
var submitted = pattern.New(`(?m)^\s*(?:Submitted batch job )?([0-9]+)(?:;(\S+)| on cluster (\S+))?\s*$`)

// parseSubmitted returns the ID of the job that sbatch queued, and its cluster if sbatch named one.
func parseSubmitted(text string) (id, cluster string, ok bool) {
	found := submitted.Regexp().FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "", "", false
	}
	m := found[len(found)-1]
	return m[1], m[2] + m[3], true
}

const queueFormat = "%i|%T|%r|%N"

// parseQueue returns the jobs that squeue lists.
func parseQueue(text string) map[string]Info {
	out := map[string]Info{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 { // a heading such as CLUSTER: name
			continue
		}
		out[f[0]] = Info{State: stateName(f[1]), Reason: reasonText(f[2]), Nodes: f[3]}
	}
	return out
}

// parseJob returns the job that scontrol shows.
func parseJob(text string) (Info, bool) {
	var out Info
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "JobState":
			out.State = stateName(value)
		case "Reason":
			out.Reason = reasonText(value)
		case "NodeList":
			out.Nodes = noneText(value)
		case "TimeLimit":
			out.Limit = value
		case "Restarts":
			out.Restarts, _ = strconv.Atoi(value)
		case "ExitCode":
			out.Exit = parseExit(value)
		}
		if key == "Command" { // what follows is the user's text
			break
		}
	}
	return out, out.State != ""
}

const accountFormat = "JobID,State,ExitCode,NodeList"

// parseAccount returns what sacct reports about a job: its last run, and how often it was restarted.
func parseAccount(text, id string) (Info, bool) {
	var out Info
	runs := 0
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 || f[0] != id {
			continue
		}
		state, by, _ := strings.Cut(f[1], " by ")
		out = Info{State: stateName(state), By: by, Exit: parseExit(f[2]), Nodes: noneText(f[3]), Restarts: runs}
		runs++
	}
	return out, runs > 0
}

// stateName returns a state without Slurm's additions, such as the + in CANCELLED+ if the column is too narrow.
func stateName(text string) string {
	name := strings.TrimRight(strings.ToUpper(strings.TrimSpace(text)), "+")
	if first, _, more := strings.Cut(name, ","); more { // a state may be followed by flags
		name = first
	}
	return name
}

// parseExit reads an exit code and a signal, 1:0 or 0:9.
func parseExit(text string) run.Exit {
	code, signal, _ := strings.Cut(text, ":")
	n, _ := strconv.Atoi(signal)
	if n > 0 {
		return run.Exit{Code: 128 + n, Signal: syscall.Signal(n)}
	}
	n, _ = strconv.Atoi(code)
	return run.Exit{Code: n}
}

// reasonText returns a reason in words, or "" if there is none.
func reasonText(text string) string { return noneText(strings.ReplaceAll(text, "_", " ")) }

func noneText(text string) string {
	switch text {
	case "None", "(null)", "(None)", "None assigned":
		return ""
	}
	return text
}

// What slurmstepd writes into the output of a job that it ends. Without Slurm accounting, and for requeued jobs, there is
// no other evidence.
var (
	stepEnded  = pattern.New(`\*\*\* (?:JOB|STEP) \S+ ON (\S+) CANCELLED AT \S+ (?:DUE TO ([A-Z ]+))?`)
	hostMemory = pattern.New(`(?i)slurmstepd.*(?:oom[-_ ]kill event|exceeded (?:job|step) memory limit)`)
)

// endIn returns why Slurm last ended a job, according to its output (PREEMPTION, NODE FAILURE, TIME LIMIT, JOB REQUEUE,
// or "" if no reason is given), the node, and how often Slurm ended it.
func endIn(output string) (why, node string, times int) {
	found := stepEnded.Regexp().FindAllStringSubmatch(output, -1)
	if len(found) == 0 {
		return "", "", 0
	}
	m := found[len(found)-1]
	return strings.TrimSpace(m[2]), m[1], len(found)
}
