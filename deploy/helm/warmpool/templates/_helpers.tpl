{{- define "warmpool.name" -}}{{ .Chart.Name }}{{- end }}
{{- define "warmpool.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- define "warmpool.labels" -}}
app.kubernetes.io/name: {{ include "warmpool.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
{{- define "warmpool.selector" -}}
app.kubernetes.io/name: {{ include "warmpool.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "warmpool.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "warmpool.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}
{{- /* The service account of a Deployment: its own with split topology, unless a name is given. */ -}}
{{- define "warmpool.accountOf" -}}
{{- $root := index . 0 }}{{ $half := index . 1 -}}
{{- $account := include "warmpool.serviceAccount" $root -}}
{{- if and $root.Values.serviceAccount.create (eq $root.Values.topology "split") (not $root.Values.serviceAccount.name) }}{{ printf "%s-%s" $account $half }}{{ else }}{{ $account }}{{ end -}}
{{- end }}
{{- /* The service accounts of those of the given halves that are served, as JSON. */ -}}
{{- define "warmpool.accounts" -}}
{{- $root := index . 0 }}{{ $wanted := index . 1 -}}
{{- $names := list -}}
{{- range $half := include "warmpool.halves" $root | fromJsonArray -}}
{{- range $wanted -}}{{- if contains . $half -}}{{- $names = append $names (include "warmpool.accountOf" (list $root $half)) -}}{{- end -}}{{- end -}}
{{- end -}}
{{- toJson ($names | uniq) -}}
{{- end }}
{{- define "warmpool.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}
{{- define "warmpool.tlsSecret" -}}
{{- if eq .Values.tls.mode "secret" }}{{ required "tls.secretName is required with tls.mode secret" .Values.tls.secretName }}{{ else }}{{ default (printf "%s-tls" (include "warmpool.fullname" .)) .Values.tls.secretName }}{{ end }}
{{- end }}
{{- /* Every name under which a client may dial; the Cluster Autoscaler checks the host of its URL against them. */ -}}
{{- define "warmpool.dnsNames" -}}
{{- $full := include "warmpool.fullname" . -}}
{{- $names := list -}}
{{- range $service := list $full (printf "%s-expander" $full) (printf "%s-scaler" $full) (printf "%s-headless" $full) -}}
{{- $names = concat $names (list $service (printf "%s.%s" $service $.Release.Namespace) (printf "%s.%s.svc" $service $.Release.Namespace) (printf "%s.%s.svc.cluster.local" $service $.Release.Namespace)) -}}
{{- end -}}
{{- toJson (append $names "localhost") -}}
{{- end }}
{{- define "warmpool.halves" -}}
{{- $halves := list -}}
{{- if .Values.expander.enabled }}{{ $halves = append $halves "expander" }}{{ end -}}
{{- if .Values.scaler.enabled }}{{ $halves = append $halves "scaler" }}{{ end -}}
{{- if not $halves }}{{ fail "expander.enabled and scaler.enabled are both false: nothing is left to serve" }}{{ end -}}
{{- if eq .Values.topology "split" }}{{ toJson $halves }}{{ else }}{{ toJson (list (join "," $halves)) }}{{ end -}}
{{- end }}
