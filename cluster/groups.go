package cluster

import (
	"regexp"
	"slices"
	"strings"
	"unique"

	"github.com/warmpool/warmpool/expander"
)

// The labels by which providers say which group a node belongs to.
var groupLabels = []struct {
	key string
	// id tells whether a group with this id has nodes with this value of the label.
	id func(id, value string) bool
	// zonal groups have the nodes of one zone only, so one name stands for several groups.
	zonal bool
}{
	{"eks.amazonaws.com/nodegroup", eksGroup, false},
	{"alpha.eksctl.io/nodegroup-name", func(id, value string) bool { return strings.Contains(id, "-nodegroup-"+value+"-") }, false},
	{"cloud.google.com/gke-nodepool", gkeGroup, true},
	{"kubernetes.azure.com/agentpool", aksGroup, false},
	{"agentpool", aksGroup, false},
	{"kops.k8s.io/instancegroup", func(id, value string) bool { return id == value || strings.HasPrefix(id, value+".") }, false},
	{"cluster.x-k8s.io/deployment-name", func(id, value string) bool { return lastPart(id) == value }, false},
	{"topology.cluster.x-k8s.io/deployment-name", func(id, value string) bool {
		return strings.HasPrefix(id, "MachineDeployment/") && strings.HasSuffix(id, "-"+value)
	}, false},
	{ownerLabel, machineGroup, false},
}

var (
	uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	setPattern  = regexp.MustCompile(`^\d+-vmss$`)
)

// eksGroup knows the names that EKS gives to the groups of a node group: eks-NAME-UUID.
func eksGroup(id, value string) bool {
	rest, ok := strings.CutPrefix(id, "eks-"+value+"-")
	return ok && uuidPattern.MatchString(rest)
}

// aksGroup knows the names of scale sets: aks-NAME-NUMBER-vmss.
func aksGroup(id, value string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(lastPart(id)), "aks-"+strings.ToLower(value)+"-")
	return ok && setPattern.MatchString(rest)
}

// gkeGroup knows the names of instance groups: gke-CLUSTER-POOL-HASH-grp. Long names are cut there, and then unknown.
func gkeGroup(id, value string) bool {
	name, ok := strings.CutSuffix(lastPart(id), "-grp")
	if !ok || !strings.HasPrefix(name, "gke-") {
		return false
	}
	name = name[:max(0, strings.LastIndexByte(name, '-'))]
	return strings.HasSuffix(name, "-"+value)
}

// machineGroup knows Cluster API: a MachineSet is named after its MachineDeployment, with one more part.
func machineGroup(id, value string) bool {
	if id == value {
		return true
	}
	owner, ok := strings.CutPrefix(value, "MachineSet/")
	deployment, found := strings.CutPrefix(id, "MachineDeployment/")
	cut := strings.LastIndexByte(owner, '-')
	return ok && found && cut > 0 && owner[:cut] == deployment
}

func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// template is a node group as the last request described it.
type template struct {
	expander.Group
	labels map[string]string // without those of a single machine
	zone   string
}

// matcher tells which group a node belongs to. Nodes with equal labels get equal answers, so each set is matched once.
type matcher struct {
	templates []template
	// ids are the groups that are known without a template.
	ids  []string
	memo map[unique.Handle[string]]match
}

// match is a group, or those among which a node cannot be placed.
type match struct {
	group     string
	ambiguous []string
	labels    map[string]string
}

func newMatcher(templates []template, ids []string) *matcher {
	m := &matcher{templates: templates, memo: map[unique.Handle[string]]match{}}
	for _, id := range ids {
		if !slices.ContainsFunc(templates, func(t template) bool { return t.ID == id }) {
			m.ids = append(m.ids, id)
		}
	}
	return m
}

func (m *matcher) of(n *node) match {
	found, ok := m.memo[n.labels]
	if !ok {
		found = m.find(decodeLabels(n.labels.Value()))
		m.memo[n.labels] = found
	}
	return found
}

// find tries, in this order: the provider's label against the templates, the provider's label against the ids of
// groups without a template, and all labels against the templates.
func (m *matcher) find(labels map[string]string) match {
	zonal := false
	for _, known := range groupLabels {
		value, ok := labels[known.key]
		if !ok || value == "" {
			continue
		}
		zonal = zonal || known.zonal
		fits := m.narrow(labels, known.zonal, func(t *template) bool { return t.labels[known.key] == value })
		if len(fits) > 1 {
			break // several groups of one name: their other labels have to tell
		}
		if len(fits) == 0 {
			fits = m.narrow(labels, known.zonal, func(t *template) bool { return t.labels[known.key] == "" && known.id(t.ID, value) })
			for _, id := range m.ids {
				if known.id(id, value) {
					fits = append(fits, id)
				}
			}
		}
		if found := decide(fits, labels); found.group != "" || len(found.ambiguous) > 0 {
			return found
		}
	}
	return m.byLabels(labels, zonal)
}

// byLabels finds the template whose every label the node has, the most specific of several.
func (m *matcher) byLabels(labels map[string]string, zonal bool) match {
	most := 0
	for i := range m.templates {
		most = max(most, m.templates[i].covers(labels))
	}
	if most == 0 {
		return match{labels: labels}
	}
	return decide(m.narrow(labels, zonal, func(t *template) bool { return t.covers(labels) == most }), labels)
}

// narrow lists the groups whose templates fit, by zone where there are several or where zonal is set: a group may
// span zones, and its template then carries that of one node.
func (m *matcher) narrow(labels map[string]string, zonal bool, fits func(*template) bool) []string {
	var all, here []string
	for i := range m.templates {
		t := &m.templates[i]
		if !fits(t) {
			continue
		}
		all = append(all, t.ID)
		if sameZone(t.zone, labels) {
			here = append(here, t.ID)
		}
	}
	if zonal || (len(all) > 1 && len(here) > 0) {
		return here
	}
	return all
}

// covers counts the labels of the template that the node has; 0 if one is missing or different.
func (t *template) covers(labels map[string]string) int {
	n := 0
	for key, value := range t.labels {
		if late(key) || ofZone(key) {
			continue
		}
		if got, ok := labels[key]; !ok || got != value {
			return 0
		}
		n++
	}
	return n
}

func decide(fits []string, labels map[string]string) match {
	switch len(fits) {
	case 0:
		return match{labels: labels}
	case 1:
		return match{group: fits[0], labels: labels}
	default:
		return match{ambiguous: fits, labels: labels}
	}
}

// ofZone tells labels that differ between the nodes of a group that spans zones.
func ofZone(key string) bool {
	return strings.HasSuffix(key, "/zone") || strings.HasSuffix(key, "/zone-id")
}

// sameZone is also true where the template does not say its zone.
func sameZone(zone string, labels map[string]string) bool {
	return zone == "" || expander.ZoneOf(labels) == "" || zone == expander.ZoneOf(labels)
}
