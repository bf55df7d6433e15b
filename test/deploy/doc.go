// Package deploy checks what is shipped for clusters: the examples, the Helm chart and the code blocks of the installation
// documents. What needs an API server is in test/cluster.
package deploy
