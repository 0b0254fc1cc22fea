{{/* The pod that migrates the stores. Takes root, component, settings, calls (whether it asks another pod): it reads no ConfigMap, which a hook comes before. */}}
{{- define "recallmesh.migratePod" -}}
{{- $root := .root -}}
{{- $own := dict "root" .root "own" (dict "row" (dict "public" false "serves" "grpc")) -}}
{{- $stores := dict "root" .root "stores" (list "postgres" "qdrant" "opensearch" "neo4j") -}}
metadata:
  labels: {{- include "recallmesh.podLabels" . | nindent 4 }}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- include "recallmesh.podSecurity" $root | nindent 2 }}
  {{- with include "recallmesh.pullSecrets" $root | trim }}{{ . | nindent 2 }}{{ end }}
  containers:
    - name: migrate
      image: {{ include "recallmesh.image" (dict "root" $root "component" $root.Values.image.all "own" "") }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [recallmesh]
      args: [migrate]
      {{- include "recallmesh.containerSecurity" $root | nindent 6 }}
      env:
        {{- range $key, $value := .settings }}
        - {name: {{ $key }}, value: {{ quote $value }}}
        {{- end }}
        {{- range $stores.stores }}
        {{- with include "recallmesh.storeEnv" (dict "root" $root "store" .) }}{{ . | trim | nindent 8 }}{{ end }}
        {{- end }}
        {{- if .calls }}{{ include "recallmesh.secretEnvs" $own | trim | nindent 8 }}{{ end }}
        {{- if and (not .calls) (dig "embedder" "url" "" $root.Values.settings) }}
        {{- /* The model is at a server, which may ask for a key. */ -}}
        {{- with $root.Values.embedder.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
        {{- end }}
      resources: {{- toYaml $root.Values.migrate.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- with include "recallmesh.caMounts" $stores | trim }}{{ . | nindent 8 }}{{ end }}
        {{- if .calls }}{{ include "recallmesh.secretMounts" $own | trim | nindent 8 }}{{ end }}
  volumes:
    - name: data
      emptyDir: {sizeLimit: 100Mi}
    - name: tmp
      emptyDir: {sizeLimit: 1Gi}
    {{- with include "recallmesh.caVolumes" $stores | trim }}{{ . | nindent 4 }}{{ end }}
    {{- if .calls }}{{ include "recallmesh.secretVolumes" $own | trim | nindent 4 }}{{ end }}
{{- end -}}
