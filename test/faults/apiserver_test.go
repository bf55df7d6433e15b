package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// apiServer is as much of an API server as the view of the cluster needs: lists and watches of pods and scaled objects,
// and of other kinds that it knows and has none of. It is wrong in the ways that are switched on.
type apiServer struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]map[string]any // by resource and name
	watches map[*watching]bool
	// forbidden and expired are answers to everything; frozen delivers no change and lists what was there before.
	forbidden, expired bool
	frozen             map[string]map[string]map[string]any
	waiting            []event
}

type event struct {
	resource, kind string
	object         map[string]any
}

type watching struct {
	resource string
	events   chan []byte
	end      chan struct{}
}

// kinds are the resources that are read, with their list kinds.
var kinds = map[string]string{
	"nodes": "NodeList v1", "pods": "PodList v1", "configmaps": "ConfigMapList v1", "events": "EventList v1",
	"horizontalpodautoscalers": "HorizontalPodAutoscalerList autoscaling/v2", "scaledobjects": "ScaledObjectList keda.sh/v1alpha1",
}

func newAPIServer() *apiServer {
	a := &apiServer{version: 100, objects: map[string]map[string]map[string]any{}, watches: map[*watching]bool{}}
	for resource := range kinds {
		a.objects[resource] = map[string]map[string]any{}
	}
	for _, name := range services {
		a.put("scaledobjects", map[string]any{
			"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": map[string]any{"namespace": "ml", "name": name, "uid": "so-" + name},
			"spec": map[string]any{"scaleTargetRef": map[string]any{"name": name}, "minReplicaCount": 0, "maxReplicaCount": 50},
		})
	}
	return a
}

// scale makes a Deployment have that many ready pods.
func (a *apiServer) scale(deployment string, replicas int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range 64 {
		name := fmt.Sprintf("%s-%02d", deployment, i)
		_, there := a.objects["pods"][name]
		switch {
		case i < replicas && !there:
			a.put("pods", podOf(deployment, name))
		case i >= replicas && there:
			a.version++
			gone := a.objects["pods"][name]
			delete(a.objects["pods"], name)
			a.deliver(event{"pods", "DELETED", versioned(gone, a.version)})
		}
	}
}

func podOf(deployment, name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"namespace": "ml", "name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": map[string]any{"pod-template-hash": "5f6d"},
			"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": deployment + "-5f6d", "uid": deployment, "controller": true}},
		},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "server"}}},
		"status": map[string]any{"phase": "Running", "conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z"},
		}},
	}
}

// put stores an object; the caller holds mu, or nobody else has a yet.
func (a *apiServer) put(resource string, object map[string]any) {
	a.version++
	name := object["metadata"].(map[string]any)["name"].(string)
	object = versioned(object, a.version)
	a.objects[resource][name] = object
	a.deliver(event{resource, "ADDED", object})
}

func versioned(object map[string]any, version int) map[string]any {
	out, metadata := maps.Clone(object), maps.Clone(object["metadata"].(map[string]any))
	metadata["resourceVersion"] = strconv.Itoa(version)
	out["metadata"] = metadata
	return out
}

func (a *apiServer) deliver(e event) {
	if a.frozen != nil {
		a.waiting = append(a.waiting, e)
		return
	}
	text, _ := json.Marshal(map[string]any{"type": e.kind, "object": e.object})
	for w := range a.watches {
		if w.resource == e.resource {
			w.events <- text // the channel is longer than everything that a test does
		}
	}
}

// endWatches ends those that stand, as when the server restarts.
func (a *apiServer) endWatches() {
	for w := range a.watches {
		close(w.end)
		delete(a.watches, w)
	}
}

func (a *apiServer) setForbidden(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forbidden = on
	a.endWatches()
}

func (a *apiServer) setExpired(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expired = on
	a.endWatches()
}

// setStale freezes what is seen, or delivers everything since.
func (a *apiServer) setStale(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if on {
		a.frozen = map[string]map[string]map[string]any{}
		for resource, all := range a.objects {
			a.frozen[resource] = maps.Clone(all)
		}
		return
	}
	a.frozen = nil
	late := a.waiting
	a.waiting = nil
	for _, e := range late {
		a.deliver(e)
	}
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	kind, known := kinds[resource]
	a.mu.Lock()
	forbidden, expired := a.forbidden, a.expired
	a.mu.Unlock()
	q := r.URL.Query()
	switch {
	case !known || r.Method != http.MethodGet:
		refuse(w, http.StatusNotFound, "NotFound")
	case forbidden:
		refuse(w, http.StatusForbidden, "Forbidden")
	case q.Get("sendInitialEvents") == "true":
		refuse(w, http.StatusUnprocessableEntity, "Invalid") // an older server: it lists
	case q.Get("watch") != "":
		a.watch(w, r, resource, expired)
	case expired && q.Get("resourceVersion") != "" && q.Get("resourceVersion") != "0":
		refuse(w, http.StatusGone, "Expired")
	default:
		a.list(w, resource, kind)
	}
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, statusText(code, reason))
}

func statusText(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"told to fail","reason":%q,"code":%d}`, reason, code)
}

func (a *apiServer) list(w http.ResponseWriter, resource, kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name, version, _ := strings.Cut(kind, " ")
	all := a.objects
	if a.frozen != nil {
		all = a.frozen
	}
	items := []any{}
	for _, object := range all[resource] {
		items = append(items, object)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": name, "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(a.version)}, "items": items,
	})
}

// watch sends what changes from now on: nothing changes between a list and its watch in these tests, except while a
// fault makes the view old anyway, and then the next list tells.
func (a *apiServer) watch(w http.ResponseWriter, r *http.Request, resource string, expired bool) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := w.(http.Flusher).Flush
	flush()
	if expired {
		fmt.Fprintf(w, `{"type":"ERROR","object":%s}`+"\n", statusText(http.StatusGone, "Expired"))
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	one := &watching{resource: resource, events: make(chan []byte, 4096), end: make(chan struct{})}
	a.mu.Lock()
	if a.frozen == nil && from < a.version && resource == "pods" {
		a.mu.Unlock() // something changed since the list: have it listed again
		fmt.Fprintf(w, `{"type":"ERROR","object":%s}`+"\n", statusText(http.StatusGone, "Expired"))
		return
	}
	a.watches[one] = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.watches, one)
		a.mu.Unlock()
	}()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-one.end:
			return
		case text := <-one.events:
			if _, err := w.Write(append(text, '\n')); err != nil {
				return
			}
			flush()
		}
	}
}
