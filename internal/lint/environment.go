// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/allocator"
	"snug/internal/pysrc"
	"snug/internal/spelling"
)

var misspelledVariable = Rule{
	Code: "SNG602", Name: "misspelled-variable",
	Title:    "PyTorch does not read this allocator variable or option",
	Why:      "PyTorch ignores environment variables it does not know, so a misspelled name changes nothing. An unknown option is an error when the first tensor is allocated.",
	Evidence: "The names and options are from PyTorch's source, as snug's allocator reads them.",
	Bad:      "os.environ[\"PYTORCH_CUDA_ALLOCATOR_CONF\"] = \"expandable_segments:True\"\n",
	Good:     "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\n",
	Fixes:    true,
	InTests:  true,
	check:    checkVariables,
}

// The variables that PyTorch reads.
const (
	cudaVariable    = "PYTORCH_CUDA_ALLOC_CONF"
	genericVariable = "PYTORCH_ALLOC_CONF"
)

func allocatorVariables() []string {
	return []string{cudaVariable, genericVariable, "PYTORCH_HIP_ALLOC_CONF"}
}

// setting is one environment variable that a file sets.
type setting struct {
	fn    *function
	name  *pysrc.Str
	value pysrc.Expr
	place *place
}

// settings returns the environment variables that a file sets: os.environ[…] = …, setdefault, putenv.
func (m *module) settings() []setting {
	var out []setting
	for _, f := range m.functions {
		for _, k := range f.keeps {
			if name, ok := k.key.(*pysrc.Str); ok && f.isEnviron(k.container) {
				out = append(out, setting{f, name, k.value, k.place})
			}
		}
		for _, c := range f.calls {
			args := positional(c.Call)
			if len(args) != 2 || c.name != "os.environ.setdefault" && c.name != "os.putenv" {
				continue
			}
			if name, ok := args[0].(*pysrc.Str); ok {
				out = append(out, setting{f, name, args[1], c.place})
			}
		}
	}
	return out
}

// isEnviron reports whether a container is os.environ.
func (f *function) isEnviron(name string) bool {
	root, rest, _ := strings.Cut(name, ".")
	if full, ok := f.imports[root]; ok {
		name = strings.TrimSuffix(full+"."+rest, ".")
	}
	return name == "os.environ"
}

func checkVariables(m *module, r *reporter) {
	for _, s := range m.settings() {
		name := s.name.Value
		if right := meantVariable(name); right != "" {
			found := r.add(s.name.Pos, "PyTorch does not read %s; write %s", name, right)
			found.edits = m.inLiteral(s.name.Pos, name, right)
			continue
		}
		if conf, ok := text(s.value); ok && isVariable(name) {
			if wrong := wrongOption(conf); wrong != "" {
				r.add(s.value.At(), "%s", wrong)
			}
		}
	}
}

func isVariable(name string) bool {
	for _, v := range allocatorVariables() {
		if v == name {
			return true
		}
	}
	return false
}

// meantVariable returns the variable that a misspelled name means; "" if the name is right or unrelated.
func meantVariable(name string) string {
	if isVariable(name) || !hasWord(name, "torch") {
		return ""
	}
	for _, v := range allocatorVariables() {
		if strings.EqualFold(v, name) {
			return v
		}
	}
	switch name {
	case "PYTORCH_CUDA_ALLOCATOR_CONF", "PYTORCH_CUDA_ALLOC_CONFIG", "TORCH_CUDA_ALLOC_CONF", "PYTORCH_CUDA_ALLOCATOR_CONFIG":
		return cudaVariable
	case "PYTORCH_ALLOCATOR_CONF", "PYTORCH_ALLOC_CONFIG":
		return genericVariable
	}
	if near := spelling.Nearest(name, allocatorVariables()); near != "" && spelling.Distance(name, near) <= 2 {
		return near
	}
	return ""
}

// wrongOption returns what is wrong with an allocator string, according to the newest PyTorch.
func wrongOption(conf string) string {
	_, err := allocator.ParseOptions(conf, allocator.Latest)
	if err == nil || strings.Contains(err.Error(), "not modeled") {
		return ""
	}
	msg, _, _ := strings.Cut(err.Error(), "; PyTorch")
	return msg
}

