{{/* Names and labels, as charts usually have them. */}}

{{- define "recallmesh.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of one component; never changes while a release lives. Takes root and component. */}}
{{- define "recallmesh.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The labels of the pods of one component: nothing that changes while the pods need not. */}}
{{- define "recallmesh.podLabels" -}}
{{ include "recallmesh.selector" . }}
app.kubernetes.io/part-of: recallmesh
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of an object of one component. */}}
{{- define "recallmesh.labels" -}}
{{ include "recallmesh.podLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The image of a component: its own name whole, or the chart's with the component's. */}}
{{- define "recallmesh.image" -}}
{{- $image := .root.Values.image -}}
{{- if .own -}}
{{- .own -}}
{{- else -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{- $image.repository }}/{{ .component }}:{{ default .root.Chart.AppVersion $image.tag -}}
{{- end -}}
{{- end -}}

{{- define "recallmesh.serviceAccount" -}}
{{- $own := .own.serviceAccount -}}
{{- if $own.create -}}
{{- default (printf "%s-%s" (include "recallmesh.fullname" .root) .component) $own.name -}}
{{- else -}}
{{- default "default" $own.name -}}
{{- end -}}
{{- end -}}
