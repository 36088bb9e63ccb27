// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Build identifies this build of snug. Fields that the build did not record are empty.
type Build struct {
	Version  string `json:"version"`            // the release, such as v1.2.0
	Revision string `json:"revision,omitempty"` // the commit that it was built from
	Time     string `json:"time,omitempty"`     // the time of that commit
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go,omitempty"`       // the Go release that built it
	Platform string `json:"platform,omitempty"` // operating system and architecture
}

// BuildOf reads the build information from the program's own file. The version is the module's if snug was
// installed as a module, otherwise the given version of the source.
func BuildOf(source string, info *debug.BuildInfo) Build {
	b := Build{Version: source}
	if info == nil {
		return b
	}
	b.Go = info.GoVersion
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b.Revision, b.Time, b.Modified = settings["vcs.revision"], settings["vcs.time"], settings["vcs.modified"] == "true"
	if settings["GOOS"] != "" {
		b.Platform = settings["GOOS"] + "/" + settings["GOARCH"]
	}
	if v, ok := strings.CutPrefix(info.Main.Version, "v"); ok && b.Revision == "" { // in a checkout, Go invents a version
		b.Version = v
	}
	return b
}

// String returns the version in one line.
func (b Build) String() string {
	var more []string
	if b.Revision != "" {
		more = append(more, b.Revision[:min(len(b.Revision), 12)])
	}
	if b.Modified {
		more = append(more, "modified")
	}
	if b.Go != "" {
		more = append(more, strings.TrimSpace(b.Go+" "+b.Platform))
	}
	if more == nil {
		return b.Version
	}
	return b.Version + " (" + strings.Join(more, ", ") + ")"
}

func newVersion(env Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of snug",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(env.Stdout, env.Build)
			}
			_, err := fmt.Fprintf(env.Stdout, "snug %v\n", env.Build)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
