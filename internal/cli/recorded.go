// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/profile"
	"snug/internal/setup"
)

// profileFile is the usual name of a project's profile.
const profileFile = "memory" + profileExt

// modeled returns the fields of a project's files. If they name no model, as for a user's own code, it
// adds the profile next to them as the model. A profile named in snug.yaml is relative to the project's
// folder.
func (f *projectFlags) modeled(env Env, fields map[string]any) map[string]any {
	m, _ := fields["model"].(map[string]any)
	if name, _ := m["profile"].(string); name != "" && !filepath.IsAbs(name) {
		m["profile"] = filepath.Join(f.folder, name)
	}
	if fields["model"] != nil {
		return fields
	}
	beside := filepath.Join(f.folder, profileFile)
	if in, err := env.find(beside); err == nil {
		_ = in.Close()
		fields["model"] = map[string]any{"profile": beside}
	}
	return fields
}

// refuseUnrecordedSizes returns an error for a size on the command line that the profile does not contain. In
// a config file the size may be needed for training, but a flag asks about that size, which the profile
// cannot answer.
func (f *setupFlags) refuseUnrecordedSizes(s *setup.Setup) error {
	for x, flag := range settingFlags() {
		if f.flags.Changed(flag.Name) && x.Has(setup.Size) && slices.Contains(s.Unverified, x.Name) {
			return setup.Wrong("{"+x.Name+"} is %v, but %s does not contain the recorded value; remove it, or record several (snug profile --vary)",
				f.value(x, flag), filepath.Base(s.Model.Profile))
		}
	}
	return nil
}

// recordedText returns a sentence about where a profile comes from.
func recordedText(p *profile.Program) string {
	var sizes []string
	for _, at := range p.Recorded() {
		sizes = append(sizes, at.String())
	}
	text := "recorded at " + strings.Join(sizes, " and ")
	if len(sizes) > 3 {
		text = fmt.Sprintf("recorded at %d sizes, the first at %s", len(sizes), sizes[0])
	}
	if p.Facts.Model != "" {
		text = p.Facts.Model + ", " + text
	}
	if p.Card != "" {
		text += " on " + p.Card
	}
	return text
}
