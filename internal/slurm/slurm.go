// SPDX-License-Identifier: Apache-2.0

// Package slurm runs commands as jobs of a Slurm cluster. A job may wait for hours, may be preempted, cancelled or lose its
// node, and outlives the snug that submitted it; a Process is a job in all of that.
//
//	command.go  the words of an sbatch command: its options, its script, the script's arguments
//	script.go   the user's batch script, with the probe in it
//	runner.go   submits a job, or finds one again
//	job.go      follows a job to its end
//	fate.go     why a job ended, by evidence
//	queue.go    asks squeue, scontrol and sacct
//	output.go   what they print
//
// The folder of a run is all that is needed to find its job again. It has to be on a file system that the nodes share:
//
//	submitted   what sbatch printed: the number of the job
//	output      what the job prints
//	exit        the exit code of the script
//	files/      the script that was submitted, and copies of config files
//	*.jsonl     reports of the probe
package slurm
