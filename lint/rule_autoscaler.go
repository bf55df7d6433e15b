package lint

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// autoscaler is a Cluster Autoscaler with its flags.
type autoscaler struct {
	*Object
	flags map[string]string
}

// autoscalers finds it in workloads and in the values of its chart.
func (s *Set) autoscalers() (found []autoscaler) {
	for _, o := range s.objects {
		if o.Kind == kindHelmValues {
			flags := map[string]string{}
			args, _ := o.Fields["extraArgs"].(map[string]any)
			for key, value := range args {
				flags[key] = fmt.Sprint(value)
			}
			found = append(found, autoscaler{o, flags})
		}
	}
	for _, w := range s.workloads {
		for i := range w.pod.Containers {
			c := &w.pod.Containers[i]
			flags := flagsOf(slices.Concat(c.Command, c.Args))
			if _, ok := flags["expander"]; ok && (strings.Contains(c.Image, "cluster-autoscaler") || strings.Contains(w.Name, "cluster-autoscaler")) {
				found = append(found, autoscaler{w.Object, flags})
			}
		}
	}
	return found
}

// flagsOf reads --name=value and --name value.
func flagsOf(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, dashed := strings.CutPrefix(arg, "--")
		if !dashed {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		flags[name] = value
	}
	return flags
}

func (s *scan) expanderFlags() {
	wanted := slices.ContainsFunc(s.objects, func(o *Object) bool {
		return o.Kind == "Config" && strings.HasPrefix(o.APIVersion, "warmpool.dev/") && o.Fields["expander"] != nil
	})
	for _, a := range s.autoscalers() {
		chain := strings.Split(a.flags["expander"], ",")
		at := slices.Index(chain, "grpc")
		switch {
		case at < 0 && a.flags["grpc-expander-url"] == "" && !wanted:
			continue // it is not to ask warmpool
		case at < 0:
			s.report(a.Object, "--expander does not name grpc: warmpool is never asked", "set --expander=grpc,least-waste")
			continue
		case at > 0:
			s.report(a.Object, fmt.Sprintf("--expander=%s: %s decides before warmpool is asked", a.flags["expander"], chain[0]), "put grpc first: --expander=grpc,least-waste")
		case len(chain) == 1:
			s.reportAs(Warning, a.Object, "--expander=grpc has nothing after it: while warmpool is away a group is drawn at random", "set --expander=grpc,least-waste")
		}
		s.expanderAddress(&a)
		if isOn(a.flags["balance-similar-node-groups"]) && a.flags["balancing-label"] == "" {
			s.reportAs(Warning, a.Object, "--balance-similar-node-groups spreads what was chosen over groups that look alike, and may mix spot with on-demand: labels such as lifecycle are ignored",
				"turn it off, or name a label that tells capacity types apart with --balancing-label")
		}
	}
}

func isOn(value string) bool { return value == "true" || value == "True" }

func (s *scan) expanderAddress(a *autoscaler) {
	for misspelt, name := range map[string]string{"grpcExpanderURL": "grpc-expander-url", "grpcExpanderCert": "grpc-expander-cert"} {
		if _, ok := a.flags[misspelt]; ok {
			s.report(a.Object, "--"+misspelt+" is not a flag of the Cluster Autoscaler, although older documents say so: it does not start", "write --"+name)
			return
		}
	}
	url := a.flags["grpc-expander-url"]
	switch {
	case url == "":
		s.report(a.Object, "--grpc-expander-url is missing: there is nobody to ask", "set it to host:port of warmpool's expander listener")
	case strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://"):
		s.report(a.Object, "--grpc-expander-url is "+url+": it is a host and a port, without a scheme", "remove the scheme")
	}
	if a.flags["grpc-expander-cert"] == "" {
		s.report(a.Object, "--grpc-expander-cert is missing: the Cluster Autoscaler ends at its start", "give it a file with the authority of warmpool's certificate")
	}
}

const priorityConfigMap = "cluster-autoscaler-priority-expander"

func (s *scan) priorityExpander() {
	s.each("ConfigMap", func(o *Object) {
		if o.Name != priorityConfigMap {
			return
		}
		text := textAt(o.Fields, "data", "priorities")
		var byPriority map[string][]string
		if err := yaml.Unmarshal([]byte(text), &byPriority); err != nil || text == "" {
			s.report(o, "its key priorities is missing or is no map of numbers to lists of patterns: nothing is filtered", "write priorities: |\\n 10: [.*]")
			return
		}
		s.priorityPatterns(o, byPriority)
	})
}

type prioritised struct {
	priority int
	pattern  string
	compiled *regexp.Regexp
}

func (s *scan) priorityPatterns(o *Object, byPriority map[string][]string) {
	var all []prioritised
	for _, key := range slices.Sorted(maps.Keys(byPriority)) {
		priority, err := strconv.Atoi(key)
		if err != nil || priority < 0 {
			s.report(o, fmt.Sprintf("priority %q is no number from 0 on: its patterns never match", key), "use numbers from 0 on")
			continue
		}
		for _, pattern := range byPriority[key] {
			compiled, err := regexp.Compile(pattern)
			if err != nil {
				s.report(o, fmt.Sprintf("pattern %q does not compile (%v): the whole map is ignored", pattern, err), "write a regular expression, not a glob, without look-ahead")
				continue
			}
			all = append(all, prioritised{priority, pattern, compiled})
		}
	}
	slices.SortStableFunc(all, func(a, b prioritised) int { return cmp.Compare(b.priority, a.priority) })
	s.shadowedPatterns(o, all)
	s.ambiguousPools(o, all)
}

// shadowedPatterns finds patterns for everything above others, and their absence at the end.
func (s *scan) shadowedPatterns(o *Object, all []prioritised) {
	caught := false
	for _, p := range all {
		if !matchesEverything(p.compiled) {
			continue
		}
		caught = true
		if lowest := all[len(all)-1].priority; p.priority > lowest {
			s.report(o, fmt.Sprintf("pattern %q at priority %d matches every group: the patterns of lower priorities never count", p.pattern, p.priority), "move it to the lowest priority")
		}
	}
	if !caught && len(all) > 0 {
		s.reportAs(Warning, o, "no pattern matches every group: groups without a match are dropped whenever another one matches", `add the lowest priority with the pattern ".*"`)
	}
}

// matchesEverything tries names that no sensible pattern has in common.
func matchesEverything(r *regexp.Regexp) bool {
	for _, name := range []string{"a", "Z-9", "eks-0c1f-uuid", "gke_q_w", "."} {
		if !r.MatchString(name) {
			return false
		}
	}
	return true
}

// ambiguousPools finds pools that patterns of several priorities match, because patterns are not anchored.
func (s *scan) ambiguousPools(o *Object, all []prioritised) {
	for _, p := range s.pools {
		var first *prioritised
		for i := range all {
			one := &all[i]
			if matchesEverything(one.compiled) || !one.compiled.MatchString(p.name) {
				continue
			}
			if first != nil && first.priority != one.priority {
				s.reportAs(Warning, o, fmt.Sprintf("pool %s matches %q (priority %d) and %q (priority %d); patterns match anywhere in the name, and the higher one counts", p.name, first.pattern, first.priority, one.pattern, one.priority),
					"anchor the patterns, such as ^"+one.pattern)
				break
			}
			if first == nil {
				first = one
			}
		}
	}
}
