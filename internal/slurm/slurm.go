// SPDX-License-Identifier: Apache-2.0

// Package slurm runs commands as jobs on a Slurm cluster. A job may wait for hours, be preempted or canceled, or lose its
// node, and it outlives the snug process that submitted it. A Process hides all of that.
//
//	command.go  the words of an sbatch command: its options, its script, the script's arguments
//	script.go   the user's batch script, with the probe in it
//	runner.go   submits a job, or finds one again
//	job.go      follows a job to its end
//	fate.go     finds out why a job ended
//	queue.go    queries squeue, scontrol and sacct
//	output.go   parses what they print
//
// A run's folder is all that is needed to find its job again. It must be on a file system that the nodes share:
//
//	submitted   what sbatch printed, with the job's ID
//	output      what the job prints
//	exit        the exit code of the script
//	files/      the script that was submitted, and copies of config files
//	*.jsonl     the probe's reports
package slurm