// inLiteral returns the edit that replaces text inside a string literal.
func (m *module) inLiteral(at pysrc.Pos, from, to string) []edit {
	src := m.src
	start, ok := m.offset(at)
	if !ok {
		return nil
	}
	for _, quote := range []string{`"`, `'`} {
		if strings.HasPrefix(string(src[start:min(len(src), start+len(from)+2)]), quote+from+quote) {
			return []edit{{start + 1, start + 1 + len(from), to}}
		}
	}
	return nil
}

var lateVariable = Rule{
	Code: "SNG603", Name: "late-variable",
	Title:    "the allocator variable is set too late",
	Why:      "PyTorch reads the variable when the first CUDA tensor is allocated, and its backend option even earlier, when torch is imported. Setting it later changes nothing. Set it before import torch, or in the shell.",
	Evidence: "From PyTorch's source: the configuration is parsed once, when it is first used.",
	Bad:      "import torch\nmodel = Net().cuda()\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\n",
	Good:     "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\nimport torch\nmodel = Net().cuda()\n",
	InTests:  true,
	check:    checkLate,
}

func checkLate(m *module, r *reporter) {
	for _, s := range m.settings() {
		if !isVariable(s.name.Value) || s.place != s.fn.top {
			continue
		}
		conf, _ := text(s.value)
		switch {
		case s.fn.usesCUDABefore(s.name.Pos):
			r.add(s.name.Pos, "%s is set after the first use of CUDA, so PyTorch no longer reads it; set it before import torch", s.name.Value)
		case strings.Contains(conf, "backend:cudaMallocAsync") && s.fn.def == nil && m.importsTorchBefore(s.name.Pos):
			r.add(s.name.Pos, "the allocator's backend is chosen when torch is imported, and this line comes later; set %s before import torch", s.name.Value)
		}
	}
}

// usesCUDABefore reports whether a statement in the function's own block puts something on the GPU before a position.
func (f *function) usesCUDABefore(at pysrc.Pos) bool {
	for _, c := range f.calls {
		if c.place != f.top || !before(c.At(), at) {
			continue
		}
		_, name := method(c.Call)
		d, _ := text(argument(c.Call, "device"))
		if to := positional(c.Call); name == "to" && len(to) > 0 {
			d, _ = text(to[0])
		}
		if name == "cuda" && c.name != "torch.cuda" || strings.HasPrefix(d, "cuda") {
			return true
		}
	}
	return false
}

func (m *module) importsTorchBefore(at pysrc.Pos) bool {
	for _, s := range m.functions[0].stmts {
		if i, ok := s.Stmt.(*pysrc.Import); ok && before(s.At(), at) {
			for _, n := range i.Names {
				if firstPart(n.Name) == "torch" {
					return true
				}
			}
		}
	}
	return false
}

var newVariable = Rule{
	Code: "SNG604", Name: "new-variable",
	Title:    "the project's PyTorch does not read PYTORCH_ALLOC_CONF",
	Why:      "PyTorch reads PYTORCH_ALLOC_CONF from version 2.10 on; earlier versions read only PYTORCH_CUDA_ALLOC_CONF. The rule applies if the settings say which PyTorch the project uses: torch = \"2.6\" under [tool.snug.lint].",
	Evidence: "From PyTorch: its out-of-memory message has named the variable since 2.10.",
	Bad:      "os.environ[\"PYTORCH_ALLOC_CONF\"] = \"expandable_segments:True\"  # with PyTorch 2.6\n",
	Good:     "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\n",
	Fixes:    true,
	InTests:  true,
	check:    checkNewVariable,
}

func checkNewVariable(m *module, r *reporter) {
	v, err := allocator.ParseVersion(m.torch)
	if err != nil || v.AtLeast(10) {
		return
	}
	for _, s := range m.settings() {
		if s.name.Value == genericVariable {
			found := r.add(s.name.Pos, "PyTorch %s does not read %s; write %s", m.torch, genericVariable, cudaVariable)
			found.edits = m.inLiteral(s.name.Pos, genericVariable, cudaVariable)
		}
	}
}
