package kubetest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

func uid(n int64) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// A process is that of a pod.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	in    *os.File // streams of a process that has an input; others write to the log
	out   *os.File
	errs  *os.File
	mu    sync.Mutex
	lines []string // that it wrote, each with its time
}

func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

func (s *Server) processes() (all []*process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		all = append(all, p)
	}
	return all
}

// begin starts a pod's process. The caller holds the lock.
func (s *Server) begin(k key, made *unstructured.Unstructured) {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, &pod); err != nil {
		s.t.Errorf("pod %s: %v", k.name, err)
		return
	}
	broker := pod.Spec.Containers[0]
	status := corev1.ContainerStatus{Name: broker.Name}
	defer func() { s.report(made, status) }()
	if broker.Image == Missing {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull", Message: "no such image"}
		return
	}
	if err := s.lay(k.space, pod); err != nil {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: err.Error()}
		return
	}
	p := &process{ended: make(chan struct{})}
	argv := broker.Command
	if argv[0] == kube.Self || argv[0] == kube.SelfPath {
		argv = append(slices.Clone(s.Self), argv[1:]...)
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir = broker.WorkingDir
	p.cmd.Env = append(os.Environ(), "POD_IP="+s.addressOf(k.space, pod.Labels), "KUBECONFIG="+s.Kubeconfig)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.start(broker.Stdin); err != nil {
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 127, Message: err.Error()}
		return
	}
	s.pods[string(made.GetUID())] = p
	started := metav1.Now()
	status.State.Running = &corev1.ContainerStateRunning{StartedAt: started}
	told := make(chan struct{})
	go func() {
		defer close(told)
		if p.in == nil {
			p.read(p.out)
		}
	}()
	go func() {
		p.cmd.Wait()
		<-told
		close(p.ended)
		code := p.cmd.ProcessState.ExitCode()
		if how := p.cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signaled() {
			code = 128 + int(how.Signal())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.objects[k] != made {
			return // removed meanwhile
		}
		s.report(made, corev1.ContainerStatus{Name: broker.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: int32(code), StartedAt: started, FinishedAt: metav1.Now(),
		}}})
		s.publish("MODIFIED", k, made)
	}()
}

// start starts the process with pipes.
func (p *process) start(input bool) error {
	var theirs []*os.File
	pipe := func() (read, write *os.File) {
		read, write, err := os.Pipe()
		if err != nil {
			panic(err) // no descriptors are left
		}
		return read, write
	}
	var write *os.File
	p.out, write = pipe()
	p.cmd.Stdout, p.cmd.Stderr, theirs = write, write, append(theirs, write)
	if input {
		var read *os.File
		read, p.in = pipe()
		p.errs, write = pipe()
		p.cmd.Stdin, p.cmd.Stderr, theirs = read, write, append(theirs, read, write)
	}
	err := p.cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	return err
}

// work makes the pod of a job. The caller holds the lock.
func (s *Server) work(k key, job *unstructured.Unstructured) {
	template, _, err := unstructured.NestedMap(job.Object, "spec", "template")
	if err != nil {
		s.t.Errorf("job %s: %v", k.name, err)
	}
	pod := &unstructured.Unstructured{Object: template}
	pod.SetName(k.name + "-1")
	s.make(key{"pods", k.space, pod.GetName()}, pod)
}

// report sets the status of a pod's container.
func (s *Server) report(made *unstructured.Unstructured, c corev1.ContainerStatus) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c}})
	if err != nil {
		s.t.Errorf("pod %s: %v", made.GetName(), err)
	}
	made.Object["status"] = fields
}

// lay puts the files of a pod's secret at their paths, and makes the directory of its volume.
func (s *Server) lay(space string, pod corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && s.objects[key{"persistentvolumeclaims", space, c.ClaimName}] == nil {
			return fmt.Errorf("persistentvolumeclaim %q not found", c.ClaimName)
		}
	}
	secret := s.objects[key{"secrets", space, pod.Labels[kube.LabelNode]}]
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		switch m.Name {
		case "data":
			if err := os.MkdirAll(m.MountPath, 0o755); err != nil {
				return err
			}
		case "files":
			if secret == nil {
				return fmt.Errorf("secret %q not found", pod.Labels[kube.LabelNode])
			}
			text, ok, _ := unstructured.NestedString(secret.Object, "data", m.SubPath)
			content, err := base64.StdEncoding.DecodeString(text)
			if !ok || err != nil {
				return fmt.Errorf("references non-existent secret key: %s", m.SubPath)
			}
			if err := os.MkdirAll(filepath.Dir(m.MountPath), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(m.MountPath, content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// addressOf is the address of the service that selects a pod.
func (s *Server) addressOf(space string, labels map[string]string) string {
	for k, o := range s.objects {
		if k.kind != "services" || k.space != space {
			continue
		}
		selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector")
		if selector[kube.LabelNode] == labels[kube.LabelNode] {
			address, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP")
			return address
		}
	}
	return "127.0.0.1"
}

// Evict asks a pod to end, as a drain of its machine does, and removes it once it has ended.
func (s *Server) Evict(space, name string) {
	k := key{"pods", space, name}
	s.mu.Lock()
	found := s.objects[k]
	now := metav1.Now()
	found.SetDeletionTimestamp(&now)
	s.publish("MODIFIED", k, found)
	p := s.pods[string(found.GetUID())]
	s.mu.Unlock()
	p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
	for reported := false; !reported; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		reported, _, _ = hasEnded(found)
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[k] == found { // it was not removed meanwhile
		s.remove(k)
	}
}

// hasEnded reports whether the status of a pod says so.
func hasEnded(pod *unstructured.Unstructured) (ended, found bool, err error) {
	statuses, found, err := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	if err != nil || len(statuses) == 0 {
		return false, found, err
	}
	_, ended, err = unstructured.NestedMap(statuses[0].(map[string]any), "state", "terminated")
	return ended, true, err
}

// read keeps the lines that a process writes. Lines of the same tenth of a second have the same
// time.
func (p *process) read(from *os.File) {
	defer from.Close()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, time.Now().UTC().Truncate(100*time.Millisecond).Format(time.RFC3339Nano)+" "+lines.Text()+"\n")
		p.mu.Unlock()
	}
}

func (p *process) since(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines[min(n, len(p.lines)):])
}

