// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"strings"

	"snug/internal/pysrc"
)

var deprecatedAMP = Rule{
	Code: "SNG801", Name: "deprecated-amp",
	Title:    "a deprecated automatic mixed precision call",
	Why:      "torch.cuda.amp.autocast and GradScaler have printed a warning since PyTorch 2.4 and will be removed. torch.amp.autocast(\"cuda\") and torch.amp.GradScaler(\"cuda\") do the same, and have existed since PyTorch 2.3.",
	Evidence: "From PyTorch's source: both are marked as deprecated there.",
	Bad:      "with torch.cuda.amp.autocast(dtype=torch.bfloat16):\n    loss = model(batch).loss\n",
	Good:     "with torch.amp.autocast(\"cuda\", dtype=torch.bfloat16):\n    loss = model(batch).loss\n",
	Fixes:    true,
	InTests:  true,
	check:    checkAMP,
}

// deprecatedCalls maps the old names to their replacements.
func deprecatedCalls() map[string]string {
	return map[string]string{
		"torch.cuda.amp.autocast":               `torch.amp.autocast("cuda"`,
		"torch.cuda.amp.GradScaler":             `torch.amp.GradScaler("cuda"`,
		"torch.cuda.amp.grad_scaler.GradScaler": `torch.amp.GradScaler("cuda"`,
		"torch.cuda.amp.autocast_mode.autocast": `torch.amp.autocast("cuda"`,
		"torch.cpu.amp.autocast":                `torch.amp.autocast("cpu"`,
		"torch.cpu.amp.GradScaler":              `torch.amp.GradScaler("cpu"`,
	}
}

func checkAMP(m *module, r *reporter) {
	deprecated := deprecatedCalls()
	for _, f := range m.functions {
		for _, c := range f.calls {
			if now, ok := deprecated[c.name]; ok && !c.place.forOldReleases() {
				found := r.add(c.At(), "%s(…) is deprecated; write %s, …)", c.name, now)
				if dotted(c.Func) == c.name {
					found.edits = m.callEdit(c.Call, c.name, now)
				}
			}
		}
	}
}

// callEdit returns the edit that replaces "name(" with now, and adds a comma if the call has arguments. It returns
// nil if the arguments begin on another line.
func (m *module) callEdit(c *pysrc.Call, name, now string) []edit {
	src := m.src
	start, ok := m.offset(c.At())
	if !ok || !bytes.HasPrefix(src[start:], []byte(name+"(")) {
		return nil
	}
	end := start + len(name) + 1
	if len(c.Args) > 0 {
		if strings.IndexByte("\r\n", src[end]) >= 0 {
			return nil // the arguments begin on the next line
		}
		now += ", "
	}
	return []edit{{start, end, now}}
}
