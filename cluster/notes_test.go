package cluster

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"
)

// notes starts one instance's end of the notes.
func (s *shared) notes() (n *Notes, end func()) {
	n = NewNotes(&Clients{Kubernetes: s.client, Namespace: "warmpool"}, nil)
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		n.Run(ctx)
		close(ended)
	}()
	end = func() {
		cancel()
		<-ended
	}
	s.end = append(s.end, end)
	synctest.Wait()
	return n, end
}

// Two instances write different keys at the same moment, into a ConfigMap that is not there yet: both are read by both,
// and equal texts are not written again.
func TestNotesOfTwoInstances(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a, _ := s.notes()
		b, _ := s.notes()
		a.Put("asks", []byte("groups"))
		b.Put("computes", []byte("late"))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		for _, n := range []*Notes{a, b} {
			asks, first := n.Get("asks")
			computes, second := n.Get("computes")
			if string(asks) != "groups" || string(computes) != "late" || first == 0 || second == 0 {
				t.Errorf("read %q (%d) and %q (%d)", asks, first, computes, second)
			}
		}
		_, before := b.Get("asks")
		s.client.ClearActions()
		a.Put("asks", []byte("groups"))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		for _, action := range s.client.Actions() {
			if action.GetVerb() == "update" || action.GetVerb() == "create" {
				t.Errorf("an equal text is written again: %v", action)
			}
		}
		if _, after := b.Get("asks"); after != before {
			t.Errorf("revision %d became %d without a change", before, after)
		}
		a.Put("asks", []byte("other groups"))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if text, after := b.Get("asks"); string(text) != "other groups" || after == before {
			t.Errorf("read %q, revision %d after a change", text, after)
		}
	})
}

// What an instance has to tell is written when it ends, and one without permission goes on without.
func TestNotesAtTheEndAndWithoutPermission(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a, end := s.notes()
		a.Put("asks", []byte("last words"))
		end()
		b, _ := s.notes()
		if text, _ := b.Get("asks"); string(text) != "last words" {
			t.Errorf("read %q", text)
		}
		react(&s.client.Fake, "*", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, NotesName, nil)
		})
		b.Put("computes", []byte("nobody hears this"))
		time.Sleep(3 * sharedPoll)
		synctest.Wait()
		if text, _ := b.Get("asks"); string(text) != "last words" {
			t.Errorf("what was read is lost: %q", text)
		}
	})
}

// A damaged text is as good as none, and one that does not fit is not written; the rest stays.
func TestNotesDamagedAndTooLarge(t *testing.T) {
	stored := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "warmpool", Name: NotesName, ResourceVersion: "v0"},
		BinaryData: map[string][]byte{"asks": []byte("not packed"), "computes": pack([]byte("late"))},
	}
	withStores(t, []runtime.Object{stored}, func(s *shared) {
		n, _ := s.notes()
		if text, _ := n.Get("asks"); text != nil {
			t.Errorf("a damaged text is read as %q", text)
		}
		var noise strings.Builder
		for i, x := 0, uint32(1); i < mostNoteBytes; i++ {
			x = x*1664525 + 1013904223
			noise.WriteByte(byte(x >> 24))
		}
		n.Put("asks", []byte(noise.String()))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if text, _ := n.Get("computes"); string(text) != "late" {
			t.Errorf("the other text is %q", text)
		}
		if text, _ := n.Get("asks"); text != nil {
			t.Errorf("%d bytes were written", len(text))
		}
		n.Put("asks", []byte("small"))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if text, _ := n.Get("asks"); string(text) != "small" {
			t.Errorf("read %q after a text that did not fit", text)
		}
	})
}
