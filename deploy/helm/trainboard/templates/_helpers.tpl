{{/* Labels and names start with the name of the release, so that a namespace can have two sites. */}}

{{- define "trainboard.env" -}}
{{- $values := .Values -}}
{{- $env := dict "TRAINBOARD_HOSTS" $values.host "TRAINBOARD_INSTANCE" $values.instance "TRAINBOARD_LOG_FORMAT" "json" -}}
{{- if $values.https -}}
{{- $address := printf "https://%s" $values.host -}}
{{- $env = merge (dict "TRAINBOARD_HTTPS" "1" "TRAINBOARD_ORIGINS" $address "TRAINBOARD_URL" $address) $env -}}
{{- end -}}
{{- with $values.databaseUrl }}{{ $_ := set $env "DATABASE_URL" . }}{{ end -}}
{{- with $values.redisUrl }}{{ $_ := set $env "REDIS_URL" . }}{{ end -}}
{{- range $name, $value := $values.settings }}{{ $_ := set $env $name $value }}{{ end -}}
env:
{{- range $name, $value := $env }}
  - {name: {{ $name }}, value: {{ quote $value }}}
{{- end }}
{{- end -}}

{{/* One container. Takes a dict with root, process (an argument of deploy/start.sh), resources and google (a boolean). */}}
{{- define "trainboard.container" -}}
{{- $probe := printf "port: http, httpHeaders: [{name: Host, value: %q}]" .root.Values.host -}}
{{- $credentials := and .google .root.Values.google.credentialsSecret -}}
- name: {{ .process }}
  image: {{ quote .root.Values.image }}
  args: [{{ .process }}]
  {{- include "trainboard.env" .root | nindent 2 }}
  {{- if $credentials }}
    - {name: GOOGLE_APPLICATION_CREDENTIALS, value: /google/credentials.json}
  {{- end }}
  envFrom: [{secretRef: {name: {{ quote .root.Values.secret }}}}]
  {{- if eq .process "web" }}
  ports: [{name: http, containerPort: 8000}]
  startupProbe: {httpGet: {path: /healthz, {{ $probe }}}, periodSeconds: 3, failureThreshold: 20}
  livenessProbe: {httpGet: {path: /healthz, {{ $probe }}}, periodSeconds: 20, timeoutSeconds: 5}
  readinessProbe: {httpGet: {path: /readyz, {{ $probe }}}, periodSeconds: 10, timeoutSeconds: 5}
  {{- end }}
  securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
  resources: {{ toJson .resources }}
  volumeMounts:
    - {name: state, mountPath: /state}
    - {name: tmp, mountPath: /tmp}
    {{- if $credentials }}
    - {name: google, mountPath: /google, readOnly: true}
    {{- end }}
{{- end -}}

{{/* What the pods of Deployments and Jobs have in common. Takes a dict with root, account and google (a boolean). */}}
{{- define "trainboard.pod" -}}
serviceAccountName: {{ .account }}
{{- if not .google }}
automountServiceAccountToken: false
{{- end }}
securityContext: {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
{{- with .root.Values.pod }}
{{ toYaml . }}
{{- end }}
volumes:
  - {name: state, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
  {{- if and .google .root.Values.google.credentialsSecret }}
  - {name: google, secret: {secretName: {{ quote .root.Values.google.credentialsSecret }}, defaultMode: 0440}}
  {{- end }}
{{- end -}}
