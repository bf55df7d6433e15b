// Package child runs other programs beside a load run or a test: each is ended by its id, never outlives the one that
// started it (on Linux), and leaves its output in a file.
package child
