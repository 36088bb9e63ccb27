// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// Run runs a program and injects a fault.
func Run(p Program, f Fault) (Result, error) {
	type ended struct {
		Result
		error
	}
	done := make(chan ended)
	go func() { // a tracer is one OS thread, which must not be reused
		runtime.LockOSThread()
		r, err := run(p, f)
		done <- ended{r, err}
	}()
	e := <-done
	return e.Result, e.error
}

// Supported reports whether programs can be traced here: some containers forbid it.
func Supported() bool {
	_, err := Run(Program{Path: "/bin/true", Args: []string{"true"}, Output: os.DevNull}, Fault{})
	return err == nil
}

// tracer traces the threads of one program, but not the programs that it starts.
type tracer struct {
	Fault
	Result
	pid     int
	inside  map[int]bool // threads that are inside a call
	failing map[int]bool // threads whose current call must fail
	known   map[int]bool
}

const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | 0x100000 // PTRACE_O_EXITKILL

func run(p Program, f Fault) (Result, error) {
	out, err := os.OpenFile(p.Output, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return Result{}, err
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return Result{}, err
	}
	defer null.Close()
	process, err := os.StartProcess(p.Path, p.Args, &os.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []*os.File{null, out, out}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if errors.Is(err, syscall.EPERM) {
		return Result{}, ErrUnsupported
	}
	if err != nil {
		return Result{}, err
	}
	defer process.Release() //nolint:errcheck // the tracer has already waited for the process
	t := &tracer{Fault: f, pid: process.Pid, inside: map[int]bool{}, failing: map[int]bool{}, known: map[int]bool{}}
	err = t.follow()
	return t.Result, err
}

// follow handles the threads' events until the program has ended.
func (t *tracer) follow() error {
	const ofThisThread = 0x20000000 // __WNOTHREAD: other tests also have child processes
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, syscall.WALL|ofThisThread, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("waiting: %w", err)
		case s.Stopped():
			t.stopped(pid, s)
		case pid == t.pid && s.Exited():
			t.Code = s.ExitStatus()
			return nil
		case pid == t.pid:
			t.Code = -1
			return nil
		}
	}
}

// stopped handles a stopped thread and resumes it.
func (t *tracer) stopped(pid int, s syscall.WaitStatus) {
	pass := 0
	switch first := !t.known[pid]; {
	case first:
		t.known[pid] = true
		if pid == t.pid {
			_ = syscall.PtraceSetOptions(pid, options)
		}
	case s.StopSignal() == syscall.SIGTRAP|0x80:
		t.inside[pid] = !t.inside[pid]
		t.call(pid)
	case s.StopSignal() != syscall.SIGTRAP: // a signal for the program itself
		pass = int(s.StopSignal())
	}
	_ = syscall.PtraceSyscall(pid, pass) // fails for a thread that was killed
}

// call handles a system call, once when it begins and once when it ends.
func (t *tracer) call(pid int) {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(pid, &r) != nil {
		return
	}
	if !t.inside[pid] {
		if t.failing[pid] {
			t.failing[pid] = false
			t.finish(pid, &r)
		}
		return
	}
	name := changes(pid, &r)
	if name == "" {
		return
	}
	if t.Calls++; t.Calls != t.At {
		return
	}
	t.Call = name
	switch t.Kind {
	case Kill:
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
	case Tear:
		if name == "write" {
			r.Rdx /= 2
		}
		t.failing[pid] = syscall.PtraceSetRegs(pid, &r) == nil
	case Fail:
		r.Orig_rax = ^uint64(0) // an invalid number, so that nothing is called
		t.failing[pid] = syscall.PtraceSetRegs(pid, &r) == nil
	}
}

// finish handles the end of the call with the fault.
func (t *tracer) finish(pid int, r *syscall.PtraceRegs) {
	if t.Kind == Tear {
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
		return
	}
	r.Rax = -uint64(t.Errno)
	_ = syscall.PtraceSetRegs(pid, r)
}

// changing lists the calls that always change something.
var changing = map[uint64]string{
	syscall.SYS_MKDIRAT: "mkdir", syscall.SYS_MKDIR: "mkdir", syscall.SYS_UNLINKAT: "unlink", syscall.SYS_UNLINK: "unlink", syscall.SYS_RMDIR: "rmdir",
	syscall.SYS_RENAMEAT: "rename", syscall.SYS_RENAME: "rename", 316: "rename", syscall.SYS_FTRUNCATE: "truncate", syscall.SYS_FSYNC: "sync", syscall.SYS_FDATASYNC: "sync",
	syscall.SYS_FCHMOD: "chmod", syscall.SYS_FLOCK: "lock", syscall.SYS_FALLOCATE: "allocate", syscall.SYS_LINKAT: "link", syscall.SYS_SYMLINKAT: "link",
}

// changes returns the name of a call that changes something outside the program; "" for others.
func changes(pid int, r *syscall.PtraceRegs) string {
	switch r.Orig_rax {
	case syscall.SYS_OPENAT:
		if r.Rdx&(syscall.O_CREAT|syscall.O_TRUNC) != 0 {
			return "create"
		}
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64:
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, r.Rdi)); err == nil && r.Rdi > 2 && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/dev/") {
			return "write"
		}
	case syscall.SYS_CLONE:
		if r.Rdi&syscall.CLONE_VFORK != 0 {
			return "start"
		}
	case syscall.SYS_FCNTL:
		if r.Rsi == syscall.F_SETLK || r.Rsi == syscall.F_SETLKW {
			return "lock"
		}
	case syscall.SYS_KILL:
		return "kill"
	}
	return changing[r.Orig_rax]
}
