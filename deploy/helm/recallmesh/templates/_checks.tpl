{{/* Refuses values that cannot work together, each by its name and with what to do. */}}
{{- define "recallmesh.checks" -}}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) -}}
{{- fail "gateway.parentRefs: names no Gateway that the route could belong to" -}}
{{- end -}}
{{- range $part := list "door" "mcp" -}}
{{- $own := index $.Values $part -}}
{{- range $way, $hosts := dict "ingress" $own.ingress.hosts "route" $own.route.hostnames -}}
{{- if (index $own $way).enabled -}}
{{- if not $own.enabled -}}
{{- fail (printf "%s.%s: leads nowhere, since there is no %s; set %s.enabled" $part $way $part $part) -}}
{{- end -}}
{{- if not $hosts -}}
{{- fail (printf "%s.%s.%s: names no host; what speaks HTTP answers to names that it knows alone" $part $way (ternary "hosts" "hostnames" (eq $way "ingress"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $own.route.enabled (not $own.route.parentRefs) -}}
{{- fail (printf "%s.route.parentRefs: names no Gateway that the route could belong to" $part) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.mcp.enabled (eq .Values.mode "embedded") -}}
{{- fail "mcp.enabled: tools for agents are a service of their own, which mode embedded has none of; set mode to distributed, or run recallmesh mcp beside the agent with --server" -}}
{{- end -}}
{{- range $job, $_ := omit .Values.upkeep "resources" -}}
{{- if and (index $.Values.upkeep $job).enabled (eq $.Values.mode "embedded") -}}
{{- fail (printf "upkeep.%s: the stores of mode embedded can be opened by its one pod only; run recallmesh %s there, while it is stopped for that" $job $job) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.upkeep.backup.enabled (not .Values.upkeep.backup.claim) -}}
{{- fail "upkeep.backup.claim: names no PersistentVolumeClaim for the files" -}}
{{- end -}}
{{- if not (or .Values.auth.keys (dig "auth" "jwt" "jwks" "" .Values.settings)) -}}
{{- fail "auth.keys: nobody could call, since no API keys are known and no tokens either; set settings.auth.jwt.jwks" -}}
{{- end -}}
{{- if and .Values.tls.existingSecret .Values.tls.certManager.enabled -}}
{{- fail "tls: either existingSecret or certManager, not both" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef) -}}
{{- fail "tls.certManager.issuerRef: names no issuer" -}}
{{- end -}}
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
{{- $scaling := $own.autoscaling -}}
{{- if $scaling.enabled -}}
{{- if and (not $scaling.cpu) (not $scaling.keda.enabled) -}}
{{- fail (printf "%s.autoscaling.cpu: is 0, and nothing else says when to scale; set it, or autoscaling.keda" $name) -}}
{{- end -}}
{{- if and $scaling.keda.enabled (not (or $scaling.cpu $scaling.keda.inFlight $scaling.keda.outboxLagS $scaling.keda.triggers)) -}}
{{- fail (printf "%s.autoscaling.keda: has no trigger; set inFlight, outboxLagS, triggers, or autoscaling.cpu" $name) -}}
{{- end -}}
{{- end -}}
{{- if and $scaling.keda.outboxLagS (not (or $own.row.indexes (eq $name "retain"))) -}}
{{- fail (printf "%s.autoscaling.keda.outboxLagS: nothing waits for it; the outbox is retain's, and brings changes to arms.semantic, arms.keyword and arms.graph" $name) -}}
{{- end -}}
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
