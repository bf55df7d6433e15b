package cluster

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/warmpool/warmpool/expander"
)

// claim is what is kept of a ResourceClaim or of a ResourceClaimTemplate: how many devices of which class.
type claim struct {
	metav1.ObjectMeta
	devices map[string]int64
	// unclear claims leave the number to the allocation: all matching devices, or one of several alternatives.
	unclear bool
}

// trimClaim reads the requests of a claim, in the forms of all versions of the API.
func trimClaim(o any) (any, error) {
	full, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	c := &claim{ObjectMeta: metaOf(full), devices: map[string]int64{}}
	spec, _, _ := unstructured.NestedMap(full.Object, "spec")
	if strings.HasSuffix(full.GetKind(), "Template") {
		spec, _, _ = unstructured.NestedMap(spec, "spec")
	}
	requests, _, _ := unstructured.NestedSlice(spec, "devices", "requests")
	for _, r := range requests {
		request, _ := r.(map[string]any)
		if exactly, ok := request["exactly"].(map[string]any); ok {
			request = exactly
		}
		class, _ := request["deviceClassName"].(string)
		mode, _ := request["allocationMode"].(string)
		if admin, _ := request["adminAccess"].(bool); admin {
			continue
		}
		if class == "" || (mode != "" && mode != "ExactCount") {
			c.unclear = true
			continue
		}
		c.devices[share(class)] += int64(max(1, number(request, 1, "count")))
	}
	return c, nil
}

// wholeGPU tells whether a device class stands for whole GPUs, by its name: classes are named after their driver.
// Slices of GPUs say nothing about cards, and other devices are no GPUs at all.
func wholeGPU(class string) bool {
	name := strings.ToLower(class)
	return strings.Contains(name, "gpu") && !slicedGPU(class)
}

func slicedGPU(class string) bool {
	name := strings.ToLower(class)
	return slices.ContainsFunc([]string{"mig", "vgpu", "shared", "slice", "partition", "vfio"}, func(part string) bool { return strings.Contains(name, part) })
}

// devicesOf adds up the whole GPUs that a pod claims, by device class; nil is unknown: a claim that cannot be found,
// that leaves the number open, or that is about slices.
func (c *Cluster) devicesOf(p *pod) map[string]int64 {
	var sum map[string]int64
	for _, ref := range p.claims {
		found, ok := at[*claim](c.claims, p.Namespace+"/"+ref.claim)
		if ref.template != "" {
			found, ok = at[*claim](c.claimTemplates, p.Namespace+"/"+ref.template)
		}
		if !ok || found.unclear {
			return nil
		}
		for class, n := range found.devices {
			switch {
			case slicedGPU(class):
				return nil
			case wholeGPU(class):
				if sum == nil {
					sum = map[string]int64{}
				}
				sum[class] += n
			}
		}
	}
	return sum
}

// withDevices fills in the devices of the pods of a request that have claims. The request itself is not changed.
func (c *Cluster) withDevices(request expander.Request) expander.Request {
	copied := false
	for i := range request.Pods {
		asked := &request.Pods[i]
		if asked.Claims == 0 || asked.Devices != nil {
			continue
		}
		p, ok := at[*pod](c.pods, asked.Namespace+"/"+asked.Name)
		if !ok || len(p.claims) != asked.Claims || (asked.UID != "" && string(p.UID) != asked.UID) {
			continue
		}
		devices := c.devicesOf(p)
		if devices == nil {
			continue
		}
		if !copied {
			request.Pods, copied = slices.Clone(request.Pods), true
		}
		request.Pods[i].Devices = devices
	}
	return request
}
