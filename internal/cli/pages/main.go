// SPDX-License-Identifier: Apache-2.0

// Command pages writes the man pages and the shell completions of snug into a folder:
//
//	go run ./internal/cli/pages -o build/pages -version 0.5.0 -date 2026-11-17
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"snug/internal/cli"
)

func main() {
	into := flag.String("o", "", "`folder` to write to")
	version := flag.String("version", "", "version of snug")
	date := flag.String("date", "", "date of the release, such as 2026-11-17")
	flag.Parse()
	if err := write(*into, *version, *date); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(2)
	}
}

func write(into, version, date string) error {
	if into == "" {
		return fmt.Errorf("-o is missing; name a folder")
	}
	pages, err := cli.Pages(version, date)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for _, p := range pages {
		if err := os.WriteFile(filepath.Join(into, p.Name), p.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
