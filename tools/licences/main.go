// Command licences checks that every module that is linked into a binary has a licence of the allow list, read from the
// module's own files. It works offline, from the module cache.
//
//	licences DIR PACKAGE
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are licences that a binary under Apache-2.0 may link: they ask for a notice, not for more.
var allowed = map[string]bool{
	"Apache-2.0": true, "MIT": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "0BSD": true, "BSD-1-Clause": true,
}

// atLeast is the share of a file, in percent, that has to be the text of known licences.
const atLeast = 75

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([.-].*)?$`)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: licences DIR PACKAGE")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// module is one of the build list.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

func check(dir, name string, out io.Writer) error {
	modules, err := linked(dir, name)
	if err != nil {
		return err
	}
	byLicence := map[string]int{}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		found, err := licencesOf(modules[path].Dir)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
			continue
		}
		for _, l := range found {
			if !allowed[l] {
				errs = append(errs, fmt.Errorf("%s %s has the licence %s, which is not on the list in tools/licences", path, modules[path].Version, l))
			}
		}
		byLicence[strings.Join(found, " and ")]++
	}
	for _, l := range slices.Sorted(maps.Keys(byLicence)) {
		fmt.Fprintf(out, "%4d  %s\n", byLicence[l], l)
	}
	return errors.Join(errs...)
}

// linked are the modules of the packages that a package depends on.
func linked(dir, name string) (map[string]module, error) {
	c := exec.Command("go", "list", "-deps", "-json=Module,Standard", name)
	c.Dir = dir
	var failed bytes.Buffer
	c.Stderr = &failed
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, &failed)
	}
	found := map[string]module{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if m := p.Module; m != nil && !m.Main {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = *m
		}
	}
}

// licencesOf reads the licence files at the top of a module.
func licencesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; run go mod download", err)
	}
	found := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		covered := licensecheck.Scan(text)
		if covered.Percent < atLeast {
			return nil, fmt.Errorf("%s: %.0f %% of it is the text of a known licence; read it and decide", e.Name(), covered.Percent)
		}
		for _, m := range covered.Match {
			if !m.IsURL {
				found[m.ID] = true
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no licence file")
	}
	return slices.Sorted(maps.Keys(found)), nil
}
