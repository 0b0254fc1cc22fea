{{/*
The services of the mesh: whom each calls, which stores it opens, whether callers from outside reach it, and whether it
calls what is outside, whether the outbox brings changes to it. `serves` is the name of its port, gRPC's where none is said. Held against the code by
tests/helm/test_parts.py.
*/}}
{{- define "recallmesh.table" -}}
semantic: {calls: [embedder], stores: [qdrant], indexes: true}
keyword: {calls: [], stores: [opensearch], indexes: true}
graph: {calls: [embedder], stores: [qdrant, neo4j], indexes: true}
temporal: {calls: [embedder], stores: [qdrant]}
recall: {calls: [semantic, keyword, graph, temporal, embedder, reranker], stores: [postgres], public: true}
retain: {calls: [semantic, keyword, graph, embedder], stores: [postgres], public: true, outside: true}
bank: {calls: [semantic, keyword, graph, embedder], stores: [postgres], public: true}
embedder: {calls: [], stores: [], computes: true}
reranker: {calls: [], stores: [], computes: true}
door: {calls: [recall, retain, bank], stores: [], public: true, serves: json}
mcp: {calls: [recall, retain, bank], stores: [], public: true, serves: mcp}
{{- end -}}

{{/* The services that run as pods of their own, with their values on top of the defaults: a table by name. */}}
{{- define "recallmesh.parts" -}}
{{- $found := dict -}}
{{- if eq .Values.mode "distributed" -}}
{{- range $name, $row := include "recallmesh.table" . | fromYaml -}}
{{- $given := index (merge (dict) $.Values.arms (omit $.Values "arms")) $name | default dict -}}
{{- $own := mustMergeOverwrite (deepCopy $.Values.defaults) (deepCopy $given) -}}
{{- if ne (toString (dig "enabled" true $own)) "false" -}}
{{- $_ := set $found $name (merge (dict "row" (merge $row (dict "serves" "grpc"))) $own) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $found .Values.embedderNext.enabled -}}
{{- range $name, $own := $found -}}
{{- if has "embedder" $own.row.calls -}}
{{- $_ := set $own.row "calls" (append $own.row.calls "embedder-next") -}}
{{- end -}}
{{- end -}}
{{- $row := dict "calls" list "stores" list "computes" true "serves" "grpc" "part" "embedder" "address" "embedder__next" -}}
{{- $own := mustMergeOverwrite (deepCopy $.Values.defaults) (deepCopy $.Values.embedder) (omit $.Values.embedderNext "enabled") -}}
{{- $_ := set $found "embedder-next" (merge (dict "row" $row) $own) -}}
{{- end -}}
{{- $found | toJson -}}
{{- end -}}
