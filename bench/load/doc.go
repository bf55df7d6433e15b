// Package load builds large requests of the kind that a wave of pending pods causes.
package load
