package lint

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestScan(t *testing.T) {
	root := os.Getenv("SCAN")
	if root == "" {
		t.Skip()
	}
	var names []string
	for _, r := range strings.Split(root, ",") {
		filepath.WalkDir(r, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (strings.HasSuffix(p, ".py") || strings.HasSuffix(p, ".ipynb")) && d.Type().IsRegular() {
				names = append(names, p)
			}
			return nil
		})
	}
	out, _ := os.Create(os.Getenv("SCAN_OUT"))
	w := bufio.NewWriter(out)
	defer out.Close()
	defer w.Flush()
	var mu sync.Mutex
	var wg sync.WaitGroup
	ch := make(chan string)
	for range 2 {
		wg.Go(func() {
			for n := range ch {
				src, err := os.ReadFile(n)
				if err != nil {
					continue
				}
				found, err := Source(n, src, Options{Rules: func(string) []Rule { return Rules() }})
				mu.Lock()
				if err != nil {
					fmt.Fprintf(w, "ERR %s\n", err)
				}
				for _, f := range found {
					fmt.Fprintf(w, "%s:%d:%d:%d: %s %s\n", n, f.Cell, f.Line, f.Column, f.Rule, f.Message)
				}
				mu.Unlock()
			}
		})
	}
	for _, n := range names {
		ch <- n
	}
	close(ch)
	wg.Wait()
}
