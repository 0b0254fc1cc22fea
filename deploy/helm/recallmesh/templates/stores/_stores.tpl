{{/* What the bundled stores have in common: one pod each, with a volume, for trying things out. */}}

{{- define "recallmesh.storeLabels" -}}
{{- include "recallmesh.labels" (dict "root" .root "component" .store) -}}
{{- end -}}

{{/* The head of a store's StatefulSet, up to its container. Takes root, store, user. */}}
{{- define "recallmesh.storeSet" -}}
{{- $name := printf "%s-%s" (include "recallmesh.fullname" .root) .store -}}
{{- $all := dict "root" .root "component" .store -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "recallmesh.labels" $all | nindent 4 }}
spec:
  serviceName: {{ $name }}
  replicas: 1
  selector:
    matchLabels: {{- include "recallmesh.selector" $all | nindent 6 }}
  template:
    metadata:
      labels: {{- include "recallmesh.podLabels" $all | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: {{ .user }}
        runAsGroup: {{ .user }}
        fsGroup: {{ .user }}
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      {{- with include "recallmesh.pullSecrets" .root | trim }}{{ . | nindent 6 }}{{ end }}
{{- end -}}

{{/* The volume and its Service. Takes root, store, ports (name: number). */}}
{{- define "recallmesh.storeTail" -}}
{{- $name := printf "%s-%s" (include "recallmesh.fullname" .root) .store -}}
{{- $own := index .root.Values.stores .store -}}
{{- $all := dict "root" .root "component" .store }}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $own.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests: {storage: {{ $own.storage }}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "recallmesh.labels" $all | nindent 4 }}
spec:
  clusterIP: None
  selector: {{- include "recallmesh.selector" $all | nindent 4 }}
  ports:
    {{- range $port, $number := .ports }}
    - {name: {{ $port }}, port: {{ $number }}, targetPort: {{ $port }}}
    {{- end }}
{{- end -}}
