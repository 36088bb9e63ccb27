// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"snug/internal/filelock"
	"snug/internal/files"
	"snug/internal/pattern"
)

// A snug that is killed leaves behind its folder, files that it was writing, and the command, which then trains for
// nothing. The next snug removes them if all the evidence agrees: the folder's name and owner, and a lock that is not
// held. If locks do not work, the process in the name must be gone; that alone proves little in a container that
// shares the temporary folder.
//
// A command that was meant to continue after its recorded steps is the user's training, and is left running.

var workName = pattern.New(`^` + workPrefix + `([1-9][0-9]{0,9})-[0-9]+$`)

// Leftovers describes what killed processes left behind.
type Leftovers struct {
	Folders   int // the number of removed folders
	Processes int // the number of ended processes
	Spared    int // runs that were meant to continue, and still do
}

// RemoveLeftovers removes what dead processes left under parent ("" is the system's temporary folder), and ends the
// processes they left running. If in doubt, it removes nothing.
func RemoveLeftovers(parent string) (out Leftovers) {
	if parent == "" {
		parent = tempDir()
	}
	running := runsLeft()
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		work := filepath.Join(parent, e.Name())
		if e.IsDir() {
			out.clean(work, running[work])
		}
	}
	return out
}

// clean removes a folder, and ends its runs' processes.
func (l *Leftovers) clean(work string, runs []string) {
	lock, ok := claim(work)
	if !ok {
		return
	}
	defer lock.Close() // only after everything is removed, so that concurrent snugs do not interfere
	if spared := slices.DeleteFunc(slices.Clone(runs), func(r string) bool { return !mayContinue(r) }); len(spared) > 0 {
		l.Spared += len(spared)
		return
	}
	for _, r := range runs {
		l.Processes += endRun(r)
	}
	if removeWork(work) == nil {
		l.Folders++
	}
}

// young is the age below which a folder without a lock may still be under construction or being removed.
const young = 2 * time.Second

// claim takes a folder's lock and returns it, or nil without locks; ok is false if the folder may still be in use.
func claim(work string) (lock *os.File, ok bool) {
	m := workName.Find(filepath.Base(work))
	info, err := os.Lstat(work)
	if m == nil || err != nil || !info.IsDir() || !isMine(info) {
		return nil, false
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		return nil, false
	}
	lock, err = os.OpenFile(filepath.Join(work, lockName), os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return nil, gone(pid) && time.Since(info.ModTime()) > young
	}
	if err != nil {
		return nil, false
	}
	text, _ := io.ReadAll(io.LimitReader(lock, int64(len(lockedText))))
	if filelock.Try(lock) != nil || string(text) != lockedText && !gone(pid) {
		_ = lock.Close()
		return nil, false
	}
	return lock, true
}

// runsLeft returns the runs that still have processes of this user, by their snug's folder. It omits the run that
// this process belongs to.
func runsLeft() map[string][]string {
	own := filepath.Dir(os.Getenv(markName))
	out := map[string][]string{}
	for pid, run := range marks() {
		work := filepath.Dir(run)
		if filepath.IsAbs(run) && work != own && isMyProcess(pid) && !slices.Contains(out[work], run) {
			out[work] = append(out[work], run)
		}
	}
	return out
}

// maxSettings limits the size of the probe's settings, which are a few hundred bytes.
const maxSettings = 1 << 20

// mayContinue reports whether a run was meant to continue after its recorded steps.
func mayContinue(run string) bool {
	var s Settings
	text, err := files.Read(filepath.Join(run, "probe.json"), maxSettings)
	return err == nil && json.Unmarshal(text, &s) == nil && s.KeepRunning
}

// endRun ends a run's processes, and returns how many there were.
func endRun(run string) int {
	ended := map[int]bool{}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			pids := slices.DeleteFunc(marked(run), func(pid int) bool { return !isMyProcess(pid) })
			if len(pids) == 0 {
				return len(ended)
			}
			for _, pid := range pids {
				if s == syscall.SIGKILL || !ended[pid] {
					end(pid, s)
				}
				ended[pid] = true
			}
		}
	}
	return len(ended)
}
