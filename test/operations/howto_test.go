package operations

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/lint"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestHowTos compiles the configurations of the how-to pages, resolves their triggers and lints their manifests.
func TestHowTos(t *testing.T) {
	pages, triggers := 0, 0
	for path, text := range documents(t) {
		if filepath.Dir(path) != "docs/howto" {
			continue
		}
		pages++
		var settings *config.Config
		var objects []*lint.Object
		for _, block := range yamlBlock.FindAllStringSubmatch(text, -1) {
			found, err := lint.Parse(path, []byte(block[1]))
			if err != nil || len(found) == 0 {
				t.Errorf("%s: %d objects in a block: %v\n%s", path, len(found), err, block[1])
				continue
			}
			objects = append(objects, found...)
			if found[0].Kind == "Config" {
				if settings, err = config.Parse(path, []byte(block[1])); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		for _, o := range objects {
			if o.Kind == "ScaledObject" && settings != nil {
				triggers++
				resolveTriggers(t, path, settings, o)
			}
		}
		for _, f := range lint.Run(lint.NewSet(objects), lint.Options{}) {
			t.Errorf("%s: %s %s: %s", path, f.Code, f.Object, f.Reason)
		}
	}
	if pages < 6 || triggers < 4 {
		t.Errorf("%d pages and %d triggers: the test checks little", pages, triggers)
	}
}

func resolveTriggers(t *testing.T, path string, settings *config.Config, o *lint.Object) {
	t.Helper()
	spec, _ := o.Fields["spec"].(map[string]any)
	triggers, _ := spec["triggers"].([]any)
	for _, one := range triggers {
		trigger, _ := one.(map[string]any)
		values, _ := trigger["metadata"].(map[string]any)
		metadata := map[string]string{}
		for key, value := range values {
			text, ok := value.(string)
			if !ok {
				t.Errorf("%s: %s: metadata %s is no text: KEDA refuses it", path, o, key)
			}
			metadata[key] = text
		}
		if _, err := settings.ServiceFromMetadata(o.Namespace, o.Name, metadata); err != nil {
			t.Errorf("%s: %s: %v", path, o, err)
		}
	}
	if len(triggers) == 0 || strings.TrimSpace(o.Name) == "" {
		t.Errorf("%s: %s has no trigger", path, o)
	}
}
