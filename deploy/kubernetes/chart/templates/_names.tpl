{{- define "berth.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "berth.sandboxNamespace" -}}
{{- $name := default (printf "%s-sandboxes" (include "berth.name" .)) .Values.sandboxes.namespace -}}
{{- if eq $name .Release.Namespace -}}
{{- fail "sandboxes.namespace must be another than the release's: whoever may create pods there makes hosts" -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "berth.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "berth.sandboxImage" -}}
{{- with .Values.sandboxes.image -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}

{{/* Name of the pods' service account, as BERTH_KUBERNETES_INSTANCE decides it, and of the account of the processes of a component. */}}
{{- define "berth.sandboxAccount" -}}
{{- printf "%s-sandbox" (include "berth.name" .) -}}
{{- end -}}

{{- define "berth.account" -}}
{{- $name := include "berth.name" .root -}}
{{- eq .component "worker" | ternary (printf "%s-worker" $name) $name -}}
{{- end -}}

{{/* Labels that select the processes of a component. */}}
{{- define "berth.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "berth.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
