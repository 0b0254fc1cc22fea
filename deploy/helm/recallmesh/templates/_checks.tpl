{{/* Refuses values that cannot work together, each by its name and with what to do. */}}
{{- define "recallmesh.checks" -}}
{{- if eq .Values.mode "distributed" -}}
{{- $whose := dict "postgres" "recall, retain and bank" "qdrant" "arms.semantic, arms.temporal and arms.graph" "opensearch" "arms.keyword" "neo4j" "arms.graph" -}}
{{- range $store, $who := $whose -}}
{{- $own := index $.Values.stores $store -}}
{{- if not (or $own.bundled $own.url (and (eq $store "postgres") $own.existingSecret)) -}}
{{- fail (printf "stores.%s: needed by %s, since an embedded store can be opened by one process only. Set stores.%s.url to a server, or stores.%s.bundled to try things out, or mode to embedded" $store $who $store $store) -}}
{{- end -}}
{{- if and $own.bundled $own.url -}}
{{- fail (printf "stores.%s: either bundled or url, not both" $store) -}}
{{- end -}}
{{- if regexMatch "://[^/@]*:[^/@]*@" $own.url -}}
{{- fail (printf "stores.%s.url: has a password in it, which everybody could read in the ConfigMap; put it into a Secret and name that by stores.%s.existingSecret" $store $store) -}}
{{- end -}}
{{- end -}}
{{- range $name, $own := include "recallmesh.parts" . | fromJson -}}
{{- if gt (int $own.autoscaling.minReplicas) (int $own.autoscaling.maxReplicas) -}}
{{- fail (printf "%s.autoscaling: minReplicas is %d, more than maxReplicas, %d" $name (int $own.autoscaling.minReplicas) (int $own.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- range $store, $own := .Values.stores -}}
{{- if or $own.bundled $own.url $own.existingSecret -}}
{{- fail (printf "stores.%s: mode is embedded, which has its stores within its one pod; set mode to distributed" $store) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
