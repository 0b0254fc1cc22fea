{{/* What every pod of the mesh reads: the settings as variables. Numbers are written as JSON: a template's own would be 1e+06. */}}

{{- define "recallmesh.text" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toJson . }}{{- end -}}
{{- end -}}

{{- define "recallmesh.settings" -}}
{{- $name := include "recallmesh.fullname" . -}}
{{- $found := dict
  "RECALLMESH_DATA" "/data"
  "RECALLMESH_SERVE__LISTEN" "0.0.0.0:7070"
  "RECALLMESH_SERVE__METRICS_PORT" "9090"
  "RECALLMESH_AUTH__MODE" "on"
-}}
{{- range $section, $fields := .Values.settings -}}
{{- if kindIs "map" $fields -}}
{{- range $field, $value := $fields -}}
{{- if has (printf "%s.%s" $section $field) (list "auth.jwt" "auth.quotas" "embedder.next") -}}
{{- range $name, $own := $value -}}
{{- $_ := set $found (printf "RECALLMESH_%s__%s__%s" (upper $section) (upper $field) (upper $name)) (include "recallmesh.text" $own) -}}
{{- end -}}
{{- else -}}
{{- $_ := set $found (printf "RECALLMESH_%s__%s" (upper $section) (upper $field)) (include "recallmesh.text" $value) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $_ := set $found (printf "RECALLMESH_%s" (upper $section)) (include "recallmesh.text" $fields) -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.mode "distributed" -}}
{{- range $part, $own := include "recallmesh.parts" . | fromJson -}}
{{- if eq $own.row.serves "grpc" -}}
{{- $_ := set $found (printf "RECALLMESH_%s__ADDRESS" (default $part $own.row.address | upper)) (printf "dns:///%s-%s:7070" $name $part) -}}
{{- end -}}
{{- end -}}
{{- if not .Values.reranker.enabled -}}
{{- $_ := set $found "RECALLMESH_RERANKER__BACKEND" "none" -}}
{{- end -}}
{{- with include "recallmesh.storeUrl" (dict "root" . "store" "postgres") -}}{{- $_ := set $found "RECALLMESH_LEDGER__URL" . -}}{{- end -}}
{{- with include "recallmesh.storeUrl" (dict "root" . "store" "qdrant") -}}{{- $_ := set $found "RECALLMESH_SEMANTIC__QDRANT_URL" . -}}{{- end -}}
{{- with include "recallmesh.storeUrl" (dict "root" . "store" "opensearch") -}}{{- $_ := set $found "RECALLMESH_KEYWORD__OPENSEARCH_URL" . -}}{{- end -}}
{{- with include "recallmesh.storeUrl" (dict "root" . "store" "neo4j") -}}{{- $_ := set $found "RECALLMESH_GRAPH__NEO4J_URL" . -}}{{- end -}}
{{- end -}}
{{- if .Values.door.enabled -}}
{{- $_ := set $found "RECALLMESH_DOOR__LISTEN" "0.0.0.0:8080" -}}
{{- $_ := set $found "RECALLMESH_DOOR__HOSTS" (include "recallmesh.hosts" (dict "root" . "part" "door")) -}}
{{- end -}}
{{- if include "recallmesh.tlsSecret" . -}}
{{- $_ := set $found "RECALLMESH_SERVE__HEALTH_PORT" "7071" -}}
{{- $_ := set $found "RECALLMESH_TLS__CERTIFICATE" "/etc/recallmesh/tls/tls.crt" -}}
{{- $_ := set $found "RECALLMESH_TLS__KEY" "/etc/recallmesh/tls/tls.key" -}}
{{- $_ := set $found "RECALLMESH_TLS__CA" "/etc/recallmesh/tls/ca.crt" -}}
{{- with .Values.tls.serverName -}}
{{- $_ := set $found "RECALLMESH_TLS__SERVER_NAME" . -}}
{{- end -}}
{{- if ne .Values.tls.mutual "none" -}}
{{- $_ := set $found "RECALLMESH_TLS__CLIENT_CERTIFICATE" "/etc/recallmesh/tls/tls.crt" -}}
{{- $_ := set $found "RECALLMESH_TLS__CLIENT_KEY" "/etc/recallmesh/tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- $found | toYaml -}}
{{- end -}}

{{/* The Service of what speaks HTTP. Takes root, part: door or mcp. */}}
{{- define "recallmesh.httpService" -}}
{{- include "recallmesh.fullname" .root }}{{ if eq .root.Values.mode "distributed" }}-{{ .part }}{{ end }}
{{- end -}}

{{/* The names by which it may be called: its Service's, those of its ingress and route, and those that are given. */}}
{{- define "recallmesh.hosts" -}}
{{- $own := index .root.Values .part -}}
{{- $name := include "recallmesh.httpService" . -}}
{{- $space := printf "%s.%s" $name .root.Release.Namespace -}}
{{- $found := list $name $space (printf "%s.svc" $space) (printf "%s.svc.cluster.local" $space) -}}
{{- if $own.ingress.enabled }}{{ $found = concat $found $own.ingress.hosts }}{{ end -}}
{{- if $own.route.enabled }}{{ $found = concat $found $own.route.hostnames }}{{ end -}}
{{- concat $found $own.hosts | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* Where a store is: bundled, or as the values say; empty when a Secret says it. */}}
{{- define "recallmesh.storeUrl" -}}
{{- $own := index .root.Values.stores .store -}}
{{- $host := printf "%s-%s" (include "recallmesh.fullname" .root) .store -}}
{{- if $own.bundled -}}
{{- index (dict
  "postgres" (printf "postgresql://recallmesh@%s/recallmesh" $host)
  "qdrant" (printf "http://%s:6334" $host)
  "opensearch" (printf "http://%s:9200" $host)
  "neo4j" (printf "bolt://%s:7687" $host)) .store -}}
{{- else -}}
{{- $own.url -}}
{{- end -}}
{{- end -}}

{{/* One variable from a Secret. Takes name, secret, key. */}}
{{- define "recallmesh.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: {name: {{ .secret }}, key: {{ .key }}}
{{ end -}}

{{/* Where a pod has the certificates of its stores' authorities. Takes root, stores: the names of stores. */}}
{{- define "recallmesh.caMounts" -}}
{{- range .stores -}}
{{- if dig . "caSecret" "" $.root.Values.stores -}}
- {name: {{ . }}-ca, mountPath: /etc/recallmesh/{{ . }}, readOnly: true}
{{ end -}}
{{- end -}}
{{- end -}}

{{- define "recallmesh.caVolumes" -}}
{{- range $store := .stores -}}
{{- with dig $store "caSecret" "" $.root.Values.stores -}}
- name: {{ $store }}-ca
  secret: {secretName: {{ . }}}
{{ end -}}
{{- end -}}
{{- end -}}

{{/* The variables by which one store lets a pod in, from its Secret. Takes root and store. */}}
{{- define "recallmesh.storeEnv" -}}
{{- $own := index .root.Values.stores .store -}}
{{- if dig "caSecret" "" $own -}}
- {name: {{ index (dict "postgres" "PGSSLROOTCERT" "opensearch" "RECALLMESH_KEYWORD__OPENSEARCH_CA" "neo4j" "RECALLMESH_GRAPH__NEO4J_CA") .store }}, value: /etc/recallmesh/{{ .store }}/ca.crt}
{{ end -}}
{{- $secret := ternary (printf "%s-stores" (include "recallmesh.fullname" .root)) $own.existingSecret $own.bundled -}}
{{- if eq .store "postgres" -}}
{{- if $own.bundled -}}
{{- include "recallmesh.secretEnv" (dict "name" "PGPASSWORD" "secret" $secret "key" "postgres-password") -}}
{{- else if and $secret $own.url -}}
{{- include "recallmesh.secretEnv" (dict "name" "PGPASSWORD" "secret" $secret "key" $own.passwordKey) -}}
{{- else if $secret -}}
{{- include "recallmesh.secretEnv" (dict "name" "RECALLMESH_LEDGER__URL" "secret" $secret "key" $own.urlKey) -}}
{{- end -}}
{{- else if eq .store "qdrant" -}}
{{- if $secret -}}
{{- include "recallmesh.secretEnv" (dict "name" "RECALLMESH_SEMANTIC__QDRANT_API_KEY" "secret" $secret "key" (ternary "qdrant-api-key" $own.apiKeyKey $own.bundled)) -}}
{{- end -}}
{{- else if eq .store "opensearch" -}}
{{- if and $secret (not $own.bundled) -}}
{{- include "recallmesh.secretEnv" (dict "name" "RECALLMESH_KEYWORD__OPENSEARCH_USER" "secret" $secret "key" $own.userKey) -}}
{{- include "recallmesh.secretEnv" (dict "name" "RECALLMESH_KEYWORD__OPENSEARCH_PASSWORD" "secret" $secret "key" $own.passwordKey) -}}
{{- end -}}
{{- else if eq .store "neo4j" -}}
{{- if $own.bundled -}}
- name: RECALLMESH_GRAPH__NEO4J_USER
  value: neo4j
{{ include "recallmesh.secretEnv" (dict "name" "RECALLMESH_GRAPH__NEO4J_PASSWORD" "secret" $secret "key" "neo4j-password") -}}
{{- else if $secret -}}
{{- include "recallmesh.secretEnv" (dict "name" "RECALLMESH_GRAPH__NEO4J_USER" "secret" $secret "key" $own.userKey) -}}
{{- include "recallmesh.secretEnv" (dict "name" "RECALLMESH_GRAPH__NEO4J_PASSWORD" "secret" $secret "key" $own.passwordKey) -}}
{{- end -}}
{{- end -}}
{{- end -}}
