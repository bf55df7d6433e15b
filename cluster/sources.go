package cluster

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// listSources says what is read and with which reader: no more than the chart's roles permit.
func (c *Cluster) listSources() {
	k, namespace := c.options.Clients.Kubernetes, c.options.AutoscalerNamespace
	add := func(name string, client any, r reader, example runtime.Object, trim cache.TransformFunc, by cache.Indexers) *source {
		s := newSource(name, client, r, example, trim, by, c.log)
		c.sources = append(c.sources, s)
		return s
	}
	nodes := k.CoreV1().Nodes()
	c.nodes = add("nodes", k, reader{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) },
		watch: nodes.Watch,
	}, &corev1.Node{}, trimNode, nil)
	pods := k.CoreV1().Pods(metav1.NamespaceAll)
	c.pods = add("pods", k, reader{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		watch: pods.Watch,
		// Pods that ended hold nothing and wait for nothing.
		fields: "status.phase!=Succeeded,status.phase!=Failed",
	}, &corev1.Pod{}, trimPod, cache.Indexers{byTarget: targetIndex})
	maps := k.CoreV1().ConfigMaps(namespace)
	c.status = add("status of the Cluster Autoscaler", k, reader{
		list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		watch:  maps.Watch,
		fields: "metadata.name=" + c.options.StatusName,
	}, &corev1.ConfigMap{}, c.trimStatus, nil)
	events := k.CoreV1().Events(namespace)
	c.events = add("events of the Cluster Autoscaler", k, reader{
		list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return events.List(ctx, o) },
		watch:  events.Watch,
		fields: "involvedObject.kind=ConfigMap,involvedObject.name=" + c.options.StatusName,
	}, &corev1.Event{}, trimEvent, nil)
	if !c.options.WithoutTargets {
		scalers := k.AutoscalingV2().HorizontalPodAutoscalers(metav1.NamespaceAll)
		c.autoscalers = add("horizontal pod autoscalers", k, reader{
			list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return scalers.List(ctx, o) },
			watch: scalers.Watch,
		}, &autoscalingv2.HorizontalPodAutoscaler{}, trimAutoscaler, nil)
		ofNodes := k.CoreV1().Events(metav1.NamespaceDefault) // where those about objects without a namespace are
		c.nodeEvents = add("events about nodes", k, reader{
			list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return ofNodes.List(ctx, o) },
			watch:  ofNodes.Watch,
			fields: "involvedObject.kind=Node",
		}, &corev1.Event{}, trimNodeEvent, nil)
	}
	d := c.options.Clients.Dynamic
	if d == nil {
		return
	}
	open := func(name, group, resource string, versions []string, trim cache.TransformFunc) *source {
		return add(name, d, anyVersion(d, group, resource, versions), &unstructured.Unstructured{}, trim, nil)
	}
	if !c.options.WithoutTargets {
		c.scaledObjects = open("scaled objects", "keda.sh", "scaledobjects", []string{"v1alpha1"}, trimScaledObject)
	}
	if c.options.WithoutClaims {
		return
	}
	claims := []string{"v1", "v1beta2", "v1beta1"}
	c.claims = open("resource claims", "resource.k8s.io", "resourceclaims", claims, trimClaim)
	c.claimTemplates = open("resource claim templates", "resource.k8s.io", "resourceclaimtemplates", claims, trimClaim)
}

// anyVersion reads a resource by the first of its versions that the API server knows.
func anyVersion(d dynamic.Interface, group, resource string, versions []string) reader {
	known := -1
	of := func(i int) dynamic.ResourceInterface {
		return d.Resource(schema.GroupVersionResource{Group: group, Version: versions[max(i, 0)], Resource: resource})
	}
	return reader{
		list: func(ctx context.Context, o metav1.ListOptions) (list runtime.Object, err error) {
			for i := range versions {
				if list, err = of(i).List(ctx, o); !apierrors.IsNotFound(err) {
					known = i
					return list, err
				}
			}
			return nil, err
		},
		// One informer lists before it watches, and never both at a time.
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if known >= 0 {
				return of(known).Watch(ctx, o)
			}
			var w watch.Interface
			var err error
			for i := range versions {
				if w, err = of(i).Watch(ctx, o); !apierrors.IsNotFound(err) {
					known = i
					return w, err
				}
			}
			return nil, err
		},
	}
}
