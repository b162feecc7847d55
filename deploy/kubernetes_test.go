package deploy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"carrel/edge"
)

// object is a Kubernetes object, reduced to the fields that are checked.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
	Spec struct {
		Replicas       int
		MaxUnavailable *int `yaml:"maxUnavailable"`
		Selector       map[string]any
		Ports          []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		// Of a NetworkPolicy.
		PodSelector map[string]any `yaml:"podSelector"`
		PolicyTypes []string       `yaml:"policyTypes"`
		Ingress     []struct {
			From  []map[string]any
			Ports []struct{ Port string }
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
		RunAsGroup   int  `yaml:"runAsGroup"`
		FSGroup      int  `yaml:"fsGroup"`
	} `yaml:"securityContext"`
	Grace      int `yaml:"terminationGracePeriodSeconds"`
	Containers []container
	Volumes    []struct {
		Name   string
		Secret struct {
			SecretName string `yaml:"secretName"`
		}
	}
}

type container struct {
	Name, Image string
	Args        []string
	EnvFrom     []struct {
		ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
	} `yaml:"envFrom"`
	Env   []struct{ Name, Value string }
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe    *probe `yaml:"startupProbe"`
	LivenessProbe   *probe `yaml:"livenessProbe"`
	ReadinessProbe  *probe `yaml:"readinessProbe"`
	SecurityContext struct {
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		Capabilities struct{ Drop []string }
	} `yaml:"securityContext"`
	Resources    struct{ Limits struct{ Memory string } }
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Period  int                         `yaml:"periodSeconds"`
}

// objects reads the Kubernetes file.
func objects(t *testing.T) map[string]*object {
	t.Helper()
	found := map[string]*object{}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "deploy/kubernetes/carrel.yaml")))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[o.Kind] = &o
	}
}

// environment returns the variables of a container, including those of the image.
func (c *container) environment(t *testing.T, all map[string]*object) map[string]string {
	t.Helper()
	env := final(t).environment()
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef.Name != all["ConfigMap"].Metadata.Name {
			t.Errorf("%s takes its variables from %q", c.Name, from.ConfigMapRef.Name)
		}
		for name, value := range all["ConfigMap"].Data {
			env[name] = value
		}
	}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	return env
}

func TestKubernetes_SettingsAreAcceptedByTheBinary(t *testing.T) {
	all := objects(t)
	spec := all["Deployment"].Spec.Template.Spec
	c := spec.Containers[0]
	env := c.environment(t, all)
	cfg := settings(t, c.Args, env, map[string]string{"carrel/cassandra-password": "secret"})
	checkGrace(t, strconv.Itoa(spec.Grace)+"s", cfg)
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, address := range map[string]string{"http": cfg.Listen, "admin": cfg.AdminListen} {
		if want := "0.0.0.0:" + strconv.Itoa(ports[name]); address != want {
			t.Errorf("the port %s is %s, but the gateway listens at %s", name, want, address)
		}
	}
	if service := all["Service"].Spec.Ports; len(service) != 1 || service[0].TargetPort != "http" {
		t.Errorf("the Service publishes %v", service)
	}
	if wait := 2 * c.ReadinessProbe.Period; int(cfg.DrainDelay.Seconds()) < wait {
		t.Errorf("it drains for %v, but the readiness probe runs every %d s", cfg.DrainDelay, c.ReadinessProbe.Period)
	}
	job := all["Job"].Spec.Template.Spec.Containers[0]
	if !slices.Equal(job.Args, []string{"migrate"}) || job.Image != c.Image {
		t.Errorf("the Job runs %q of %s", job.Args, job.Image)
	}
}

// TestKubernetes_ProbesUseServedPaths compares the paths of the probes with the routes of the
// gateway.
func TestKubernetes_ProbesUseServedPaths(t *testing.T) {
	sites, err := edge.NewCrossOrigin(edge.CrossOriginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	mux := edge.Mux(edge.Routes{GraphQL: http.NotFoundHandler(), Sites: sites, Ready: func(context.Context) error { return nil }})
	c := objects(t)["Deployment"].Spec.Template.Spec.Containers[0]
	for name, p := range map[string]*probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if p == nil || p.HTTPGet.Port != "http" {
			t.Errorf("the %s probe is %+v", name, p)
			continue
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, p.HTTPGet.Path, nil))
		if answer.Code != http.StatusOK {
			t.Errorf("the %s probe requests %s, which answers %d", name, p.HTTPGet.Path, answer.Code)
		}
	}
	// A gateway that lost its store is not ready; a restart would not help it.
	if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("liveness requests %s, readiness %s", c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path)
	}
}

