// Package architecture holds the tests over the structure of the module: who may import whom.
package architecture
