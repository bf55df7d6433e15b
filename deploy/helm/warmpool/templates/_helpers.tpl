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
