package config

import (
	"reflect"
	"slices"
	"sync"
)

// flatKey is a key of trigger metadata that stands for a key of a service.
type flatKey struct {
	name  string
	path  string
	index []int
	field field
}

// flatKeys gives the flat keys by the path of the key they stand for, such as replicas.min.
var flatKeys = sync.OnceValue(func() map[string]flatKey {
	found := map[string]flatKey{}
	var walk func(t reflect.Type, path string, index []int)
	walk = func(t reflect.Type, path string, index []int) {
		for _, f := range orderedFields(t) {
			here, at := join(path, f.key), append(slices.Clone(index), f.index)
			if f.meta != "" {
				found[here] = flatKey{name: f.meta, path: here, index: at, field: f}
			} else if f.typ.Kind() == reflect.Struct && len(orderedFields(f.typ)) > 0 {
				walk(f.typ, here, at)
			}
		}
	}
	walk(reflect.TypeFor[serviceFile](), "", nil)
	return found
})

// flatKeyByName finds a flat key by its name in metadata.
var flatKeyByName = sync.OnceValue(func() map[string]flatKey {
	found := map[string]flatKey{}
	for _, k := range flatKeys() {
		found[k.name] = k
	}
	return found
})

// specialKeys are the keys of trigger metadata that stand for no single key of a service.
var specialKeys = []struct{ name, doc string }{
	{"service", "NAME of an entry of services in the namespace of the ScaledObject; without it the service has the name of the ScaledObject"},
	{"serviceFromEnv", "service, from an environment variable of the target container"},
	{"model", "the model: sets the model label of the preset in the selector (vllm, sglang, nim: model_name; triton, micrometer: model; ray-serve: deployment; epp: name, the pool)"},
	{"modelFromEnv", "model, from an environment variable of the target container"},
	{"selector", "label matchers added to the preset's queries, such as model_name=llama-7b,team=search"},
	{"namespace", "accepted and not used: queries are forced to the namespace of the ScaledObject"},
	{"scalerAddress", "used by KEDA: address of warmpool"},
	{"enableTLS", "used by KEDA"},
	{"unsafeSsl", "used by KEDA"},
}

// metadataKeys gives every key of trigger metadata, sorted.
var metadataKeys = sync.OnceValue(func() []string {
	var names []string
	for _, k := range specialKeys {
		names = append(names, k.name)
	}
	for name := range flatKeyByName() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
})
