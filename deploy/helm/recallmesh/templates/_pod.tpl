{{/* What pods have in common. */}}

{{/* Seconds that a pod may take to end: those before SIGTERM, the drain, the calls in hand, and five for closing. */}}
{{- define "recallmesh.endS" -}}
{{- $serve := .Values.settings.serve -}}
{{- add (int .Values.preStopS) (ceil $serve.drain_s | int) (ceil $serve.grace_s | int) 5 -}}
{{- end -}}

{{- define "recallmesh.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "recallmesh.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "recallmesh.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/*
The health names: `recallmesh` is SERVING from the moment a process listens until it leaves, the empty name once every part
of the process is ready. So a store that is down takes a pod out of its Service, and never restarts it. The probes of
Kubernetes speak no TLS: with it they have a port of their own, where health alone is answered.
*/}}
{{- define "recallmesh.grpcProbes" -}}
{{- $port := ternary 7071 7070 (ne (include "recallmesh.tlsSecret" .) "") -}}
startupProbe:
  grpc: {port: {{ $port }}, service: recallmesh}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  grpc: {port: {{ $port }}, service: recallmesh}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  grpc: {port: {{ $port }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* The kubelet calls a pod by its address, which is none of the door's names. */}}
{{- define "recallmesh.jsonProbes" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (ne (include "recallmesh.tlsSecret" .) "") -}}
startupProbe:
  httpGet: {path: /livez, port: json, scheme: {{ $scheme }}, httpHeaders: [{name: Host, value: localhost}]}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: json, scheme: {{ $scheme }}, httpHeaders: [{name: Host, value: localhost}]}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: json, scheme: {{ $scheme }}, httpHeaders: [{name: Host, value: localhost}]}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* Tools for agents have no page of their health: that they are listened for is all that can be asked. */}}
{{- define "recallmesh.mcpProbes" -}}
startupProbe:
  tcpSocket: {port: mcp}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  tcpSocket: {port: mcp}
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  tcpSocket: {port: mcp}
  periodSeconds: 5
{{- end -}}

{{/* The variables of a pod that are its own: its stores' credentials, its threads, what is given. Takes root, name, own. */}}
{{- define "recallmesh.podEnv" -}}
{{- range .own.row.stores -}}
{{- include "recallmesh.storeEnv" (dict "root" $.root "store" .) -}}
{{- end -}}
{{- $part := default .name .own.row.part -}}
{{- if and .own.row.computes (not (hasKey (index .root.Values.settings $part | default dict) "threads")) -}}
- name: RECALLMESH_{{ upper $part }}__THREADS
  valueFrom:
    resourceFieldRef: {containerName: {{ .name }}, resource: requests.cpu, divisor: "1"}
{{ end -}}
{{- if eq .name "embedder-next" -}}
# Here it is the one and only.
- {name: RECALLMESH_EMBEDDER__NEXT__ADDRESS, value: ""}
- {name: RECALLMESH_EMBEDDER__MODEL_DIR, value: {{ quote .own.modelDir }}}
{{ end -}}
{{- include "recallmesh.secretEnvs" . -}}
{{- with .own.extraEnv }}{{ toYaml . }}
{{ end -}}
{{- end -}}

{{/* Where pods run. Takes root, component, own. */}}
{{- define "recallmesh.placement" -}}
{{- with .own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if .own.topologySpread.enabled }}
topologySpreadConstraints:
{{- range .own.topologySpread.keys }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.own.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels: {{- include "recallmesh.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}

{{/* The checksum that rolls pods when what they read at their start has changed. */}}
{{- define "recallmesh.checksum" -}}
recallmesh.io/settings: {{ include "recallmesh.settings" . | sha256sum | trunc 16 }}
{{- end -}}