// TestKubernetes_OnlyMonitoringReadsMetrics: the NetworkPolicy selects the pods, lets everybody send
// requests, and opens no other port to everybody.
func TestKubernetes_OnlyMonitoringReadsMetrics(t *testing.T) {
	all := objects(t)
	policy := all["NetworkPolicy"]
	if policy == nil || policy.APIVersion != "networking.k8s.io/v1" || !slices.Equal(policy.Spec.PolicyTypes, []string{"Ingress"}) {
		t.Fatalf("the NetworkPolicy is %+v", policy)
	}
	const name = "app.kubernetes.io/name"
	labels, _ := policy.Spec.PodSelector["matchLabels"].(map[string]any)
	if labels[name] != all["Deployment"].Spec.Template.Metadata.Labels[name] {
		t.Errorf("it selects %v", policy.Spec.PodSelector)
	}
	open := map[string]bool{}
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			open[p.Port] = len(rule.From) == 0
		}
	}
	if everybody, listed := open["admin"]; len(open) != 2 || !open["http"] || everybody || !listed {
		t.Errorf("the ports that are open to everybody: %v", open)
	}
}

func TestKubernetes_ObjectsReferToEachOther(t *testing.T) {
	all := objects(t)
	for kind, version := range map[string]string{"ConfigMap": "v1", "Job": "batch/v1", "Deployment": "apps/v1",
		"Service": "v1", "PodDisruptionBudget": "policy/v1"} {
		if all[kind] == nil || all[kind].APIVersion != version {
			t.Fatalf("there is no %s of %s", kind, version)
		}
	}
	labels := all["Deployment"].Spec.Template.Metadata.Labels
	match := func(selector any) bool {
		wanted, _ := selector.(map[string]any)
		return len(wanted) == 1 && wanted["app.kubernetes.io/name"] == labels["app.kubernetes.io/name"]
	}
	if !match(all["Service"].Spec.Selector) || !match(all["Deployment"].Spec.Selector["matchLabels"]) ||
		!match(all["PodDisruptionBudget"].Spec.Selector["matchLabels"]) {
		t.Error("the selectors do not match the labels of the pods")
	}
	// The pods of the Job must not receive requests.
	if match(map[string]any{"app.kubernetes.io/name": all["Job"].Spec.Template.Metadata.Labels["app.kubernetes.io/name"]}) {
		t.Error("the Service also selects the pods of the Job")
	}
	if most := all["PodDisruptionBudget"].Spec.MaxUnavailable; most == nil || *most < 1 || *most >= all["Deployment"].Spec.Replicas {
		t.Error("the PodDisruptionBudget must allow one of several pods to be evicted")
	}
	user := final(t).one(t, "USER").text
	for _, kind := range []string{"Job", "Deployment"} {
		spec := all[kind].Spec.Template.Spec
		c := spec.Containers[0]
		s := spec.SecurityContext
		if !s.RunAsNonRoot || strconv.Itoa(s.RunAsUser)+":"+strconv.Itoa(s.RunAsGroup) != user || s.FSGroup != s.RunAsGroup {
			t.Errorf("%s runs as %+v, the image as %s", kind, s, user)
		}
		if x := c.SecurityContext; !x.ReadOnly || x.Escalation == nil || *x.Escalation || !slices.Equal(x.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s may do too much: %+v", kind, x)
		}
		if len(spec.Volumes) != 1 || spec.Volumes[0].Secret.SecretName == "" || len(c.VolumeMounts) != 1 ||
			c.VolumeMounts[0].Name != spec.Volumes[0].Name || c.VolumeMounts[0].MountPath != "/run/secrets/carrel" {
			t.Errorf("%s mounts %v of %v", kind, c.VolumeMounts, spec.Volumes)
		}
	}
}
