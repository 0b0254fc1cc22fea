{{/* Who may reach whom, in the words of a NetworkPolicy. */}}

{{/* The pods of some components. Takes root, components. */}}
{{- define "recallmesh.peers" -}}
{{- range $index, $component := .components -}}
{{- if $index }}
{{ end -}}
- podSelector: {matchLabels: {app.kubernetes.io/name: {{ default $.root.Chart.Name $.root.Values.nameOverride }}, app.kubernetes.io/instance: {{ $.root.Release.Name }}, app.kubernetes.io/component: {{ $component }}}}
{{- end -}}
{{- end -}}

{{- define "recallmesh.dns" -}}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- end -}}

{{/* The port of an address. Takes url, default. */}}
{{- define "recallmesh.port" -}}
{{- $host := (urlParse .url).host -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $host) | default (toString .default) -}}
{{- end -}}

{{- define "recallmesh.storePort" -}}
{{- $usual := dict "postgres" 5432 "qdrant" 6334 "opensearch" 9200 "neo4j" 7687 -}}
{{- include "recallmesh.port" (dict "url" (include "recallmesh.storeUrl" .) "default" (index $usual .store)) -}}
{{- end -}}

{{/* The way to a store: to its pod if it is bundled, else to its port on whichever peers the values name. */}}
{{- define "recallmesh.storeEgress" -}}
- ports: [{port: {{ include "recallmesh.storePort" . }}}]
{{- if (index .root.Values.stores .store).bundled }}
  to: {{- include "recallmesh.peers" (dict "root" .root "components" (list .store)) | nindent 4 }}
{{- else }}
{{- with .root.Values.networkPolicy.stores }}
  to: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The ways that settings open: to the collector of traces, for who checks tokens to their issuer, for models to their servers. Takes root, row, and part,
which is `all` where one pod is every service.
*/}}
{{- define "recallmesh.settingsEgress" -}}
{{- with dig "tracing" "endpoint" "" .root.Values.settings }}
# The collector of traces.
- ports: [{port: {{ include "recallmesh.port" (dict "url" . "default" (ternary 443 80 (hasPrefix "https:" .))) }}}]
{{- end }}
{{- with dig "auth" "jwt" "jwks" "" .root.Values.settings }}
{{- if and (hasPrefix "https:" .) $.row.public (eq $.row.serves "grpc") }}
# The issuer of tokens.
- ports: [{port: {{ include "recallmesh.port" (dict "url" . "default" 443) }}}]
{{- end }}
{{- end }}
{{- range $model := list "embedder" "reranker" }}
{{- with dig $model "url" "" $.root.Values.settings }}
{{- if has $.part (list $model "all") }}
# The server of its model.
- ports: [{port: {{ include "recallmesh.port" (dict "url" . "default" (ternary 443 80 (hasPrefix "https:" .))) }}}]
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The ports by which the mesh calls what is outside of it: those of the values, and that of the language model. */}}
{{- define "recallmesh.outsidePorts" -}}
{{- $found := .Values.networkPolicy.outsidePorts -}}
{{- with (.Values.settings.llm | default dict).url -}}
{{- $found = append $found (include "recallmesh.port" (dict "url" . "default" (ternary 443 80 (hasPrefix "https:" .))) | int) -}}
{{- end -}}
{{- $found | uniq | toJson -}}
{{- end -}}
