// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// The part of SARIF 2.1.0 that code hosts read: the rules, and for each finding its rule, message and location.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Name  string    `json:"name"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)

// SARIF returns findings as a SARIF log, for code hosts.
func SARIF(findings []Finding, version string) ([]byte, error) {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "snug", Version: version}}, Results: []sarifResult{}}
	for _, r := range Rules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{r.Code, r.Name, sarifText{r.Title}, sarifText{r.Why}})
	}
	for _, f := range findings {
		place := sarifPhysical{sarifArtifact{filepath.ToSlash(f.Path)}, sarifRegion{f.Line, f.Column}}
		message := f.Message
		if f.Cell > 0 {
			message = fmt.Sprintf("cell %d: %s", f.Cell, message)
		}
		run.Results = append(run.Results, sarifResult{f.Rule, "warning", sarifText{message}, []sarifLocation{{place}}})
	}
	return json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", "  ")
}

// GitHub returns a finding as a workflow command, which GitHub shows next to the line.
func (f Finding) GitHub() string {
	inValue := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	inText := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	return fmt.Sprintf("::warning file=%s,line=%d,col=%d,title=%s::%s",
		inValue.Replace(filepath.ToSlash(f.Path)), f.Line, f.Column, f.Rule, inText.Replace(f.Rule+" "+f.Message))
}

// String returns a finding as path:line:column: CODE message.
func (f Finding) String() string {
	if f.Cell > 0 {
		return fmt.Sprintf("%s:cell %d:%d:%d: %s %s", f.Path, f.Cell, f.Line, f.Column, f.Rule, f.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s %s", f.Path, f.Line, f.Column, f.Rule, f.Message)
}

// MarshalJSON returns a finding as in the JSON output.
func (f Finding) MarshalJSON() ([]byte, error) {
	out := struct {
		Rule    string  `json:"rule"`
		Path    string  `json:"path"`
		Cell    int     `json:"cell,omitempty"`
		Line    int     `json:"line"`
		Column  int     `json:"column"`
		Message string  `json:"message"`
		Fix     *string `json:"fix"`
	}{f.Rule, f.Path, f.Cell, f.Line, f.Column, f.Message, nil}
	if f.Fixed != "" {
		out.Fix = &f.Fixed
	}
	return json.Marshal(out)
}
