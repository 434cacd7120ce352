{{/* The settings of a process that the chart decides, by name. Argument: root and component. */}}
{{- define "berth.settings" -}}
{{- $name := include "berth.name" .root -}}
{{- $namespace := .root.Release.Namespace -}}
{{- with .root.Values -}}
NODE_ENV: production
BERTH_ROLES: {{ eq $.component "api" | ternary "api,account" $.component }}
BERTH_HOST: 0.0.0.0
BERTH_PORT: "4100"
BERTH_DATA_DIR: /var/lib/berth
BERTH_AUTH_URL: {{ required "url is required: the address at which people reach the service" .url | quote }}
BERTH_BASE_URL: {{ .url | quote }}
BERTH_CONSOLE_URL: {{ .url | quote }}
BERTH_GATEWAY_URL: http://{{ $name }}-gateway.{{ $namespace }}.svc:4100
BERTH_BLOBS: {{ printf "s3://%s/%s" (required "blobs.bucket is required" .blobs.bucket) .blobs.prefix | quote }}
{{- with .previewDomain }}
BERTH_PREVIEW_DOMAIN: {{ . | quote }}
{{- end }}
{{- if or .blobs.region (not .blobs.endpoint) }}
AWS_REGION: {{ required "blobs.region is required, unless blobs.endpoint names a store other than AWS" .blobs.region | quote }}
{{- end }}
{{- with .blobs.endpoint }}
AWS_ENDPOINT_URL: {{ . | quote }}
{{- end }}
{{- with .database.connections }}
BERTH_DATABASE_CONNECTIONS: {{ . | quote }}
{{- end }}
{{- if eq $.component "worker" }}
BERTH_COMPUTE: remote
BERTH_HOSTS_PORT: "4101"
BERTH_RELAY_PORT: "4102"
BERTH_RELAY_URL: http://$(POD_IP):4102
BERTH_KUBERNETES_IMAGE: {{ include "berth.sandboxImage" $.root | quote }}
BERTH_KUBERNETES_HOST_IMAGE: {{ include "berth.image" $.root | quote }}
BERTH_KUBERNETES_HOSTS_URL: http://{{ $name }}-hosts.{{ $namespace }}.svc:4101
BERTH_KUBERNETES_NAMESPACE: {{ include "berth.sandboxNamespace" $.root }}
BERTH_KUBERNETES_INSTANCE: {{ $name }}
BERTH_KUBERNETES_POOL: {{ .sandboxes.pool | quote }}
BERTH_KUBERNETES_IDLE: {{ .sandboxes.idle | quote }}
BERTH_KUBERNETES_MOST: {{ .sandboxes.most | quote }}
BERTH_SANDBOX_MEMORY_BYTES: {{ .sandboxes.memoryBytes | int64 | quote }}
BERTH_SANDBOX_CPUS: {{ .sandboxes.cpus | quote }}
BERTH_SANDBOX_DISK_BYTES: {{ .sandboxes.diskBytes | int64 | quote }}
{{- with .sandboxes.runtimeClass }}
BERTH_KUBERNETES_RUNTIME_CLASS: {{ . | quote }}
{{- end }}
{{- with .sandboxes.nodeSelector }}
{{- $labels := list }}
{{- range $label, $value := . }}{{ $labels = append $labels (printf "%s=%s" $label $value) }}{{ end }}
BERTH_KUBERNETES_NODE_SELECTOR: {{ join "," $labels | quote }}
{{- end }}
{{- with .worker.concurrency }}
BERTH_WORKER_CONCURRENCY: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The variables of a process. The operator's settings come after the chart's, and replace those of the same name. */}}
{{- define "berth.env" -}}
# First, since a later variable names it.
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: DATABASE_URL
  valueFrom: { secretKeyRef: {{ toJson .root.Values.database.secret }} }
{{- if .root.Values.database.directSecret.name }}
- name: BERTH_DATABASE_DIRECT_URL
  valueFrom: { secretKeyRef: {{ toJson .root.Values.database.directSecret }} }
{{- end }}
- name: BERTH_MASTER_KEY
  valueFrom: { secretKeyRef: {{ toJson .root.Values.masterKey.secret }} }
{{- if .root.Values.blobs.secret }}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $.root.Values.blobs.secret }}, key: {{ . }} } }
{{- end }}
{{- end }}
{{- $settings := include "berth.settings" . | fromYaml }}
{{- range $name, $value := mergeOverwrite $settings (deepCopy .root.Values.settings) }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}
