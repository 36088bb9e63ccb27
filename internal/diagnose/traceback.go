// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"path"
	"strconv"
	"strings"

	"snug/internal/pattern"
)

// Frame is one line of a Python traceback.
type Frame struct {
	File string // as printed
	Line int    // in the file
	Func string // the function
	Code string // the source line, if it was printed
}

// Where returns the frame's location in short form: train.py:33.
func (f Frame) Where() string {
	return path.Base(strings.ReplaceAll(f.File, `\`, "/")) + ":" + strconv.Itoa(f.Line)
}

// libraries are parts of the paths of code that the user did not write. sitecustomize.py is snug's probe, and the
// last ones are C++ frames, which appear in snapshots with all stacks.
var libraries = []string{
	"site-packages/", "dist-packages/", "/lib/python3", "/lib64/python3", "<frozen", "<string>", `\Lib\`, `site-packages\`, "importlib",
	"sitecustomize.py", ".cpp", ".cc", "??",
}

// ownTorch matches PyTorch's files if it is not installed as a package, as in NVIDIA's containers.
var ownTorch = pattern.New(`(?:^|/)torch/(?:nn|optim|autograd|utils|distributed|cuda|amp|fx|jit|multiprocessing|_\w+|functional\.py|serialization\.py|storage\.py|overrides\.py)`, "torch/")

// users reports whether a frame is in the user's own code.
func (f Frame) users() bool {
	if ownTorch.In(f.File) {
		return false
	}
	for _, l := range libraries {
		if strings.Contains(f.File, l) {
			return false
		}
	}
	return true
}

// of reports whether a frame is in a library's file, such as "torch/optim/".
func (f Frame) of(part string) bool {
	return strings.Contains(strings.ReplaceAll(f.File, `\`, "/"), part)
}

// innermost returns the last frame that satisfies is.
func innermost(frames []Frame, is func(Frame) bool) (Frame, bool) {
	for i := len(frames) - 1; i >= 0; i-- {
		if is(frames[i]) {
			return frames[i], true
		}
	}
	return Frame{}, false
}

// some reports whether some frame satisfies is.
func some(frames []Frame, is func(Frame) bool) bool {
	_, ok := innermost(frames, is)
	return ok
}
