package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/warmpool/warmpool/lint"
)

// lintTimeout bounds the reading of a cluster, and lintPage the objects of one answer.
const (
	lintTimeout = 2 * time.Minute
	lintPage    = 500
)

// lintResources are what lint reads of a cluster. The narrow ones are read by name alone.
var lintResources = []struct {
	resource schema.GroupVersionResource
	// fields is a field selector.
	fields string
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, ""},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, ""},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, ""},
	{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, ""},
	{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, ""},
	{schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}, ""},
	{schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, ""},
	{schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}, ""},
	{schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}, ""},
	{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, ""},
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "metadata.name=cluster-autoscaler-priority-expander"},
	{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "type=kubernetes.io/tls"},
	{schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, ""},
	{schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}, ""},
	{schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"}, ""},
	{schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1beta1", Resource: "inferenceservices"}, ""},
	{schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "machinedeployments"}, ""},
}

// clusterObjects lists what lint looks at, and why something was left out.
func clusterObjects(ctx context.Context, kubeconfig string) (objects []*lint.Object, skipped []string, err error) {
	settings, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
	}
	client, err := dynamic.NewForConfig(settings)
	if err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lintTimeout)
	defer cancel()
	return listObjects(ctx, client)
}

func listObjects(ctx context.Context, client dynamic.Interface) (objects []*lint.Object, skipped []string, err error) {
	for _, r := range lintResources {
		options := metav1.ListOptions{FieldSelector: r.fields, Limit: lintPage}
		for {
			page, err := client.Resource(r.resource).List(ctx, options)
			if apierrors.IsNotFound(err) {
				break // the kind is not installed
			}
			if apierrors.IsForbidden(err) {
				skipped = append(skipped, err.Error())
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list %s: %w", r.resource.Resource, err)
			}
			for i := range page.Items {
				item := &page.Items[i]
				if ownedTwice(item.GetOwnerReferences()) {
					continue
				}
				o, err := lint.NewObject("cluster", item.Object)
				if err != nil {
					return nil, nil, err
				}
				if o != nil {
					objects = append(objects, o)
				}
			}
			if options.Continue = page.GetContinue(); options.Continue == "" {
				break
			}
		}
	}
	return objects, skipped, nil
}

// ownedTwice tells objects that another one of the list makes, which would be reported twice.
func ownedTwice(owners []metav1.OwnerReference) bool {
	for _, o := range owners {
		switch o.Kind {
		case "CronJob", "LeaderWorkerSet", "InferenceService":
			return true
		}
	}
	return false
}
