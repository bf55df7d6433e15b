package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
)

// A permission is one verb on one resource.
type permission struct{ group, resource, verb string }

// The chart's service account was refused nothing in all the tests before this one, and each of its permissions was used,
// by it or by its copy that reads without streaming. This file is sorted behind the others for that.
func TestEveryPermissionIsUsed(t *testing.T) {
	e := running(t)
	used := map[permission]bool{}
	for _, ev := range e.audit(t, account("warmpool", "warmpool"), account(allRules, "warmpool")) {
		if ev.ResponseStatus.Code == 401 || ev.ResponseStatus.Code == 403 {
			t.Errorf("refused: %+v", ev)
		}
		used[permission{ev.ObjectRef.APIGroup, ev.ObjectRef.Resource, ev.Verb}] = true
	}
	granted := e.granted(t)
	if len(granted) < 15 {
		t.Errorf("only %d permissions of the chart were found", len(granted))
	}
	for _, p := range granted {
		if !used[p] {
			t.Errorf("the chart grants %s on %s %q, and nothing used it", p.verb, p.resource, p.group)
		}
	}
}

// An auditEvent is one request of warmpool as the API server recorded it.
type auditEvent struct {
	Verb           string
	User           struct{ Username string }
	ObjectRef      struct{ APIGroup, Resource, Namespace, Name string }
	ResponseStatus struct{ Code int }
}

// account is the user name of a service account.
func account(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// audit is what users have asked for so far.
func (e *environment) audit(t *testing.T, users ...string) (events []auditEvent) {
	t.Helper()
	f, err := os.Open(e.path("audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var ev auditEvent
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(users, ev.User.Username) {
			events = append(events, ev)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// granted is what the roles of the chart allow.
func (e *environment) granted(t *testing.T) (all []permission) {
	t.Helper()
	for _, role := range e.roles(t) {
		all = append(all, permissions(role.rules)...)
	}
	return all
}

// permissions takes rules apart.
func permissions(rules []rbacv1.PolicyRule) (all []permission) {
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, permission{group, resource, verb})
				}
			}
		}
	}
	return all
}

// What the chart does not grant is refused, so the test above means something.
func TestTheServiceAccountMayDoNothingElse(t *testing.T) {
	e := running(t)
	config, err := e.restConfig(e.warmpool.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/namespaces/warmpool/secrets", "/api/v1/configmaps", "/apis/apps/v1/deployments", "/api/v1/namespaces/warmpool/secrets/warmpool-tls"} {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := get(t.Context(), client, e.server+path); err == nil || err.Error() != fmt.Sprintf("%s: 403 Forbidden", e.server+path) {
			t.Errorf("%s: %v, want 403", path, err)
		}
	}
}