// podOf is the process of a pod that exists.
func (s *Server) podOf(k key) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.objects[k]
	if found == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, k.name)
	}
	p := s.pods[string(found.GetUID())]
	if p == nil {
		return nil, apierrors.NewBadRequest("container is waiting to start")
	}
	return p, nil
}

// log streams what a pod wrote, from a second on, until it has ended.
func (s *Server) log(w http.ResponseWriter, r *http.Request, k key) {
	p, err := s.podOf(k)
	if err != nil {
		refuse(w, err)
		return
	}
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	w.WriteHeader(http.StatusOK)
	for n, over := 0, false; ; {
		select {
		case <-p.ended:
			over = true
		default:
		}
		lines := p.since(n)
		n += len(lines)
		for _, line := range lines {
			stamp, _, _ := strings.Cut(line, " ")
			if at, _ := time.Parse(time.RFC3339Nano, stamp); at.Before(since) {
				continue
			}
			if _, err := w.Write([]byte(line)); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		if over && len(lines) == 0 {
			w.Write([]byte("failed to create fsnotify watcher: too many open files\n")) // as a kubelet does
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// exec runs a command of rmq-mcp in a pod. The fake has no process namespaces, so the broker is named to
// a look for it.
func (s *Server) exec(w http.ResponseWriter, r *http.Request, k key) {
	p, err := s.podOf(k)
	if err == nil {
		select {
		case <-p.ended:
			err = apierrors.NewInternalError(errors.New("container not found (\"broker\")"))
		default:
		}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	argv := r.URL.Query()["command"]
	if len(argv) < 3 || argv[0] != kube.Self && argv[0] != kube.SelfPath || argv[1] != "inside" {
		refuse(w, apierrors.NewBadRequest(fmt.Sprintf("exec: %q: not found", argv)))
		return
	}
	if len(argv) == 3 {
		argv = append(argv, strconv.Itoa(p.cmd.Process.Pid), p.born())
	}
	q := &process{cmd: exec.Command(s.Self[0], append(slices.Clone(s.Self[1:]), argv[1:]...)...)}
	if err := q.start(true); err != nil {
		refuse(w, err)
		return
	}
	s.stream(w, r, q, q.cmd.Wait)
}

// attach connects the streams of a pod's process.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, k key) {
	p, err := s.podOf(k)
	if err == nil && p.in == nil {
		err = apierrors.NewBadRequest("the container has no input")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	s.stream(w, r, p, func() error { return nil })
}

// stream connects the streams of a process by the protocol v5.channel.k8s.io: the first byte of a
// message is its channel, 0 for input, 1 for output, 2 for complaints, 3 for how the process ended, and
// 255 closes a channel.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, p *process, wait func() error) {
	upgrade := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, err := upgrade.Upgrade(w, r, nil)
	if err != nil {
		p.in.Close()
		return
	}
	defer conn.Close()
	go func() {
		defer p.in.Close()
		for {
			_, message, err := conn.ReadMessage()
			if err != nil || len(message) == 0 || message[0] == 255 {
				return
			}
			p.in.Write(message[1:])
		}
	}()
	var writing sync.Mutex
	send := func(channel byte, data []byte) error {
		writing.Lock()
		defer writing.Unlock()
		return conn.WriteMessage(websocket.BinaryMessage, append([]byte{channel}, data...))
	}
	var complaints bytes.Buffer
	copied := make(chan struct{})
	pass := func(channel byte, from *os.File) {
		defer from.Close()
		for b := make([]byte, 32<<10); ; {
			n, err := from.Read(b)
			if channel == 2 {
				complaints.Write(b[:n])
			}
			if err != nil || send(channel, b[:n]) != nil {
				return
			}
		}
	}
	go func() { defer close(copied); pass(2, p.errs) }()
	pass(1, p.out)
	<-copied
	status := metav1.Status{Status: metav1.StatusSuccess}
	if err := wait(); err != nil {
		status = metav1.Status{Status: metav1.StatusFailure, Message: fmt.Sprintf("%v: %s", err, complaints.Bytes())}
	}
	text, _ := json.Marshal(status)
	send(3, text)
	conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
}

// born is the start of the process as the kernel counts it.
func (p *process) born() string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[19]
}
