{{/* What proves who pods and callers are: API keys, the mesh's own key, certificates. */}}

{{- define "recallmesh.authSecret" -}}
{{- default (printf "%s-auth" (include "recallmesh.fullname" .)) .Values.auth.existingSecret -}}
{{- end -}}

{{/* The Secret of certificates; empty: nothing is encrypted. */}}
{{- define "recallmesh.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{- include "recallmesh.fullname" . }}-tls
{{- else -}}
{{- .Values.tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{/*
Where a pod finds what proves who calls. Only what asks callers for keys has their hashes; what speaks HTTP passes each
caller's own credential on, and must have none of the mesh's. Takes root, own.
*/}}
{{- define "recallmesh.secretEnvs" -}}
{{- $row := .own.row -}}
{{- if eq $row.serves "grpc" -}}
- {name: RECALLMESH_AUTH__MESH_KEY_FILE, value: /etc/recallmesh/mesh/mesh-key}
{{ if and $row.public .root.Values.auth.keys -}}
- {name: RECALLMESH_AUTH__KEYS, value: /etc/recallmesh/keys/keys.json}
{{ end -}}
{{- if and (include "recallmesh.tlsSecret" .root) (has .root.Values.tls.mutual (ternary (list "all") (list "internal" "all") (eq true $row.public))) -}}
- {name: RECALLMESH_TLS__CLIENT_CA, value: /etc/recallmesh/tls/ca.crt}
{{ end -}}
{{- end -}}
{{- end -}}

{{- define "recallmesh.secretMounts" -}}
{{- $row := .own.row -}}
{{- if eq $row.serves "grpc" -}}
- {name: mesh-key, mountPath: /etc/recallmesh/mesh, readOnly: true}
{{ if and $row.public .root.Values.auth.keys -}}
- {name: keys, mountPath: /etc/recallmesh/keys, readOnly: true}
{{ end -}}
{{- end -}}
{{- if include "recallmesh.tlsSecret" .root -}}
- {name: tls, mountPath: /etc/recallmesh/tls, readOnly: true}
{{ end -}}
{{- end -}}

{{- define "recallmesh.secretVolumes" -}}
{{- $row := .own.row -}}
{{- if eq $row.serves "grpc" -}}
- name: mesh-key
  secret: {secretName: {{ include "recallmesh.authSecret" .root }}, defaultMode: 0440, items: [{key: mesh-key, path: mesh-key}]}
{{ if and $row.public .root.Values.auth.keys -}}
- name: keys
  secret: {secretName: {{ include "recallmesh.authSecret" .root }}, defaultMode: 0440, items: [{key: keys.json, path: keys.json}]}
{{ end -}}
{{- end -}}
{{- with include "recallmesh.tlsSecret" .root -}}
- name: tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{ end -}}
{{- end -}}

{{/* The ports of Services, which tell proxies what is spoken there. */}}
{{- define "recallmesh.grpcPort" -}}
{name: grpc, port: 7070, targetPort: grpc{{ if not (include "recallmesh.tlsSecret" .) }}, appProtocol: kubernetes.io/h2c{{ end }}}
{{- end -}}

{{- define "recallmesh.httpPort" -}}
{{- $tls := include "recallmesh.tlsSecret" .root -}}
{name: {{ .port }}, port: {{ ternary 8081 (ternary 443 80 (ne $tls "")) (eq .port "mcp") }}, targetPort: {{ .port }}, appProtocol: {{ ternary "https" "http" (ne $tls "") }}}
{{- end -}}
